//! The knowledge bases as tools, resources and prompts.

mod prompts;
mod resources;
mod tools;

pub use prompts::prompts;
pub use resources::{KnowledgeResources, file_uri};
pub use tools::{limits, tools};
