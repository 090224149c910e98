//! Resources: data that clients address by URI.

use std::collections::HashMap;

use rmcp::model::{ErrorData, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::rooms::Rooms;

/// All resources of one URI scheme.
pub trait ResourceFamily: Send + Sync {
    /// The part of the URI before `://`.
    fn scheme(&self) -> &'static str;

    /// In one line, for documents.
    fn description(&self) -> &'static str;

    fn templates(&self) -> Vec<ResourceTemplate>;

    /// Up to `limit` resources, in a fixed order, that come after the one with URI `after`.
    fn list(&self, rooms: &Rooms, after: Option<&str>, limit: usize) -> Vec<Resource>;

    fn read(&self, rooms: &Rooms, uri: &str) -> Result<ResourceContents, ReadError>;

    /// Values for `argument` of a template, given those chosen already.
    fn complete(
        &self,
        rooms: &Rooms,
        argument: &str,
        chosen: &HashMap<String, String>,
    ) -> Vec<String>;
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
