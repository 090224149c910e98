//! The team's agents and their skills: `agents`, `skills`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kenning_knowledge::Library;
use kenning_registry::agents::{
    AddAgentRequest, AgentsResponse, ListAgentsRequest, RemoveAgentRequest, RenameAgentRequest,
};
use kenning_registry::deactivate::DeactivateRequest;
use kenning_registry::find::RankError;
use kenning_registry::get::GetRequest;
use kenning_registry::list::{AgentGroup, Groups, ListRequest, ListResponse, SkillGroup};
use kenning_registry::register::{CapabilityInput, RegisterRequest};
use kenning_registry::sync::{Mode, SyncResponse, SyncedSkill};
use kenning_registry::{Error, Registry, places, skills};
use kenning_store::Store;

use super::catalog::embed;
use super::{Context, absolute};
use crate::cli::{Agents, Skills};
use crate::failure::{Exit, Failure};

/// A registry that understands questions as soon as the library has its model.
pub(super) fn with_meaning(store: Arc<Store>, library: Arc<Library>) -> Registry {
    let remembered = Remembered::default();
    Registry::new(store).with_ranker(Arc::new(move |query: &str, texts: &[String]| {
        let embed = |text: &str| library.embed(text);
        let Some(query) = embed(query) else { return Ok(vec![0.0; texts.len()]) };
        let likeness = |text: &String| remembered.likeness(&query, text, &embed);
        Ok::<_, RankError>(texts.iter().map(likeness).collect())
    }))
}

/// Vectors of what skills say about themselves, which every question is compared with.
#[derive(Default)]
struct Remembered(Mutex<HashMap<String, Vec<f32>>>);

/// So many take some 20 MB; beyond that it begins anew.
const MAX_REMEMBERED: usize = 10_000;

impl Remembered {
    fn likeness(&self, query: &[f32], text: &str, embed: &dyn Fn(&str) -> Option<Vec<f32>>) -> f32 {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vector) = known().get(text) {
            return cosine(vector, query);
        }
        // Nobody waits for a vector that somebody else computes.
        let Some(vector) = embed(text) else { return 0.0 };
        let likeness = cosine(&vector, query);
        let mut known = known();
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(text.to_owned(), vector);
        likeness
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>().clamp(0.0, 1.0)
}

/// Nothing is alike as long as there is no model: then words are all there is.
fn similarity(query: &str, texts: &[String], embed: &dyn Fn(&str) -> Option<Vec<f32>>) -> Vec<f32> {
    let Some(query) = embed(query) else { return vec![0.0; texts.len()] };
    texts.iter().map(|text| embed(text).map_or(0.0, |vector| cosine(&vector, &query))).collect()
}

impl Context {
    fn registry(&self) -> Result<Registry, Failure> {
        let store = self.need_store()?;
        let ranker =
            |query: &str, texts: &[String]| Ok::<_, RankError>(similarity(query, texts, &embed));
        Ok(Registry::new(store).with_ranker(Arc::new(ranker)))
    }
}

pub(super) fn agents(context: &Context, agents: Agents) -> Result<Exit, Failure> {
    let registry = context.registry()?;
    let printer = context.printer;
    match agents {
        Agents::Add { name, id } => {
            let added = registry.add_agent(&AddAgentRequest { name, id })?;
            printer.answer(&added, |added| format!("{}  {}", added.agent.id, added.agent.name))?;
        }
        Agents::List => {
            let listed = registry.agents(&ListAgentsRequest::default())?;
            printer.answer(&listed, agents_text)?;
        }
        Agents::Rename { agent, name } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let renamed = registry.rename_agent(&RenameAgentRequest { agent_id, name })?;
            printer.answer(&renamed, |renamed| renamed.message.clone())?;
        }
        Agents::Remove { agent } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let removed = registry.remove_agent(&RemoveAgentRequest { agent_id })?;
            printer.answer(&removed, |removed| removed.message.clone())?;
        }
    }
    Ok(Exit::Success)
}

fn agents_text(listed: &AgentsResponse) -> String {
    let line = |agent: &kenning_registry::agents::ListedAgent| {
        format!(
            "{:>4}  {:<30} {} skills, {} active\n",
            agent.id, agent.name, agent.total_count, agent.active_count
        )
    };
    listed.agents.iter().map(line).collect()
}

pub(super) fn skills(context: &Context, skills: Skills) -> Result<Exit, Failure> {
    let registry = context.registry()?;
    let printer = context.printer;
    match skills {
        Skills::Register { agent, skill, version, metadata } => {
            let metadata = metadata.map(|text| serde_json::from_str(&text)).transpose();
            let metadata = metadata.map_err(|error| {
                Failure::usage(format!("--metadata is not a JSON object: {error}"))
                    .hint("it looks like '{\"category\": \"backend\"}'")
            })?;
            let input = CapabilityInput { skill_name: skill, version, active: true, metadata };
            let request = RegisterRequest {
                agent_id: registry.resolve_agent(&agent)?,
                capabilities: vec![input],
                upsert: true,
            };
            printer.answer(&registry.register(&request)?, |done| done.message.clone())?;
        }
        Skills::List { agent: Some(agent), query: None, all } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let request = GetRequest { active_only: !all, ..GetRequest::of(agent_id) };
            printer.answer(&registry.get(&request)?, kenning_registry::get::GetResponse::human)?;
        }
        Skills::List { agent: Some(_), query: Some(_), .. } => {
            return Err(Failure::usage("--agent and --query are two different questions")
                .hint("leave one of them out"));
        }
        Skills::List { agent: None, query, all } => {
            let request = ListRequest { query, active_only: !all, ..ListRequest::default() };
            let listed = registry.list(&request)?;
            printer.answer(&listed, list_text)?;
            return Ok(if listed.capabilities.is_empty() { Exit::Failure } else { Exit::Success });
        }
        Skills::Deactivate { agent, skill } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let request = DeactivateRequest { agent_id, skill_name: skill };
            printer.answer(&registry.deactivate(&request)?, |done| done.message.clone())?;
        }
        Skills::Sync { agent, folders, dry_run } => {
            let agent_id = registry.resolve_agent(&agent)?;
            let folders = if folders.is_empty() { usual_places()? } else { folders };
            let mode = if dry_run { Mode::DryRun } else { Mode::Apply };
            let synced = registry.sync(agent_id, &skills::read(&folders)?, mode)?;
            printer.answer(&synced, sync_text)?;
        }
    }
    Ok(Exit::Success)
}

/// Those that exist. If none does, nothing was found, and nothing must be deactivated for that.
fn usual_places() -> Result<Vec<std::path::PathBuf>, Failure> {
    let project = std::env::current_dir()?;
    let mut places = places::usual(&project, absolute("HOME").as_deref());
    places.retain(|place| place.is_dir());
    if places.is_empty() {
        return Err(Failure::new("none of the usual folders of skills is here")
            .hint("name a folder that has folders with SKILL.md in it"));
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

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Error::Database(source) = &error {
            tracing::error!(%source, "the registry's store failed");
        }
        let failure = Self::new(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
