//! `/registry`: the team's agents and the skills they have.

use kenning_registry::Registry;
use kenning_registry::agents::{AddAgentRequest, GetAgentRequest, ListAgentsRequest};
use kenning_registry::deactivate::DeactivateRequest;
use kenning_registry::get::GetRequest;
use kenning_registry::list::{Groups, ListRequest, SkillGroup};
use kenning_registry::register::{CapabilityInput, RegisterRequest};
use maud::{Markup, html};

use super::form::link;
use super::layout::{Tab, badge, bar, empty, form_token, table};
use super::overview::no_store;
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const SHOWN: usize = 200;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let body = match &services.registry {
        None => html! { h1 { "Registry" } (no_store("a registry")) },
        Some(registry) => html! {
            h1 { "Registry" }
            p class="lead" { "Which skills your own agents have, in which version, and whether they use them." }
            (query_form(visit))
            @match visit.fields.number("agent") {
                // After a mistake the number may be part of it.
                Some(agent) if visit.error.is_none() => (one_agent(registry, visit, agent)?),
                _ => (agents(registry)?),
            }
            (skills(registry, visit)?)
            @if visit.may_write { (forms(visit)) }
        },
    };
    Ok(Page { title: "Registry".to_owned(), tab: Some(Tab::Registry), body })
}

fn query_form(visit: &Visit) -> Markup {
    html! {
        form action="/registry" class="row" {
            div class="field grow" {
                label for="query" { "Who can …?" }
                input id="query" name="query" type="search" value=(visit.fields.text("query"))
                    placeholder="deploy to kubernetes";
            }
            button { "Ask" }
        }
    }
}

fn agents(registry: &Registry) -> Result<Markup, PageError> {
    let found = registry.agents(&ListAgentsRequest { max_results: Some(SHOWN), cursor: None })?;
    let next = html! { "Add one below, or with " code { "kenning agents add NAME" } "." };
    Ok(html! {
        h2 { "Agents" }
        @if found.agents.is_empty() { (empty("There is no agent yet.", next)) } @else {
            (table("Agents", html! {
                table {
                    thead { tr { th class="n" { "Id" } th { "Name" } th class="n" { "Skills" } th class="n" { "Active" } th { "Added" } } }
                    tbody { @for agent in &found.agents {
                        tr {
                            td class="n" { (agent.id) }
                            td { a href=(link("/registry", &[("agent", &agent.id.to_string())])) { (text(&agent.name)) } }
                            td class="n" { (agent.total_count) }
                            td class="n" { (agent.active_count) }
                            td { (agent.created_at.to_string().replace('T', " ")) }
                        }
                    } }
                }
            }))
            @if found.total_count > found.agents.len() {
                p class="hint" { "The first " (found.agents.len()) " of " (found.total_count) "; "
                    code { "kenning agents list" } " lists them all." }
            }
        }
    })
}

fn one_agent(registry: &Registry, visit: &Visit, agent_id: i64) -> Result<Markup, PageError> {
    let agent = registry.agent(&GetAgentRequest { agent_id })?.agent;
    let held = registry.get(&GetRequest { active_only: false, ..GetRequest::of(agent_id) })?;
    let next = html! { "Register one below, or with " code { "kenning skills sync --agent " (agent_id) } "." };
    Ok(html! {
        p class="crumbs" { a href="/registry" { "All agents" } " › " (text(&agent.name)) }
        h2 { (text(&agent.name)) }
        @if held.capabilities.is_empty() { (empty("It has no skills yet.", next)) } @else {
            (table("Skills of this agent", html! {
                table {
                    thead { tr { th { "Skill" } th { "Version" } th { "State" } th { "Changed" }
                        @if visit.may_write { th { "Do" } } } }
                    tbody { @for skill in &held.capabilities {
                        tr {
                            td { (text(&skill.skill_name)) }
                            td { code { (text(&skill.version)) } }
                            td { (badge(if skill.active { "active" } else { "inactive" })) }
                            td { (skill.updated_at.to_string().replace('T', " ")) }
                            @if visit.may_write { td {
                                @if skill.active { (deactivate_form(visit, agent_id, &skill.skill_name)) }
                            } }
                        }
                    } }
                }
            }))
        }
    })
}

