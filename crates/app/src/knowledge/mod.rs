//! Operations, resources and prompts of the knowledge bases.

mod operations;
mod prompts;
mod resources;

pub(crate) use operations::{limits, operations};
pub(crate) use prompts::prompts;
pub(crate) use resources::KnowledgeResources;
pub use resources::file_uri;
