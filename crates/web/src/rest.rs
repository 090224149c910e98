//! Operations as REST routes: a request becomes a call, the outcome a response.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use kenning_app::{
    Answer, AppState, Call, CallError, Effect, Fault, Inventory, JsonObject, Operation, Route,
    Surface,
};
use kenning_registry::Revision;
use serde_json::Value;

use crate::auth::{Grant, not_allowed};
use crate::body::{MAX_BODY, query, read};
use crate::problem::Problem;
use crate::token::Scope;

/// The longest argument in a URL, in characters: however it is encoded, the URL can be read.
pub(crate) const MAX_URL_ARGUMENT: u64 = 5_000;

/// Characters of a client's name that are recorded.
const MAX_CLIENT: usize = 100;

/// An operation with a route, and the schema that its arguments are read by.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) operation: Operation,
    pub(crate) route: Route,
    pub(crate) request: JsonObject,
    /// Whether the contract of its errors has a hint. Where it has none, it is fixed to the letter.
    hints: bool,
}

pub(crate) fn endpoints(inventory: &Inventory) -> Vec<Arc<Endpoint>> {
    let routed = inventory.operations.iter().filter_map(|operation| {
        let (operation, route) = (operation.clone(), operation.route.clone()?);
        let request = operation.request_schema().as_object().cloned().unwrap_or_default();
        let hints = operation.error_schema()["properties"].get("hint").is_some();
        Some(Arc::new(Endpoint { operation, route, request, hints }))
    });
    routed.collect()
}

pub(crate) fn routes(endpoints: &[Arc<Endpoint>], app: &AppState) -> Router {
    endpoints.iter().fold(Router::new(), |router, endpoint| {
        router.route(&endpoint.route.path, method(endpoint.clone(), app.clone()))
    })
}

fn method(endpoint: Arc<Endpoint>, app: AppState) -> MethodRouter {
    let method = MethodFilter::try_from(endpoint.route.method.clone()).unwrap_or(MethodFilter::GET);
    on(method, move |request: Request| async move {
        respond_to(&endpoint, &app, request).await.unwrap_or_else(IntoResponse::into_response)
    })
}

async fn respond_to(
    endpoint: &Endpoint,
    app: &AppState,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let scope = parts.extensions.get::<Grant>().map(|grant| grant.scope);
    if let Some(scope) = scope.filter(|scope| !scope.allows(endpoint.scope())) {
        return Err(not_allowed(scope));
    }
    let arguments = endpoint.arguments(&mut parts, body).await?;
    let expected = expected(&parts.headers);
    let client = client(&parts.headers);
    let call = Call { expected, client, ..Call::new(Surface::Rest, arguments) };
    match app.call(&endpoint.operation, call).await {
        Ok(answer) => Ok(endpoint.respond(&parts.headers, answer)),
        Err(CallError::Fault(fault)) => Ok(endpoint.fail(fault)),
        Err(CallError::Refused(refused)) => Err(refused.into()),
    }
}

impl Endpoint {
    fn scope(&self) -> Scope {
        if self.operation.effect == Effect::Reads { Scope::Read } else { Scope::Write }
    }

    async fn arguments(&self, parts: &mut Parts, body: Body) -> Result<JsonObject, Problem> {
        let wrong = |detail: String| Problem::new(StatusCode::BAD_REQUEST, detail);
        let mut arguments = JsonObject::new();
        if self.route.has_body() {
            arguments = self.with_integers(read_object(&parts.headers, body).await?);
        }
        let in_path: Path<HashMap<String, String>> = Path::from_request_parts(parts, &())
            .await
            .map_err(|error| wrong(format!("the path cannot be read: {error}")))?;
        let in_query = query(parts.uri.query().unwrap_or_default())?;
        for (name, text) in in_path.0.into_iter().chain(in_query) {
            if text.chars().count() as u64 > MAX_URL_ARGUMENT {
                let detail = format!("`{name}` is longer than {MAX_URL_ARGUMENT} characters");
                return Err(wrong(detail));
            }
            let value = self.typed(&name, &text);
            if self.is_list(&name) {
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

    /// The value that a text in a URL stands for, by its schema.
    fn typed(&self, name: &str, text: &str) -> Value {
        let as_text = || Value::from(text);
        if self.is(name, "integer") {
            let whole = text.strip_suffix(".0").unwrap_or(text);
            let number = whole.parse::<i64>().map(Value::from);
            let number = number.or_else(|_| whole.parse::<u64>().map(Value::from));
            return number.unwrap_or_else(|_| as_text());
        }
        if self.is(name, "boolean") {
            return text.parse::<bool>().map_or_else(|_| as_text(), Value::from);
        }
        as_text()
    }

    /// Whether an argument may stand in a URL several times, once for each entry.
    fn is_list(&self, name: &str) -> bool {
        !self.route.has_body() && self.is(name, "array")
    }

    /// `11.0` is an integer in JSON.
    fn with_integers(&self, arguments: JsonObject) -> JsonObject {
        let whole = |name: &str, value: Value| match value.as_f64() {
            Some(number) if value.is_f64() && self.is(name, "integer") && number.fract() == 0.0 => {
                format!("{number:.0}").parse::<i64>().map_or(value, Value::from)
            }
            _ => value,
        };
        arguments.into_iter().map(|(name, value)| (name.clone(), whole(&name, value))).collect()
    }

    fn is(&self, argument: &str, wanted: &str) -> bool {
        let schema = self.request.get("properties").and_then(|all| all.get(argument));
        match schema.and_then(|schema| schema.get("type")) {
            Some(Value::String(kind)) => kind == wanted,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
            _ => false,
        }
    }

    fn fail(&self, fault: Fault) -> Response {
        let status = fault.status();
        let hint = fault.hint.filter(|_| self.hints);
        (status, axum::Json(Fault { hint, ..fault })).into_response()
    }

    fn respond(&self, asked: &HeaderMap, answer: Answer) -> Response {
        let tag = answer.revision.map(|revision| format!("\"{}\"", revision.0));
        let known = asked.get(header::IF_NONE_MATCH).filter(|_| self.route.method == Method::GET);
        let unchanged =
            tag.is_some() && known.and_then(|known| known.to_str().ok()) == tag.as_deref();
        let mut response = if unchanged {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let json = HeaderValue::from_static("application/json");
            (self.route.success, [(header::CONTENT_TYPE, json)], answer.json).into_response()
        };
        if let Some(tag) = tag.and_then(|tag| HeaderValue::try_from(tag).ok()) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

/// Tells the sessions of different clients apart.
fn client(headers: &HeaderMap) -> Option<String> {
    let agent = headers.get(header::USER_AGENT)?.to_str().ok()?;
    Some(agent.chars().take(MAX_CLIENT).collect())
}

/// The revision of `If-Match`; `*` matches any. What is not one of our tags matches none.
fn expected(headers: &HeaderMap) -> Option<Revision> {
    const NONE: Revision = Revision(-1);
    let given = headers.get(header::IF_MATCH)?.to_str().unwrap_or_default().trim();
    if given == "*" {
        return None;
    }
    let number = given.strip_prefix('"').and_then(|given| given.strip_suffix('"'));
    Some(number.and_then(|number| number.parse().ok()).map_or(NONE, Revision))
}

async fn read_object(headers: &HeaderMap, body: Body) -> Result<JsonObject, Problem> {
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
