//! One request to a page: its fields, and what its sender may do.

use std::collections::HashMap;

use axum::extract::{FromRequestParts, Path, Request};
use axum::http::{Method, StatusCode, header};

use super::form::{self, Fields};
use super::{PageError, PageState};
use crate::auth::{self, Grant, not_allowed};
use crate::body::{MAX_BODY, query, read};
use crate::problem::Problem;
use crate::token::Scope;

pub(super) struct Visit {
    /// From the path, the query and the form; earlier ones win.
    pub(super) fields: Fields,
    pub(super) may_write: bool,
    /// Whether the page has a logout button.
    pub(super) logged_in: bool,
    /// The form token, which protects against requests of other sites.
    pub(super) token: String,
    /// Why the submitted action failed.
    pub(super) error: Option<PageError>,
    /// A cookie that the browser does not have yet.
    pub(super) new_cookie: Option<String>,
    /// Whether the form came from a page of this server.
    has_form_token: bool,
}

impl Visit {
    pub(super) async fn from_request(state: &PageState, request: Request) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let scope = parts.extensions.get::<Grant>().map(|grant| grant.scope);
        if let Some(scope) = scope.filter(|scope| !scope.allows(Scope::Read)) {
            return Err(not_allowed(scope));
        }
        let path: Path<HashMap<String, String>> =
            Path::from_request_parts(&mut parts, &()).await.map_err(|error| {
                Problem::new(StatusCode::BAD_REQUEST, format!("the path cannot be read: {error}"))
            })?;
        let mut pairs: Vec<(String, String)> = path.0.into_iter().collect();
        pairs.extend(query(parts.uri.query().unwrap_or_default())?);
        if parts.method == Method::POST {
            let body = read(body, MAX_BODY).await?;
            pairs.extend(query(&String::from_utf8_lossy(&body))?);
        }
        let fields = Fields::new(pairs);
        let known = auth::cookie(&parts.headers, form::COOKIE).map(str::to_owned);
        let has_form_token = auth::same_site(&parts.headers)
            && known
                .as_deref()
                .is_some_and(|cookie| state.key.verify(cookie, fields.text(form::TOKEN)));
        let (cookie, new_cookie) = match known {
            Some(cookie) => (cookie, None),
            None => new_cookie(secure_attribute(&parts.headers))?,
        };
        Ok(Self {
            token: state.key.token(&cookie),
            may_write: scope.is_none_or(|scope| scope.allows(Scope::Write)),
            logged_in: state.tokens.is_some()
                && auth::cookie(&parts.headers, auth::COOKIE).is_some(),
            error: None,
            fields,
            new_cookie,
            has_form_token,
        })
    }

    /// Fails unless the sender may write and a page of this server rendered the form.
    pub(super) fn check_write(&self) -> Result<(), PageError> {
        if !self.may_write {
            let message = "changes are not allowed: this server or your token is read-only";
            return Err(PageError::new(StatusCode::FORBIDDEN, message));
        }
        self.check_form()
    }

    pub(super) fn check_form(&self) -> Result<(), PageError> {
        if self.has_form_token {
            return Ok(());
        }
        let message = "nothing was changed: the form has expired or did not come from this page";
        let hint = "check your entries and submit the form again";
        Err(PageError::new(StatusCode::FORBIDDEN, message).hint(hint))
    }
}

fn new_cookie(secure: &str) -> Result<(String, Option<String>), Problem> {
    let cookie = form::new_cookie().map_err(|error| {
        tracing::error!(%error, "no random bytes for a form cookie; the page was not rendered");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "no random bytes are available")
    })?;
    let header = format!("{}={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}", form::COOKIE);
    Ok((cookie, Some(header)))
}

/// The attribute that restricts a cookie to encrypted connections. The server itself speaks plain
/// HTTP, so it is set only if a proxy says that it encrypts.
pub(super) fn secure_attribute(headers: &header::HeaderMap) -> &'static str {
    let proto = headers.get("x-forwarded-proto").and_then(|proto| proto.to_str().ok());
    if proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https")) { "; Secure" } else { "" }
}
