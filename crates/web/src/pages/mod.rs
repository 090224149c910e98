//! HTML pages, rendered on the server: one view in each file.
//!
//! A [`View`] reads and returns a [`Page`]; an [`Action`] changes something and returns the address to
//! redirect to. Both run under the application's limits, off the async threads. If an action fails, its
//! view is rendered again with the submitted values. [`layout`] has the markup that pages share,
//! [`text`] sanitises untrusted text, [`form`] protects forms against other sites, and [`visit`] is one
//! request to a page.

mod assets;
mod catalog;
mod compose;
mod form;
mod gap;
mod gaps;
mod layout;
pub(crate) mod login;
mod map;
mod node;
mod overview;
mod proposal;
mod registry;
mod search;
mod text;
mod usage;
mod visit;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use maud::Markup;

use self::layout::Tab;
use self::visit::Visit;
use crate::auth::{AccessPolicy, TokenStore, wants_page};
use crate::problem::{Problem, RETRY_AFTER, add_retry_after};
use kenning_app::{AppState, Fault, Services, Workload};

pub(crate) use form::FormKey;
pub(crate) use layout::document;

/// A rendered view, without navigation and footer.
struct Page {
    title: String,
    tab: Option<Tab>,
    body: Markup,
}

impl Page {
    fn new(title: impl Into<String>, tab: Tab, body: Markup) -> Self {
        Self { title: title.into(), tab: Some(tab), body }
    }
}

/// Why a view or an action failed, and what to do about it.
#[derive(Debug)]
struct PageError {
    status: StatusCode,
    message: String,
    hint: Option<String>,
}

type View = fn(&Services, &Visit) -> Result<Page, PageError>;
/// Returns the address to redirect to.
type Action = fn(&Services, &Visit) -> Result<String, PageError>;

struct PageState {
    app: AppState,
    key: FormKey,
    /// `Some` if browsers have to log in.
    tokens: Option<Arc<dyn TokenStore>>,
}

pub(crate) fn routes(app: AppState, key: FormKey, access: &AccessPolicy) -> Router {
    let tokens = match access {
        AccessPolicy::Token(tokens) => Some(tokens.clone()),
        AccessPolicy::Loopback { .. } => None,
    };
    let state = Arc::new(PageState { app, key, tokens });
    // Views that need no store stay available while the store does not answer.
    let local = |view: View| view_route(&state, Workload::Local, view);
    let stored = |view: View| view_route(&state, Workload::External, view);
    let action = |view: View, action: Action| action_route(&state, view, action);
    Router::new()
        .route("/", stored(overview::view))
        .route("/search", local(search::view))
        .route("/node", local(node::view))
        .route("/catalog", local(catalog::view))
        .route("/catalog/claim", local(catalog::claim))
        .route("/registry", stored(registry::view))
        .route("/registry/agents", action(registry::view, registry::add_agent))
        .route("/registry/skills", action(registry::view, registry::register))
        .route("/registry/deactivate", action(registry::view, registry::deactivate))
        .route("/gaps", stored(gaps::view))
        .route("/gaps/{id}", stored(gap::view))
        .route("/gaps/{id}/close", action(gap::view, gap::close))
        .route("/gaps/{id}/mute", action(gap::view, gap::mute))
        .route("/gaps/{id}/merge", action(gap::view, gap::merge))
        .route("/gaps/{id}/reopen", action(gap::view, gap::reopen))
        .route("/proposals/{id}", stored(proposal::view))
        .route("/proposals/{id}/accept", action(proposal::view, proposal::accept))
        .route("/proposals/{id}/reject", action(proposal::view, proposal::reject))
        .route("/usage", stored(usage::view))
        .route("/map", local(map::view))
        .route("/map/version", map::version(&state))
        .route("/compose", stored(compose::view))
        .route("/compose/artifact/{id}", stored(compose::artifact))
        .route("/compose/artifact/{id}/build", action(compose::artifact, compose::build))
        .route("/compose/content/{id}", stored(compose::content))
        .route("/compose/content/{id}/generate", action(compose::content, compose::generate))
        .merge(login::routes(&state))
        .merge(assets::routes())
}

fn view_route(state: &Arc<PageState>, workload: Workload, view: View) -> MethodRouter {
    let state = state.clone();
    get(move |request: Request| async move {
        match Visit::from_request(&state, request).await {
            Ok(visit) => render(&state, workload, view, visit).await,
            Err(problem) => problem_page(problem),
        }
    })
}

