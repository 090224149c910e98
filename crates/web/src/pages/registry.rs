//! `/registry`: the team's agents and their skills.

use kenning_registry::Registry;
use kenning_registry::agents::{AddAgentRequest, GetAgentRequest, ListAgentsRequest};
use kenning_registry::deactivate::DeactivateRequest;
use kenning_registry::get::GetRequest;
use kenning_registry::list::{Groups, ListRequest, SkillGroup};
use kenning_registry::register::{CapabilityInput, RegisterRequest};
use maud::{Markup, html};

use super::form::link;
use super::layout::Column::{Number, Text};
use super::layout::{Tab, badge, bar, empty, form_token, no_store, post_form, table};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const MAX_LISTED: usize = 200;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let body = match &services.registry {
        None => html! { h1 { "Registry" } (no_store("agents and skills")) },
        Some(registry) => html! {
            h1 { "Registry" }
            p class="lead" { "The skills of your team's agents, with version and status." }
            (query_form(visit))
            @match visit.fields.number("agent") {
                // After a failed action the submitted number may be the mistake, so it is not looked up.
                Some(agent) if visit.error.is_none() => (agent_details(registry, visit, agent)?),
                _ => (agents(registry)?),
            }
            (skills(registry, visit)?)
            @if visit.may_write { (forms(visit)) }
        },
    };
    Ok(Page::new("Registry", Tab::Registry, body))
}

fn query_form(visit: &Visit) -> Markup {
    html! {
        form action="/registry" class="row" {
            div class="field grow" {
                label for="query" { "Which agent can …?" }
                input id="query" name="query" type="search" value=(visit.fields.text("query"))
                    placeholder="deploy to kubernetes";
            }
            button { "Search" }
        }
    }
}

fn agents(registry: &Registry) -> Result<Markup, PageError> {
    let request = ListAgentsRequest { max_results: Some(MAX_LISTED), cursor: None };
    let found = registry.agents(&request)?;
    let next = html! { "Add one below, or run " code { "kenning agents add NAME" } "." };
    Ok(html! {
        h2 { "Agents" }
        @if found.agents.is_empty() { (empty("No agents yet.", next)) } @else {
            (table("Agents", &[
                Number("Id"), Text("Name"), Number("Skills"), Number("Active skills"), Text("Added"),
            ], html! {
                @for agent in &found.agents {
                    tr {
                        td class="n" { (agent.id) }
                        td { (agent_link(agent.id, &agent.name)) }
                        td class="n" { (agent.total_count) }
                        td class="n" { (agent.active_count) }
                        td { (agent.created_at.to_string().replace('T', " ")) }
                    }
                }
            }))
            @if found.total_count > found.agents.len() {
                p class="hint" { "The first " (found.agents.len()) " of " (found.total_count) "; run "
                    code { "kenning agents list" } " to list them all." }
            }
        }
    })
}

fn agent_link(id: i64, name: &str) -> Markup {
    html! { a href=(link("/registry", &[("agent", &id.to_string())])) { (text(name)) } }
}

