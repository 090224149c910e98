//! Resources: data that clients address by URI.

use std::collections::HashMap;

use rmcp::model::{ErrorData, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::house::House;
use crate::inventory::Toolset;
use crate::rooms::Rooms;

/// How many URIs a family shows as examples.
const EXAMPLES: usize = 2;

/// All resources of one URI scheme.
pub trait ResourceFamily: Send + Sync {
    /// The part of the URI before `://`.
    fn scheme(&self) -> &'static str;

    /// The toolset it is switched on and off with; `None` if it is always there.
    fn toolset(&self) -> Option<Toolset>;

    /// In one line, for documents.
    fn description(&self) -> &'static str;

    fn templates(&self) -> Vec<ResourceTemplate>;

    /// What the variables of the templates mean.
    fn parameters(&self) -> Vec<Parameter>;

    /// Up to `limit` resources, in a fixed order, that come after the one with URI `after`.
    fn list(&self, rooms: &Rooms, after: Option<&str>, limit: usize) -> Vec<Resource>;

    fn read(&self, house: &House, uri: &str) -> Result<ResourceContents, ReadError>;

    /// Whether a client that reads twice in a row may get two answers, so that it should not keep
    /// the first.
    fn is_live(&self) -> bool {
        false
    }

    /// URIs that can be read now.
    fn examples(&self, rooms: &Rooms) -> Vec<String> {
        self.list(rooms, None, EXAMPLES).into_iter().map(|resource| resource.uri).collect()
    }

    /// Values for `argument` of a template, given those chosen already.
    fn complete(
        &self,
        rooms: &Rooms,
        argument: &str,
        chosen: &HashMap<String, String>,
    ) -> Vec<String>;
}

/// A variable of a URI template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    pub description: &'static str,
    /// All values it can have, where they are fixed.
    pub values: Option<Vec<&'static str>>,
}

impl Parameter {
    pub fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, values: None }
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
    pub(crate) fn into_error_data(self, uri: &str) -> ErrorData {
        ErrorData::resource_not_found(self.to_string(), Some(json!({ "uri": uri })))
    }
}

impl From<kenning_knowledge::Error> for ReadError {
    fn from(error: kenning_knowledge::Error) -> Self {
        Self { message: error.to_string(), hint: error.hint() }
    }
}
