//! Reads and writes configs: those of the workspace, and the built-in ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ArtifactConfig, ConfigType, ContentConfig, artifact_of, content_of};
use crate::error::{Error, Kind, Result};
use crate::folder::{Durability, Folder};
use crate::id::check_id;

/// Below the workspace root. Configs are saved here, and no other folder is read.
const FOLDER: &str = ".kenning/compose";

macro_rules! builtin_configs {
    ($($id:literal),*) => {[$(
        include_str!(concat!("../../../../data/compose/", $id, ".content.json")),
        include_str!(concat!("../../../../data/compose/", $id, ".artifact.json")),
    )*]};
}

/// From `data/compose` at the root of the repository.
const BUILTIN: [&str; 12] = builtin_configs!(
    "agents-md",
    "claude-md",
    "client-config",
    "capability-comparison",
    "gap-report",
    "gherkin-from-plan"
);

/// Who wrote a config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Builtin,
    #[default]
    Workspace,
}

/// A config of either type.
#[derive(Debug, Clone, PartialEq)]
pub enum Config {
    Content(Box<ContentConfig>),
    Artifact(Box<ArtifactConfig>),
}

/// A config, and where it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded<T> {
    pub config: T,
    pub origin: Origin,
    /// It replaces a built-in config of the same id.
    pub shadows_builtin: bool,
    /// The JSON it was parsed from.
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

    /// The ids of a type, sorted.
    pub(crate) fn ids(&self, config_type: ConfigType) -> Result<Vec<String>> {
        let own = self.root.stems(&format!("{FOLDER}/{config_type}"))?;
        let mut ids: Vec<String> = own.into_iter().filter(|id| check_id(id).is_ok()).collect();
        let builtin = self.builtin.keys().filter(|(kind, _)| *kind == config_type);
        ids.extend(builtin.map(|(_, id)| id.clone()));
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    pub(crate) fn content(&self, id: &str) -> Result<Loaded<ContentConfig>> {
        self.load(ConfigType::Content, id, content_of)
    }

    pub(crate) fn artifact(&self, id: &str) -> Result<Loaded<ArtifactConfig>> {
        self.load(ConfigType::Artifact, id, artifact_of)
    }

    /// All artifact configs but broken ones, which name no content.
    pub(crate) fn valid_artifacts(&self) -> Result<Vec<Loaded<ArtifactConfig>>> {
        let ids = self.ids(ConfigType::Artifact)?;
        Ok(ids.iter().filter_map(|id| self.artifact(id).ok()).collect())
    }

    fn load<T>(
        &self,
        config_type: ConfigType,
        id: &str,
        parse: fn(&str, &Value) -> Result<T>,
    ) -> Result<Loaded<T>> {
        let (data, origin) = self.data(config_type, id)?;
        let config = parse(id, &data)?;
        let shadows_builtin = origin == Origin::Workspace && self.is_builtin(config_type, id);
        Ok(Loaded { config, origin, shadows_builtin, data })
    }

    /// The JSON of a config, whether or not it is valid.
    pub(crate) fn data(&self, config_type: ConfigType, id: &str) -> Result<(Value, Origin)> {
        check_id(id)?;
        if let Some(text) = self.root.read(&file(config_type, id), self.max_bytes)? {
            let data = serde_json::from_str(&text)
                .map_err(|error| Error::invalid_config(config_type, id, "$", error.to_string()))?;
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

    /// The text of the workspace's config, for a backup.
    pub(crate) fn own_text(&self, config_type: ConfigType, id: &str) -> Result<Option<String>> {
        self.root.read(&file(config_type, check_id(id)?), self.max_bytes)
    }

    pub(crate) fn save(&self, config_type: ConfigType, id: &str, data: &Value) -> Result<String> {
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
        Error::not_found(kind, id, &known)
    }
}

/// A file whose `id` differs from its name could be found under neither.
fn check_own_id(config_type: ConfigType, id: &str, data: &Value) -> Result<()> {
    match data.get("id").and_then(Value::as_str) {
        Some(own) if own != id => {
            let message = format!("is not that of its file, `{id}.json`");
            Err(Error::invalid_config(config_type, id, "$.id", message))
        }
        _ => Ok(()),
    }
}

fn file(config_type: ConfigType, id: &str) -> String {
    format!("{FOLDER}/{config_type}/{id}.json")
}

fn builtin() -> BTreeMap<Key, Value> {
    let valid = "the built-in configs are tested";
    let keyed = BUILTIN.into_iter().map(|text| {
        let data: Value = serde_json::from_str(text).expect(valid);
        let config_type = ConfigType::deserialize(&data["type"]).expect(valid);
        ((config_type, data["id"].as_str().expect(valid).to_owned()), data)
    });
    keyed.collect()
}
