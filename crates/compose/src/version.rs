//! Stored versions of generated texts, one file each.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::Files;
use crate::config::Retrieval;
use crate::error::{Error, Kind, Result};
use crate::folder::{Durability, Folder};
use crate::id::{check_id, check_version};
use crate::limits::Limits;
use crate::model::{Context, Timestamp, hash};

const FOLDER: &str = "content";
/// Bytes of a version's file in addition to the text.
const MAX_METADATA: usize = 20_000_000;

/// One version of a content, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    pub content_id: String,
    pub version: String,
    pub created_at: Timestamp,
    /// Such as `markdown`
    pub format: String,
    pub generators: Vec<String>,
    pub size_bytes: usize,
    pub content_hash: String,
    /// The same inputs make the same content
    pub inputs_hash: String,
    /// What the request gave
    pub context: Context,
    /// Files of the workspace that had a part in it, with the hash of each
    pub files: Files,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// None if it was deleted and only this record is kept
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// A content whose versions have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentChange<'a> {
    pub id: &'a str,
    /// Whether it can be read from now on and could not before, or the other way round.
    pub alters_list: bool,
}

pub(crate) type Listener = Box<dyn Fn(ContentChange<'_>) + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Versions {
    state: Arc<Folder>,
    /// Set once a listener for changes exists.
    pub(crate) listener: Arc<OnceLock<Listener>>,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The time of the last version: each version gets another one.
    last: Arc<AtomicI64>,
    max_bytes: usize,
    retention_days: u32,
}

impl Versions {
    pub(crate) fn new(
        state: Arc<Folder>,
        limits: &Limits,
        clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> Self {
        Self {
            state,
            listener: Arc::default(),
            clock,
            last: Arc::new(AtomicI64::new(i64::MIN)),
            // JSON escapes a byte of text with up to six.
            max_bytes: limits.max_content_size_bytes.saturating_mul(6) + MAX_METADATA,
            retention_days: limits.ephemeral_retention_days,
        }
    }

    /// Ids of contents that have a version, sorted.
    pub(crate) fn contents(&self) -> Result<Vec<String>> {
        let names = self.state.names(FOLDER)?;
        Ok(names.into_iter().filter(|name| check_id(name).is_ok()).collect())
    }

    /// The versions of a content, oldest first.
    pub(crate) fn list(&self, id: &str) -> Result<Vec<String>> {
        let names = self.state.stems(&format!("{FOLDER}/{}", check_id(id)?))?;
        Ok(names.into_iter().filter(|name| created_at(name).is_some()).collect())
    }

    pub(crate) fn load(&self, id: &str, version: &str) -> Result<Version> {
        let path = file(check_id(id)?, check_version(version)?);
        let Some(text) = self.state.read(&path, self.max_bytes)? else {
            let known = self.list(id).unwrap_or_default();
            return Err(Error::not_found(Kind::Version, version, &known));
        };
        serde_json::from_str(&text).map_err(|error| {
            Error::storage(format!("`{path}` is damaged"), std::io::Error::other(error))
        })
    }

    pub(crate) fn latest(&self, id: &str) -> Result<Option<Version>> {
        self.list(id)?.last().map(|version| self.load(id, version)).transpose()
    }

    /// Whether the latest version has its text, which may have been deleted without its record.
    pub(crate) fn has_content(&self, id: &str) -> Result<bool> {
        #[derive(Deserialize)]
        struct Stored {
            content: Option<IgnoredAny>,
        }
        let Some(version) = self.list(id)?.pop() else { return Ok(false) };
        let text = self.state.read(&file(id, &version), self.max_bytes)?;
        let stored = text.and_then(|text| serde_json::from_str::<Stored>(&text).ok());
        Ok(stored.is_some_and(|stored| stored.content.is_some()))
    }

    pub(crate) fn changed(&self, change: ContentChange<'_>) {
        if let Some(listener) = self.listener.get() {
            listener(change);
        }
    }

    /// The requested versions, oldest first.
    pub(crate) fn retrieve(&self, id: &str, which: &Retrieval) -> Result<Vec<Version>> {
        let mut names = self.list(id)?;
        match which {
            Retrieval::Latest => drop(names.drain(..names.len().saturating_sub(1))),
            Retrieval::All => {}
            Retrieval::Version(version) => return self.load(id, version).map(|one| vec![one]),
            Retrieval::Timestamp(start) => names.retain(|name| matches_time(name, start)),
        }
        names.iter().map(|name| self.load(id, name)).collect()
    }

    /// Assigns a time and a name, stores the version, and removes versions past the retention time
    /// that no pin keeps.
    pub(crate) fn save(
        &self,
        mut version: Version,
        pins: impl FnOnce() -> Result<Pins>,
    ) -> Result<Version> {
        let time = self.next_time();
        let salt = format!("{}{}{}", version.content_hash, time.0, std::process::id());
        version.created_at = time;
        version.version = format!("{}-{}", time.file_name(), &hash(&salt)[..6]);
        let alters_list = !self.has_content(&version.content_id)?;
        self.put(&version)?;
        self.changed(ContentChange { id: &version.content_id, alters_list });
        self.expire(&version.content_id, pins)?;
        Ok(version)
    }

    pub(crate) fn put(&self, version: &Version) -> Result<()> {
        let text = serde_json::to_string(version).unwrap_or_default();
        self.state.write(&file(&version.content_id, &version.version), &text, Durability::Cached)
    }

    pub(crate) fn remove(&self, id: &str, version: &str) -> Result<()> {
        self.state.remove(&file(check_id(id)?, check_version(version)?))?;
        self.state.remove_empty(&format!("{FOLDER}/{id}"));
        Ok(())
    }

    /// Removes versions older than the limit, but never the latest.
    fn expire(&self, id: &str, pins: impl FnOnce() -> Result<Pins>) -> Result<()> {
        let oldest = (self.clock)().days_before(self.retention_days);
        let mut versions = self.list(id)?;
        versions.pop();
        versions.retain(|version| created_at(version).is_some_and(|time| time < oldest));
        if versions.is_empty() {
            return Ok(());
        }
        let pins = pins()?;
        for version in versions.iter().filter(|version| !is_pinned(&pins, id, version)) {
            self.remove(id, version)?;
        }
        Ok(())
    }

    fn next_time(&self) -> Timestamp {
        let now = (self.clock)().0;
        let later = |last: i64| Some(now.max(last.saturating_add(1)));
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        Timestamp(now.max(last.unwrap_or(now).saturating_add(1)))
    }
}

/// Versions that artifact configs name, by content. Cleanup and expiry keep them.
pub(crate) type Pins = Vec<(String, Retrieval)>;

pub(crate) fn is_pinned(pins: &[(String, Retrieval)], id: &str, version: &str) -> bool {
    pins.iter().filter(|(content, _)| content == id).any(|(_, which)| match which {
        Retrieval::Version(named) => named == version,
        Retrieval::Timestamp(start) => matches_time(version, start),
        Retrieval::Latest | Retrieval::All => false,
    })
}

fn file(id: &str, version: &str) -> String {
    format!("{FOLDER}/{id}/{version}.json")
}

/// `start` is the beginning of a version's name or of its time.
fn matches_time(version: &str, start: &str) -> bool {
    let time = created_at(version).map(|time| time.to_string());
    version.starts_with(start) || time.is_some_and(|time| time.starts_with(start))
}

/// The time in a version's name.
pub(crate) fn created_at(version: &str) -> Option<Timestamp> {
    let (time, _) = version.rsplit_once('-')?;
    Timestamp::parse(time)
}
