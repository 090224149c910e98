//! Login with a token, where the server needs one.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};

use super::form::link;
use super::visit::{Visit, is_secure};
use super::{PageError, PageState, html as page, layout, problem_page, redirect_to};
use crate::auth::{COOKIE, grant};
use crate::token::{Presented, Scope};

pub(super) fn routes(state: &Arc<PageState>) -> Router {
    let (asked, given, left) = (state.clone(), state.clone(), state.clone());
    Router::new()
        .route("/login", get(move |request| ask(asked, request)).post(move |r| enter(given, r)))
        .route("/logout", post(move |request| leave(left, request)))
}

/// Sends a browser without a token to the login page.
pub(crate) fn redirect(wanted: &Uri) -> Response {
    let wanted = wanted.path_and_query().map_or("/", |wanted| wanted.as_str());
    redirect_to(&link("/login", &[("next", wanted)]))
}

async fn ask(state: Arc<PageState>, request: Request) -> Response {
    if state.tokens.is_none() {
        return redirect_to("/");
    }
    match Visit::begin(&state, request).await {
        Ok(visit) => show(visit),
        Err(problem) => problem_page(&problem),
    }
}

fn show(visit: Visit) -> Response {
    let status = visit.error.as_ref().map_or(StatusCode::OK, |error| error.status);
    let mut response = page(status, layout::bare("Log in · Kenning", &form(&visit)));
    if let Some(cookie) = visit.new_cookie.and_then(|cookie| HeaderValue::try_from(cookie).ok()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn form(visit: &Visit) -> Markup {
    html! {
        h1 { "Log in" }
        @if let Some(error) = &visit.error {
            (layout::error_notice(&error.message, error.hint.as_deref()))
        }
        p { "This server asks for a token. Whoever runs it makes one with "
            code { "kenning token create NAME --scope read" } "." }
        form method="post" action=(link("/login", &[("next", next(visit))])) class="stack" {
            (layout::form_token(visit))
            label for="token" { "Token" }
            input id="token" name="token" type="password" required autocomplete="current-password"
                placeholder="kng_…" spellcheck="false";
            button { "Log in" }
        }
    }
}

async fn enter(state: Arc<PageState>, request: Request) -> Response {
    let Some(tokens) = state.tokens.clone() else { return redirect_to("/") };
    let secure = is_secure(request.headers());
    let mut visit = match Visit::begin(&state, request).await {
        Ok(visit) => visit,
        Err(problem) => return problem_page(&problem),
    };
    let token = visit.fields.text("token").to_owned();
    let outcome = match visit.check_form() {
        Err(error) => Err(error),
        Ok(()) if Presented::read(&token).is_none() => {
            Err(PageError::new(StatusCode::UNAUTHORIZED, "this is not a token"))
        }
        Ok(()) => match grant(token.clone(), tokens).await {
            Ok(grant) if grant.scope.allows(Scope::Read) => Ok(()),
            Ok(_) => {
                Err(PageError::new(StatusCode::FORBIDDEN, "this token allows to send events only"))
            }
            Err(problem) => Err(PageError::new(problem.status, problem.detail)),
        },
    };
    if let Err(error) = outcome {
        visit.error = Some(error);
        return show(visit);
    }
    with_cookie(redirect_to(next(&visit)), &format!("{COOKIE}={token}; Path=/{ATTRIBUTES}{secure}"))
}

const ATTRIBUTES: &str = "; HttpOnly; SameSite=Strict";

async fn leave(state: Arc<PageState>, request: Request) -> Response {
    match Visit::begin(&state, request).await {
        Ok(visit) if visit.check_form().is_ok() => {
            with_cookie(redirect_to("/login"), &format!("{COOKIE}=; Path=/; Max-Age=0{ATTRIBUTES}"))
        }
        Ok(_) => redirect_to("/"),
        Err(problem) => problem_page(&problem),
    }
}

fn with_cookie(response: Response, cookie: &str) -> Response {
    let mut headers = HeaderMap::new();
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    (headers, response).into_response()
}

/// The page to go to after the login; only paths of this server, so that no link leads elsewhere.
fn next(visit: &Visit) -> &str {
    let next = visit.fields.text("next");
    let is_ours = next.starts_with('/') && !next.starts_with("//") && !next.contains('\\');
    if is_ours && next.bytes().all(|byte| byte.is_ascii_graphic()) { next } else { "/" }
}
