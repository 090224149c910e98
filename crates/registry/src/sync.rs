//! Updates an agent's capabilities to match its skill folders.
//!
//! A skill that is found is added, or updated if anything differs. A skill that is no longer found
//! is deactivated if a sync had added it; skills registered by hand are left alone. The metadata
//! records which is which.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::Registry;
use crate::error::Error;
use crate::model::{Capability, Metadata};
use crate::rules::{MAX_METADATA, check_agent_id};
use crate::skills::{FILE, Found, FoundSkill, Problem};
use crate::store::{Change, Existing, Held, NewCapability};

/// The metadata key that marks a capability as added by a sync.
pub const ORIGIN: &str = "origin";
/// If another change comes between reading and writing, the plan is computed again.
const ATTEMPTS: usize = 10;

/// Whether to apply the plan or only report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Apply,
    DryRun,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SyncResponse {
    pub success: bool,
    pub agent_id: i64,
    /// Nothing was changed: this is what would be
    pub dry_run: bool,
    pub added: Vec<SyncedSkill>,
    pub updated: Vec<SyncedSkill>,
    pub unchanged: Vec<SyncedSkill>,
    /// No longer found
    pub deactivated: Vec<SyncedSkill>,
    /// Files that could not be read, or only in part
    pub problems: Vec<Problem>,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SyncedSkill {
    pub skill_name: String,
    pub version: String,
    /// The version before, if it was another
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_version: Option<String>,
}

impl Registry {
    /// Applies all changes in one transaction.
    pub fn sync(&self, agent_id: i64, found: &Found, mode: Mode) -> Result<SyncResponse, Error> {
        check_agent_id(agent_id)?;
        for _ in 0..ATTEMPTS {
            let held = self.store.held(agent_id)?;
            let (change, response) = plan(agent_id, found, &held, mode);
            if mode == Mode::DryRun || change.put.is_empty() && change.deactivate.is_empty() {
                return Ok(response);
            }
            match self.store.apply(agent_id, &change, (self.clock)()) {
                Ok(_) => return Ok(response),
                Err(Error::Changed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Changed { agent_id })
    }
}

/// The change that makes the registry match the folders.
fn plan(agent_id: i64, found: &Found, held: &Held, mode: Mode) -> (Change, SyncResponse) {
    let mut change =
        Change { existing: Existing::Update, expected: Some(held.revision), ..Change::default() };
    let mut response = SyncResponse {
        success: true,
        agent_id,
        dry_run: mode == Mode::DryRun,
        added: Vec::new(),
        updated: Vec::new(),
        unchanged: Vec::new(),
        deactivated: Vec::new(),
        problems: found.problems.clone(),
        message: String::new(),
    };
    let mut unmatched: HashMap<&str, &Capability> =
        held.capabilities.iter().map(|one| (one.skill_name.as_str(), one)).collect();
    for skill in &found.skills {
        let existing = unmatched.remove(skill.name.as_str());
        let Some(wanted) = wanted(skill, existing) else {
            response.problems.push(Problem {
                path: skill.path.display().to_string(),
                problem: format!("its metadata is larger than {MAX_METADATA} bytes"),
            });
            continue;
        };
        let is_current = existing.is_some_and(|existing| is_as_wanted(existing, &wanted));
        let list = match existing {
            _ if is_current => &mut response.unchanged,
            Some(_) => &mut response.updated,
            None => &mut response.added,
        };
        list.push(synced(skill, existing));
        if !is_current {
            change.put.push(wanted);
        }
    }
    for one in &held.capabilities {
        if unmatched.contains_key(one.skill_name.as_str()) && one.active && is_from_sync(one) {
            change.deactivate.push(one.skill_name.clone());
            let (skill_name, version) = (one.skill_name.clone(), one.version.clone());
            response.deactivated.push(SyncedSkill { skill_name, version, previous_version: None });
        }
    }
    response.message = message(&response);
    (change, response)
}

/// The skill as the registry should store it; `None` if its metadata is too large.
fn wanted(skill: &FoundSkill, existing: Option<&Capability>) -> Option<NewCapability> {
    let mut metadata =
        skill.metadata_over(existing.and_then(|existing| existing.metadata.as_ref()));
    metadata.insert(ORIGIN.to_owned(), Value::from(FILE));
    let size = serde_json::to_string(&metadata).map_or(usize::MAX, |text| text.len());
    (size <= MAX_METADATA).then(|| NewCapability {
        skill_name: skill.name.clone(),
        version: skill.version.clone(),
        active: true,
        metadata: Some(metadata),
    })
}

fn is_as_wanted(existing: &Capability, wanted: &NewCapability) -> bool {
    existing.version == wanted.version
        && existing.active == wanted.active
        && existing.metadata == wanted.metadata
}

fn is_from_sync(capability: &Capability) -> bool {
    let origin = |metadata: &Metadata| metadata.get(ORIGIN).is_some_and(|origin| origin == FILE);
    capability.metadata.as_ref().is_some_and(origin)
}

fn synced(skill: &FoundSkill, existing: Option<&Capability>) -> SyncedSkill {
    let before = existing.map(|existing| existing.version.clone());
    SyncedSkill {
        skill_name: skill.name.clone(),
        version: skill.version.clone(),
        previous_version: before.filter(|before| *before != skill.version),
    }
}

fn message(response: &SyncResponse) -> String {
    let SyncResponse { agent_id, added, updated, unchanged, deactivated, .. } = response;
    let prefix = if response.dry_run { "Would sync" } else { "Synced" };
    format!(
        "{prefix} agent {agent_id}: {} added, {} updated, {} unchanged, {} deactivated",
        added.len(),
        updated.len(),
        unchanged.len(),
        deactivated.len()
    )
}
