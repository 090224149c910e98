//! One request to a page: its fields, and what the browser may do.

use std::collections::HashMap;

use axum::extract::{FromRequestParts, Path, Request};
use axum::http::{Method, StatusCode, header};

use super::form::{self, Fields};
use super::{PageError, PageState};
use crate::auth::{self, Grant, not_allowed};
use crate::body::{MAX_BODY, query, read};
use crate::problem::Problem;
use crate::token::Scope;

/// A request to a page.
pub(super) struct Visit {
    /// Of the path, the query and the form, in this order.
    pub(super) fields: Fields,
    pub(super) may_write: bool,
    /// Whether a logout is offered.
    pub(super) logged_in: bool,
    /// The token that forms carry against requests of other sites.
    pub(super) token: String,
    /// Why the action failed that the form was sent for.
    pub(super) error: Option<PageError>,
    /// A cookie that the browser does not have yet.
    pub(super) new_cookie: Option<String>,
    is_ours: bool,
}

impl Visit {
    pub(super) async fn begin(state: &PageState, request: Request) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let scope = parts.extensions.get::<Grant>().map(|grant| grant.scope);
        if let Some(scope) = scope.filter(|scope| !scope.allows(Scope::Read)) {
            return Err(not_allowed(scope));
        }
        let in_path: Path<HashMap<String, String>> =
            Path::from_request_parts(&mut parts, &()).await.map_err(|error| {
                Problem::new(StatusCode::BAD_REQUEST, format!("the path cannot be read: {error}"))
            })?;
        let mut pairs: Vec<(String, String)> = in_path.0.into_iter().collect();
        pairs.extend(query(parts.uri.query().unwrap_or_default())?);
        if parts.method == Method::POST {
            let body = read(body, MAX_BODY).await?;
            pairs.extend(query(&String::from_utf8_lossy(&body))?);
        }
        let fields = Fields::new(pairs);
        let known = auth::cookie(&parts.headers, form::COOKIE).map(str::to_owned);
        let is_ours = auth::same_site(&parts.headers)
            && known.as_deref().is_some_and(|it| state.key.fits(it, fields.text(form::TOKEN)));
        let (cookie, new_cookie) = match known {
            Some(cookie) => (cookie, None),
            None => new_cookie(is_secure(&parts.headers))?,
        };
        Ok(Self {
            token: state.key.token(&cookie),
            may_write: scope.is_none_or(|scope| scope.allows(Scope::Write)),
            logged_in: state.tokens.is_some()
                && auth::cookie(&parts.headers, auth::COOKIE).is_some(),
            error: None,
            fields,
            new_cookie,
            is_ours,
        })
    }

    /// Whether the form comes from one of our pages and the caller may write.
    pub(super) fn may_act(&self) -> Result<(), PageError> {
        if !self.may_write {
            return Err(PageError::new(StatusCode::FORBIDDEN, "your token only allows to read"));
        }
        self.check_form()
    }

    pub(super) fn check_form(&self) -> Result<(), PageError> {
        if self.is_ours {
            return Ok(());
        }
        let message = "nothing was done: the form is too old, or did not come from this page";
        Err(PageError::new(StatusCode::FORBIDDEN, message).hint("look it over and send it again"))
    }
}

fn new_cookie(secure: &str) -> Result<(String, Option<String>), Problem> {
    let cookie = form::cookie().map_err(|error| {
        tracing::error!(%error, "there are no random numbers");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "there are no random numbers")
    })?;
    let line = format!("{}={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}", form::COOKIE);
    Ok((cookie, Some(line)))
}

/// The attribute that keeps a cookie on encrypted connections, if a proxy in front encrypts.
pub(super) fn is_secure(headers: &header::HeaderMap) -> &'static str {
    let proto = headers.get("x-forwarded-proto").and_then(|proto| proto.to_str().ok());
    if proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https")) { "; Secure" } else { "" }
}
