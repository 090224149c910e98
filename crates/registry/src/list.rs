//! `list_all_capabilities`: the skills of all agents, grouped and paged, or ranked for a query.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Registry;
use crate::error::Error;
use crate::find::{self, Relevance};
use crate::register::yes;
use crate::rules::{
    MAX_ID, MAX_NAME, MAX_VERSION, NAME_PATTERN, VERSION_PATTERN, check_name, check_version,
    newest_first,
};
use crate::store::{Activity, Filter, Holding, Page};

/// Groups on a page by default.
pub const DEFAULT_GROUPS: usize = 1_000;
pub const MAX_GROUPS: usize = 10_000;
/// Groups in the answer to a query by default.
pub const DEFAULT_FOUND: usize = 20;
/// The longest query, in characters.
pub const MAX_QUERY: usize = 2_000;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRequest {
    /// Only this skill
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NAME_PATTERN))]
    pub skill_name: Option<String>,
    /// Only this version
    #[schemars(length(max = MAX_VERSION), regex(pattern = VERSION_PATTERN))]
    pub version: Option<String>,
    /// Only what is active
    #[serde(default = "yes")]
    pub active_only: bool,
    /// `skill`: each skill and version with its agents, as without it; `agent`: each agent with its
    /// skills
    pub group_by: Option<GroupBy>,
    /// A question, such as `who can deploy to kubernetes?`: the answer is ranked, best first
    #[schemars(length(min = 1, max = MAX_QUERY), regex(pattern = r"\S"))]
    pub query: Option<String>,
    /// Maximum number of groups; 1,000 unless said otherwise, 20 with a query
    #[schemars(range(min = 1, max = MAX_GROUPS))]
    pub max_results: Option<usize>,
    /// For the next page, the `next_cursor` of this one
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NAME_PATTERN))]
    pub cursor: Option<String>,
}

impl Default for ListRequest {
    fn default() -> Self {
        Self {
            skill_name: None,
            version: None,
            active_only: true,
            group_by: None,
            query: None,
            max_results: None,
            cursor: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    #[default]
    Skill,
    Agent,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ListResponse {
    pub success: bool,
    pub capabilities: Groups,
    /// How many skills (names, not versions) fit the filters, on all pages
    pub total_skills: usize,
    /// There is more: ask again with this `cursor`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Groups {
    /// By name, the newest version first; or as the query ranks them
    BySkill(Vec<SkillGroup>),
    /// By agent id; or as the query ranks them
    ByAgent(Vec<AgentGroup>),
}

/// A version of a skill, with the agents that have it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SkillGroup {
    pub skill_name: String,
    pub version: String,
    pub agent_count: usize,
    pub agents: Vec<Holder>,
    /// How well it answers the query, from 0 to 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance_score: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Holder {
    pub agent_id: i64,
    pub agent_name: String,
    pub active: bool,
}

/// An agent, with the skills it has that fit the filters.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AgentGroup {
    pub agent_id: i64,
    pub agent_name: String,
    pub skill_count: usize,
    pub skills: Vec<HeldSkill>,
    /// How well its best skill answers the query, from 0 to 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance_score: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeldSkill {
    pub skill_name: String,
    pub version: String,
    pub active: bool,
}

impl Registry {
    pub fn list(&self, request: &ListRequest) -> Result<ListResponse, Error> {
        let filter = filter(request)?;
        let by = request.group_by.unwrap_or_default();
        match &request.query {
            Some(query) => self.find(query, &filter, by, request),
            None => self.page(&filter, by, request),
        }
    }

    fn page(
        &self,
        filter: &Filter,
        by: GroupBy,
        request: &ListRequest,
    ) -> Result<ListResponse, Error> {
        let limit = limit(request, DEFAULT_GROUPS)?;
        let (holdings, total_skills) =
            self.store.holdings(filter, &page(by, request.cursor.as_deref(), limit + 1)?)?;
        let (holdings, next_cursor) = match by {
            GroupBy::Skill => cut(holdings, limit, |one| one.skill_name.clone()),
            GroupBy::Agent => cut(holdings, limit, |one| one.agent_id.to_string()),
        };
        let capabilities = grouped(by, holdings, &Relevance::default());
        Ok(ListResponse { success: true, capabilities, total_skills, next_cursor })
    }

