//! Implements compose's `Sources` on the domain crates.

mod knowledge;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use kenning_catalog::Catalog;
use kenning_catalog::clients::{self, Client, Scope, ServerEntry};
use kenning_catalog::data::{Agent, Definition};
use kenning_compose::sources::{
    CatalogAgent, CatalogCapability, CatalogCategory, CatalogClaim, CatalogDigest, CatalogParams,
    ClientFile, ClientSetup, ClientsDigest, ClientsParams, ClosedGap, CountedAsk, GapsDigest,
    GapsParams, OpenGap, RegistryAgent, RegistryDigest, RegistryParams, RegistrySkill, SourceError,
    Sources,
};
use kenning_compose::{Compose, Timestamp};
use kenning_gaps::Gaps;
use kenning_gaps::gap::{Evidence, Status};
use kenning_gaps::list::{GapsRequest, ListedGap, MAX_GAPS, Standing};
use kenning_gaps::reporting::ReportRequest;
use kenning_knowledge::Library;
use kenning_knowledge::discover::Discovery;
use kenning_registry::Registry;
use kenning_registry::list::{GroupBy, Groups, ListRequest, MAX_GROUPS};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Milliseconds of a day.
const DAY: u64 = 24 * 60 * 60 * 1_000;

pub(in crate::commands) struct DomainSources {
    library: Arc<Library>,
    discovery: Arc<Discovery>,
    catalog: Arc<Catalog>,
    registry: Option<Registry>,
    gaps: Option<Gaps>,
    /// Set once compose is open: `knowledge` skips the files that compose writes.
    pub(super) compose: OnceLock<Compose>,
    before_search: Option<BeforeSearch>,
    before_gaps: Option<BeforeGaps>,
    /// Token counts by hash of the text. Every generation counts the same texts again.
    token_counts: Mutex<HashMap<blake3::Hash, usize>>,
}

/// What the command line does first, and only if it has to; a server does it in the background.
type BeforeSearch = Box<dyn Fn() -> Result<(), String> + Send + Sync>;
type BeforeGaps = Box<dyn Fn(&Gaps) -> Result<(), String> + Send + Sync>;

impl Sources for DomainSources {
    fn read(&self, name: &str, params: &Value) -> Result<Value, SourceError> {
        match name {
            "knowledge" => sanitized(self.knowledge(&read(params)?)?),
            "catalog" => sanitized(self.catalog(&read(params)?)),
            "clients" => sanitized(clients(&read(params)?)?),
            "registry" => sanitized(self.registry(&read(params)?)?),
            "gaps" => sanitized(self.gaps(&read(params)?)?),
            _ => Err(failed(&format!("there is no source `{name}`"))),
        }
    }
}

fn read<Params: DeserializeOwned>(params: &Value) -> Result<Params, SourceError> {
    serde_path_to_error::deserialize(params).map_err(|error| failed(&error))
}

/// Makes hidden characters visible: agents will read the texts that are generated from this.
fn sanitized<Digest: Serialize>(digest: Digest) -> Result<Value, SourceError> {
    let mut value = serde_json::to_value(digest).map_err(|error| failed(&error))?;
    kenning_sanitize::sanitize_value(&mut value);
    Ok(value)
}

fn failed(error: &dyn std::fmt::Display) -> SourceError {
    SourceError(error.to_string())
}

impl DomainSources {
    pub(in crate::commands) fn new(
        library: &Arc<Library>,
        discovery: &Arc<Discovery>,
        catalog: &Arc<Catalog>,
        registry: Option<Registry>,
        gaps: Option<Gaps>,
    ) -> Self {
        Self {
            library: library.clone(),
            discovery: discovery.clone(),
            catalog: catalog.clone(),
            registry,
            gaps,
            compose: OnceLock::new(),
            before_search: None,
            before_gaps: None,
            token_counts: Mutex::default(),
        }
    }

