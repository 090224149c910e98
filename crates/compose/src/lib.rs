//! Compose: files made from what is known.
//!
//! A *content config* says how one text is made; a [`generator`] makes it. An *artifact config* says
//! which contents become which files. Both are [`config`]s: JSON in the workspace, or built in.
//! [`Compose`] does what the tools of the contract do: [`generate`], [`batch`] and [`assemble`]
//! make things, [`preview`] shows an artifact that is not made yet, [`lifecycle`] writes configs, [`storage`], [`delete`], [`list`] and [`trace`] look
//! after what was made, [`validate`] holds it against rules. What a text is made from is read
//! through [`sources`], which somebody else implements; what a model writes comes from a
//! [`generator::Model`], which somebody else has.
//!
//! Requests and answers are the product's contract: the same types stand behind the MCP tools and
//! the command line.

pub mod assemble;
pub mod batch;
pub mod changes;
mod composition;
pub mod config;
pub mod delete;
pub mod error;
mod folder;
pub mod generate;
pub mod generator;
pub mod id;
pub mod lifecycle;
pub mod limits;
pub mod list;
mod merge;
pub mod model;
mod prepare;
pub mod preview;
pub mod sources;
pub mod storage;
mod template;
pub mod trace;
pub mod validate;
pub mod version;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{ArtifactConfig, ConfigType, Configs, ContentConfig, Loaded};
pub use error::{Code, Error, ErrorBody};
use folder::Folder;
use generator::{Credentials, Generators, Metadata, Model, NoCredentials};
pub use limits::Limits;
pub use model::Timestamp;
use sources::{NoSources, Sources};
use version::Versions;

/// What a [`Compose`] is made of.
pub struct Parts {
    /// The workspace: configs and files are read and written here, and nowhere outside.
    pub root: PathBuf,
    /// Drafts, versions and backups of this workspace. It is made if it is not there.
    pub state: PathBuf,
    /// The user's folder of plugins. Never one of the project's.
    pub plugins: Option<PathBuf>,
    pub sources: Arc<dyn Sources>,
    pub model: Option<Arc<dyn Model>>,
    pub credentials: Arc<dyn Credentials>,
    pub limits: Limits,
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Parts {
    /// No plugins, sources or model, and the usual limits.
    pub fn new(root: impl Into<PathBuf>, state: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            state: state.into(),
            plugins: None,
            sources: Arc::new(NoSources),
            model: None,
            credentials: Arc::new(NoCredentials),
            limits: Limits::default(),
            clock: Arc::new(Timestamp::now),
        }
    }
}

/// Generates contents and assembles artifacts, in one workspace. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Compose {
    inner: Arc<Inner>,
}

struct Inner {
    root: Arc<Folder>,
    root_path: PathBuf,
    state: Arc<Folder>,
    configs: Configs,
    versions: Versions,
    generators: Generators,
    sources: Arc<dyn Sources>,
    limits: Limits,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Compose {
    pub fn open(parts: Parts) -> Result<Self, Error> {
        let root = Arc::new(Folder::open(&parts.root)?);
        let state = Arc::new(Folder::create(&parts.state)?);
        let max = parts.limits.max_content_size_bytes;
        Ok(Self {
            inner: Arc::new(Inner {
                configs: Configs::new(root.clone(), max),
                versions: Versions::new(state.clone(), &parts.limits, parts.clock.clone()),
                root,
                root_path: parts.root,
                state,
                generators: Generators::new(parts.model, parts.credentials, parts.plugins),
                sources: parts.sources,
                limits: parts.limits,
                clock: parts.clock,
            }),
        })
    }

    pub fn root(&self) -> &Path {
        &self.inner.root_path
    }

    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    /// One generator, whether or not it can be used here: `generator://{type}`.
    pub fn generator(&self, generator_type: &str) -> Result<Metadata, Error> {
        self.inner.generators.describe(generator_type)
    }

    /// Whether generators can be added as plugins.
    pub fn takes_plugins(&self) -> bool {
        self.inner.generators.takes_plugins()
    }

    /// A config as it is written: `config://{type}/{id}`.
    pub fn config(&self, config_type: ConfigType, id: &str) -> Result<serde_json::Value, Error> {
        self.inner.configs.data(config_type, id).map(|(data, _)| data)
    }

    /// A content config with where it came from.
    pub fn content_config(&self, id: &str) -> Result<Loaded<ContentConfig>, Error> {
        self.inner.configs.content(id)
    }

    /// An artifact config with where it came from.
    pub fn artifact_config(&self, id: &str) -> Result<Loaded<ArtifactConfig>, Error> {
        self.inner.configs.artifact(id)
    }

    /// The ids of all configs of a type, sorted.
    pub fn config_ids(&self, config_type: ConfigType) -> Result<Vec<String>, Error> {
        self.inner.configs.ids(config_type)
    }

    /// A JSON Schema by name: `schema://{name}`.
    pub fn schema(&self, name: &str) -> Result<serde_json::Value, Error> {
        config::schema(name)
            .ok_or_else(|| Error::not_found(error::Kind::Schema, name, config::SCHEMAS))
    }

    fn now(&self) -> Timestamp {
        (self.inner.clock)()
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compose").field("root", &self.root_path).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Files that had a part in something, with the hash of each.
pub(crate) type Files = BTreeMap<String, String>;
