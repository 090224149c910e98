//! `list_capabilities`: the capabilities of one agent, or of one category across agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::data::{Agent, Definition, Tier};
use crate::error::Error;
use crate::lookup::Available;
use crate::names::{is_typo, normalize};
use crate::resolve::MAX_CHARS;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRequest {
    /// Filter by agent
    #[schemars(length(min = 1, max = MAX_CHARS), regex(pattern = r"\S"))]
    pub agent: Option<String>,
    /// Filter by category
    pub category: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    pub capabilities: Vec<Listed>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    pub name: String,
    pub category: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// For one agent: whether it has it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Available>,
    /// For a category: the agents that have it, and those that are known not to
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_in: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_available_in: Option<Vec<String>>,
}

impl Catalog {
    pub fn list(&self, request: &ListRequest) -> Result<ListResponse, Error> {
        let agent = request.agent.as_deref().map(|name| self.resolve_agent(name)).transpose()?;
        let category = request.category.as_deref().map(|name| self.category(name)).transpose()?;
        if agent.is_none() && category.is_none() {
            return Err(Error::NoFilter);
        }
        let in_category =
            |known: &&Definition| category.is_none_or(|category| known.category == category);
        let listed = self.definitions.iter().filter(in_category).map(|definition| match agent {
            Some(agent) => of_agent(agent, definition),
            None => self.of_all(definition),
        });
        Ok(ListResponse {
            agent: agent.map(|agent| agent.agent.clone()),
            category: category.map(str::to_owned),
            capabilities: listed.collect(),
        })
    }

    fn category(&self, asked: &str) -> Result<&str, Error> {
        let categories = self.categories();
        let name = normalize(asked);
        let same = categories.iter().find(|category| normalize(category) == name);
        let near = || categories.iter().find(|category| is_typo(&normalize(category), &name));
        match same.or_else(near) {
            Some(category) => Ok(category),
            None => Err(Error::CategoryNotFound {
                asked: asked.to_owned(),
                known: categories.iter().map(|&category| category.to_owned()).collect(),
            }),
        }
    }

    fn of_all(&self, definition: &Definition) -> Listed {
        let with = |available: bool| -> Vec<String> {
            let says = |agent: &&Agent| {
                agent.claim(&definition.name).is_some_and(|claim| claim.available == available)
            };
            self.agents.iter().filter(says).map(|agent| agent.agent.clone()).collect()
        };
        Listed {
            name: definition.name.clone(),
            category: definition.category.clone(),
            tier: None,
            available: None,
            available_in: Some(with(true)),
            not_available_in: Some(with(false)),
        }
    }
}

fn of_agent(agent: &Agent, definition: &Definition) -> Listed {
    let claim = agent.claim(&definition.name);
    Listed {
        name: definition.name.clone(),
        category: definition.category.clone(),
        tier: claim.and_then(|claim| claim.tier),
        available: Some(Available(claim.map(|claim| claim.available))),
        available_in: None,
        not_available_in: None,
    }
}