    /// Calls `prepare` before nodes are selected by a task.
    pub(super) fn before_search(
        self,
        prepare: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { before_search: Some(Box::new(prepare)), ..self }
    }

    /// Calls `prepare` before gaps are read.
    pub(super) fn before_gaps(
        self,
        prepare: impl Fn(&Gaps) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { before_gaps: Some(Box::new(prepare)), ..self }
    }

    fn catalog(&self, params: &CatalogParams) -> CatalogDigest {
        let is_selected =
            |agent: &&Agent| params.agents.is_empty() || params.agents.contains(&agent.agent);
        let agents: Vec<&Agent> = self.catalog.agents().iter().filter(is_selected).collect();
        let categories = self.catalog.categories().into_iter();
        let categories =
            categories.filter(|name| params.category.as_deref().is_none_or(|one| *name == one));
        CatalogDigest {
            agents: agents.iter().map(|agent| listed(agent)).collect(),
            categories: categories.map(|name| self.category(name, &agents)).collect(),
        }
    }

    fn category(&self, name: &str, agents: &[&Agent]) -> CatalogCategory {
        let definitions = self.catalog.definitions().iter();
        let definitions = definitions.filter(|definition| definition.category == name);
        let capability = |definition: &Definition| CatalogCapability {
            name: definition.name.clone(),
            description: definition.description.clone(),
            claims: agents.iter().map(|agent| claim(agent, &definition.name)).collect(),
        };
        let capabilities = definitions.map(capability).collect();
        CatalogCategory { name: name.to_owned(), capabilities }
    }

    fn registry(&self, params: &RegistryParams) -> Result<RegistryDigest, SourceError> {
        let registry = self.registry.as_ref().ok_or_else(|| failed(&"there is no store"))?;
        let request = ListRequest {
            active_only: !params.include_inactive,
            group_by: Some(GroupBy::Agent),
            max_results: Some(MAX_GROUPS),
            ..ListRequest::default()
        };
        let listed = registry.list(&request).map_err(|error| failed(&error))?;
        let Groups::ByAgent(agents) = listed.capabilities else {
            return Ok(RegistryDigest::default());
        };
        let agents = agents.into_iter().map(|agent| RegistryAgent {
            id: agent.agent_id,
            name: agent.agent_name,
            skills: agent
                .skills
                .into_iter()
                .map(|skill| RegistrySkill {
                    name: skill.skill_name,
                    version: skill.version,
                    active: skill.active,
                })
                .collect(),
        });
        Ok(RegistryDigest { agents: agents.collect() })
    }

    fn gaps(&self, params: &GapsParams) -> Result<GapsDigest, SourceError> {
        let gaps = self.gaps.as_ref().ok_or_else(|| failed(&"there is no store"))?;
        if let Some(prepare) = &self.before_gaps {
            prepare(gaps).map_err(SourceError)?;
        }
        // To the end of today, so that the same day says the same.
        let until = (crate::commands::clock::now() / DAY + 1) * DAY;
        let from = until.saturating_sub(u64::from(params.days) * DAY);
        let report = gaps.report(&ReportRequest {
            project_id: params.project.clone(),
            from: Some(from),
            until: Some(until),
            top: Some(params.top),
        });
        let report = report.map_err(|error| failed(&error))?.report;
        let request = GapsRequest {
            project_id: params.project.clone(),
            max_results: Some(params.top),
            ..GapsRequest::default()
        };
        let open = gaps.gaps(&request).map_err(|error| failed(&error))?.gaps;
        let failed_asks = report.top_failed_asks.into_iter();
        Ok(GapsDigest {
            from: day(from),
            until: day(until - 1),
            sessions: report.sessions,
            calls: report.calls,
            open: open.into_iter().map(open_gap).collect(),
            closed: closed_since(gaps, params, from)?,
            failed_asks: failed_asks
                .map(|failed| CountedAsk {
                    ask: failed.ask,
                    count: failed.count,
                    tools: failed.tools,
                })
                .collect(),
            tools_never_called: report.tools_never_called,
        })
    }
}

