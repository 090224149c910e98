//! The `OpenAPI` document, and the same as a page.
//!
//! It is built as JSON from the operations and their JSON Schemas, which `OpenAPI` 3.1 takes as they
//! are. A library's types would know less than the schemas, and lose the rest.

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode, header};
use axum::routing::get;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::pages;
use crate::rest::{Endpoint, MAX_URL_ARGUMENT};

const DOCUMENT: &str = "/api/openapi.json";

pub(crate) fn routes(endpoints: &[Arc<Endpoint>]) -> Router {
    let document = serde_json::to_string_pretty(&document(endpoints)).unwrap_or_default();
    let page = page(endpoints);
    let json = move || async move { ([(header::CONTENT_TYPE, "application/json")], document) };
    Router::new()
        .route(DOCUMENT, get(json))
        .route("/api", get(move || async move { pages::html(StatusCode::OK, page) }))
}

fn document(endpoints: &[Arc<Endpoint>]) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints {
        let path = paths.entry(endpoint.route.path.clone()).or_insert_with(|| json!({}));
        path[endpoint.route.method.as_str().to_lowercase()] = described(endpoint);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kenning",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What coding agents can do, what is known, and what is missing. Away \
                from the machine it runs on, the server asks for a token \
                (`kenning token create`).",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": problem()},
        },
    })
}

fn described(endpoint: &Endpoint) -> Value {
    let mut described = json!({
        "operationId": endpoint.operation.name,
        "summary": endpoint.route.summary,
        "tags": [endpoint.route.group],
        "parameters": parameters(endpoint),
        "responses": responses(endpoint),
    });
    if endpoint.route.has_body() {
        let content = json!({"application/json": {"schema": body(endpoint)}});
        described["requestBody"] = json!({"required": true, "content": content});
    }
    described
}

fn properties(endpoint: &Endpoint) -> impl Iterator<Item = (&String, &Value)> {
    endpoint.request.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn is_required(endpoint: &Endpoint, name: &str) -> bool {
    let required = endpoint.request.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let is_in_url = |name: &str| endpoint.route.in_path(name) || !endpoint.route.has_body();
    let named = properties(endpoint).filter(|(name, _)| is_in_url(name)).map(|(name, schema)| {
        json!({
            "name": name,
            "in": if endpoint.route.in_path(name) { "path" } else { "query" },
            "required": is_required(endpoint, name),
            "description": schema.get("description").cloned().unwrap_or_default(),
            "schema": in_url(schema.clone()),
        })
    });
    named.chain(header(endpoint)).collect()
}

/// The header for conditional requests.
fn header(endpoint: &Endpoint) -> Option<Value> {
    let route = &endpoint.route;
    let (name, description) = match (route.has_revision, route.is_conditional) {
        (true, _) if route.method == Method::GET => {
            ("If-None-Match", "The ETag of an earlier answer: 304 if nothing has changed since")
        }
        (_, true) => {
            ("If-Match", "The ETag of an earlier answer: 412 if something has changed since")
        }
        _ => return None,
    };
    let schema = json!({"type": "string"});
    Some(json!({"name": name, "in": "header", "description": description, "schema": schema}))
}

/// An argument in a URL is present or absent; it cannot be null.
fn in_url(mut schema: Value) -> Value {
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
    }
    if let Some(options) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        options.retain(|option| option.get("type").is_none_or(|kind| kind != "null"));
    }
    if let Some(schema) = schema.as_object_mut() {
        let is_unsigned = |format: &Value| matches!(format.as_str(), Some("uint" | "uint64"));
        if schema.get("format").is_some_and(is_unsigned) && !schema.contains_key("maximum") {
            schema.insert("maximum".to_owned(), u64::MAX.into());
        }
        if schema
            .get("maxLength")
            .and_then(Value::as_u64)
            .is_some_and(|most| most > MAX_URL_ARGUMENT)
        {
            schema.insert("maxLength".to_owned(), MAX_URL_ARGUMENT.into());
        }
        schema.remove("description");
        schema.retain(|name, value| name != "default" || !value.is_null());
    }
    schema
}

