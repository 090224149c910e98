//! `draft_config`, `test_config`, `save_config` and `modify_config`: a config can be tested before
//! it is saved, and the config it replaces is kept as a backup.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Compose;
use crate::composition::Refresh;
use crate::config::{Config, ConfigType, ContentConfig, parsed, patched};
use crate::error::{Error, Kind, Result};
use crate::folder::Durability;
use crate::generate::warnings;
use crate::id::{MAX_ID, PATTERN, check_id};
use crate::model::{Context, Shown, Timestamp, hash, yes};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftRequest {
    pub config_type: ConfigType,
    /// The config; `schema://content` and `schema://artifact` say what it has
    pub config_data: serde_json::Map<String, Value>,
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DraftResponse {
    pub success: bool,
    pub draft_id: String,
    pub config_type: ConfigType,
    pub created_at: Timestamp,
    /// What to do next
    pub next: String,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestRequest {
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub draft_id: String,
    pub context: Option<Context>,
    /// If false, the text of a content is kept as a version of the content `{draft_id}`
    #[serde(default = "yes")]
    pub dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TestResponse {
    pub success: bool,
    pub draft_id: String,
    pub config_type: ConfigType,
    #[serde(flatten)]
    pub shown: Shown,
    pub size_bytes: usize,
    pub warnings: Vec<String>,
    /// Where it is kept, without `dry_run`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveRequest {
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub draft_id: String,
    /// The id it will have
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub config_id: String,
    /// Replace a config of this id, which is kept as a backup
    #[serde(default)]
    pub overwrite: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SaveResponse {
    pub success: bool,
    pub config_id: String,
    pub config_type: ConfigType,
    /// In the workspace
    pub path: String,
    /// Where the config that was replaced is kept, below the state folder
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// It stands before a built-in config of the same id
    pub shadows_builtin: bool,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModifyRequest {
    /// Id of a config, or of a draft
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub config_id: String,
    /// Needed if there is a content and an artifact config of this id
    pub config_type: Option<ConfigType>,
    /// A merge patch: objects go into each other, `null` removes, anything else replaces
    pub updates: serde_json::Map<String, Value>,
    #[serde(default = "yes")]
    pub create_backup: bool,
}

/// A draft as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Draft {
    #[serde(rename = "draft_id")]
    id: String,
    config_type: ConfigType,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    config_data: Value,
}

impl Compose {
    pub fn draft_config(&self, request: &DraftRequest) -> Result<DraftResponse> {
        let data = Value::Object(request.config_data.clone());
        let text = data.to_string();
        self.inner.limits.check_size("the config", text.len())?;
        self.parse_checked(request.config_type, "draft", &data)?;
        let created_at = self.now();
        let salted = format!("{text}{}{}", created_at.0, std::process::id());
        let draft = Draft {
            id: format!("draft-{}-{}", request.config_type, &hash(&salted)[..12]),
            config_type: request.config_type,
            created_at,
            description: request.description.clone(),
            config_data: data,
        };
        self.put_draft(&draft)?;
        Ok(DraftResponse {
            success: true,
            next: format!("`test_config` and `save_config` with `{}`", draft.id),
            draft_id: draft.id,
            config_type: draft.config_type,
            created_at,
        })
    }

    pub fn test_config(&self, request: &TestRequest) -> Result<TestResponse> {
        let Draft { id, config_type, config_data, .. } = self.draft(&request.draft_id)?;
        let mut response = TestResponse {
            success: true,
            draft_id: id.clone(),
            config_type,
            shown: Shown::of(""),
            size_bytes: 0,
            warnings: Vec::new(),
            uri: None,
        };
        match self.parse_checked(config_type, &id, &config_data)? {
            Config::Content(config) => self.test_content(&config, request, &mut response)?,
            Config::Artifact(config) => {
                // Only a saved artifact writes files, a draft never does.
                if !request.dry_run {
                    let problem = "is false, but only the text of a content is kept; save the \
                                   artifact, and assemble it";
                    return Err(Error::invalid("dry_run", problem));
                }
                let composed = self.compose(&config, request.context.as_ref(), Refresh::Preview)?;
                response.shown = composed.shown();
                response.size_bytes = composed.outputs.iter().map(|(_, text)| text.len()).sum();
                let problems = composed.children.into_iter().filter_map(|child| child.problem);
                response.warnings = problems.collect();
            }
        }
        Ok(response)
    }

    fn test_content(
        &self,
        config: &ContentConfig,
        request: &TestRequest,
        response: &mut TestResponse,
    ) -> Result<()> {
        let prepared = self.prepare(config, request.context.clone().unwrap_or_default())?;
        let generated = self.run(&prepared)?;
        response.shown = Shown::of(&generated.text);
        response.size_bytes = generated.text.len();
        response.warnings = warnings(&prepared, &generated);
        if !request.dry_run {
            let reason = Some("a test of the draft".to_owned());
            let stored = self.store(&response.draft_id, &prepared, generated, reason)?;
            response.uri = Some(format!("content://{}/{}", response.draft_id, stored.version));
        }
        Ok(())
    }

    pub fn save_config(&self, request: &SaveRequest) -> Result<SaveResponse> {
        let id = check_id(&request.config_id)?;
        let draft = self.draft(&request.draft_id)?;
        let config_type = draft.config_type;
        let before = self.inner.configs.own_text(config_type, id)?;
        if before.is_some() && !request.overwrite {
            return Err(Error::Exists { config_type, id: id.to_owned() });
        }
        let saved = self.put_config(config_type, id, draft.config_data, before)?;
        self.inner.state.remove(&draft_file(&draft.id))?;
        Ok(saved)
    }

    pub fn modify_config(&self, request: &ModifyRequest) -> Result<SaveResponse> {
        let id = check_id(&request.config_id)?;
        let patch = Value::Object(request.updates.clone());
        if id.starts_with("draft-")
            && let Ok(draft) = self.draft(id)
        {
            return self.modify_draft(draft, &patch);
        }
        let config_type = self.type_of(id, request.config_type)?;
        let (data, _) = self.inner.configs.data(config_type, id)?;
        if patch.get("id").is_some_and(|new| new != id) {
            return Err(Error::invalid("updates.id", "an id cannot be changed"));
        }
        let before = self.inner.configs.own_text(config_type, id)?;
        let backup = before.filter(|_| request.create_backup);
        self.put_config(config_type, id, patched(data, &patch), backup)
    }

    fn modify_draft(&self, mut draft: Draft, patch: &Value) -> Result<SaveResponse> {
        draft.config_data = patched(draft.config_data, patch);
        self.parse_checked(draft.config_type, &draft.id, &draft.config_data)?;
        self.put_draft(&draft)?;
        Ok(SaveResponse {
            success: true,
            path: draft_file(&draft.id),
            config_id: draft.id,
            config_type: draft.config_type,
            backup: None,
            shadows_builtin: false,
        })
    }

    /// The type of the config with this id; `named` decides if there is one of each type.
    fn type_of(&self, id: &str, named: Option<ConfigType>) -> Result<ConfigType> {
        let exists = |config_type: &ConfigType| self.inner.configs.exists(*config_type, id);
        match (named, ConfigType::ALL.into_iter().filter(exists).collect::<Vec<_>>().as_slice()) {
            (Some(config_type), _) => Ok(config_type),
            (None, [only]) => Ok(*only),
            (None, []) => {
                let mut known = self.inner.configs.ids(ConfigType::Content)?;
                known.extend(self.inner.configs.ids(ConfigType::Artifact)?);
                Err(Error::not_found(Kind::Config, id, &known))
            }
            (None, _) => {
                let problem = format!("is needed: `{id}` is both a content and an artifact config");
                Err(Error::invalid("config_type", problem))
            }
        }
    }

    /// Validates a config, backs up the text it replaces, and writes it.
    fn put_config(
        &self,
        config_type: ConfigType,
        id: &str,
        mut data: Value,
        before: Option<String>,
    ) -> Result<SaveResponse> {
        data["id"] = Value::String(id.to_owned());
        self.parse_checked(config_type, id, &data)?;
        let mut backup = None;
        if let Some(text) = before {
            let path = format!("backups/config/{config_type}/{id}/{}.json", self.now().file_name());
            self.inner.state.write(&path, &text, Durability::Synced)?;
            backup = Some(path);
        }
        Ok(SaveResponse {
            success: true,
            config_id: id.to_owned(),
            config_type,
            path: self.inner.configs.save(config_type, id, &data)?,
            backup,
            shadows_builtin: self.inner.configs.is_builtin(config_type, id),
        })
    }

    /// Parses a config that is valid and within the limits.
    fn parse_checked(&self, config_type: ConfigType, id: &str, data: &Value) -> Result<Config> {
        let mut data = data.clone();
        // A draft gets its id when it is saved.
        if let Value::Object(fields) = &mut data {
            fields.entry("id").or_insert_with(|| Value::String("draft".to_owned()));
        }
        let config = parsed(config_type, id, &data)?;
        match &config {
            Config::Artifact(artifact) => {
                self.inner.limits.check_components(id, artifact.content.children.len())?;
            }
            Config::Content(content) => self.check_generators(id, content)?,
        }
        Ok(config)
    }

    /// A named generator must exist, but need not be usable now: a credential may be set later.
    fn check_generators(&self, id: &str, config: &ContentConfig) -> Result<()> {
        for (index, pattern) in config.generation.patterns.iter().enumerate() {
            let Some(named) = &pattern.generator else { continue };
            self.inner.generators.describe(named).map_err(|error| {
                let path = format!("$.generation.patterns[{index}].type");
                Error::invalid_config(ConfigType::Content, id, path, error.to_string())
            })?;
        }
        Ok(())
    }

    fn draft(&self, id: &str) -> Result<Draft> {
        check_id(id)?;
        let max = self.inner.limits.max_content_size_bytes.saturating_mul(2);
        let text = self.inner.state.read(&draft_file(id), max)?;
        let draft = text.and_then(|text| serde_json::from_str(&text).ok());
        draft.ok_or_else(|| {
            let known = self.inner.state.stems("drafts").unwrap_or_default();
            Error::not_found(Kind::Draft, id, &known)
        })
    }

    fn put_draft(&self, draft: &Draft) -> Result<()> {
        let text = serde_json::to_string(draft).unwrap_or_default();
        self.inner.state.write(&draft_file(&draft.id), &text, Durability::Cached)
    }
}

fn draft_file(id: &str) -> String {
    format!("drafts/{id}.json")
}
