//! `query_ephemeral_storage` and `cleanup_ephemeral`: lists stored versions, and removes old ones.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Compose;
use crate::config::Retrieval;
use crate::error::{Error, Result};
use crate::id::{MAX_ID, PATTERN, check_id};
use crate::limits::check_range;
use crate::model::{Shown, Timestamp, yes};
use crate::version::{ContentChange, Pins, Version, created_at, is_pinned};

pub const MAX_ENTRIES: usize = 500;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueryRequest {
    /// Only this content; all if none
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub content_id: Option<String>,
    /// Which versions of each
    pub retrieval: Retrieval,
    /// Show the content, too
    pub include_content: bool,
    #[schemars(range(min = 1, max = MAX_ENTRIES))]
    pub limit: usize,
}

impl Default for QueryRequest {
    fn default() -> Self {
        Self { content_id: None, retrieval: Retrieval::Latest, include_content: false, limit: 100 }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct QueryResponse {
    pub success: bool,
    /// Newest first for each content
    pub versions: Vec<StoredVersion>,
    /// How many there are, shown or not
    pub total: usize,
    pub contents: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StoredVersion {
    pub content_id: String,
    pub version: String,
    pub created_at: Timestamp,
    pub format: String,
    pub generators: Vec<String>,
    pub size_bytes: usize,
    pub content_hash: String,
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its content was deleted, and this record kept
    pub deleted: bool,
    #[serde(flatten)]
    pub shown: Option<Shown>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CleanupRequest {
    pub retention: Retention,
    pub filter: CleanupFilter,
    /// Say what would be removed, and remove nothing
    pub dry_run: bool,
}

/// What stays. A version is kept if any of these keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// The newest of each content
    pub keep_versions: usize,
    /// Those that are not older
    pub keep_days: u32,
    /// The newest one, whatever the others say
    #[serde(default = "yes")]
    pub keep_latest: bool,
}

impl Default for Retention {
    fn default() -> Self {
        Self { keep_versions: 3, keep_days: 7, keep_latest: true }
    }
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CleanupFilter {
    /// Only this content
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub content_id: Option<String>,
    /// Only contents whose ids begin so
    pub prefix: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CleanupResponse {
    pub success: bool,
    pub dry_run: bool,
    /// What was removed, or would be
    pub removed: Vec<RemovedVersion>,
    pub removed_count: usize,
    pub kept_count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemovedVersion {
    pub content_id: String,
    pub version: String,
}

impl Compose {
    pub fn query_ephemeral_storage(&self, request: &QueryRequest) -> Result<QueryResponse> {
        check_range("limit", request.limit, MAX_ENTRIES)?;
        let contents = self.one_or_all(request.content_id.as_deref())?;
        let mut response =
            QueryResponse { success: true, versions: Vec::new(), total: 0, contents: 0 };
        for id in &contents {
            let found = match self.inner.versions.retrieve(id, &request.retrieval) {
                // When all contents are queried, some do not have the version.
                Err(Error::NotFound { .. }) if request.content_id.is_none() => Vec::new(),
                other => other?,
            };
            response.total += found.len();
            response.contents += usize::from(!found.is_empty());
            let newest = found.into_iter().rev().take(request.limit - response.versions.len());
            response.versions.extend(newest.map(|one| stored(one, request.include_content)));
        }
        if response.total == 0
            && let Some(id) = &request.content_id
        {
            self.inner.configs.content(id)?;
        }
        Ok(response)
    }

    /// A stored version, the latest by default: `content://{id}[/{version}]`.
    pub fn content(&self, id: &str, version: Option<&str>) -> Result<Version> {
        if let Some(version) = version {
            return self.inner.versions.load(id, version);
        }
        self.inner.versions.latest(id)?.ok_or_else(|| self.not_generated(id))
    }

    /// A mistyped id is reported as unknown, not as a content without a version.
    pub(crate) fn not_generated(&self, id: &str) -> Error {
        let known = self.inner.configs.content(id);
        known.err().unwrap_or_else(|| Error::NotGenerated { id: id.to_owned() })
    }

    fn one_or_all(&self, id: Option<&str>) -> Result<Vec<String>> {
        match id {
            Some(id) => Ok(vec![check_id(id)?.to_owned()]),
            None => self.inner.versions.contents(),
        }
    }

    /// Ids of contents that have a version, sorted.
    pub fn content_ids(&self) -> Result<Vec<String>> {
        self.inner.versions.contents()
    }

    /// Whether the latest version of a content can be read: its text may have been deleted, and
    /// the record of its versions kept.
    pub fn has_content(&self, id: &str) -> bool {
        self.inner.versions.has_content(id).unwrap_or(false)
    }

    /// Calls `listener` after each change to the versions of a content through this value or one of
    /// its clones. A second listener is ignored.
    pub fn on_content_change(&self, listener: impl Fn(ContentChange<'_>) + Send + Sync + 'static) {
        // An error returns the listener that is not needed.
        let _ = self.inner.versions.listener.set(Box::new(listener));
    }

    /// The versions of a content, oldest first.
    pub fn version_ids(&self, id: &str) -> Result<Vec<String>> {
        self.inner.versions.list(id)
    }

    pub fn cleanup_ephemeral(&self, request: &CleanupRequest) -> Result<CleanupResponse> {
        let filter = &request.filter;
        let mut contents = self.one_or_all(filter.content_id.as_deref())?;
        contents.retain(|id| {
            filter.prefix.as_ref().is_none_or(|prefix| id.starts_with(prefix.as_str()))
        });
        let pins = self.pins()?;
        let (mut removed, mut kept_count) = (Vec::new(), 0);
        for id in &contents {
            let versions = self.inner.versions.list(id)?;
            let is_pinned = |version: &str| is_pinned(&pins, id, version);
            let kept = kept(&versions, &request.retention, self.now(), &is_pinned);
            kept_count += kept.len();
            let (before, alters_list) = (removed.len(), kept.is_empty());
            for version in versions.into_iter().filter(|version| !kept.contains(version)) {
                if !request.dry_run {
                    self.inner.versions.remove(id, &version)?;
                }
                removed.push(RemovedVersion { content_id: id.clone(), version });
            }
            if removed.len() > before && !request.dry_run {
                self.inner.versions.changed(ContentChange { id, alters_list });
            }
        }
        Ok(CleanupResponse {
            success: true,
            dry_run: request.dry_run,
            removed_count: removed.len(),
            removed,
            kept_count,
        })
    }

    /// Versions that an artifact config names.
    pub(crate) fn pins(&self) -> Result<Pins> {
        let artifacts = self.inner.configs.valid_artifacts()?;
        let children = artifacts.into_iter().flat_map(|artifact| artifact.config.content.children);
        Ok(children.map(|child| (child.id, child.retrieval_strategy)).collect())
    }
}

/// The versions that any rule of the retention keeps. `versions` are of one content, oldest first.
pub fn kept(
    versions: &[String],
    retention: &Retention,
    now: Timestamp,
    is_pinned: &dyn Fn(&str) -> bool,
) -> BTreeSet<String> {
    let oldest = now.days_before(retention.keep_days);
    let keeps = |(index, version): &(usize, &String)| {
        let newer = versions.len() - 1 - index;
        newer < retention.keep_versions
            || (retention.keep_latest && newer == 0)
            || (retention.keep_days > 0 && created_at(version).is_some_and(|at| at >= oldest))
            || is_pinned(version)
    };
    versions.iter().enumerate().filter(keeps).map(|(_, version)| version.clone()).collect()
}

fn stored(version: Version, include_content: bool) -> StoredVersion {
    let shown = version.content.as_deref().filter(|_| include_content).map(Shown::of);
    StoredVersion {
        uri: format!("content://{}/{}", version.content_id, version.version),
        deleted: version.content.is_none(),
        content_id: version.content_id,
        version: version.version,
        created_at: version.created_at,
        format: version.format,
        generators: version.generators,
        size_bytes: version.size_bytes,
        content_hash: version.content_hash,
        reason: version.reason,
        shown,
    }
}
