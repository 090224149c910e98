//! Login with a token, on servers that require one.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};

use super::form::link;
use super::visit::{Visit, secure_attribute};
use super::{PageError, PageState, html as page, layout, problem_page, redirect_to, with_cookie};
use crate::auth::{COOKIE, TokenStore, grant};
use crate::token::{Presented, Scope};

pub(super) fn routes(state: &Arc<PageState>) -> Router {
    let [show, submit, end] = [(); 3].map(|()| state.clone());
    Router::new()
        .route("/login", get(move |r| login_page(show, r)).post(move |r| log_in(submit, r)))
        .route("/logout", post(move |request| log_out(end, request)))
}

/// Sends a browser without a token to the login page.
pub(crate) fn redirect(requested: &Uri) -> Response {
    let next = requested.path_and_query().map_or("/", |next| next.as_str());
    redirect_to(&link("/login", &[("next", next)]))
}

async fn login_page(state: Arc<PageState>, request: Request) -> Response {
    if state.tokens.is_none() {
        return redirect_to("/");
    }
    match Visit::from_request(&state, request).await {
        Ok(visit) => render(&visit),
        Err(problem) => problem_page(problem),
    }
}

fn render(visit: &Visit) -> Response {
    let status = visit.error.as_ref().map_or(StatusCode::OK, |error| error.status);
    let response = page(status, layout::standalone("Log in · Kenning", &form(visit)));
    with_cookie(response, visit.new_cookie.as_deref())
}

fn form(visit: &Visit) -> Markup {
    html! {
        h1 { "Log in" }
        @if let Some(error) = &visit.error { (layout::error_notice(error)) }
        p { "This server requires a token. Ask the person who runs it for one, or create one with "
            code { "kenning token create NAME --scope read" } "." }
        (layout::post_form(visit, &link("/login", &[("next", next(visit))]), html! {
            label for="token" { "Token" }
            input id="token" name="token" type="password" required autocomplete="current-password"
                placeholder="kng_…" spellcheck="false";
            button { "Log in" }
        }))
    }
}

async fn log_in(state: Arc<PageState>, request: Request) -> Response {
    let Some(tokens) = state.tokens.clone() else { return redirect_to("/") };
    let secure = secure_attribute(request.headers());
    let mut visit = match Visit::from_request(&state, request).await {
        Ok(visit) => visit,
        Err(problem) => return problem_page(problem),
    };
    let token = visit.fields.text("token").to_owned();
    if let Err(error) = check(&visit, &token, tokens).await {
        visit.error = Some(error);
        return render(&visit);
    }
    let cookie = format!("{COOKIE}={token}; Path=/{ATTRIBUTES}{secure}");
    with_cookie(redirect_to(next(&visit)), Some(&cookie))
}

const ATTRIBUTES: &str = "; HttpOnly; SameSite=Strict";

/// Fails unless the token gives access to pages.
async fn check(visit: &Visit, token: &str, tokens: Arc<dyn TokenStore>) -> Result<(), PageError> {
    visit.check_form()?;
    if Presented::read(token).is_none() {
        return Err(PageError::new(StatusCode::UNAUTHORIZED, "this is not a token")
            .hint("a token begins with `kng_`; copy all of it"));
    }
    if grant(token.to_owned(), tokens).await?.scope.allows(Scope::Read) {
        return Ok(());
    }
    Err(PageError::new(StatusCode::FORBIDDEN, "this token can only send events")
        .hint("log in with a token of the scope `read` or `write`"))
}

async fn log_out(state: Arc<PageState>, request: Request) -> Response {
    match Visit::from_request(&state, request).await {
        Ok(visit) if visit.check_form().is_ok() => {
            let expired = format!("{COOKIE}=; Path=/; Max-Age=0{ATTRIBUTES}");
            with_cookie(redirect_to("/login"), Some(&expired))
        }
        Ok(_) => redirect_to("/"),
        Err(problem) => problem_page(problem),
    }
}

/// The address to open after the login. Only paths of this server are accepted; otherwise a link to
/// the login page could redirect to another site.
fn next(visit: &Visit) -> &str {
    let next = visit.fields.text("next");
    let is_local = next.starts_with('/') && !next.starts_with("//") && !next.contains('\\');
    if is_local && next.bytes().all(|byte| byte.is_ascii_graphic()) { next } else { "/" }
}
