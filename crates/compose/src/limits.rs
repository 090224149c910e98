//! How much one request may use, and checks against it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};

/// Each is enforced where it says, and nowhere else is a size decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Limits {
    /// One generated content, one artifact, one file that is read, one config
    pub max_content_size_bytes: usize,
    /// Children of an artifact
    pub max_artifact_components: usize,
    /// Versions older than this are removed when a new one is saved, except the latest
    pub ephemeral_retention_days: u32,
    /// Contents in one batch
    pub max_batch_size: usize,
    /// Steps a template may take
    pub template_fuel: u64,
    /// How deep templates may include and macros may call each other: an include counts for ten, a
    /// call for four
    pub template_recursion: usize,
    /// Bytes a template may write
    pub template_output_bytes: usize,
    /// Bytes of values a template may build and look through, all together
    pub template_work_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_content_size_bytes: 10_000_000,
            max_artifact_components: 100,
            ephemeral_retention_days: 30,
            max_batch_size: 50,
            template_fuel: 2_000_000,
            template_recursion: 200,
            template_output_bytes: 10_000_000,
            template_work_bytes: 100_000_000,
        }
    }
}

impl Limits {
    pub(crate) fn check_size(&self, what: &str, bytes: usize) -> Result<()> {
        check("max_content_size_bytes", what, bytes, self.max_content_size_bytes)
    }

    pub(crate) fn check_components(&self, artifact: &str, count: usize) -> Result<()> {
        let what = format!("the number of children of `{artifact}`");
        check("max_artifact_components", &what, count, self.max_artifact_components)
    }

    pub(crate) fn check_batch(&self, count: usize) -> Result<()> {
        let what = "the number of contents in a batch";
        check("max_batch_size", what, count, self.max_batch_size)
    }
}

pub(crate) fn check(name: &'static str, what: &str, given: usize, limit: usize) -> Result<()> {
    if given <= limit {
        return Ok(());
    }
    Err(Error::Limit { name, what: what.to_owned(), given: given as u64, limit: limit as u64 })
}

/// Checks an argument that counts from one.
pub(crate) fn check_range(argument: &str, given: usize, max: usize) -> Result<()> {
    if (1..=max).contains(&given) {
        return Ok(());
    }
    Err(Error::invalid(argument, format!("is {given}; it can be 1 to {max}")))
}
