//! Where the model comes from, and loading it.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use kenning_embed::Embedder;

use crate::semantic::IndexError;

/// Which model to use.
#[derive(Debug, Clone, Default)]
pub enum ModelSource {
    #[default]
    Bundled,
    Folder(PathBuf),
}

impl ModelSource {
    pub fn load(&self) -> Result<Arc<Embedder>, IndexError> {
        tracing::debug!("loading the model");
        Ok(Arc::new(match self {
            Self::Bundled => Embedder::bundled()?,
            Self::Folder(folder) => Embedder::load(folder)?,
        }))
    }

    /// What [`Embedder::fingerprint`] would be, without loading the model.
    pub fn fingerprint(&self) -> Result<String, IndexError> {
        Ok(match self {
            Self::Bundled => Embedder::bundled_fingerprint(),
            Self::Folder(folder) => Embedder::fingerprint_in(folder)?,
        })
    }

    /// Loads the model on a thread, so that files can be read in the meantime.
    pub fn start_loading(self) -> std::io::Result<LoadingModel> {
        let thread = std::thread::Builder::new().name("model".to_owned());
        Ok(LoadingModel(thread.spawn(move || self.load())?))
    }
}

/// A model that is being loaded.
#[derive(Debug)]
pub struct LoadingModel(JoinHandle<Result<Arc<Embedder>, IndexError>>);

impl LoadingModel {
    pub(crate) fn wait(self) -> Result<Arc<Embedder>, IndexError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
