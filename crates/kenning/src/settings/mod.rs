//! What the user wants, merged once from everywhere it can be said.
//!
//! From weak to strong: defaults, the user's file, the project's file, `KENNING_*` variables,
//! flags. [`layers`] merges them; this module gives the result its types and checks it.

mod layers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kenning_knowledge::Base;
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::semantic::ModelSource;
use kenning_store::Location;
use serde::Deserialize;

use crate::failure::Failure;
pub use layers::{DEFAULTS, Layers, Origin, Sources, env_name};

#[derive(Debug, Deserialize)]
pub struct Settings {
    pub knowledge_base: KnowledgeBase,
    pub bases: BTreeMap<String, NamedBase>,
    pub index: Index,
    #[serde(with = "DiscoveryTable")]
    pub discovery: Discovery,
    pub catalog: CatalogSettings,
    pub store: StoreSettings,
    pub gaps: GapsSettings,
    pub compose: ComposeSettings,
    pub server: Server,
}

#[derive(Debug, Deserialize)]
pub struct KnowledgeBase {
    pub root_path: PathBuf,
    pub file_patterns: Vec<String>,
    pub exclude_patterns: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct NamedBase {
    pub root_path: PathBuf,
    pub file_patterns: Option<Vec<String>>,
    pub exclude_patterns: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub struct Index {
    pub storage_path: PathBuf,
    pub model_path: PathBuf,
    pub embedding_model: String,
    pub embedding_dimensions: usize,
    pub similarity_metric: String,
}

/// [`Discovery`] as it stands in a file.
#[derive(Deserialize)]
#[serde(remote = "Discovery")]
struct DiscoveryTable {
    default_max_results: usize,
    min_relevance_threshold: f64,
    boost_active_status: f64,
    boost_recent_update_days: u32,
    boost_recent_update_factor: f64,
    boosts: BTreeMap<String, BTreeMap<String, f64>>,
}

#[derive(Debug, Deserialize)]
pub struct CatalogSettings {
    pub path: PathBuf,
    pub bundled: bool,
}

#[derive(Deserialize)]
pub struct StoreSettings {
    url: String,
}

impl std::fmt::Debug for StoreSettings {
    /// The address may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreSettings").finish_non_exhaustive()
    }
}

#[derive(Debug, Deserialize)]
pub struct ComposeSettings {
    model: String,
    endpoint: String,
}

impl ComposeSettings {
    pub fn model(&self) -> Option<&str> {
        Some(self.model.trim()).filter(|model| !model.is_empty())
    }

    /// Where the model is; at a provider's if `None`. What is known is sent there, and a key.
    pub fn endpoint(&self, layers: &Layers) -> Result<Option<&str>, Failure> {
        let endpoint = Some(self.endpoint.trim()).filter(|endpoint| !endpoint.is_empty());
        if endpoint.is_some()
            && matches!(layers.origin("compose.endpoint"), Some(Origin::ProjectFile(_)))
        {
            let problem = "a project's file cannot choose who is told what is known";
            return Err(layers.fault("compose.endpoint", problem));
        }
        Ok(endpoint)
    }
}

#[derive(Debug, Deserialize)]
pub struct GapsSettings {
    pub capture: bool,
    pub intent: bool,
    keep: String,
}

impl GapsSettings {
    /// How long calls are kept; forever if `None`.
    pub fn keep(&self, layers: &Layers) -> Result<Option<Duration>, Failure> {
        if self.keep.trim().is_empty() {
            return Ok(None);
        }
        let age = crate::cli::age(self.keep.trim());
        age.map(Some).map_err(|problem| layers.fault("gaps.keep", &problem))
    }
}

#[derive(Debug, Deserialize)]
pub struct Server {
    pub transport: Transport,
    pub host: String,
    pub port: u16,
    pub log_level: LogLevel,
    pub log_format: LogFormat,
    pub toolsets: Vec<String>,
    pub read_only: bool,
    pub attach: bool,
    pub require_token: bool,
    pub drain_seconds: u64,
    pub grace_seconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Stdio,
    Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

impl Settings {
    pub fn load(sources: Sources) -> Result<(Self, Layers), Failure> {
        let layers = Layers::merge(sources)?;
        let mut settings: Self = layers.deserialize()?;
        settings.check(&layers)?;
        if layers.single_base_wins() {
            settings.bases.clear();
        }
        Ok((settings, layers))
    }

