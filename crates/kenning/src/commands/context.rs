//! What commands share: settings, the printer, and one way to open library, store and catalog.

use std::sync::Arc;

use kenning_catalog::Catalog;
use kenning_catalog::catalog::Overlay;
use kenning_embed::Embedder;
use kenning_knowledge::Library;
use kenning_knowledge::semantic::{Indexer, NoCache, Pass, VectorCache};
use kenning_store::{Location, NotReady, Store};
use serde::Serialize;

use super::paths::data_folder;
use crate::cli::Global;
use crate::failure::{Exit, Failure};
use crate::printer::Printer;
use kenning_settings::{Layers, Settings};

/// What every command starts from.
pub(super) struct Context {
    pub(super) settings: Settings,
    pub(super) layers: Layers,
    pub(super) printer: Printer,
    /// The flags of this command, for processes that it starts.
    pub(super) global: Global,
}

impl Context {
    /// Prints the answer of a command that then ends with success.
    pub(super) fn answer<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<Exit, Failure> {
        self.printer.answer(value, text)?;
        Ok(Exit::Success)
    }

    /// Reads the knowledge bases.
    pub(super) fn open_library(&self) -> Result<Library, Failure> {
        let bases = self.settings.open_bases(&self.layers)?;
        Ok(self.with_progress("reading", |report| Library::open(bases, report))?)
    }

    pub(super) fn embed(
        &self,
        library: &Arc<Library>,
        cache: Arc<dyn VectorCache>,
    ) -> Result<Pass, Failure> {
        let model = self.settings.model(&self.layers)?.load()?;
        let mut indexer = Indexer::new(library.clone(), cache, model);
        Ok(self.with_progress("embedding", |report| indexer.catch_up(report))?)
    }

    fn with_progress<T>(
        &self,
        activity: &'static str,
        work: impl FnOnce(&(dyn Fn(usize, usize) + Sync)) -> T,
    ) -> T {
        let bar = self.printer.progress(activity);
        work(&|done, total| bar.set(done, total))
    }

    /// The store, for commands that also work without one: `None` if there is no folder for it or,
    /// with a warning, if it cannot be opened. A store that was named by its URL must open.
    pub(super) fn open_store(&self) -> Result<Option<Arc<Store>>, Failure> {
        Ok(self.try_store()?.unwrap_or_default())
    }

    /// [`Self::open_store`], which tells why a store could not be opened.
    pub(super) fn try_store(&self) -> Result<Result<Option<Arc<Store>>, NotReady>, Failure> {
        let has_url = store_at_url(&self.settings, &self.layers)?.is_some();
        let Some(location) = store_location(&self.settings, &self.layers)? else {
            return Ok(Ok(None));
        };
        match Store::connect(&location) {
            Ok(store) => Ok(Ok(Some(Arc::new(store)))),
            Err(error) if has_url => Err(error.into()),
            Err(error) => {
                tracing::warn!(%error, "the store cannot be opened; nothing of this run is stored");
                Ok(Err(NotReady::from(&error)))
            }
        }
    }

    /// The store, for commands that cannot work without one.
    pub(super) fn require_store(&self) -> Result<Arc<Store>, Failure> {
        let location = store_location(&self.settings, &self.layers)?.ok_or_else(|| {
            Failure::new("there is no folder for the store")
                .hint("set HOME, or name a database with --store")
        })?;
        Ok(Arc::new(Store::connect(&location)?))
    }

    pub(super) fn vector_cache(store: Option<&Arc<Store>>) -> Arc<dyn VectorCache> {
        match store {
            Some(store) => store.clone(),
            None => Arc::new(NoCache),
        }
    }

    /// The built-in catalog, with the user's own added or in its place.
    pub(super) fn catalog(&self) -> Result<Catalog, Failure> {
        let Some(folder) = self.settings.catalog_folder(&self.layers)? else {
            return Ok(Catalog::bundled());
        };
        let bundled = self.settings.catalog.bundled;
        let overlay = if bundled { Overlay::Extend } else { Overlay::Replace };
        Ok(Catalog::with_folder(&folder, overlay)?)
    }
}

/// The store that `store.url` names, if it is set.
fn store_at_url(settings: &Settings, layers: &Layers) -> Result<Option<Location>, Failure> {
    let location = settings.store_url(layers)?.map(str::parse::<Location>).transpose();
    Ok(location.map_err(|error| layers.fault("store.url", &error.to_string()))?)
}

/// Where the store is: at its URL, in the folder of the settings, or in the user's data folder.
pub(super) fn store_location(
    settings: &Settings,
    layers: &Layers,
) -> Result<Option<Location>, Failure> {
    if let Some(location) = store_at_url(settings, layers)? {
        return Ok(Some(location));
    }
    let folder = settings.storage_folder(layers)?.or_else(data_folder);
    Ok(folder.map(Location::Folder))
}

/// Embeds with the built-in model, which is loaded on the first call: most commands that may need
/// it do not.
pub(super) fn embed(text: &str) -> Option<Vec<f32>> {
    tracing::debug!("loading the model, or using the loaded one");
    Embedder::shared_bundled()?.embed(text).ok()
}
