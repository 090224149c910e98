//! Where configs lie: those of the workspace, and those that come with us.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ArtifactConfig, ConfigType, ContentConfig, artifact_of, content_of};
use crate::error::{Error, Kind};
use crate::folder::{Durability, Folder};
use crate::id::check_id;

/// Below the root of the workspace. Configs are saved here, and read from nowhere else.
const FOLDER: &str = ".kenning/compose";

/// Built in: `data/compose` at the root of the repository.
const BUILTIN: [&str; 12] = [
    include_str!("../../../../data/compose/agents-md.content.json"),
    include_str!("../../../../data/compose/agents-md.artifact.json"),
    include_str!("../../../../data/compose/claude-md.content.json"),
    include_str!("../../../../data/compose/claude-md.artifact.json"),
    include_str!("../../../../data/compose/client-config.content.json"),
    include_str!("../../../../data/compose/client-config.artifact.json"),
    include_str!("../../../../data/compose/capability-comparison.content.json"),
    include_str!("../../../../data/compose/capability-comparison.artifact.json"),
    include_str!("../../../../data/compose/gap-report.content.json"),
    include_str!("../../../../data/compose/gap-report.artifact.json"),
    include_str!("../../../../data/compose/gherkin-from-plan.content.json"),
    include_str!("../../../../data/compose/gherkin-from-plan.artifact.json"),
];

/// Who wrote a config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Builtin,
    Workspace,
}

/// A config of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Config {
    Content(Box<ContentConfig>),
    Artifact(Box<ArtifactConfig>),
}

impl Config {
    pub(crate) fn content(config: ContentConfig) -> Self {
        Self::Content(Box::new(config))
    }

    pub(crate) fn artifact(config: ArtifactConfig) -> Self {
        Self::Artifact(Box::new(config))
    }
}

/// A config, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded<T> {
    pub config: T,
    pub origin: Origin,
    /// A built-in one of the same id is hidden by it.
    pub shadows_builtin: bool,
    /// As it is written.
    pub data: Value,
}

type Key = (ConfigType, String);

#[derive(Debug, Clone)]
pub(crate) struct Configs {
    root: Arc<Folder>,
    builtin: Arc<BTreeMap<Key, Value>>,
    max_bytes: usize,
}

impl Configs {
    pub(crate) fn new(root: Arc<Folder>, max_bytes: usize) -> Self {
        Self { root, builtin: Arc::new(builtin()), max_bytes }
    }

    /// The ids of a kind, sorted.
    pub(crate) fn ids(&self, config_type: ConfigType) -> Result<Vec<String>, Error> {
        let own = self.root.stems(&format!("{FOLDER}/{config_type}"))?;
        let mut ids: Vec<String> = own.into_iter().filter(|id| check_id(id).is_ok()).collect();
        let builtin = self.builtin.keys().filter(|(kind, _)| *kind == config_type);
        ids.extend(builtin.map(|(_, id)| id.clone()));
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    pub(crate) fn content(&self, id: &str) -> Result<Loaded<ContentConfig>, Error> {
        self.load(ConfigType::Content, id, content_of)
    }

    pub(crate) fn artifact(&self, id: &str) -> Result<Loaded<ArtifactConfig>, Error> {
        self.load(ConfigType::Artifact, id, artifact_of)
    }

    fn load<T>(
        &self,
        config_type: ConfigType,
        id: &str,
        parse: fn(&str, &Value) -> Result<T, Error>,
    ) -> Result<Loaded<T>, Error> {
        let (data, origin) = self.data(config_type, id)?;
        let config = parse(id, &data)?;
        let shadows_builtin = origin == Origin::Workspace && self.is_builtin(config_type, id);
        Ok(Loaded { config, origin, shadows_builtin, data })
    }

    /// A config as it is written, whether or not it is valid.
    pub(crate) fn data(&self, config_type: ConfigType, id: &str) -> Result<(Value, Origin), Error> {
        check_id(id)?;
        if let Some(text) = self.root.read(&file(config_type, id), self.max_bytes)? {
            let data = serde_json::from_str(&text).map_err(|error| Error::InvalidConfig {
                config_type,
                id: id.to_owned(),
                issues: vec![super::Issue { path: "$".to_owned(), message: error.to_string() }],
            })?;
            check_own_id(config_type, id, &data)?;
            return Ok((data, Origin::Workspace));
        }
        match self.builtin.get(&(config_type, id.to_owned())) {
            Some(data) => Ok((data.clone(), Origin::Builtin)),
            None => Err(self.unknown(config_type, id)),
        }
    }

    pub(crate) fn exists(&self, config_type: ConfigType, id: &str) -> bool {
        self.data(config_type, id).is_ok()
    }

    /// The text of a config of the workspace, for a backup.
    pub(crate) fn own_text(
        &self,
        config_type: ConfigType,
        id: &str,
    ) -> Result<Option<String>, Error> {
        self.root.read(&file(config_type, check_id(id)?), self.max_bytes)
    }

    pub(crate) fn save(
        &self,
        config_type: ConfigType,
        id: &str,
        data: &Value,
    ) -> Result<String, Error> {
        let path = file(config_type, check_id(id)?);
        let mut text = serde_json::to_string_pretty(data).unwrap_or_default();
        text.push('\n');
        self.root.write(&path, &text, Durability::Synced)?;
        Ok(path)
    }

    pub(crate) fn is_builtin(&self, config_type: ConfigType, id: &str) -> bool {
        self.builtin.contains_key(&(config_type, id.to_owned()))
    }

    fn unknown(&self, config_type: ConfigType, id: &str) -> Error {
        let known = self.ids(config_type).unwrap_or_default();
        let kind = match config_type {
            ConfigType::Content => Kind::ContentConfig,
            ConfigType::Artifact => Kind::ArtifactConfig,
        };
        Error::not_found(kind, id, known.iter().map(String::as_str))
    }
}

/// A file that says it is another config than its name says would be found under neither.
fn check_own_id(config_type: ConfigType, id: &str, data: &Value) -> Result<(), Error> {
    match data.get("id").and_then(Value::as_str) {
        Some(own) if own != id => Err(Error::InvalidConfig {
            config_type,
            id: id.to_owned(),
            issues: vec![super::Issue {
                path: "$.id".to_owned(),
                message: format!("is not that of its file, `{id}.json`"),
            }],
        }),
        _ => Ok(()),
    }
}

fn file(config_type: ConfigType, id: &str) -> String {
    format!("{FOLDER}/{config_type}/{id}.json")
}

fn builtin() -> BTreeMap<Key, Value> {
    let sound = "the built-in configs are tested";
    let keyed = BUILTIN.into_iter().map(|text| {
        let data: Value = serde_json::from_str(text).expect(sound);
        let text_of = |key: &str| data[key].as_str().expect(sound).to_owned();
        let config_type =
            if text_of("type") == "content" { ConfigType::Content } else { ConfigType::Artifact };
        ((config_type, text_of("id")), data)
    });
    keyed.collect()
}
