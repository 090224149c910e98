//! Requests to the registry.

use kenning_registry::get::{GetRequest, GetResponse};
use kenning_registry::register::{RegisterRequest, RegisterResponse};
use kenning_registry::{Error, Registry, agents};
use serde_json::{Value, json};

use crate::fixture::Fixture;

impl Fixture {
    /// A registry with agent 11.
    pub(crate) fn registry(&self) -> Registry {
        let registry = Registry::new(self.store());
        add(&registry, 11, "Lambda");
        registry
    }
}

pub(crate) fn add(registry: &Registry, id: i64, name: &str) {
    registry.add_agent(&agents::AddAgentRequest { name: name.to_owned(), id: Some(id) }).unwrap();
}

pub(crate) fn parse<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Registers what the contract's JSON says.
pub(crate) fn register(registry: &Registry, request: Value) -> Result<RegisterResponse, Error> {
    registry.register(&parse::<RegisterRequest>(request))
}

/// Registers one skill of agent 11.
pub(crate) fn register_one(registry: &Registry, name: &str, version: &str) -> RegisterResponse {
    let capability = json!({"skill_name": name, "version": version});
    register(registry, json!({"agent_id": 11, "capabilities": [capability]})).unwrap()
}

pub(crate) fn all_of(registry: &Registry, agent_id: i64) -> GetResponse {
    registry.get(&GetRequest { active_only: false, ..GetRequest::of(agent_id) }).unwrap()
}

/// Names and versions, as they were answered.
pub(crate) fn names(response: &GetResponse) -> Vec<(&str, &str)> {
    let capabilities = response.capabilities.iter();
    capabilities.map(|one| (one.skill_name.as_str(), one.version.as_str())).collect()
}

/// The answer as programs see it.
pub(crate) fn value(answer: impl serde::Serialize) -> Value {
    serde_json::to_value(answer).unwrap()
}

/// `count` skills of one version.
pub(crate) fn bulk(count: usize, version: &str) -> Value {
    let skill = |n| json!({"skill_name": format!("skill-{n:05}"), "version": version});
    json!({"agent_id": 11, "capabilities": (0..count).map(skill).collect::<Vec<_>>()})
}
