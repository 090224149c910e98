//! Keeps an agent's capabilities in step with its skill folders.
//!
//! A skill that is found is added, or updated if anything about it differs. A skill that is no
//! longer found is deactivated if a sync brought it: what somebody registered by hand is not a
//! sync's to judge. Which it was is noted in its metadata.

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

/// The key in a capability's metadata that says where it comes from.
pub const ORIGIN: &str = "origin";
/// Another change may come between reading and writing; then the plan is made anew.
const ATTEMPTS: usize = 10;

/// Whether to do it or only say what would be done.
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
    /// Registers what was found, in one transaction.
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

/// What has to change for the registry to say what the folders say.
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
    let mut gone: HashMap<&str, &Capability> =
        held.capabilities.iter().map(|one| (one.skill_name.as_str(), one)).collect();
    for skill in &found.skills {
        let there = gone.remove(skill.name.as_str());
        let Some(wanted) = wanted(skill, there) else {
            response.problems.push(Problem {
                path: skill.path.display().to_string(),
                problem: format!("its metadata is larger than {MAX_METADATA} bytes"),
            });
            continue;
        };
        let list = match there {
            None => &mut response.added,
            Some(there) if is_as_wanted(there, &wanted) => &mut response.unchanged,
            Some(_) => &mut response.updated,
        };
        list.push(synced(skill, there));
        if there.is_none_or(|there| !is_as_wanted(there, &wanted)) {
            change.put.push(wanted);
        }
    }
    for one in &held.capabilities {
        if gone.contains_key(one.skill_name.as_str()) && one.active && came_by_sync(one) {
            change.deactivate.push(one.skill_name.clone());
            let (skill_name, version) = (one.skill_name.clone(), one.version.clone());
            response.deactivated.push(SyncedSkill { skill_name, version, previous_version: None });
        }
    }
    response.message = message(&response);
    (change, response)
}

/// The skill as the registry should have it, unless it is too large.
fn wanted(skill: &FoundSkill, there: Option<&Capability>) -> Option<NewCapability> {
    let mut metadata = skill.metadata_over(there.and_then(|there| there.metadata.as_ref()));
    metadata.insert(ORIGIN.to_owned(), Value::from(FILE));
    let size = serde_json::to_string(&metadata).map_or(usize::MAX, |text| text.len());
    (size <= MAX_METADATA).then(|| NewCapability {
        skill_name: skill.name.clone(),
        version: skill.version.clone(),
        active: true,
        metadata: Some(metadata),
    })
}

fn is_as_wanted(there: &Capability, wanted: &NewCapability) -> bool {
    there.version == wanted.version
        && there.active == wanted.active
        && there.metadata == wanted.metadata
}

fn came_by_sync(capability: &Capability) -> bool {
    let origin = |metadata: &Metadata| metadata.get(ORIGIN).is_some_and(|origin| origin == FILE);
    capability.metadata.as_ref().is_some_and(origin)
}

fn synced(skill: &FoundSkill, there: Option<&Capability>) -> SyncedSkill {
    let before = there.map(|there| there.version.clone());
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