fn deactivate_form(visit: &Visit, agent: i64, skill: &str) -> Markup {
    html! {
        form method="post" action="/registry/deactivate" {
            (form_token(visit))
            input type="hidden" name="agent" value=(agent);
            input type="hidden" name="skill" value=(skill);
            button class="plain" aria-label=(text(&format!("Deactivate {skill}"))) { "Deactivate" }
        }
    }
}

fn skills(registry: &Registry, visit: &Visit) -> Result<Markup, PageError> {
    let query = visit.fields.owned("query");
    let request = ListRequest {
        active_only: false,
        max_results: Some(SHOWN),
        query,
        ..ListRequest::default()
    };
    let found = registry.list(&request)?;
    let groups = match found.capabilities {
        Groups::BySkill(groups) => groups,
        Groups::ByAgent(_) => Vec::new(),
    };
    Ok(html! {
        h2 id="skills" { @if request.query.is_some() { "Who can do that" } @else { "Skills" } }
        @if groups.is_empty() {
            (empty("No skill fits.", "Skills appear here once an agent has registered them."))
        } @else { (table("Skills", skill_table(&groups))) }
    })
}

fn skill_table(groups: &[SkillGroup]) -> Markup {
    let ranked = groups.iter().any(|group| group.relevance_score.is_some());
    html! {
        table {
            thead { tr { th { "Skill" } th { "Version" } th { "Agents" } @if ranked { th { "Fits" } } } }
            tbody { @for group in groups {
                tr {
                    td { (text(&group.skill_name)) }
                    td { code { (text(&group.version)) } }
                    td { @for holder in &group.agents {
                        a href=(link("/registry", &[("agent", &holder.agent_id.to_string())])) { (text(&holder.agent_name)) }
                        @if !holder.active { " " (badge("inactive")) }
                        " "
                    } }
                    @if let Some(score) = group.relevance_score { td { (bar(score)) } }
                }
            } }
        }
    }
}

fn forms(visit: &Visit) -> Markup {
    let fields = &visit.fields;
    html! {
        div class="columns" {
            section {
                h2 { "Add an agent" }
                form method="post" action="/registry/agents" class="stack" {
                    (form_token(visit))
                    label for="name" { "Name" }
                    input id="name" name="name" required maxlength="255" value=(fields.text("name"));
                    label for="id" { "Id (the next free one unless given)" }
                    input id="id" name="id" type="number" min="1" value=(fields.text("id"));
                    button { "Add" }
                }
            }
            section {
                h2 { "Register a skill" }
                form method="post" action="/registry/skills" class="stack" {
                    (form_token(visit))
                    label for="agent" { "Agent id" }
                    input id="agent" name="agent" type="number" min="1" required value=(fields.text("agent"));
                    label for="skill" { "Skill" }
                    input id="skill" name="skill" required maxlength="255" value=(fields.text("skill"));
                    label for="version" { "Version, like 1.2.0" }
                    input id="version" name="version" required maxlength="255" value=(fields.text("version"));
                    button { "Register" }
                }
            }
        }
    }
}

pub(super) fn add_agent(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let (name, id) = (visit.fields.text("name").to_owned(), number(visit, "id")?);
    let added = services.registry()?.add_agent(&AddAgentRequest { name, id })?;
    Ok(back(added.agent.id, "agent"))
}

pub(super) fn register(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let skill = CapabilityInput {
        skill_name: visit.fields.text("skill").to_owned(),
        version: visit.fields.text("version").to_owned(),
        active: true,
        metadata: None,
    };
    let agent_id = number(visit, "agent")?.unwrap_or_default();
    let request = RegisterRequest { agent_id, capabilities: vec![skill], upsert: true };
    services.registry()?.register(&request)?;
    Ok(back(agent_id, "skill"))
}

pub(super) fn deactivate(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let agent_id = number(visit, "agent")?.unwrap_or_default();
    let skill_name = visit.fields.text("skill").to_owned();
    services.registry()?.deactivate(&DeactivateRequest { agent_id, skill_name })?;
    Ok(back(agent_id, "deactivated"))
}

fn back(agent: i64, done: &str) -> String {
    link("/registry", &[("agent", &agent.to_string()), ("done", done)])
}

fn number(visit: &Visit, name: &str) -> Result<Option<i64>, PageError> {
    let wrong = |_| kenning_registry::Error::invalid(name, "is not a whole number").into();
    visit.fields.get(name).map(str::parse).transpose().map_err(wrong)
}