/// Shows `view` on `GET` as well, so that reloading the page after a failed action works.
fn action_route(state: &Arc<PageState>, view: View, action: Action) -> MethodRouter {
    let post = state.clone();
    view_route(state, Workload::External, view).post(move |request: Request| async move {
        match Visit::from_request(&post, request).await {
            Ok(visit) => perform(&post, view, action, visit).await,
            Err(problem) => problem_page(problem),
        }
    })
}

async fn perform(state: &PageState, view: View, action: Action, mut visit: Visit) -> Response {
    if let Err(error) = visit.check_write() {
        visit.error = Some(error);
        return render(state, Workload::External, view, visit).await;
    }
    let work = move |app: &AppState| {
        let outcome = action(&app.services, &visit);
        (visit, outcome)
    };
    match state.app.work(Workload::External, work).await {
        Ok((_, Ok(address))) => redirect_to(&address),
        Ok((mut visit, Err(error))) => {
            visit.error = Some(error);
            render(state, Workload::External, view, visit).await
        }
        Err(refused) => problem_page(refused.into()),
    }
}

async fn render(state: &PageState, workload: Workload, view: View, visit: Visit) -> Response {
    let work = move |app: &AppState| {
        let page = view(&app.services, &visit);
        let status = match (&page, &visit.error) {
            (Err(error), _) | (Ok(_), Some(error)) => error.status,
            (Ok(_), None) => StatusCode::OK,
        };
        let page = page.unwrap_or_else(|error| layout::error_page(&error));
        (status, layout::frame(&visit, &page), visit.new_cookie)
    };
    match state.app.work(workload, work).await {
        Ok((status, markup, cookie)) => with_cookie(html(status, markup), cookie.as_deref()),
        Err(refused) => problem_page(refused.into()),
    }
}

const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                              connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
                              base-uri 'none'";

/// A page may load only the server's own assets. No site may frame it and nothing may cache it.
pub(crate) fn html(status: StatusCode, markup: Markup) -> Response {
    let headers: [(HeaderName, &str); 6] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // A stricter policy would keep browsers from sending the origin of a form.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    let mut headers = HeaderMap::from_iter(headers);
    add_retry_after(status, RETRY_AFTER, &mut headers);
    (status, headers, markup.into_string()).into_response()
}

fn redirect_to(address: &str) -> Response {
    let address = HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response()
}

fn with_cookie(mut response: Response, cookie: Option<&str>) -> Response {
    if let Some(cookie) = cookie.and_then(|cookie| cookie.parse().ok()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn problem_page(problem: Problem) -> Response {
    let error = PageError::from(problem);
    html(error.status, layout::standalone("Kenning", &layout::error_notice(&error)))
}

/// Answers browsers with a page and programs with a problem.
pub(crate) async fn not_found(request: Request) -> Response {
    let problem = Problem::new(StatusCode::NOT_FOUND, "nothing is served at this address");
    if wants_page(request.headers()) { problem_page(problem) } else { problem.into_response() }
}

impl PageError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Fault> for PageError {
    fn from(fault: Fault) -> Self {
        Self { status: fault.status(), message: fault.message, hint: fault.hint }
    }
}

impl From<Problem> for PageError {
    fn from(problem: Problem) -> Self {
        Self::new(problem.status, problem.detail)
    }
}

macro_rules! from_domain_errors {
    ($($error:ty),*) => {$(
        impl From<$error> for PageError {
            fn from(error: $error) -> Self {
                Fault::from(error).into()
            }
        }
    )*};
}

from_domain_errors!(
    kenning_knowledge::Error,
    kenning_catalog::Error,
    kenning_registry::Error,
    kenning_gaps::Error
);

impl From<kenning_compose::Error> for PageError {
    fn from(error: kenning_compose::Error) -> Self {
        let all_issues = all_issues(&error);
        let page_error = Self::from(Fault::from(error));
        Self { message: all_issues.unwrap_or(page_error.message), ..page_error }
    }
}

/// Operations report only the first issue of a config; a person fixes all of them in one go.
fn all_issues(error: &kenning_compose::Error) -> Option<String> {
    let kenning_compose::Error::InvalidConfig { config_type, id, issues } = error else {
        return None;
    };
    let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
    Some(format!("{config_type} config `{id}` is not valid: {}", issues.join("; ")))
}

#[cfg(test)]
mod tests {
    use kenning_app::{Capacity, Refused};

    use super::*;

    #[test]
    fn a_page_that_is_refused_says_when_to_try_again() {
        let busy = problem_page(Refused::Busy(Capacity::STDIO).into());
        assert_eq!(busy.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(busy.headers()[header::RETRY_AFTER], "1");
        let absent = problem_page(Problem::new(StatusCode::NOT_FOUND, "nothing"));
        assert!(!absent.headers().contains_key(header::RETRY_AFTER));
    }
}
