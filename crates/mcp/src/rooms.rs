//! What tools and resources draw on.

use std::sync::Arc;

use kenning_knowledge::Library;

/// The rooms of the house that are open to clients.
#[derive(Debug, Clone)]
pub struct Rooms {
    pub library: Arc<Library>,
}
