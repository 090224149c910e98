//! The whole site: requests come in here.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::serve::ListenerExt;
use axum::{Extension, Router};
use http_body_util::BodyExt;
use kenning_catalog::Catalog;
use kenning_compose::Compose;
use kenning_gaps::Gaps;
use kenning_knowledge::Library;
use kenning_knowledge::discover::{Discovery, Miss, MissLog};
use kenning_knowledge::usage::{Usage, UsageLog};
use kenning_registry::{Registry, Revision};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::ServiceExt;

use crate::guard::{Doors, Gate, Grant, guard};
use crate::operation::{Call, Given, MAX_WORD, Operation, Refusal};
use crate::pages::FormKey;
use crate::problem::Problem;
use crate::running::{Running, Watch};
use crate::token::Scope;
use crate::{api, document, ingest, pages};

/// The largest body that is read, in bytes.
pub(crate) const MAX_BODY: usize = 4 * 1024 * 1024;
const FAR_TOO_LARGE: usize = 128 * 1024 * 1024;
/// How long a client may take to send one.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Requests that are worked on at once, beyond which clients are asked to wait.
const AT_ONCE: usize = 256;

/// What operations and pages draw on.
#[derive(Clone)]
pub struct Rooms {
    pub library: Arc<Library>,
    pub discovery: Arc<Discovery>,
    pub catalog: Arc<Catalog>,
    /// `None` without a place to remember it.
    pub registry: Option<Registry>,
    /// Where questions that found nothing are noted, if there is a place for it.
    pub misses: Option<Arc<dyn MissLog>>,
    /// Where is counted what was found and read.
    pub usage: Option<Arc<dyn UsageLog>>,
    /// What is missing; `None` without a place to remember it.
    pub gaps: Option<Gaps>,
    /// Files made from all of that; `None` without a folder to keep them in.
    pub compose: Option<Compose>,
}

impl Rooms {
    pub(crate) fn note_miss(&self, tool: &'static str, query: &str) {
        if let Some(misses) = &self.misses {
            misses.record(&Miss { tool, query });
        }
    }

    pub(crate) fn note_usage(&self, usage: &Usage<'_>) {
        if let Some(log) = &self.usage {
            log.note(usage);
        }
    }
}

impl std::fmt::Debug for Rooms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rooms").field("library", &self.library).finish_non_exhaustive()
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Somebody else's routes, once for those who may write and once for those who may only read.
#[derive(Debug)]
pub struct Mount {
    pub path: &'static str,
    pub write: Router,
    pub read: Router,
}

/// All that is served on one address.
#[derive(Debug)]
pub struct Site {
    pub rooms: Rooms,
    pub mounts: Vec<Mount>,
    pub doors: Doors,
    /// Whether nobody may change anything, whatever token they show.
    pub read_only: bool,
    pub running: Running,
}

impl Site {
    /// Serves on `listener` until it is told to stop, and then finishes what it has begun.
    pub async fn serve(self, listener: TcpListener) -> std::io::Result<()> {
        // Without this every streamed answer waits some 40 ms for the client's delayed ACK.
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY could not be set");
            }
        });
        let key = FormKey::new().map_err(|error| std::io::Error::other(error.to_string()))?;
        let stopping = self.running.stopping.clone();
        let closing = stopping.closing().cancelled_owned();
        let service = self.router(key).into_make_service_with_connect_info::<SocketAddr>();
        let serving = axum::serve(listener, service).with_graceful_shutdown(closing);
        stopping.bound(serving.into_future()).await
    }

    fn router(self, key: FormKey) -> Router {
        let gaps = self.rooms.gaps.clone();
        let watch = Watch::new(self.running, &self.rooms);
        let desk = Arc::new(Desk { rooms: self.rooms, seats: Arc::new(Semaphore::new(AT_ONCE)) });
        let operations: Vec<Arc<Operation>> = api::operations().into_iter().map(Arc::new).collect();
        let keys = match &self.doors {
            Doors::Loopback { keys, .. } => keys.clone(),
            Doors::Token(keys) => Some(keys.clone()),
        };
        let most = if self.read_only { Scope::Read } else { Scope::Write };
        let mut router = document::routes(&operations)
            .merge(ingest::routes(gaps, keys))
            .merge(pages::routes(desk.clone(), key, &self.doors))
            .merge(watch.routes.clone());
        for operation in operations {
            router = router.route(operation.path, route(operation, desk.clone()));
        }
        for mount in self.mounts {
            router = router.nest_service(mount.path, by_scope(mount));
        }
        let router = router
            .fallback(pages::nothing_here)
            .method_not_allowed_fallback(async || {
                Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this cannot be done here")
            })
            .layer(axum::middleware::from_fn_with_state(Gate::new(self.doors, most), guard));
        watch.over(router)
    }
}

/// Hands a request to the routes for those who may write, or for those who may only read.
fn by_scope(mount: Mount) -> Router {
    let Mount { write, read, .. } = mount;
    Router::new().fallback(move |Extension(grant): Extension<Grant>, request: Request| async move {
        let router = match grant.scope {
            Scope::Write => write,
            Scope::Read => read,
            Scope::Ingest => return not_allowed(grant.scope).into_response(),
        };
        match router.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    })
}

pub(crate) fn not_allowed(scope: Scope) -> Problem {
    let detail = format!("a token with the scope `{scope}` does not allow this");
    Problem::new(StatusCode::FORBIDDEN, detail)
}

/// Where requests are worked on.
pub(crate) struct Desk {
    rooms: Rooms,
    seats: Arc<Semaphore>,
}

