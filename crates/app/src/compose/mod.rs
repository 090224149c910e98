//! Operations and resources of compose, which makes files from what is known.

mod artifacts;
mod configs;
mod contents;
mod generators;
mod resources;
mod storage;

use kenning_compose::batch::MAX_PARALLEL;
use kenning_compose::list::MAX_LISTED;
use kenning_compose::{Code, Limits};

pub(crate) use generators::ComposeGenerators;
pub use resources::content_uri;
pub(crate) use resources::{
    ConfigResources, ContentResources, GeneratorResources, SchemaResources,
};

use crate::fault::CommonError;
use crate::limit::Limit;
use crate::operation::Operation;
use crate::toolset::Toolset;

const GROUP: &str = "Compose";

pub(crate) fn operations() -> Vec<Operation> {
    [contents::operations(), artifacts::operations(), configs::operations(), storage::operations()]
        .concat()
}

/// The limits of compose, unless it was opened with other ones.
pub(crate) fn limits() -> Vec<Limit> {
    let limit = |name, value| Limit::of(Toolset::Compose, name, value);
    let limits = Limits::default();
    vec![
        limit("max_content_size_bytes", limits.max_content_size_bytes),
        limit("max_artifact_components", limits.max_artifact_components),
        limit("ephemeral_retention_days", limits.ephemeral_retention_days as usize),
        limit("max_batch_size", limits.max_batch_size),
        limit("max_batch_parallel", MAX_PARALLEL),
        limit("max_listed_configs", MAX_LISTED),
    ]
}

const CONFIG_NOT_FOUND: CommonError =
    CommonError { code: Code::ConfigNotFound.as_str(), message: "No config has this id" };
const CONTENT_NOT_FOUND: CommonError = CommonError {
    code: Code::ContentNotFound.as_str(),
    message: "Nothing has been generated yet, or not this version",
};
const DRAFT_NOT_FOUND: CommonError = CommonError {
    code: Code::DraftNotFound.as_str(),
    message: "No draft has this id; it may have been saved",
};
const INVALID_ID: CommonError = CommonError {
    code: Code::InvalidId.as_str(),
    message: "Ids have lower-case letters, digits and `-`, and begin with a letter",
};
const INVALID_PATH: CommonError = CommonError {
    code: Code::InvalidPath.as_str(),
    message: "A path leads out of the workspace, or to where nothing is written",
};
const CONFIG_INVALID: CommonError = CommonError {
    code: Code::ConfigInvalid.as_str(),
    message: "The config is not what its schema says; each fault is named by its path",
};
const CONFIG_EXISTS: CommonError = CommonError {
    code: Code::ConfigExists.as_str(),
    message: "A config has this id, and overwrite is false",
};
const MISSING_VARIABLE: CommonError = CommonError {
    code: Code::MissingVariable.as_str(),
    message: "The context lacks a value; which is named",
};
const TEMPLATE_ERROR: CommonError = CommonError {
    code: Code::TemplateError.as_str(),
    message: "A template cannot be read or run; the line is named",
};
const LIMIT_EXCEEDED: CommonError = CommonError {
    code: Code::LimitExceeded.as_str(),
    message: "Something is larger, or takes more, than is allowed; the limit is named",
};
const GENERATOR_UNAVAILABLE: CommonError = CommonError {
    code: Code::GeneratorUnavailable.as_str(),
    message: "A generator needs a model or a credential that is not there; which is named",
};
const SOURCE_FAILED: CommonError = CommonError {
    code: Code::SourceFailed.as_str(),
    message: "A source that the config reads did not answer",
};
const CHILD_FAILED: CommonError = CommonError {
    code: Code::ChildFailed.as_str(),
    message: "A required child cannot be had; its own error is in the details",
};
const MERGE_FAILED: CommonError = CommonError {
    code: Code::MergeFailed.as_str(),
    message: "Children cannot be merged, in this format or as they are",
};
const OUTPUT_CHANGED: CommonError = CommonError {
    code: Code::OutputChanged.as_str(),
    message: "The file is somebody else's or was changed since, and force is false",
};
const CONTENT_REFERENCED: CommonError = CommonError {
    code: Code::ContentReferenced.as_str(),
    message: "Artifacts are made of it, and force is false",
};
const STORAGE_ERROR: CommonError = CommonError {
    code: Code::StorageError.as_str(),
    message: "There is no workspace, or its disk failed",
};
