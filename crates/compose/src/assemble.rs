//! `assemble_artifact`: composes contents and writes the output files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::composition::Refresh;
use crate::config::{ArtifactConfig, Output};
use crate::error::{Error, Result};
use crate::folder::Durability;
use crate::id::{MAX_ID, MAX_PATH, PATTERN, check_id, check_output};
use crate::model::{Context, Timestamp, hash};
use crate::validate::{Finding, findings};
use crate::{Compose, Files};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssembleRequest {
    /// Id of an artifact config
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub artifact_config_id: String,
    /// Write here instead, if the artifact has one output: a path in the workspace
    #[schemars(length(min = 1, max = MAX_PATH))]
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

/// The hashes of the files that assemblies of an artifact wrote. A file with another hash was
/// changed by someone else, and is not overwritten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) assembled_at: Timestamp,
    pub(crate) outputs: Files,
}

impl Compose {
    pub fn assemble_artifact(&self, request: &AssembleRequest) -> Result<AssembleResponse> {
        let id = &request.artifact_config_id;
        let mut config = self.inner.configs.artifact(id)?.config;
        redirect(&mut config, request.output_path.as_deref())?;
        let refresh = if request.force { Refresh::All } else { Refresh::AsNeeded };
        let composed = self.compose(&config, request.context.as_ref(), refresh)?;
        let known = self.manifest(id)?;
        let mut found = Vec::new();
        for (output, text) in &composed.outputs {
            if !request.force
                && let Some(current) = self.file(&output.file)?
                && current != *text
                && !is_ours(known.as_ref(), &output.file, &current)
            {
                return Err(Error::OutputChanged { file: output.file.clone() });
            }
            found.extend(findings(&config.rules, text, &output.format));
        }
        let mut outputs = Vec::new();
        for (output, text) in &composed.outputs {
            outputs.push(self.write_output(id, known.as_ref(), output, text)?);
        }
        self.save_manifest(id, known, &outputs)?;
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
            findings: found,
        })
    }

    fn write_output(
        &self,
        id: &str,
        known: Option<&Manifest>,
        output: &Output,
        text: &str,
    ) -> Result<WrittenOutput> {
        let file = check_output(&output.file)?;
        let current = self.file(file)?;
        let written = current.as_deref() != Some(text);
        let foreign = current.filter(|current| written && !is_ours(known, file, current));
        let mut backup = None;
        if let Some(current) = foreign {
            let name = file.replace('/', "-");
            let path = format!("backups/output/{id}/{}-{name}", self.now().file_name());
            self.inner.state.write(&path, &current, Durability::Synced)?;
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

    pub(crate) fn manifest(&self, id: &str) -> Result<Option<Manifest>> {
        let path = format!("artifacts/{}.json", check_id(id)?);
        let text = self.inner.state.read(&path, self.inner.limits.max_content_size_bytes)?;
        // A damaged manifest counts as none: no file is then overwritten without `force`.
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    fn save_manifest(
        &self,
        id: &str,
        known: Option<Manifest>,
        outputs: &[WrittenOutput],
    ) -> Result<()> {
        let mut hashes = known.map(|manifest| manifest.outputs).unwrap_or_default();
        hashes.extend(outputs.iter().map(|one| (one.file.clone(), one.content_hash.clone())));
        let manifest = Manifest { assembled_at: self.now(), outputs: hashes };
        let text = serde_json::to_string(&manifest).unwrap_or_default();
        self.inner.state.write(&format!("artifacts/{id}.json"), &text, Durability::Cached)
    }
}

/// Whether a file is as the last assembly left it.
pub(crate) fn is_ours(known: Option<&Manifest>, file: &str, current: &str) -> bool {
    let left = known.and_then(|manifest| manifest.outputs.get(file));
    left.is_some_and(|left| *left == hash(current))
}

fn redirect(config: &mut ArtifactConfig, path: Option<&str>) -> Result<()> {
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

pub(crate) fn left_out(children: &[ChildReport]) -> Vec<String> {
    let problems = children.iter().filter_map(|child| {
        let problem = child.problem.as_ref()?;
        Some(format!("`{}` is left out: {problem}", child.id))
    });
    problems.collect()
}
