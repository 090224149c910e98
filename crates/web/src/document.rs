//! The `OpenAPI` document, and the same for people.
//!
//! It is put together from the operations and the rooms' own JSON Schemas, which `OpenAPI` 3.1
//! takes as they are.

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::routing::get;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::operation::{MAX_WORD, Operation};
use crate::pages;

const DOCUMENT: &str = "/api/openapi.json";

pub(crate) fn routes(operations: &[Arc<Operation>]) -> Router {
    let document = serde_json::to_string_pretty(&document(operations)).unwrap_or_default();
    let page = page(operations);
    let shown = |page: Markup| pages::html(StatusCode::OK, page);
    let json = move || async move { ([(header::CONTENT_TYPE, "application/json")], document) };
    Router::new().route(DOCUMENT, get(json)).route("/api", get(move || async move { shown(page) }))
}

fn document(operations: &[Arc<Operation>]) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_lowercase()] = described(operation);
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

fn described(operation: &Operation) -> Value {
    let mut described = json!({
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.group],
        "parameters": parameters(operation),
        "responses": responses(operation),
    });
    if operation.has_body() {
        let content = json!({"application/json": {"schema": body(operation)}});
        described["requestBody"] = json!({"required": true, "content": content});
    }
    described
}

fn properties(operation: &Operation) -> impl Iterator<Item = (&String, &Value)> {
    operation.takes.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn is_required(operation: &Operation, name: &str) -> bool {
    let required = operation.takes.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let in_address = |name: &str| operation.in_path(name) || !operation.has_body();
    let named = properties(operation).filter(|(name, _)| in_address(name)).map(|(name, schema)| {
        json!({
            "name": name,
            "in": if operation.in_path(name) { "path" } else { "query" },
            "required": is_required(operation, name),
            "description": schema.get("description").cloned().unwrap_or_default(),
            "schema": given(schema.clone()),
        })
    });
    named.chain(header(operation)).collect()
}

/// The header by which a change is made to what was seen, and an answer given only if it is new.
fn header(operation: &Operation) -> Option<Value> {
    let (name, description) = match (operation.reads(), operation.refusals.contains(&412)) {
        (true, _) if operation.versioned => {
            ("If-None-Match", "The ETag of an earlier answer: 304 if nothing has changed since")
        }
        (false, true) => {
            ("If-Match", "The ETag of an earlier answer: 412 if something has changed since")
        }
        _ => return None,
    };
    let schema = json!({"type": "string"});
    Some(json!({"name": name, "in": "header", "description": description, "schema": schema}))
}

/// What stands in an address is there or is not; it cannot be null.
fn given(mut schema: Value) -> Value {
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
        if schema.get("maxLength").and_then(Value::as_u64).is_some_and(|most| most > MAX_WORD) {
            schema.insert("maxLength".to_owned(), MAX_WORD.into());
        }
        schema.remove("description");
        schema.retain(|name, value| name != "default" || !value.is_null());
    }
    schema
}

fn body(operation: &Operation) -> Value {
    let mut schema = operation.takes.clone();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !operation.in_path(name));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !name.as_str().is_some_and(|name| operation.in_path(name)));
    }
    schema.into()
}

fn responses(operation: &Operation) -> Value {
    let mut responses = Map::new();
    let content = json!({"application/json": {"schema": operation.gives}});
    let mut answer = json!({"description": "Done", "content": content});
    if operation.versioned {
        answer["headers"] = json!({"ETag": {"schema": {"type": "string"}}});
        if operation.reads() {
            responses.insert("304".to_owned(), json!({"description": "Nothing has changed"}));
        }
    }
    responses.insert(operation.success.as_str().to_owned(), answer);
    for status in operation.refusals {
        responses.insert(status.to_string(), refusal(operation, *status));
    }
    let problem = json!({"$ref": "#/components/schemas/Problem"});
    let content = json!({"application/problem+json": {"schema": problem}});
    let other = json!({"description": "Something that is not in the contract", "content": content});
    responses.insert("default".to_owned(), other);
    responses.into()
}

/// A request may be refused by the contract, or before it gets that far.
fn refusal(operation: &Operation, status: u16) -> Value {
    let mut content = json!({"application/json": {"schema": operation.refused}});
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

fn page(operations: &[Arc<Operation>]) -> Markup {
    let body = html! {
        main id="main" class="reference" tabindex="-1" {
            p { a href="/" { "Kenning" } }
            h1 { "The API" }
            p { "For programs: " a href=(DOCUMENT) { (DOCUMENT) } "." }
            @for operation in operations {
                section id=(operation.name) {
                    h2 { code { (operation.method) " " (operation.path) } }
                    p { (operation.summary) "." }
                    (arguments(operation))
                    details {
                        summary { "The answer" }
                        pre { (pretty(&operation.gives)) }
                    }
                }
            }
        }
    };
    pages::document("Kenning: the API", &body)
}

fn arguments(operation: &Operation) -> Markup {
    html! {
        table {
            @for (name, schema) in properties(operation) {
                tr {
                    td { code { (name) } @if is_required(operation, name) { " *" } }
                    td { (schema.get("description").and_then(Value::as_str).unwrap_or_default()) }
                }
            }
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
