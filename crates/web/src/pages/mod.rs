//! The same for people: one view in each file, made on the server.
//!
//! A view reads and returns a [`Page`]; an act changes something and says where to go next. Both
//! run off the async threads. If an act fails, its view is shown again with what was filled in.
//! [`layout`] is what pages have in common, [`text`] how they show what others wrote, [`form`]
//! how a form of ours is known again, [`visit`] who is there and what was asked.

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
use crate::guard::{Doors, Keys, wants_page};
use crate::problem::Problem;
use crate::site::{Desk, Rooms};

pub(crate) use form::FormKey;
pub(crate) use layout::document;

/// A view, ready to be framed.
struct Page {
    title: String,
    tab: Option<Tab>,
    body: Markup,
}

/// Why something cannot be shown or done, and the way out.
#[derive(Debug)]
struct Sorry {
    status: StatusCode,
    message: String,
    hint: Option<String>,
}

type View = fn(&Rooms, &Visit) -> Result<Page, Sorry>;
/// Returns where to go next.
type Act = fn(&Rooms, &Visit) -> Result<String, Sorry>;

/// What pages are made in.
struct House {
    desk: Arc<Desk>,
    key: FormKey,
    /// Whether browsers have to log in.
    keys: Option<Arc<dyn Keys>>,
}

pub(crate) fn routes(desk: Arc<Desk>, key: FormKey, doors: &Doors) -> Router {
    let keys = match doors {
        Doors::Token(keys) => Some(keys.clone()),
        Doors::Loopback { .. } => None,
    };
    let house = Arc::new(House { desk, key, keys });
    let view = |view: View| shown(&house, view);
    let act = |view: View, act: Act| shown(&house, view).post(done(&house, view, act));
    Router::new()
        .route("/", view(overview::view))
        .route("/search", view(search::view))
        .route("/node", view(node::view))
        .route("/catalog", view(catalog::view))
        .route("/catalog/claim", view(catalog::claim))
        .route("/registry", view(registry::view))
        .route("/registry/agents", act(registry::view, registry::add_agent))
        .route("/registry/skills", act(registry::view, registry::register))
        .route("/registry/deactivate", act(registry::view, registry::deactivate))
        .route("/gaps", view(gaps::view))
        .route("/gaps/{id}", view(gap::view))
        .route("/gaps/{id}/close", act(gap::view, gap::close))
        .route("/gaps/{id}/mute", act(gap::view, gap::mute))
        .route("/gaps/{id}/merge", act(gap::view, gap::merge))
        .route("/gaps/{id}/reopen", act(gap::view, gap::reopen))
        .route("/proposals/{id}", view(proposal::view))
        .route("/proposals/{id}/accept", act(proposal::view, proposal::accept))
        .route("/proposals/{id}/reject", act(proposal::view, proposal::reject))
        .route("/usage", view(usage::view))
        .route("/map", view(map::view))
        .route("/map/version", map::version(&house))
        .route("/compose", view(compose::view))
        .route("/compose/artifact/{id}", view(compose::artifact))
        .route("/compose/artifact/{id}/build", act(compose::artifact, compose::build))
        .route("/compose/content/{id}", view(compose::content))
        .route("/compose/content/{id}/generate", act(compose::content, compose::generate))
        .merge(login::routes(&house))
        .merge(assets::routes())
}

/// A view that is asked for.
fn shown(house: &Arc<House>, view: View) -> MethodRouter {
    let house = house.clone();
    get(move |request: Request| async move {
        match Visit::begin(&house, request).await {
            Ok(visit) => show(&house, view, visit).await,
            Err(problem) => refused(&problem),
        }
    })
}

/// Something that is to be done.
fn done(house: &Arc<House>, view: View, act: Act) -> impl Fn(Request) -> Answering + Clone + use<> {
    let house = house.clone();
    move |request: Request| {
        let house = house.clone();
        Box::pin(async move {
            match Visit::begin(&house, request).await {
                Ok(visit) => attempt(&house, view, act, visit).await,
                Err(problem) => refused(&problem),
            }
        })
    }
}

type Answering = std::pin::Pin<Box<dyn Future<Output = Response> + Send>>;

