//! `query_ephemeral_storage` and `cleanup_ephemeral`: the versions there are, and which stay.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Compose;
use crate::config::{ConfigType, Retrieval};
use crate::error::Error;
use crate::id::check_id;
use crate::model::{Shown, Timestamp, yes};
use crate::version::{Pinned, Version, created_at};

pub const MAX_ENTRIES: usize = 500;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueryRequest {
    /// Only this content; all if none
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
    pub fn query_ephemeral_storage(&self, request: &QueryRequest) -> Result<QueryResponse, Error> {
        if !(1..=MAX_ENTRIES).contains(&request.limit) {
            let problem = format!("is {}; it can be 1 to {MAX_ENTRIES}", request.limit);
            return Err(Error::invalid("limit", problem));
        }
        let contents = match &request.content_id {
            Some(id) => vec![check_id(id)?.to_owned()],
            None => self.inner.versions.contents()?,
        };
        let mut response =
            QueryResponse { success: true, versions: Vec::new(), total: 0, contents: 0 };
        for id in &contents {
            let found = match self.inner.versions.retrieve(id, &request.retrieval) {
                // Of all contents, some do not have the version.
                Err(Error::NotFound { .. }) if request.content_id.is_none() => Vec::new(),
                other => other?,
            };
            response.total += found.len();
            response.contents += usize::from(!found.is_empty());
            let room = request.limit - response.versions.len();
            let shown = found.into_iter().rev().take(room);
            response.versions.extend(shown.map(|one| stored(one, request.include_content)));
        }
        if response.total == 0
            && let Some(id) = &request.content_id
        {
            self.inner.configs.content(id)?;
        }
        Ok(response)
    }

    /// All of a content: `content://{id}[/{version}]`.
    pub fn content(&self, id: &str, version: Option<&str>) -> Result<Version, Error> {
        if let Some(version) = version {
            return self.inner.versions.load(id, version);
        }
        if let Some(latest) = self.inner.versions.latest(id)? {
            return Ok(latest);
        }
        self.inner.configs.content(id)?;
        Err(Error::NotGenerated { id: id.to_owned() })
    }

    /// Contents of which there is a version, sorted.
    pub fn content_ids(&self) -> Result<Vec<String>, Error> {
        self.inner.versions.contents()
    }

    /// The versions of a content, oldest first.
    pub fn version_ids(&self, id: &str) -> Result<Vec<String>, Error> {
        self.inner.versions.list(id)
    }

    pub fn cleanup_ephemeral(&self, request: &CleanupRequest) -> Result<CleanupResponse, Error> {
        let filter = &request.filter;
        let contents = match &filter.content_id {
            Some(id) => vec![check_id(id)?.to_owned()],
            None => self.inner.versions.contents()?,
        };
        let fits = |id: &&String| {
            filter.prefix.as_ref().is_none_or(|prefix| id.starts_with(prefix.as_str()))
        };
        let pinned = self.pinned()?;
        let (mut removed, mut kept_count) = (Vec::new(), 0);
        for id in contents.iter().filter(fits) {
            let versions = self.inner.versions.list(id)?;
            let is_pinned = |version: &str| pinned.holds(id, version);
            let kept = kept(&versions, &request.retention, self.now(), &is_pinned);
            kept_count += kept.len();
            for version in versions.into_iter().filter(|version| !kept.contains(version)) {
                if !request.dry_run {
                    self.inner.versions.remove(id, &version)?;
                }
                removed.push(RemovedVersion { content_id: id.clone(), version });
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

    /// Versions that an artifact names.
    pub(crate) fn pinned(&self) -> Result<Pinned, Error> {
        let mut pinned = Pinned::default();
        for id in self.inner.configs.ids(ConfigType::Artifact)? {
            // A broken config names nothing, and is no reason to keep everything.
            let Ok(artifact) = self.inner.configs.artifact(&id) else { continue };
            for child in artifact.config.content.children {
                pinned.add(child.id, child.retrieval_strategy);
            }
        }
        Ok(pinned)
    }
}

/// The versions that any rule keeps. `versions` are of one content, oldest first.
pub fn kept(
    versions: &[String],
    retention: &Retention,
    now: Timestamp,
    is_pinned: &dyn Fn(&str) -> bool,
) -> BTreeSet<String> {
    let oldest = now.days_before(retention.keep_days);
    let from_end = |place: usize| versions.len() - 1 - place;
    let keeps = |(place, version): &(usize, &String)| {
        from_end(*place) < retention.keep_versions
            || (retention.keep_latest && from_end(*place) == 0)
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
