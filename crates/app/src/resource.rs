//! Resources: data that clients address by URI.

use std::collections::HashMap;

use kenning_sanitize::{sanitize, sanitize_value};
use serde_json::Value;

use crate::limiter::Workload;
use crate::operation::JsonObject;
use crate::services::Services;
use crate::state::AppState;
use crate::toolset::Toolset;

/// How many URIs a family shows as examples.
const EXAMPLES: usize = 2;
/// Completions in one answer; the protocol allows no more.
pub const MAX_COMPLETIONS: usize = 100;

pub(crate) const JSON: &str = "application/json";

/// All resources of one URI scheme.
pub trait ResourceFamily: Send + Sync {
    fn family(&self) -> &'static Family;

    /// Up to `limit` resources, in a fixed order, that come after the one with URI `after`.
    fn list(&self, services: &Services, after: Option<&str>, limit: usize) -> Vec<Resource>;

    fn read(&self, state: &AppState, uri: &str) -> Result<Contents, ReadError>;

    /// URIs that can be read now.
    fn examples(&self, services: &Services) -> Vec<String> {
        self.list(services, None, EXAMPLES).into_iter().map(|resource| resource.uri).collect()
    }

    /// Values for `argument` of a template, given those chosen already.
    fn complete(
        &self,
        services: &Services,
        argument: &str,
        chosen: &HashMap<String, String>,
    ) -> Vec<String>;
}

/// What is fixed about a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// The part of the URI before `://`.
    pub scheme: &'static str,
    /// The toolset it is switched on and off with; `None` if it is always there.
    pub toolset: Option<Toolset>,
    /// In one line, for documents.
    pub description: &'static str,
    pub templates: &'static [Template],
    /// What the variables of the templates mean.
    pub parameters: &'static [Parameter],
    /// Whether reading twice in a row may give two answers, so that clients should not cache.
    pub is_live: bool,
    /// What reading one of its resources waits for.
    pub workload: Workload,
}

/// A resource in a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resource {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<&'static str>,
    pub mime_type: &'static str,
    /// In bytes.
    pub size: Option<u64>,
    pub meta: Option<JsonObject>,
}

impl Resource {
    pub(crate) fn new(
        uri: impl Into<String>,
        name: impl Into<String>,
        mime_type: &'static str,
    ) -> Self {
        Self { uri: uri.into(), name: name.into(), mime_type, ..Self::default() }
    }

    /// The URI stays as it is: it leads to the resource.
    pub(crate) fn sanitized(mut self) -> Self {
        self.name = sanitize(&self.name).into_owned();
        self.title = self.title.map(|title| sanitize(&title).into_owned());
        self.meta = self.meta.map(sanitized_object);
        self
    }
}

fn sanitized_object(object: JsonObject) -> JsonObject {
    let mut value = Value::Object(object);
    sanitize_value(&mut value);
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Resources of one page, and where the next one begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub resources: Vec<Resource>,
    pub next_cursor: Option<String>,
}

/// A pattern of URIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    pub uri: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub mime_type: &'static str,
}

/// A variable of a URI template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    pub description: &'static str,
    /// All values it can have, where they are fixed.
    pub values: Option<&'static [&'static str]>,
}

impl Parameter {
    pub(crate) const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, values: None }
    }
}

/// What a resource holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    pub uri: String,
    pub mime_type: &'static str,
    pub text: String,
    pub meta: Option<JsonObject>,
}

impl Contents {
    pub(crate) fn new(uri: &str, mime_type: &'static str, text: impl Into<String>) -> Self {
        Self { uri: uri.to_owned(), mime_type, text: text.into(), meta: None }
    }

    pub(crate) fn json<T: serde::Serialize>(uri: &str, value: &T) -> Self {
        Self::new(uri, JSON, serde_json::to_string(value).expect("answers are plain JSON"))
    }

    /// A model must read what a person would see.
    pub(crate) fn sanitized(mut self) -> Self {
        if let std::borrow::Cow::Owned(text) = sanitize(&self.text) {
            self.text = text;
        }
        self.meta = self.meta.map(sanitized_object);
        self
    }
}

/// Why a URI could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {hint}")]
pub struct ReadError {
    pub message: String,
    pub hint: String,
}

impl ReadError {
    pub(crate) fn sanitized(self) -> Self {
        let Self { message, hint } = self;
        Self { message: sanitize(&message).into_owned(), hint: sanitize(&hint).into_owned() }
    }
}

impl From<kenning_knowledge::Error> for ReadError {
    fn from(error: kenning_knowledge::Error) -> Self {
        Self { message: error.to_string(), hint: error.hint() }
    }
}

impl From<kenning_registry::Error> for ReadError {
    fn from(error: kenning_registry::Error) -> Self {
        let hint = error.hint().unwrap_or("`registry://agents` lists the agents there are");
        Self { message: error.to_string(), hint: hint.to_owned() }
    }
}

impl From<kenning_compose::Error> for ReadError {
    fn from(error: kenning_compose::Error) -> Self {
        let hint = error.hint().unwrap_or_else(|| {
            "`list_content`, `list_artifacts` and `list_generators` list what there is".to_owned()
        });
        Self { message: error.to_string(), hint }
    }
}