fn body(endpoint: &Endpoint) -> Value {
    let mut schema = endpoint.request.clone();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !endpoint.route.in_path(name));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !name.as_str().is_some_and(|name| endpoint.route.in_path(name)));
    }
    schema.into()
}

fn responses(endpoint: &Endpoint) -> Value {
    let mut responses = Map::new();
    let content = json!({"application/json": {"schema": endpoint.operation.response_schema()}});
    let mut answer = json!({"description": "Done", "content": content});
    if endpoint.route.has_revision {
        answer["headers"] = json!({"ETag": {"schema": {"type": "string"}}});
        if endpoint.route.method == Method::GET {
            responses.insert("304".to_owned(), json!({"description": "Nothing has changed"}));
        }
    }
    responses.insert(endpoint.route.success.as_str().to_owned(), answer);
    for status in endpoint.operation.error_statuses() {
        responses.insert(status.to_string(), refusal(endpoint, status));
    }
    let problem = json!({"$ref": "#/components/schemas/Problem"});
    let content = json!({"application/problem+json": {"schema": problem}});
    let other = json!({"description": "Something that is not in the contract", "content": content});
    responses.insert("default".to_owned(), other);
    responses.into()
}

/// A request may fail by the operation's contract, or before it reaches the operation.
fn refusal(endpoint: &Endpoint, status: u16) -> Value {
    let mut content = json!({"application/json": {"schema": endpoint.operation.error_schema()}});
    if matches!(status, 400 | 500) {
        let problem = json!({"$ref": "#/components/schemas/Problem"});
        content["application/problem+json"] = json!({"schema": problem});
    }
    let reason = StatusCode::from_u16(status).ok();
    let reason = reason.and_then(|status| status.canonical_reason()).unwrap_or("Refused");
    json!({"description": reason, "content": content})
}

fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
        },
    })
}

fn page(endpoints: &[Arc<Endpoint>]) -> Markup {
    let body = html! {
        main id="main" class="reference" tabindex="-1" {
            p { a href="/" { "Kenning" } }
            h1 { "The API" }
            p { "For programs: " a href=(DOCUMENT) { (DOCUMENT) } "." }
            @for endpoint in endpoints {
                section id=(endpoint.operation.name) {
                    h2 { code { (endpoint.route.method) " " (endpoint.route.path) } }
                    p { (endpoint.route.summary) "." }
                    (arguments(endpoint))
                    details {
                        summary { "The answer" }
                        pre { (pretty(&endpoint.operation.response_schema())) }
                    }
                }
            }
        }
    };
    pages::document("Kenning: the API", &body)
}

fn arguments(endpoint: &Endpoint) -> Markup {
    html! {
        table {
            @for (name, schema) in properties(endpoint) {
                tr {
                    td { code { (name) } @if is_required(endpoint, name) { " *" } }
                    td { (schema.get("description").and_then(Value::as_str).unwrap_or_default()) }
                }
            }
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use kenning_app::Inventory;

    use super::*;
    use crate::rest;

    /// The contract of every operation on one line: route, success, errors, and a hash of what its
    /// part of the document says.
    #[test]
    fn every_operation_keeps_its_contract() {
        let endpoints = rest::endpoints(&Inventory::full());
        let document = document(&endpoints);
        let mut lines: Vec<String> = endpoints.iter().map(|one| line(one, &document)).collect();
        lines.sort();
        insta::assert_snapshot!(lines.join("\n"));
    }

    fn line(endpoint: &Endpoint, document: &Value) -> String {
        let (method, path) = (endpoint.route.method.as_str(), &endpoint.route.path);
        let described = &document["paths"][path.as_str()][method.to_lowercase()];
        let statuses = described["responses"].as_object().expect("an object").keys();
        let statuses: Vec<&str> = statuses.map(String::as_str).collect();
        let hash = blake3::hash(described.to_string().as_bytes()).to_hex();
        let mut line = format!("{path} {method} {}", endpoint.operation.name);
        write!(line, " [{}] {}", statuses.join(" "), &hash[..16]).expect("a string can be written");
        line
    }
}
