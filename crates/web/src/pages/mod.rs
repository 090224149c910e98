//! HTML pages, rendered on the server: one view in each file.
//!
//! A view reads and returns a [`Page`]; an action changes something and returns where to go next.
//! Both run under the application's limits, off the async threads. If an action fails, its view is
//! rendered again with what was filled in. [`layout`] is what pages share, [`text`] escapes what
//! others wrote, [`form`] protects forms against other sites, [`visit`] is one request to a page.

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
use crate::problem::Problem;
use kenning_app::{AppState, Fault, Services, Workload};

pub(crate) use form::FormKey;
pub(crate) use layout::document;

/// A view without the frame around it.
struct Page {
    title: String,
    tab: Option<Tab>,
    body: Markup,
}

/// Why a page or an action failed, and the way out.
#[derive(Debug)]
struct PageError {
    status: StatusCode,
    message: String,
    hint: Option<String>,
}

type View = fn(&Services, &Visit) -> Result<Page, PageError>;
/// Returns where to go next.
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
    // Views that draw on memory alone stay available while the store does not answer.
    let local = |view: View| view_route(&state, Workload::Local, view);
    let stored = |view: View| view_route(&state, Workload::Store, view);
    let action = |view: View, action: Action| {
        view_route(&state, Workload::Store, view).post(action_route(&state, view, action))
    };
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
        match Visit::begin(&state, request).await {
            Ok(visit) => render(&state, workload, view, visit).await,
            Err(problem) => problem_page(&problem),
        }
    })
}

fn action_route(
    state: &Arc<PageState>,
    view: View,
    action: Action,
) -> impl Fn(Request) -> BoxedResponse + Clone + use<> {
    let state = state.clone();
    move |request: Request| {
        let state = state.clone();
        Box::pin(async move {
            match Visit::begin(&state, request).await {
                Ok(visit) => perform(&state, view, action, visit).await,
                Err(problem) => problem_page(&problem),
            }
        })
    }
}

type BoxedResponse = std::pin::Pin<Box<dyn Future<Output = Response> + Send>>;

async fn perform(state: &PageState, view: View, action: Action, mut visit: Visit) -> Response {
    if let Err(error) = visit.may_act() {
        visit.error = Some(error);
        return render(state, Workload::Store, view, visit).await;
    }
    let work = move |app: &AppState| {
        let outcome = action(&app.services, &visit);
        (visit, outcome)
    };
    match state.app.work(Workload::Store, work).await {
        Ok((_, Ok(next))) => redirect_to(&next),
        Ok((mut visit, Err(error))) => {
            visit.error = Some(error);
            render(state, Workload::Store, view, visit).await
        }
        Err(refused) => problem_page(&refused.into()),
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
        Ok((status, markup, cookie)) => {
            let mut response = html(status, markup);
            if let Some(cookie) = cookie.as_deref().and_then(|cookie| cookie.parse().ok()) {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
            response
        }
        Err(refused) => problem_page(&refused.into()),
    }
}

const CONTENT: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                       connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
                       base-uri 'none'";

/// A page may load only its own assets, be framed by no site, and be cached by nobody.
pub(crate) fn html(status: StatusCode, markup: Markup) -> Response {
    let headers: [(HeaderName, &str); 6] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, CONTENT),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With a stricter policy browsers would not send the origin of a form.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    (status, HeaderMap::from_iter(headers), markup.into_string()).into_response()
}

/// Goes on to another page.
fn redirect_to(address: &str) -> Response {
    let address = HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response()
}

fn problem_page(problem: &Problem) -> Response {
    html(problem.status, layout::bare("Kenning", &layout::error_notice(&problem.detail, None)))
}

/// A page for browsers, a problem for programs.
pub(crate) async fn not_found(request: Request) -> Response {
    let problem = Problem::new(StatusCode::NOT_FOUND, "there is nothing here");
    if wants_page(request.headers()) { problem_page(&problem) } else { problem.into_response() }
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

impl From<kenning_knowledge::Error> for PageError {
    fn from(error: kenning_knowledge::Error) -> Self {
        Fault::from(error).into()
    }
}

impl From<kenning_catalog::Error> for PageError {
    fn from(error: kenning_catalog::Error) -> Self {
        Fault::from(error).into()
    }
}

impl From<kenning_registry::Error> for PageError {
    fn from(error: kenning_registry::Error) -> Self {
        Fault::from(error).into()
    }
}

impl From<kenning_gaps::Error> for PageError {
    fn from(error: kenning_gaps::Error) -> Self {
        Fault::from(error).into()
    }
}

impl From<kenning_compose::Error> for PageError {
    fn from(error: kenning_compose::Error) -> Self {
        let all_issues = all_issues(&error);
        let page_error = Self::from(Fault::from(error));
        Self { message: all_issues.unwrap_or(page_error.message), ..page_error }
    }
}

/// A person corrects a config at once, so all that is wrong with it is listed, not only the first.
fn all_issues(error: &kenning_compose::Error) -> Option<String> {
    let kenning_compose::Error::InvalidConfig { config_type, id, issues } = error else {
        return None;
    };
    let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
    Some(format!("{config_type} config `{id}` is not valid: {}", issues.join("; ")))
}
