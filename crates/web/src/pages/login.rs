//! How a browser gets in where a token is needed.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};

use super::form::link;
use super::visit::{Visit, is_secure};
use super::{House, Sorry, html as page, layout, refused, see};
use crate::guard::{COOKIE, known};
use crate::token::{Presented, Scope};

pub(super) fn routes(house: &Arc<House>) -> Router {
    let (asked, given, left) = (house.clone(), house.clone(), house.clone());
    Router::new()
        .route("/login", get(move |request| ask(asked, request)).post(move |r| enter(given, r)))
        .route("/logout", post(move |request| leave(left, request)))
}

/// Where one who has no token yet goes first.
pub(crate) fn redirect(wanted: &Uri) -> Response {
    let wanted = wanted.path_and_query().map_or("/", |wanted| wanted.as_str());
    see(&link("/login", &[("next", wanted)]))
}

async fn ask(house: Arc<House>, request: Request) -> Response {
    if house.keys.is_none() {
        return see("/");
    }
    match Visit::begin(&house, request).await {
        Ok(visit) => show(visit),
        Err(problem) => refused(&problem),
    }
}

fn show(visit: Visit) -> Response {
    let status = visit.sorry.as_ref().map_or(StatusCode::OK, |sorry| sorry.status);
    let mut response = page(status, layout::bare("Log in · Kenning", &form(&visit)));
    if let Some(cookie) = visit.new_cookie.and_then(|cookie| HeaderValue::try_from(cookie).ok()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn form(visit: &Visit) -> Markup {
    html! {
        h1 { "Log in" }
        @if let Some(sorry) = &visit.sorry {
            (layout::apology(&sorry.message, sorry.hint.as_deref()))
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

async fn enter(house: Arc<House>, request: Request) -> Response {
    let Some(keys) = house.keys.clone() else { return see("/") };
    let secure = is_secure(request.headers());
    let mut visit = match Visit::begin(&house, request).await {
        Ok(visit) => visit,
        Err(problem) => return refused(&problem),
    };
    let token = visit.fields.text("token").to_owned();
    let outcome = match visit.check_form() {
        Err(sorry) => Err(sorry),
        Ok(()) if Presented::read(&token).is_none() => {
            Err(Sorry::new(StatusCode::UNAUTHORIZED, "this is not a token"))
        }
        Ok(()) => match known(token.clone(), keys).await {
            Ok(grant) if grant.scope.allows(Scope::Read) => Ok(()),
            Ok(_) => {
                Err(Sorry::new(StatusCode::FORBIDDEN, "this token allows to send events only"))
            }
            Err(problem) => Err(Sorry::new(problem.status, problem.detail)),
        },
    };
    if let Err(sorry) = outcome {
        visit.sorry = Some(sorry);
        return show(visit);
    }
    with_cookie(see(next(&visit)), &format!("{COOKIE}={token}; Path=/{ATTRIBUTES}{secure}"))
}

const ATTRIBUTES: &str = "; HttpOnly; SameSite=Strict";

async fn leave(house: Arc<House>, request: Request) -> Response {
    match Visit::begin(&house, request).await {
        Ok(visit) if visit.check_form().is_ok() => {
            with_cookie(see("/login"), &format!("{COOKIE}=; Path=/; Max-Age=0{ATTRIBUTES}"))
        }
        Ok(_) => see("/"),
        Err(problem) => refused(&problem),
    }
}

fn with_cookie(response: Response, cookie: &str) -> Response {
    let mut headers = HeaderMap::new();
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    (headers, response).into_response()
}

/// The page that was wanted, if it is one of ours.
fn next(visit: &Visit) -> &str {
    let next = visit.fields.text("next");
    let is_ours = next.starts_with('/') && !next.starts_with("//") && !next.contains('\\');
    if is_ours && next.bytes().all(|byte| byte.is_ascii_graphic()) { next } else { "/" }
}