    fn check(&self, layers: &Layers) -> Result<(), Failure> {
        let discovery = &self.discovery;
        if !(0.0..=1.0).contains(&discovery.min_relevance_threshold) {
            return Err(layers.fault("discovery.min_relevance_threshold", "it must be 0 to 1"));
        }
        let is_boost = |factor: f64| factor.is_finite() && factor > 0.0;
        for (key, factor) in [
            ("discovery.boost_active_status", discovery.boost_active_status),
            ("discovery.boost_recent_update_factor", discovery.boost_recent_update_factor),
        ] {
            if !is_boost(factor) {
                return Err(layers.fault(key, "a boost must be greater than 0"));
            }
        }
        for (task, boosts) in &discovery.boosts {
            for (node, &factor) in boosts {
                if !is_boost(factor) {
                    let key = format!("discovery.boosts.{task}.{node}");
                    return Err(layers.fault(&key, "a boost must be greater than 0"));
                }
            }
        }
        if discovery.default_max_results == 0 {
            return Err(layers.fault("discovery.default_max_results", "it must be at least 1"));
        }
        self.check_index(layers)
    }

    /// These name what is built in; they are settings so that a configuration can state them.
    fn check_index(&self, layers: &Layers) -> Result<(), Failure> {
        let index = &self.index;
        if !index.embedding_model.ends_with("all-MiniLM-L6-v2") {
            return Err(layers.fault("index.embedding_model", "only all-MiniLM-L6-v2 is supported"));
        }
        if index.embedding_dimensions != 384 {
            let problem = "all-MiniLM-L6-v2 has 384 dimensions";
            return Err(layers.fault("index.embedding_dimensions", problem));
        }
        if index.similarity_metric != "cosine" {
            return Err(layers.fault("index.similarity_metric", "only \"cosine\" is supported"));
        }
        Ok(())
    }

    /// The store that was chosen by its address, if one was.
    pub fn store_location(&self, layers: &Layers) -> Result<Option<Location>, Failure> {
        if self.store.url.is_empty() {
            return Ok(None);
        }
        if matches!(layers.origin("store.url"), Some(Origin::ProjectFile(_))) {
            let problem = "a project's file cannot choose where things are remembered";
            return Err(layers.fault("store.url", problem));
        }
        let location = self.store.url.parse::<Location>();
        location.map(Some).map_err(|error| layers.fault("store.url", &error.to_string()))
    }

    /// The folder of the store, if one was named.
    pub fn storage_folder(&self, layers: &Layers) -> Result<Option<PathBuf>, Failure> {
        named(&self.index.storage_path)
            .map(|path| layers.resolve_path("index.storage_path", path))
            .transpose()
    }

    pub fn model(&self, layers: &Layers) -> Result<ModelSource, Failure> {
        let path = named(&self.index.model_path)
            .map(|path| layers.resolve_path("index.model_path", path))
            .transpose()?;
        Ok(path.map_or(ModelSource::Bundled, ModelSource::Folder))
    }

    /// The user's own catalog, if there is one.
    pub fn catalog_folder(&self, layers: &Layers) -> Result<Option<PathBuf>, Failure> {
        named(&self.catalog.path).map(|path| layers.resolve_path("catalog.path", path)).transpose()
    }

    /// The knowledge bases to read.
    pub fn open_bases(&self, layers: &Layers) -> Result<Vec<Base>, Failure> {
        let default = &self.knowledge_base;
        if self.bases.is_empty() {
            let root = layers.resolve_path("knowledge_base.root_path", &default.root_path)?;
            return Ok(vec![self.open_base(&Base::default_name(&root), &root, None)?]);
        }
        let open = |(name, base): (&String, &NamedBase)| {
            let root = layers.resolve_path(&format!("bases.{name}.root_path"), &base.root_path)?;
            self.open_base(name, &root, Some(base))
        };
        self.bases.iter().map(open).collect()
    }

    fn open_base(&self, name: &str, root: &Path, own: Option<&NamedBase>) -> Result<Base, Failure> {
        let files = own.and_then(|own| own.file_patterns.as_ref());
        let excluded = own.and_then(|own| own.exclude_patterns.as_ref());
        let base = Base::new(
            name,
            root,
            files.unwrap_or(&self.knowledge_base.file_patterns),
            excluded.unwrap_or(&self.knowledge_base.exclude_patterns),
        );
        base.map_err(|error| Failure::usage(error.to_string()).hint(error.hint()))
    }
}

fn named(path: &Path) -> Option<&Path> {
    (!path.as_os_str().is_empty()).then_some(path)
}
