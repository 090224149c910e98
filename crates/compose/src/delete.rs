//! `delete_content`: deletes the versions of a content, and keeps its config.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Compose;
use crate::config::Origin;
use crate::error::{Error, Result};
use crate::id::{MAX_ID, PATTERN, check_id};
use crate::version::ContentChange;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub content_id: String,
    /// Keep the record of each version, without its content
    #[serde(default)]
    pub preserve_metadata: bool,
    /// Delete although artifacts are made of it
    #[serde(default)]
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeleteResponse {
    pub success: bool,
    pub content_id: String,
    pub versions_deleted: usize,
    pub metadata_preserved: bool,
    /// Artifacts that are made of it
    pub referenced_by: Vec<String>,
}

impl Compose {
    pub fn delete_content(&self, request: &DeleteRequest) -> Result<DeleteResponse> {
        let id = check_id(&request.content_id)?;
        let versions = self.inner.versions.list(id)?;
        if versions.is_empty() {
            return Err(self.not_generated(id));
        }
        let by = self.referring(id)?;
        if !by.is_empty() && !request.force {
            return Err(Error::Referenced { id: id.to_owned(), by });
        }
        let mut deleted = 0;
        let was_listed = self.inner.versions.has_content(id)?;
        for name in &versions {
            if request.preserve_metadata {
                let mut version = self.inner.versions.load(id, name)?;
                deleted += usize::from(version.content.take().is_some());
                self.inner.versions.put(&version)?;
            } else {
                self.inner.versions.remove(id, name)?;
                deleted += 1;
            }
        }
        self.inner.versions.changed(ContentChange { id, alters_list: was_listed });
        Ok(DeleteResponse {
            success: true,
            content_id: id.to_owned(),
            versions_deleted: deleted,
            metadata_preserved: request.preserve_metadata,
            referenced_by: by,
        })
    }

    /// Artifacts that have a content as a child. A built-in artifact counts once it has been
    /// assembled: otherwise no built-in content could be deleted.
    fn referring(&self, id: &str) -> Result<Vec<String>> {
        let mut by = Vec::new();
        for artifact in self.inner.configs.valid_artifacts()? {
            let (name, children) = (artifact.config.id, artifact.config.content.children);
            let refers = children.iter().any(|child| child.id == id && child.path.is_none());
            let is_own = artifact.origin == Origin::Workspace;
            if refers && (is_own || self.manifest(&name)?.is_some()) {
                by.push(name);
            }
        }
        Ok(by)
    }
}
