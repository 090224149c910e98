//! Previews an artifact: composes its outputs without storing or writing anything.

use kenning_tokens::count_tokens;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Compose;
use crate::assemble::{ChildReport, is_ours, left_out};
use crate::composition::Refresh;
use crate::error::Result;
use crate::id::{MAX_ID, PATTERN};
use crate::model::{Context, Shown};
use crate::validate::{Finding, findings};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewArtifactRequest {
    /// Id of an artifact config
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub artifact_config_id: String,
    /// Values for all children; without it, those each was generated with last
    pub context: Option<Context>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PreviewArtifactResponse {
    pub success: bool,
    pub artifact_id: String,
    pub outputs: Vec<PreviewedOutput>,
    pub children: Vec<ChildReport>,
    /// What the rules of the artifact say about its outputs
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PreviewedOutput {
    pub file: String,
    pub format: String,
    pub size_bytes: usize,
    pub lines: usize,
    /// Of all of it, shown or not
    pub tokens: usize,
    /// What writing would do to the file
    pub effect: OutputEffect,
    #[serde(flatten)]
    pub shown: Shown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputEffect {
    /// There is none yet
    Creates,
    /// It is what we left, and something has changed since
    Updates,
    /// It is there as it would be written
    Nothing,
    /// Somebody else wrote it, or changed it since: only with `force`, and a copy is kept
    Overwrites,
}

impl Compose {
    pub fn preview_artifact(
        &self,
        request: &PreviewArtifactRequest,
    ) -> Result<PreviewArtifactResponse> {
        let id = &request.artifact_config_id;
        let config = self.inner.configs.artifact(id)?.config;
        let composed = self.compose(&config, request.context.as_ref(), Refresh::Preview)?;
        let known = self.manifest(id)?;
        let (mut outputs, mut found) = (Vec::new(), Vec::new());
        for (output, text) in &composed.outputs {
            found.extend(findings(&config.rules, text, &output.format));
            let effect = match self.file(&output.file)? {
                None => OutputEffect::Creates,
                Some(current) if current == *text => OutputEffect::Nothing,
                Some(current) if is_ours(known.as_ref(), &output.file, &current) => {
                    OutputEffect::Updates
                }
                Some(_) => OutputEffect::Overwrites,
            };
            outputs.push(PreviewedOutput {
                file: output.file.clone(),
                format: output.format.clone(),
                size_bytes: text.len(),
                lines: text.lines().count(),
                tokens: count_tokens(text),
                effect,
                shown: Shown::of(text),
            });
        }
        Ok(PreviewArtifactResponse {
            success: true,
            artifact_id: id.clone(),
            outputs,
            warnings: left_out(&composed.children),
            children: composed.children,
            findings: found,
        })
    }
}