impl Desk {
    /// Does some work off the async threads, if there is a seat free for it. The seat is taken until
    /// the work is done, whether or not somebody still waits for it.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&Rooms) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let seat = self.seats.clone().try_acquire_owned().map_err(|_| Problem::busy())?;
        let rooms = self.rooms.clone();
        let work = move || {
            let _seat = seat;
            work(&rooms)
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| {
            tracing::error!(%error, name, "a request failed");
            let detail = "something went wrong here; it is logged";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
        })
    }
}

fn route(operation: Arc<Operation>, desk: Arc<Desk>) -> MethodRouter {
    let method = MethodFilter::try_from(operation.method.clone()).unwrap_or(MethodFilter::GET);
    on(method, move |request: Request| async move {
        answer(operation, desk, request).await.unwrap_or_else(IntoResponse::into_response)
    })
}

/// Why there is no answer: the contract says so, or the request never got that far.
enum Refused {
    ByContract(Refusal),
    Before(Problem),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Before(problem)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::ByContract(refusal) => (refusal.status, axum::Json(refusal.body)).into_response(),
            Self::Before(problem) => problem.into_response(),
        }
    }
}

async fn answer(
    operation: Arc<Operation>,
    desk: Arc<Desk>,
    request: Request,
) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    let scope = parts.extensions.get::<Grant>().map(|grant| grant.scope);
    if let Some(scope) = scope.filter(|scope| !scope.allows(operation.scope())) {
        return Err(not_allowed(scope).into());
    }
    let arguments = arguments(&operation, &mut parts, body).await?;
    let call = Call { request: arguments, expected: expected(&parts.headers) };
    let run = operation.run.clone();
    let given = desk.work(operation.name, move |rooms| run(rooms, call)).await?;
    Ok(respond(&operation, &parts.headers, given.map_err(Refused::ByContract)?))
}

fn respond(operation: &Operation, asked: &HeaderMap, given: Given) -> Response {
    let tag = given.revision.map(tag);
    let seen = asked.get(header::IF_NONE_MATCH).filter(|_| operation.reads());
    let unchanged = tag.is_some() && seen.and_then(|seen| seen.to_str().ok()) == tag.as_deref();
    let mut response = if unchanged {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = HeaderValue::from_static("application/json");
        (operation.success, [(header::CONTENT_TYPE, kind)], given.body).into_response()
    };
    if let Some(tag) = tag.and_then(|tag| HeaderValue::try_from(tag).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn tag(revision: Revision) -> String {
    format!("\"{}\"", revision.0)
}

/// The revision of `If-Match`; any will do for `*`. What is not a tag of ours is the tag of
/// something that is not there.
fn expected(headers: &HeaderMap) -> Option<Revision> {
    const GONE: Revision = Revision(-1);
    let given = headers.get(header::IF_MATCH)?.to_str().unwrap_or_default().trim();
    if given == "*" {
        return None;
    }
    let number = given.strip_prefix('"').and_then(|given| given.strip_suffix('"'));
    Some(number.and_then(|number| number.parse().ok()).map_or(GONE, Revision))
}

async fn arguments(
    operation: &Operation,
    parts: &mut Parts,
    body: Body,
) -> Result<Map<String, Value>, Problem> {
    let wrong = |detail: String| Problem::new(StatusCode::BAD_REQUEST, detail);
    let mut arguments = Map::new();
    if operation.has_body() {
        arguments = operation.with_integers(read_object(&parts.headers, body).await?);
    }
    let in_path: Path<HashMap<String, String>> = Path::from_request_parts(parts, &())
        .await
        .map_err(|error| wrong(format!("the path cannot be read: {error}")))?;
    for (name, word) in in_path.0.into_iter().chain(query(parts.uri.query().unwrap_or_default())?) {
        if word.chars().count() as u64 > MAX_WORD {
            let detail = format!("`{name}` is longer than {MAX_WORD} characters");
            return Err(wrong(detail));
        }
        let value = operation.typed(&name, &word);
        if operation.is_list(&name) {
            let list = arguments.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            list.as_array_mut().into_iter().for_each(|list| list.push(value.clone()));
            continue;
        }
        if arguments.insert(name.clone(), value).is_some() {
            return Err(wrong(format!("`{name}` is given twice")));
        }
    }
    Ok(arguments)
}

/// The pairs of a query, which must be UTF-8.
pub(crate) fn query(query: &str) -> Result<Vec<(String, String)>, Problem> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        let decoded = percent_decode_str(&text).decode_utf8().map(std::borrow::Cow::into_owned);
        decoded.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "the query is not UTF-8"))
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        })
        .collect()
}

async fn read_object(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let detail = "the body must be JSON: `Content-Type: application/json`";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let bytes = read(body, MAX_BODY).await?;
    let wrong = |detail: String| Problem::new(StatusCode::BAD_REQUEST, detail);
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(wrong("the body is not a JSON object".to_owned())),
        Err(error) => Err(wrong(format!("the body is not JSON: {error}"))),
    }
}

/// The whole body, if it is not too large and does not take forever.
pub(crate) async fn read(body: Body, max: usize) -> Result<Vec<u8>, Problem> {
    match tokio::time::timeout(BODY_TIME, take(body, max)).await {
        Ok(read) => read,
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    }
}

/// A client sees an answer only once it has sent everything, so what is too much is read, too, if
/// it is not far too much.
async fn take(mut body: Body, max: usize) -> Result<Vec<u8>, Problem> {
    let (mut bytes, mut size) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Err(Problem::new(StatusCode::BAD_REQUEST, "the body is cut off"));
        };
        let Ok(data) = frame.into_data() else { continue };
        size += data.len();
        if size <= max {
            bytes.extend_from_slice(&data);
        } else if size > FAR_TOO_LARGE {
            break;
        }
    }
    if size > max {
        let detail = format!("the body is larger than {max} bytes");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    Ok(bytes)
}