    /// Ranks the skills for a query. There are no further pages: after the best come irrelevant ones.
    fn find(
        &self,
        query: &str,
        filter: &Filter,
        by: GroupBy,
        request: &ListRequest,
    ) -> Result<ListResponse, Error> {
        let limit = limit(request, DEFAULT_FOUND)?;
        if query.trim().is_empty() || query.chars().count() > MAX_QUERY {
            let problem = format!("is empty, or longer than {MAX_QUERY} characters");
            return Err(Error::invalid("query", problem));
        }
        if request.cursor.is_some() {
            return Err(Error::invalid("cursor", "an answer to a query has no pages"));
        }
        let relevance = find::rank(query, &self.store.skills(filter)?, self.ranker.as_ref());
        let best = Page::Named(relevance.best(limit));
        let (mut holdings, _) = self.store.holdings(filter, &best)?;
        holdings.retain(|one| relevance.of(&one.skill_name, &one.version).is_some());
        let total_skills = relevance.skill_count();
        let mut capabilities = grouped(by, holdings, &relevance);
        capabilities.keep_best(limit);
        Ok(ListResponse { success: true, capabilities, total_skills, next_cursor: None })
    }
}

fn filter(request: &ListRequest) -> Result<Filter, Error> {
    let name = request.skill_name.as_deref().map(|name| check_name("skill_name", name));
    let version = request.version.as_deref().map(check_version);
    Ok(Filter {
        skill_name: name.transpose()?.map(ToOwned::to_owned),
        version: version.transpose()?.map(ToOwned::to_owned),
        activity: if request.active_only { Activity::Active } else { Activity::Any },
    })
}

fn limit(request: &ListRequest, default: usize) -> Result<usize, Error> {
    let limit = request.max_results.unwrap_or(default);
    if (1..=MAX_GROUPS).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::invalid("max_results", format!("is {limit}; it can be 1 to {MAX_GROUPS}")))
}

fn page(by: GroupBy, cursor: Option<&str>, limit: usize) -> Result<Page, Error> {
    let refused = || Error::invalid("cursor", "is not the `next_cursor` of an answer");
    Ok(match by {
        GroupBy::Skill => {
            let after = cursor.map(|name| check_name("cursor", name)).transpose()?;
            Page::Skills { after: after.map(ToOwned::to_owned), limit }
        }
        GroupBy::Agent => {
            let after = cursor.map(|id| id.parse::<i64>().map_err(|_| refused())).transpose()?;
            Page::Agents { after: after.unwrap_or(0).clamp(0, MAX_ID), limit }
        }
    })
}

/// Keeps the holdings of the first `limit` keys. Returns the last of those keys as the cursor if
/// there are more.
fn cut(
    mut holdings: Vec<Holding>,
    limit: usize,
    key: fn(&Holding) -> String,
) -> (Vec<Holding>, Option<String>) {
    let mut keys = holdings.iter().map(key).collect::<Vec<_>>();
    let all: std::collections::BTreeSet<&String> = keys.iter().collect();
    if all.len() <= limit {
        return (holdings, None);
    }
    // The holdings are ordered, so those of the key beyond the limit are at the end.
    let extra = keys[keys.len() - 1].clone();
    let end = keys.iter().position(|key| *key == extra).unwrap_or(keys.len());
    holdings.truncate(end);
    keys.truncate(end);
    (holdings, keys.pop())
}

fn grouped(by: GroupBy, holdings: Vec<Holding>, relevance: &Relevance) -> Groups {
    match by {
        GroupBy::Skill => Groups::BySkill(by_skill(holdings, relevance)),
        GroupBy::Agent => Groups::ByAgent(by_agent(holdings, relevance)),
    }
}

fn by_skill(holdings: Vec<Holding>, relevance: &Relevance) -> Vec<SkillGroup> {
    let mut groups: BTreeMap<(String, String), Vec<Holder>> = BTreeMap::new();
    for Holding { skill_name, version, active, agent_id, agent_name } in holdings {
        let holder = Holder { agent_id, agent_name, active };
        groups.entry((skill_name, version)).or_default().push(holder);
    }
    let mut groups: Vec<SkillGroup> = groups
        .into_iter()
        .map(|((skill_name, version), agents)| SkillGroup {
            relevance_score: relevance.of(&skill_name, &version),
            agent_count: agents.len(),
            skill_name,
            version,
            agents,
        })
        .collect();
    groups.sort_by(|a, b| {
        a.skill_name.cmp(&b.skill_name).then_with(|| newest_first(&a.version, &b.version))
    });
    groups
}

fn by_agent(holdings: Vec<Holding>, relevance: &Relevance) -> Vec<AgentGroup> {
    let mut groups: BTreeMap<i64, AgentGroup> = BTreeMap::new();
    for Holding { skill_name, version, active, agent_id, agent_name } in holdings {
        let group = groups.entry(agent_id).or_insert_with(|| AgentGroup {
            agent_id,
            agent_name,
            skill_count: 0,
            skills: Vec::new(),
            relevance_score: None,
        });
        let score = relevance.of(&skill_name, &version);
        group.relevance_score = find::better(group.relevance_score, score);
        group.skill_count += 1;
        group.skills.push(HeldSkill { skill_name, version, active });
    }
    groups.into_values().collect()
}

impl Groups {
    pub fn len(&self) -> usize {
        match self {
            Self::BySkill(groups) => groups.len(),
            Self::ByAgent(groups) => groups.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Best first; groups with equal scores stay in order.
    fn keep_best(&mut self, limit: usize) {
        let best_first = |a: Option<f64>, b: Option<f64>| {
            b.unwrap_or_default().total_cmp(&a.unwrap_or_default())
        };
        match self {
            Self::BySkill(groups) => {
                groups.sort_by(|a, b| best_first(a.relevance_score, b.relevance_score));
                groups.truncate(limit);
            }
            Self::ByAgent(groups) => {
                groups.sort_by(|a, b| best_first(a.relevance_score, b.relevance_score));
                groups.truncate(limit);
            }
        }
    }
}
