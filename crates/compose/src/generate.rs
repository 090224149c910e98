//! `generate_content`, `regenerate_content` and `preview_generation`.

use kenning_tokens::count_tokens;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Compose;
use crate::changes::{Changes, changes};
use crate::error::Result;
use crate::generator::{Generated, Job, Selection};
use crate::id::{MAX_ID, PATTERN};
use crate::model::{Context, Shown, Timestamp, hash, yes};
use crate::prepare::Prepared;
use crate::template::Sandbox;
use crate::version::Version;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerateRequest {
    /// Id of a content config
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub content_config_id: String,
    /// Values for the config's variables; one named like a source stands for it
    pub context: Option<Context>,
    /// Generate although nothing has changed
    #[serde(default)]
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GenerateResponse {
    pub success: bool,
    pub content_id: String,
    pub status: GenerationStatus,
    pub version: String,
    /// The version before it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_version: Option<String>,
    pub created_at: Timestamp,
    pub generators: Vec<String>,
    pub format: String,
    pub size_bytes: usize,
    pub content_hash: String,
    /// Where all of it can be read
    pub uri: String,
    #[serde(flatten)]
    pub shown: Shown,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GenerationStatus {
    /// For the first time
    Generated,
    /// Nothing has changed since the version that is named
    Skipped,
    Regenerated,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegenerateRequest {
    /// Id of a content config
    #[serde(alias = "id")]
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub content_config_id: String,
    /// Values for the config's variables; without it, those of the latest version
    pub context: Option<Context>,
    /// Kept with the version
    pub reason: Option<String>,
    /// Say what has changed
    #[serde(default = "yes")]
    pub compare: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RegenerateResponse {
    #[serde(flatten)]
    pub generated: GenerateResponse,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// By lines, since the version before; absent if there was none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// Id of a content config
    #[serde(alias = "id")]
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub content_config_id: String,
    pub context: Option<Context>,
    /// Say how it was made
    #[serde(default)]
    pub show_metadata: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PreviewResponse {
    pub success: bool,
    pub content_id: String,
    pub size_bytes: usize,
    pub lines: usize,
    /// Of all of it, shown or not
    pub tokens: usize,
    #[serde(flatten)]
    pub shown: Shown,
    /// Such as values of the context that nothing uses
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<PreviewMetadata>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PreviewMetadata {
    pub format: String,
    /// The generator of each pattern, and why it
    pub generators: Vec<Selection>,
    /// Sources that were read
    pub sources: Vec<String>,
    /// Files that were included
    pub files: Vec<String>,
    pub content_hash: String,
    pub inputs_hash: String,
}

impl Compose {
    pub fn generate_content(&self, request: &GenerateRequest) -> Result<GenerateResponse> {
        let given = request.context.clone().unwrap_or_default();
        self.generate(&request.content_config_id, given, request.force, None)
    }

    pub fn regenerate_content(&self, request: &RegenerateRequest) -> Result<RegenerateResponse> {
        let id = &request.content_config_id;
        let before = self.inner.versions.latest(id)?;
        let last_context = || before.as_ref().map(|version| version.context.clone());
        let given = request.context.clone().or_else(last_context).unwrap_or_default();
        let generated = self.generate(id, given, true, request.reason.clone())?;
        let old = before.filter(|_| request.compare).and_then(|version| version.content);
        let changes = old.map(|old| {
            let new = self.inner.versions.load(id, &generated.version)?;
            Ok(changes(&old, &new.content.unwrap_or_default()))
        });
        let changes = changes.transpose()?;
        Ok(RegenerateResponse { generated, reason: request.reason.clone(), changes })
    }

    pub fn preview_generation(&self, request: &PreviewRequest) -> Result<PreviewResponse> {
        let loaded = self.inner.configs.content(&request.content_config_id)?;
        let config = &loaded.config;
        let prepared = self.prepare(config, request.context.clone().unwrap_or_default())?;
        let generated = self.run(&prepared)?;
        let warnings = warnings(&prepared, &generated);
        let metadata = request.show_metadata.then(|| PreviewMetadata {
            format: config.metadata.output_format.clone(),
            generators: prepared.parts.iter().map(|part| part.selection.clone()).collect(),
            sources: prepared.sources.clone(),
            files: generated.files.keys().cloned().collect(),
            content_hash: hash(&generated.text),
            inputs_hash: prepared.inputs_hash.clone(),
        });
        Ok(PreviewResponse {
            success: true,
            content_id: config.id.clone(),
            size_bytes: generated.text.len(),
            lines: generated.text.lines().count(),
            tokens: count_tokens(&generated.text),
            shown: Shown::of(&generated.text),
            warnings,
            metadata,
        })
    }

    pub(crate) fn generate(
        &self,
        id: &str,
        given: Context,
        force: bool,
        reason: Option<String>,
    ) -> Result<GenerateResponse> {
        let loaded = self.inner.configs.content(id)?;
        let prepared = self.prepare(&loaded.config, given)?;
        let before = self.inner.versions.latest(id)?;
        if let Some(version) = before.as_ref().filter(|_| !force)
            && self.is_current(version, &prepared)?
        {
            let status = GenerationStatus::Skipped;
            return Ok(response(status, version, None, prepared.warnings));
        }
        let generated = self.run(&prepared)?;
        let version = self.store(id, &prepared, generated, reason)?;
        let status = match &before {
            None => GenerationStatus::Generated,
            Some(_) => GenerationStatus::Regenerated,
        };
        let previous = before.map(|before| before.version);
        Ok(response(status, &version, previous, prepared.warnings))
    }

    /// Whether generating again would produce the same text.
    fn is_current(&self, version: &Version, prepared: &Prepared<'_>) -> Result<bool> {
        if version.inputs_hash != prepared.inputs_hash || version.content.is_none() {
            return Ok(false);
        }
        for (path, known) in &version.files {
            if self.file(path)?.is_none_or(|text| hash(&text) != *known) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stores a generated text as a version of `id`.
    pub(crate) fn store(
        &self,
        id: &str,
        prepared: &Prepared<'_>,
        generated: Generated,
        reason: Option<String>,
    ) -> Result<Version> {
        let types = prepared.parts.iter().map(|part| part.selection.generator_type.clone());
        let mut generators: Vec<String> = types.collect();
        generators.dedup();
        let version = Version {
            content_id: id.to_owned(),
            version: String::new(),
            created_at: self.now(),
            format: prepared.config.metadata.output_format.clone(),
            generators,
            size_bytes: generated.text.len(),
            content_hash: hash(&generated.text),
            inputs_hash: prepared.inputs_hash.clone(),
            context: prepared.given.clone(),
            files: generated.files,
            reason,
            content: Some(generated.text),
        };
        self.inner.versions.save(version, || self.pins())
    }

    pub(crate) fn run(&self, prepared: &Prepared<'_>) -> Result<Generated> {
        let config = prepared.config;
        let mut all = Generated::default();
        for (pattern, part) in config.generation.patterns.iter().zip(&prepared.parts) {
            let job = Job {
                id: &config.id,
                pattern,
                template: part.template.as_deref(),
                elements: &config.elements,
                context: &prepared.context,
                sandbox: self.sandbox(),
            };
            let generated = self.inner.generators.run(part.generator.as_ref(), &job)?;
            if !all.text.is_empty() && !all.text.ends_with('\n') {
                all.text.push('\n');
            }
            all.text.push_str(&generated.text);
            all.mentioned.extend(generated.mentioned);
            all.files.extend(generated.files);
            self.inner.limits.check_size(&format!("content `{}`", config.id), all.text.len())?;
        }
        Ok(all)
    }

    pub(crate) fn sandbox(&self) -> Sandbox<'_> {
        Sandbox { root: &self.inner.root, limits: &self.inner.limits }
    }
}

/// What the reader of a previewed text should know: optional sources that failed, and values that
/// were given and that nothing reads.
pub(crate) fn warnings(prepared: &Prepared<'_>, generated: &Generated) -> Vec<String> {
    let inputs = prepared.config.inputs.iter().flat_map(|inputs| &inputs.sources);
    let params: Vec<String> =
        inputs.map(|input| Value::Object(input.params.clone()).to_string()).collect();
    let is_param = |name: &str| {
        let tags = [format!("{{{{{name}"), format!("{{{{ {name}")];
        params.iter().any(|text| tags.iter().any(|tag| text.contains(tag)))
    };
    let is_unused = |name: &&String| !generated.mentioned.contains(*name) && !is_param(name);
    let unused = prepared.given.keys().filter(is_unused);
    let unused = unused.map(|name| format!("`{name}` is in the context, and nothing uses it"));
    prepared.warnings.iter().cloned().chain(unused).collect()
}

fn response(
    status: GenerationStatus,
    version: &Version,
    previous_version: Option<String>,
    warnings: Vec<String>,
) -> GenerateResponse {
    GenerateResponse {
        success: true,
        content_id: version.content_id.clone(),
        status,
        version: version.version.clone(),
        previous_version,
        created_at: version.created_at,
        generators: version.generators.clone(),
        format: version.format.clone(),
        size_bytes: version.size_bytes,
        content_hash: version.content_hash.clone(),
        uri: format!("content://{}/{}", version.content_id, version.version),
        shown: Shown::of(version.content.as_deref().unwrap_or_default()),
        warnings,
    }
}
