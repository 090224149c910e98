//! The team's agents and their skills: `agents`, `skills`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use kenning_registry::agents::{
    AddAgentRequest, AgentsResponse, ListAgentsRequest, ListedAgent, RemoveAgentRequest,
    RenameAgentRequest,
};
use kenning_registry::deactivate::DeactivateRequest;
use kenning_registry::find::RankError;
use kenning_registry::get::{GetRequest, GetResponse};
use kenning_registry::list::{AgentGroup, Groups, ListRequest, ListResponse, SkillGroup};
use kenning_registry::register::{CapabilityInput, RegisterRequest};
use kenning_registry::sync::{Mode, SyncResponse, SyncedSkill};
use kenning_registry::{Registry, places, skills};
use kenning_store::Store;

use super::Context;
use super::context::embed;
use super::paths::absolute;
use crate::cli::{Agents, Skills};
use crate::failure::{Exit, Failure};

/// A registry that ranks skills by meaning, too, as far as `embed` has a model.
pub(super) fn with_semantic_ranking(
    store: Arc<Store>,
    embed: impl Fn(&str) -> Option<Vec<f32>> + Send + Sync + 'static,
) -> Registry {
    let vectors = VectorCache::default();
    Registry::new(store).with_ranker(Arc::new(move |query: &str, texts: &[String]| {
        // Without a vector nothing is similar, and keywords decide alone.
        let Some(query) = embed(query) else { return Ok(vec![0.0; texts.len()]) };
        let similarity = |text: &String| vectors.similarity(&query, text, &embed);
        Ok::<_, RankError>(texts.iter().map(similarity).collect())
    }))
}

/// Vectors of skills' descriptions, which every question is compared with.
#[derive(Default)]
struct VectorCache(Mutex<HashMap<String, Vec<f32>>>);

/// This many vectors take about 20 MB. A full cache is emptied.
const MAX_CACHED: usize = 10_000;

impl VectorCache {
    fn similarity(
        &self,
        query: &[f32],
        text: &str,
        embed: &dyn Fn(&str) -> Option<Vec<f32>>,
    ) -> f32 {
        let cached = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vector) = cached().get(text) {
            return cosine(vector, query);
        }
        // Computed without the lock, so that other requests need not wait.
        let Some(vector) = embed(text) else { return 0.0 };
        let similarity = cosine(&vector, query);
        let mut cached = cached();
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(text.to_owned(), vector);
        similarity
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>().clamp(0.0, 1.0)
}

pub(super) fn agents(context: &Context, command: Agents) -> Result<Exit, Failure> {
    let registry = with_semantic_ranking(context.require_store()?, embed);
    match command {
        Agents::Add { name, id } => {
            let added = registry.add_agent(&AddAgentRequest { name, id })?;
            context.answer(&added, |added| format!("{}  {}", added.agent.id, added.agent.name))
        }
        Agents::List => {
            let listed = registry.agents(&ListAgentsRequest::default())?;
            context.answer(&listed, agents_text)
        }
        Agents::Rename { agent, name } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let renamed = registry.rename_agent(&RenameAgentRequest { agent_id, name })?;
            context.answer(&renamed, |renamed| renamed.message.clone())
        }
        Agents::Remove { agent } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let removed = registry.remove_agent(&RemoveAgentRequest { agent_id })?;
            context.answer(&removed, |removed| removed.message.clone())
        }
    }
}

fn agents_text(listed: &AgentsResponse) -> String {
    let line = |agent: &ListedAgent| {
        format!(
            "{:>4}  {:<30} {} skills, {} active\n",
            agent.id, agent.name, agent.total_count, agent.active_count
        )
    };
    listed.agents.iter().map(line).collect()
}

pub(super) fn skills(context: &Context, command: Skills) -> Result<Exit, Failure> {
    let registry = with_semantic_ranking(context.require_store()?, embed);
    match command {
        Skills::Register { agent, skill, version, metadata } => {
            let metadata = metadata.map(|text| serde_json::from_str(&text)).transpose();
            let metadata = metadata.map_err(|error| {
                Failure::usage(format!("--metadata is not a JSON object: {error}"))
                    .hint("an example: '{\"category\": \"backend\"}'")
            })?;
            let input = CapabilityInput { skill_name: skill, version, active: true, metadata };
            let request = RegisterRequest {
                agent_id: registry.resolve_agent(&agent)?,
                capabilities: vec![input],
                upsert: true,
            };
            context.answer(&registry.register(&request)?, |done| done.message.clone())
        }
        Skills::List { agent: Some(agent), query: None, all } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let request = GetRequest { active_only: !all, ..GetRequest::of(agent_id) };
            context.answer(&registry.get(&request)?, GetResponse::human)
        }
        Skills::List { agent: Some(_), query: Some(_), .. } => {
            Err(Failure::usage("--agent and --query cannot be combined").hint("omit one of them"))
        }
        Skills::List { agent: None, query, all } => {
            let request = ListRequest { query, active_only: !all, ..ListRequest::default() };
            let listed = registry.list(&request)?;
            context.printer.answer(&listed, list_text)?;
            Ok(Exit::success_if(!listed.capabilities.is_empty()))
        }
        Skills::Deactivate { agent, skill } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let request = DeactivateRequest { agent_id, skill_name: skill };
            context.answer(&registry.deactivate(&request)?, |done| done.message.clone())
        }
        Skills::Sync { agent, folders, dry_run } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let folders = if folders.is_empty() { usual_places()? } else { folders };
            let mode = if dry_run { Mode::DryRun } else { Mode::Apply };
            let synced = registry.sync(agent_id, &skills::read(&folders)?, mode)?;
            context.answer(&synced, sync_text)
        }
    }
}

/// The skill folders of coding agents that exist. It is an error if there is none: a sync would
/// take the agent's skills for removed and deactivate them all.
fn usual_places() -> Result<Vec<PathBuf>, Failure> {
    let project = std::env::current_dir()?;
    let mut places = places::usual(&project, absolute("HOME").as_deref());
    places.retain(|place| place.is_dir());
    if places.is_empty() {
        return Err(Failure::new("none of the usual folders of skills exists")
            .hint("name a folder whose subfolders have a SKILL.md"));
    }
    Ok(places)
}

fn list_text(listed: &ListResponse) -> String {
    let lines: Vec<String> = match &listed.capabilities {
        Groups::BySkill(skills) => skills.iter().map(skill_line).collect(),
        Groups::ByAgent(agents) => agents.iter().map(agent_line).collect(),
    };
    lines.join("\n")
}

fn skill_line(skill: &SkillGroup) -> String {
    let names: Vec<&str> = skill.agents.iter().map(|agent| agent.agent_name.as_str()).collect();
    format!("{} v{}  {}", skill.skill_name, skill.version, names.join(", "))
}

fn agent_line(agent: &AgentGroup) -> String {
    let names: Vec<&str> = agent.skills.iter().map(|skill| skill.skill_name.as_str()).collect();
    format!("{}  {}", agent.agent_name, names.join(", "))
}

fn sync_text(synced: &SyncResponse) -> String {
    let mut out = String::new();
    for (mark, skills) in [("+", &synced.added), ("~", &synced.updated), ("-", &synced.deactivated)]
    {
        let line =
            |skill: &SyncedSkill| format!("{mark} {} v{}\n", skill.skill_name, skill.version);
        out += &skills.iter().map(line).collect::<String>();
    }
    for problem in &synced.problems {
        out += &format!("! {}: {}\n", problem.path, problem.problem);
    }
    out + &synced.message
}