fn listed(agent: &Agent) -> CatalogAgent {
    CatalogAgent {
        id: agent.agent.clone(),
        name: agent.name.clone(),
        vendor: agent.vendor.clone(),
        homepage: agent.homepage.clone(),
    }
}

fn claim(agent: &Agent, capability: &str) -> CatalogClaim {
    let Some(claim) = agent.claim(capability) else {
        return CatalogClaim { agent: agent.agent.clone(), ..CatalogClaim::default() };
    };
    CatalogClaim {
        agent: agent.agent.clone(),
        available: Some(claim.available),
        tier: claim.tier.map(|tier| tier.name().to_owned()),
        maturity: claim.maturity_level.map(|level| level.name().to_owned()),
        terminology: claim.terminology.clone(),
        source_url: claim.sources.first().map(|source| source.url.clone()),
    }
}

fn clients(params: &ClientsParams) -> Result<ClientsDigest, SourceError> {
    let selected = match &params.client {
        None => clients::all(),
        Some(name) => std::slice::from_ref(
            clients::find(name).map_err(|error| failed(&format!("{error}; {}", error.hint())))?,
        ),
    };
    let server = ServerEntry {
        name: params.name.clone(),
        command: params.command.clone(),
        args: params.args.clone(),
        env: BTreeMap::new(),
    };
    Ok(ClientsDigest { clients: selected.iter().map(|one| setup(one, &server)).collect() })
}

fn setup(client: &Client, server: &ServerEntry) -> ClientSetup {
    let scope = client.scopes().last().unwrap_or(Scope::User);
    let files = client.usual_files(scope, &server.name).into_iter();
    ClientSetup {
        id: client.id.clone(),
        name: client.name.clone(),
        files: files
            .map(|(os, path)| ClientFile { path, system: os.map(|os| os.name().to_owned()) })
            .collect(),
        format: client.format.name().to_owned(),
        snippet: clients::snippet(client, server),
        next: client.next.clone(),
    }
}

fn open_gap(gap: ListedGap) -> OpenGap {
    OpenGap {
        id: gap.id,
        label: gap.label,
        asks: gap.asks,
        requests: gap.requests,
        last_asked: day(gap.last_asked),
        wordings: gap.wordings.into_iter().skip(1).collect(),
    }
}

/// The top gaps that were closed since a time. All closed gaps are paged through: they are ranked
/// by how often they were asked for, not by when they were closed.
fn closed_since(
    gaps: &Gaps,
    params: &GapsParams,
    since: u64,
) -> Result<Vec<ClosedGap>, SourceError> {
    let mut closed = Vec::new();
    let mut request = GapsRequest {
        project_id: params.project.clone(),
        status: Standing::Closed,
        max_results: Some(MAX_GAPS),
        ..GapsRequest::default()
    };
    while closed.len() < params.top {
        let page = gaps.gaps(&request).map_err(|error| failed(&error))?.gaps;
        if page.is_empty() {
            break;
        }
        request.offset += page.len();
        closed.extend(page.iter().filter_map(|gap| closed_gap(gap, since)));
    }
    closed.truncate(params.top);
    Ok(closed)
}

fn closed_gap(gap: &ListedGap, since: u64) -> Option<ClosedGap> {
    let Status::Closed { at, evidence } = &gap.status else { return None };
    if *at < since {
        return None;
    }
    let closed_by = match evidence {
        Evidence::Answer { title, .. } => title.clone(),
        Evidence::Person { name, note } if note.is_empty() => name.clone(),
        Evidence::Person { name, note } => format!("{name}: {note}"),
    };
    Some(ClosedGap { id: gap.id.clone(), label: gap.label.clone(), closed_by, closed_at: day(*at) })
}

/// Such as `2026-05-01`.
fn day(at: u64) -> String {
    let text = Timestamp(i64::try_from(at).unwrap_or(i64::MAX)).to_string();
    text.chars().take(10).collect()
}
