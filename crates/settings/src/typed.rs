//! Settings with their types, and what is checked beyond a type.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kenning_knowledge::Base;
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::role::Role;
use kenning_knowledge::semantic::ModelSource;
use serde::Deserialize;

use crate::{Error, Layers, Sources, parse_age};

const MAX_CONCURRENT_REQUESTS: usize = 256;
/// A day: a deadline beyond it is none.
const MAX_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;

#[derive(Debug, Deserialize)]
pub struct Settings {
    pub knowledge_base: KnowledgeBase,
    pub bases: BTreeMap<String, NamedBase>,
    /// Patterns of files by the name of their role.
    roles: BTreeMap<String, Vec<String>>,
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
    pub background: bool,
    pub embedding_model: String,
    pub embedding_dimensions: usize,
    pub similarity_metric: String,
}

/// [`Discovery`] belongs to a crate that reads no files; this is its form in one.
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
    /// The URL may hold a password.
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

    /// The address of the model; `None` is the provider's own. Knowledge and an API key are sent
    /// there, so a project's file must not choose it.
    pub fn endpoint(&self, layers: &Layers) -> Result<Option<&str>, Error> {
        let endpoint = Some(self.endpoint.trim()).filter(|endpoint| !endpoint.is_empty());
        if endpoint.is_some() && layers.is_from_project("compose.endpoint") {
            let problem = "a project's file cannot choose the endpoint that knowledge is sent to";
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
    pub fn keep(&self, layers: &Layers) -> Result<Option<Duration>, Error> {
        let keep = Some(self.keep.trim()).filter(|keep| !keep.is_empty());
        let age = keep.map(parse_age).transpose();
        age.map_err(|problem| layers.fault("gaps.keep", &problem))
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
    pub max_concurrent_requests: usize,
    pub max_connections: usize,
    pub max_connections_per_address: usize,
    pub head_timeout_seconds: u64,
    pub body_timeout_seconds: u64,
    pub idle_timeout_seconds: u64,
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
    pub fn load(sources: Sources) -> Result<(Self, Layers), Error> {
        let layers = Layers::merge(sources)?;
        Ok((Self::from_layers(&layers)?, layers))
    }

    pub fn from_layers(layers: &Layers) -> Result<Self, Error> {
        let mut settings: Self = layers.deserialize()?;
        settings.check_discovery(layers)?;
        settings.check_index(layers)?;
        settings.check_server(layers)?;
        if layers.single_base_wins() {
            settings.bases.clear();
        }
        Ok(settings)
    }

    fn check_discovery(&self, layers: &Layers) -> Result<(), Error> {
        let discovery = &self.discovery;
        if !(0.0..=1.0).contains(&discovery.min_relevance_threshold) {
            return Err(layers.fault("discovery.min_relevance_threshold", "it must be 0 to 1"));
        }
        if discovery.default_max_results == 0 {
            return Err(layers.fault("discovery.default_max_results", "it must be at least 1"));
        }
        let by_type = discovery.boosts.iter().flat_map(|(task, boosts)| {
            boosts.iter().map(move |(node, &boost)| (format!("boosts.{task}.{node}"), boost))
        });
        let general = [
            ("boost_active_status".to_owned(), discovery.boost_active_status),
            ("boost_recent_update_factor".to_owned(), discovery.boost_recent_update_factor),
        ];
        let mut boosts = general.into_iter().chain(by_type);
        match boosts.find(|&(_, boost)| !(boost.is_finite() && boost > 0.0)) {
            Some((key, _)) => {
                Err(layers.fault(&format!("discovery.{key}"), "a boost must be greater than 0"))
            }
            None => Ok(()),
        }
    }

    /// These name what is built in; they are settings so that a configuration can state them.
    fn check_index(&self, layers: &Layers) -> Result<(), Error> {
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

    /// Requests run on threads, of which a process has a limited number.
    fn check_server(&self, layers: &Layers) -> Result<(), Error> {
        if self.server.max_concurrent_requests > MAX_CONCURRENT_REQUESTS {
            let problem = format!("it must be at most {MAX_CONCURRENT_REQUESTS}");
            return Err(layers.fault("server.max_concurrent_requests", &problem));
        }
        let server = &self.server;
        for (key, seconds) in [
            ("server.head_timeout_seconds", server.head_timeout_seconds),
            ("server.body_timeout_seconds", server.body_timeout_seconds),
            ("server.idle_timeout_seconds", server.idle_timeout_seconds),
        ] {
            if !(1..=MAX_TIMEOUT_SECONDS).contains(&seconds) {
                let problem = format!("it must be 1 to {MAX_TIMEOUT_SECONDS} seconds");
                return Err(layers.fault(key, &problem));
            }
        }
        Ok(())
    }

    /// The URL of the store, if one was set. The store receives everything that is recorded, so a
    /// project's file must not choose it.
    pub fn store_url(&self, layers: &Layers) -> Result<Option<&str>, Error> {
        let url = Some(self.store.url.as_str()).filter(|url| !url.is_empty());
        if url.is_some() && layers.is_from_project("store.url") {
            return Err(layers.fault("store.url", "a project's file cannot choose the store"));
        }
        Ok(url)
    }

    /// The folder of the store, if one was set.
    pub fn storage_folder(&self, layers: &Layers) -> Result<Option<PathBuf>, Error> {
        layers.resolve_optional("index.storage_path", &self.index.storage_path)
    }

    pub fn model(&self, layers: &Layers) -> Result<ModelSource, Error> {
        let path = layers.resolve_optional("index.model_path", &self.index.model_path)?;
        Ok(path.map_or(ModelSource::Bundled, ModelSource::Folder))
    }

    /// The user's own catalog, if one was set.
    pub fn catalog_folder(&self, layers: &Layers) -> Result<Option<PathBuf>, Error> {
        layers.resolve_optional("catalog.path", &self.catalog.path)
    }

    /// The knowledge bases to read.
    pub fn open_bases(&self, layers: &Layers) -> Result<Vec<Base>, Error> {
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

    fn open_base(&self, name: &str, root: &Path, own: Option<&NamedBase>) -> Result<Base, Error> {
        let files = own.and_then(|own| own.file_patterns.as_ref());
        let excluded = own.and_then(|own| own.exclude_patterns.as_ref());
        let base = Base::new(
            name,
            root,
            files.unwrap_or(&self.knowledge_base.file_patterns),
            excluded.unwrap_or(&self.knowledge_base.exclude_patterns),
        );
        let named = |role: &Role| self.roles.get(role.name()).cloned().unwrap_or_default();
        let roles: Vec<_> = Role::ALL.iter().map(|role| (*role, named(role))).collect();
        let base = base.and_then(|base| base.with_roles(&roles));
        base.map_err(|error| Error::new(error.to_string()).hint(error.hint()))
    }
}