async fn attempt(house: &Arc<House>, view: View, act: Act, mut visit: Visit) -> Response {
    if let Err(sorry) = visit.may_act() {
        visit.sorry = Some(sorry);
        return show(house, view, visit).await;
    }
    let work = move |rooms: &Rooms| {
        let outcome = act(rooms, &visit);
        (visit, outcome)
    };
    match house.desk.work("an act of a page", work).await {
        Ok((_, Ok(next))) => see(&next),
        Ok((mut visit, Err(sorry))) => {
            visit.sorry = Some(sorry);
            show(house, view, visit).await
        }
        Err(problem) => refused(&problem),
    }
}

async fn show(house: &Arc<House>, view: View, visit: Visit) -> Response {
    let work = move |rooms: &Rooms| {
        let page = view(rooms, &visit);
        let status = match (&page, &visit.sorry) {
            (Err(sorry), _) | (Ok(_), Some(sorry)) => sorry.status,
            (Ok(_), None) => StatusCode::OK,
        };
        let page = page.unwrap_or_else(|sorry| layout::sorry_page(&sorry));
        (status, layout::frame(&visit, &page), visit.new_cookie)
    };
    match house.desk.work("a page", work).await {
        Ok((status, markup, cookie)) => {
            let mut response = html(status, markup);
            if let Some(cookie) = cookie.as_deref().and_then(|cookie| cookie.parse().ok()) {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
            response
        }
        Err(problem) => refused(&problem),
    }
}

const CONTENT: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                       connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
                       base-uri 'none'";

/// A page may load what is ours and nothing else, is in nobody's frame and in nobody's cache.
pub(crate) fn html(status: StatusCode, markup: Markup) -> Response {
    let headers: [(HeaderName, &str); 6] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, CONTENT),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With less, browsers would not say that a form came from here.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    (status, HeaderMap::from_iter(headers), markup.into_string()).into_response()
}

/// Goes on to a page of ours.
fn see(address: &str) -> Response {
    let address = HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response()
}

fn refused(problem: &Problem) -> Response {
    html(problem.status, layout::bare("Kenning", &layout::apology(&problem.detail, None)))
}

/// For people a page, for programs a problem.
pub(crate) async fn nothing_here(request: Request) -> Response {
    let problem = Problem::new(StatusCode::NOT_FOUND, "there is nothing here");
    if wants_page(request.headers()) { refused(&problem) } else { problem.into_response() }
}

impl Sorry {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<kenning_knowledge::Error> for Sorry {
    fn from(error: kenning_knowledge::Error) -> Self {
        Self::new(crate::api::status(error.code()), error.to_string()).hint(error.hint())
    }
}

impl From<kenning_catalog::Error> for Sorry {
    fn from(error: kenning_catalog::Error) -> Self {
        Self::new(crate::api::status(error.code()), error.to_string()).hint(error.hint())
    }
}

impl From<kenning_registry::Error> for Sorry {
    fn from(error: kenning_registry::Error) -> Self {
        if let kenning_registry::Error::Database(source) = &error {
            tracing::error!(%source, "the registry's store failed");
        }
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::new(status(error.http_status()), error.to_string()) }
    }
}

impl From<kenning_compose::Error> for Sorry {
    fn from(error: kenning_compose::Error) -> Self {
        if error.code() == kenning_compose::Code::StorageError {
            tracing::error!(?error, "the workspace or its state failed");
        }
        Self { hint: error.hint(), ..Self::new(status(error.code().http_status()), said(&error)) }
    }
}

/// All that is wrong with a config, rather than the first of it.
fn said(error: &kenning_compose::Error) -> String {
    match error {
        kenning_compose::Error::InvalidConfig { config_type, id, issues } => {
            let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
            format!("{config_type} config `{id}` is not valid: {}", issues.join("; "))
        }
        other => other.to_string(),
    }
}

impl From<kenning_gaps::Error> for Sorry {
    fn from(error: kenning_gaps::Error) -> Self {
        if error.code() == kenning_gaps::Code::DatabaseError {
            tracing::error!(?error, "the store of gaps failed");
        }
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::new(status(error.http_status()), error.to_string()) }
    }
}

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
