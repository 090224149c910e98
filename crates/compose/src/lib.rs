//! Compose: generates files from knowledge bases, the catalog, the registry and gaps.
//!
//! A *content config* describes how one text is generated; a [`generator`] generates it. An
//! *artifact config* describes which contents are assembled into which files. Both are [`config`]s:
//! JSON in the workspace, or built in. [`Compose`] implements the tools: [`generate`], [`batch`]
//! and [`assemble`] produce texts and files, [`preview`] shows an artifact without writing it,
//! [`lifecycle`] drafts and saves configs, [`storage`], [`delete`], [`list`] and [`trace`] manage
//! stored versions, and [`validate`] checks texts against rules. Data comes through the trait
//! [`sources::Sources`], language models through [`generator::Model`]; callers implement both.
//!
//! Requests and responses are part of the product's contract: the MCP tools, the HTTP API and the
//! command line share these types.

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
use error::Result;
pub use error::{Code, Error, ErrorBody};
use folder::Folder;
use generator::{Credentials, Generators, Metadata, Model, NoCredentials};
pub use kenning_tokens::count_tokens;
pub use limits::Limits;
pub use model::Timestamp;
use sources::{NoSources, Sources};
use version::Versions;

/// What [`Compose::open`] needs.
pub struct Parts {
    /// The workspace root: configs and files are read and written below it, and nowhere else.
    pub root: PathBuf,
    /// The folder for drafts, versions and backups of this workspace. Created if it is missing, and
    /// closed to other users.
    pub state: PathBuf,
    /// The user's plugin folder. Never a folder of the project, which is not trusted.
    pub plugins: Option<PathBuf>,
    pub sources: Arc<dyn Sources>,
    pub model: Option<Arc<dyn Model>>,
    pub credentials: Arc<dyn Credentials>,
    pub limits: Limits,
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Parts {
    /// No plugins, sources or model, and the default limits.
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
    pub fn open(parts: Parts) -> Result<Self> {
        let root = Arc::new(Folder::open(&parts.root)?);
        let state = Arc::new(Folder::create_private(&parts.state)?);
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

    /// A generator, whether or not it can be used here: `generator://{type}`.
    pub fn generator(&self, generator_type: &str) -> Result<Metadata> {
        self.inner.generators.describe(generator_type)
    }

    /// Whether there is a plugin folder.
    pub fn takes_plugins(&self) -> bool {
        self.inner.generators.takes_plugins()
    }

    /// The JSON of a config: `config://{type}/{id}`.
    pub fn config(&self, config_type: ConfigType, id: &str) -> Result<serde_json::Value> {
        self.inner.configs.data(config_type, id).map(|(data, _)| data)
    }

    pub fn content_config(&self, id: &str) -> Result<Loaded<ContentConfig>> {
        self.inner.configs.content(id)
    }

    pub fn artifact_config(&self, id: &str) -> Result<Loaded<ArtifactConfig>> {
        self.inner.configs.artifact(id)
    }

    /// The ids of all configs of a type, sorted.
    pub fn config_ids(&self, config_type: ConfigType) -> Result<Vec<String>> {
        self.inner.configs.ids(config_type)
    }

    /// A JSON Schema by name: `schema://{name}`.
    pub fn schema(&self, name: &str) -> Result<serde_json::Value> {
        config::schema(name)
            .ok_or_else(|| Error::not_found(error::Kind::Schema, name, &config::SCHEMAS))
    }

    fn now(&self) -> Timestamp {
        (self.inner.clock)()
    }

    /// The text of a file of the workspace; `None` if there is no such file.
    fn file(&self, path: &str) -> Result<Option<String>> {
        self.inner.root.read(path, self.inner.limits.max_content_size_bytes)
    }

    fn required_file(&self, path: &str) -> Result<String> {
        self.file(path)?.ok_or_else(|| Error::no_file(path))
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

/// Paths of files, with the hash of each.
pub(crate) type Files = BTreeMap<String, String>;
