//! `assemble_artifact`: contents become files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::{ArtifactConfig, Child, CompositionStrategy, Output, Piece, Retrieval};
use crate::error::{Error, Kind};
use crate::folder::Durability;
use crate::generate::GenerationStatus;
use crate::id::check_output;
use crate::merge::{children, concat, merge};
use crate::model::{Context, Shown, Timestamp, hash};
use crate::validate::{Finding, findings};
use crate::{Compose, Files};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssembleRequest {
    /// Id of an artifact config
    pub artifact_config_id: String,
    /// Write here instead, if the artifact has one output: a path in the workspace
    pub output_path: Option<String>,
    /// Generate all children anew, and replace files that somebody else has changed
    #[serde(default)]
    pub force: bool,
    /// Values for all children; without it, those each was generated with last
    pub context: Option<Context>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AssembleResponse {
    pub success: bool,
    pub artifact_id: String,
    pub status: AssemblyStatus,
    pub outputs: Vec<WrittenOutput>,
    pub children: Vec<ChildReport>,
    /// What the rules of the artifact say about its outputs
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AssemblyStatus {
    Assembled,
    /// All files are there as they would be written
    Unchanged,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WrittenOutput {
    pub file: String,
    pub format: String,
    pub size_bytes: usize,
    pub content_hash: String,
    /// Whether the file was written, or was there already
    pub written: bool,
    /// Where the file that was there before is kept, if it was not ours
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ChildReport {
    pub id: String,
    pub required: bool,
    pub status: ChildStatus,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// Why an optional child is left out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildStatus {
    Generated,
    Regenerated,
    /// The latest version is still right
    Unchanged,
    /// A version that was kept
    Retrieved,
    /// A file of the workspace
    File,
    /// Optional, and not to be had
    LeftOut,
}

/// What an assembly wrote, so that the next one knows its files from those of others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) assembled_at: Timestamp,
    pub(crate) outputs: Files,
}

/// A composed artifact that is not written yet.
pub(crate) struct Composed {
    pub(crate) outputs: Vec<(Output, String)>,
    pub(crate) children: Vec<ChildReport>,
}

/// Whether children are generated as needed, or only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    AsNeeded,
    All,
}

impl Compose {
    pub fn assemble_artifact(&self, request: &AssembleRequest) -> Result<AssembleResponse, Error> {
        let id = &request.artifact_config_id;
        let mut config = self.inner.configs.artifact(id)?.config;
        redirect(&mut config, request.output_path.as_deref())?;
        let refresh = if request.force { Refresh::All } else { Refresh::AsNeeded };
        let composed = self.compose(&config, request.context.as_ref(), refresh)?;
        let known = self.manifest(id)?;
        let mut findings_of = Vec::new();
        for (output, text) in &composed.outputs {
            self.check_unchanged(known.as_ref(), output, text, request.force)?;
            findings_of.extend(findings(&config.rules, text, &output.format));
        }
        let mut outputs = Vec::new();
        for (output, text) in &composed.outputs {
            outputs.push(self.write_output(id, known.as_ref(), output, text)?);
        }
        self.remember(id, known, &outputs)?;
        let status = if outputs.iter().any(|output| output.written) {
            AssemblyStatus::Assembled
        } else {
            AssemblyStatus::Unchanged
        };
        Ok(AssembleResponse {
            success: true,
            artifact_id: id.clone(),
            status,
            outputs,
            warnings: left_out(&composed.children),
            children: composed.children,
            findings: findings_of,
        })
    }

    /// The text of every output, in memory.
    pub(crate) fn compose(
        &self,
        config: &ArtifactConfig,
        context: Option<&Context>,
        refresh: Refresh,
    ) -> Result<Composed, Error> {
        let listed = &config.content.children;
        self.inner.limits.check_components(&config.id, listed.len())?;
        let mut ordered: Vec<&Child> = listed.iter().collect();
        ordered.sort_by_key(|child| child.order);
        let (mut texts, mut reports): (Vec<(String, String)>, Vec<ChildReport>) =
            Default::default();
        for child in ordered {
            match self.child(child, context, refresh) {
                Ok((text, report)) => {
                    texts.push((child.id.clone(), text));
                    reports.push(report);
                }
                Err(error) if child.required => {
                    return Err(Error::Child {
                        artifact: config.id.clone(),
                        child: child.id.clone(),
                        source: Box::new(error),
                    });
                }
                Err(error) => {
                    reports.push(report(child, ChildStatus::LeftOut, Vec::new(), Some(error)));
                }
            }
        }
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        let mut outputs = Vec::new();
        for output in &config.metadata.outputs {
            let text = self.composed(config, output, &texts, context)?;
            self.inner.limits.check_size(&format!("output `{}`", output.file), text.len())?;
            outputs.push((output.clone(), text));
        }
        Ok(Composed { outputs, children: reports })
    }

    fn composed(
        &self,
        config: &ArtifactConfig,
        output: &Output,
        texts: &[(&str, &str)],
        context: Option<&Context>,
    ) -> Result<String, Error> {
        match config.metadata.composition_strategy {
            CompositionStrategy::Concat => Ok(concat(texts.iter().map(|(_, text)| *text))),
            CompositionStrategy::Merge => merge(&output.format, texts),
            CompositionStrategy::Custom => Ok(custom(&config.content.custom, texts)),
            CompositionStrategy::Template => {
                let template = config.content.template.as_deref().unwrap_or_default();
                let mut seen = context.cloned().unwrap_or_default();
                seen.insert("children".to_owned(), Value::Object(children(texts)));
                let order: Vec<&str> = texts.iter().map(|(id, _)| *id).collect();
                seen.insert("order".to_owned(), json!(order));
                seen.insert("artifact".to_owned(), json!(config.metadata));
                seen.insert("output".to_owned(), json!(output));
                Ok(self.sandbox().render(&config.id, template, &seen)?.text)
            }
        }
    }

    fn child(
        &self,
        child: &Child,
        context: Option<&Context>,
        refresh: Refresh,
    ) -> Result<(String, ChildReport), Error> {
        if let Some(path) = &child.path {
            let text = self.inner.root.read(path, self.inner.limits.max_content_size_bytes)?;
            let text = text.ok_or_else(|| Error::not_found(Kind::File, path, []))?;
            return Ok((text, report(child, ChildStatus::File, Vec::new(), None)));
        }
        let status = match child.retrieval_strategy {
            Retrieval::Latest => Some(self.refresh(&child.id, context, refresh)?),
            _ => None,
        };
        let found = self.inner.versions.retrieve(&child.id, &child.retrieval_strategy)?;
        let texts: Vec<&str> =
            found.iter().filter_map(|version| version.content.as_deref()).collect();
        if texts.is_empty() {
            return Err(Error::NotGenerated { id: child.id.clone() });
        }
        let text = if let [only] = texts[..] { only.to_owned() } else { concat(texts) };
        let versions = found.into_iter().map(|version| version.version).collect();
        let status = status.unwrap_or(ChildStatus::Retrieved);
        Ok((text, report(child, status, versions, None)))
    }

    /// Brings the latest version of a child up to date.
    fn refresh(
        &self,
        id: &str,
        context: Option<&Context>,
        refresh: Refresh,
    ) -> Result<ChildStatus, Error> {
        let given = match context {
            Some(context) => context.clone(),
            None => self.inner.versions.latest(id)?.map(|last| last.context).unwrap_or_default(),
        };
        let made = self.generate(id, given, refresh == Refresh::All, None)?;
        Ok(match made.status {
            GenerationStatus::Generated => ChildStatus::Generated,
            GenerationStatus::Regenerated => ChildStatus::Regenerated,
            GenerationStatus::Skipped => ChildStatus::Unchanged,
        })
    }

    /// A file that is not as we left it is somebody's work.
    fn check_unchanged(
        &self,
        known: Option<&Manifest>,
        output: &Output,
        text: &str,
        force: bool,
    ) -> Result<(), Error> {
        if force || self.is_ours(known, &output.file, text)? {
            return Ok(());
        }
        Err(Error::OutputChanged { file: output.file.clone() })
    }

    /// Whether nothing is lost by writing `text` to a file.
    fn is_ours(&self, known: Option<&Manifest>, file: &str, text: &str) -> Result<bool, Error> {
        let there = self.inner.root.read(file, self.inner.limits.max_content_size_bytes)?;
        let Some(there) = there else { return Ok(true) };
        let left = known.and_then(|manifest| manifest.outputs.get(file));
        Ok(there == text || left.is_some_and(|left| *left == hash(&there)))
    }

    fn write_output(
        &self,
        id: &str,
        known: Option<&Manifest>,
        output: &Output,
        text: &str,
    ) -> Result<WrittenOutput, Error> {
        let file = check_output(&output.file)?;
        let there = self.inner.root.read(file, self.inner.limits.max_content_size_bytes)?;
        let written = there.as_deref() != Some(text);
        let mut backup = None;
        if let Some(there) = there.filter(|_| written)
            && !self.is_ours(known, file, text)?
        {
            let name = file.replace('/', "-");
            let path = format!("backups/output/{id}/{}-{name}", self.now().file_name());
            self.inner.state.write(&path, &there, Durability::Synced)?;
            backup = Some(path);
        }
        if written {
            self.inner.root.write(file, text, Durability::Synced)?;
        }
        Ok(WrittenOutput {
            file: file.to_owned(),
            format: output.format.clone(),
            size_bytes: text.len(),
            content_hash: hash(text),
            written,
            backup,
        })
    }

    pub(crate) fn manifest(&self, id: &str) -> Result<Option<Manifest>, Error> {
        let path = format!("artifacts/{}.json", crate::id::check_id(id)?);
        let text = self.inner.state.read(&path, self.inner.limits.max_content_size_bytes)?;
        // One that cannot be read is as good as none: files are then taken for somebody else's.
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    fn remember(
        &self,
        id: &str,
        known: Option<Manifest>,
        outputs: &[WrittenOutput],
    ) -> Result<(), Error> {
        let mut all = known.map(|manifest| manifest.outputs).unwrap_or_default();
        let hashes =
            outputs.iter().map(|output| (output.file.clone(), output.content_hash.clone()));
        all.extend(hashes);
        let manifest = Manifest { assembled_at: self.now(), outputs: all };
        let text = serde_json::to_string(&manifest).unwrap_or_default();
        self.inner.state.write(&format!("artifacts/{id}.json"), &text, Durability::Cached)
    }
}

fn redirect(config: &mut ArtifactConfig, path: Option<&str>) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    check_output(path)?;
    match config.metadata.outputs.as_mut_slice() {
        [only] => path.clone_into(&mut only.file),
        several => {
            let problem = format!("`{}` has {} outputs", config.id, several.len());
            return Err(Error::invalid("output_path", problem));
        }
    }
    Ok(())
}

/// Children that are not to be had are passed over.
fn custom(pieces: &[Piece], texts: &[(&str, &str)]) -> String {
    let pieces = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(piece) => Some(piece.text.as_str()),
        Piece::Child(id) => texts.iter().find(|(known, _)| known == id).map(|(_, text)| *text),
    });
    concat(pieces)
}

fn report(
    child: &Child,
    status: ChildStatus,
    versions: Vec<String>,
    error: Option<Error>,
) -> ChildReport {
    ChildReport {
        id: child.id.clone(),
        required: child.required,
        status,
        versions,
        problem: error.map(|error| error.to_string()),
    }
}

fn left_out(children: &[ChildReport]) -> Vec<String> {
    let problems = children.iter().filter_map(|child| {
        let problem = child.problem.as_ref()?;
        Some(format!("`{}` is left out: {problem}", child.id))
    });
    problems.collect()
}

impl Composed {
    /// All outputs, to look at.
    pub(crate) fn shown(&self) -> Shown {
        let texts: Vec<String> = self
            .outputs
            .iter()
            .map(|(output, text)| match self.outputs.len() {
                1 => text.clone(),
                _ => format!("--- {} ---\n{text}", output.file),
            })
            .collect();
        Shown::of(&texts.join("\n"))
    }
}