fn agent_details(registry: &Registry, visit: &Visit, agent_id: i64) -> Result<Markup, PageError> {
    let agent = registry.agent(&GetAgentRequest { agent_id })?.agent;
    let skills = registry.get(&GetRequest { active_only: false, ..GetRequest::of(agent_id) })?;
    let skills = skills.capabilities;
    let next = html! { "Register one below, or run " code { "kenning skills sync --agent " (agent_id) } "." };
    let columns = [Text("Skill"), Text("Version"), Text("Status"), Text("Updated"), Text("Action")];
    let columns = if visit.may_write { &columns[..] } else { &columns[..4] };
    Ok(html! {
        p class="crumbs" { a href="/registry" { "All agents" } " › " (text(&agent.name)) }
        h2 { (text(&agent.name)) }
        @if skills.is_empty() { (empty("This agent has no skills yet.", next)) } @else {
            (table("Skills of this agent", columns, html! {
                @for skill in &skills {
                    tr {
                        td { (text(&skill.skill_name)) }
                        td { code { (text(&skill.version)) } }
                        td { (badge(if skill.active { "active" } else { "inactive" })) }
                        td { (skill.updated_at.to_string().replace('T', " ")) }
                        @if visit.may_write { td {
                            @if skill.active { (deactivate_form(visit, agent_id, &skill.skill_name)) }
                        } }
                    }
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
        max_results: Some(MAX_LISTED),
        query,
        ..ListRequest::default()
    };
    let found = registry.list(&request)?;
    let groups = match found.capabilities {
        Groups::BySkill(groups) => groups,
        Groups::ByAgent(_) => Vec::new(),
    };
    let title = if request.query.is_some() { "Matching skills" } else { "Skills" };
    Ok(html! {
        h2 id="skills" { (title) }
        @if groups.is_empty() {
            (empty("No skills found.", "Skills appear here once they are registered for an agent."))
        } @else { (skill_table(title, &groups)) }
    })
}

fn skill_table(title: &str, groups: &[SkillGroup]) -> Markup {
    let ranked = groups.iter().any(|group| group.relevance_score.is_some());
    let columns = [Text("Skill"), Text("Version"), Text("Agents"), Text("Relevance")];
    html! {
        (table(title, if ranked { &columns[..] } else { &columns[..3] }, html! {
            @for group in groups {
                tr {
                    td { (text(&group.skill_name)) }
                    td { code { (text(&group.version)) } }
                    td { @for holder in &group.agents {
                        (agent_link(holder.agent_id, &holder.agent_name))
                        @if !holder.active { " " (badge("inactive")) }
                        " "
                    } }
                    @if let Some(score) = group.relevance_score { td { (bar(score)) } }
                }
            }
        }))
    }
}

fn forms(visit: &Visit) -> Markup {
    let fields = &visit.fields;
    html! {
        div class="columns" {
            section {
                h2 { "New agent" }
                (post_form(visit, "/registry/agents", html! {
                    label for="name" { "Name" }
                    input id="name" name="name" required maxlength="255" value=(fields.text("name"));
                    label for="id" { "Id (optional)" }
                    input id="id" name="id" type="number" min="1" value=(fields.text("id"));
                    button { "Add agent" }
                }))
            }
            section {
                h2 { "New skill" }
                (post_form(visit, "/registry/skills", html! {
                    label for="agent" { "Agent id" }
                    input id="agent" name="agent" type="number" min="1" required value=(fields.text("agent"));
                    label for="skill" { "Skill" }
                    input id="skill" name="skill" required maxlength="255" value=(fields.text("skill"));
                    label for="version" { "Version, for example 1.2.0" }
                    input id="version" name="version" required maxlength="255" value=(fields.text("version"));
                    button { "Register skill" }
                }))
            }
        }
    }
}

pub(super) fn add_agent(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let (name, id) = (visit.fields.text("name").to_owned(), number(visit, "id")?);
    let added = services.registry()?.add_agent(&AddAgentRequest { name, id })?;
    Ok(redirect(added.agent.id, "agent"))
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
    Ok(redirect(agent_id, "skill"))
}

pub(super) fn deactivate(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let agent_id = number(visit, "agent")?.unwrap_or_default();
    let skill_name = visit.fields.text("skill").to_owned();
    services.registry()?.deactivate(&DeactivateRequest { agent_id, skill_name })?;
    Ok(redirect(agent_id, "deactivated"))
}

fn redirect(agent: i64, done: &str) -> String {
    link("/registry", &[("agent", &agent.to_string()), ("done", done)])
}

fn number(visit: &Visit, name: &str) -> Result<Option<i64>, PageError> {
    let invalid = |_| kenning_registry::Error::invalid(name, "must be a whole number").into();
    visit.fields.get(name).map(str::parse).transpose().map_err(invalid)
}
