//! `capabilities://{capability_type}`: the server's description of itself.
//!
//! [`server`], [`tools`], [`resources`] and [`generators`] derive it from the inventory that
//! requests are answered from, the limits that are enforced and the durations that were measured,
//! so that it cannot differ from what the server does.

mod generators;
mod resources;
mod server;
mod tools;

use std::collections::HashMap;

use serde::Serialize;

use crate::limiter::Workload;
use crate::resource::{
    Contents, Family, JSON, Parameter, ReadError, Resource, ResourceFamily, Template,
};
use crate::services::Services;
use crate::state::{AppState, VERSION};

const SCHEME: &str = "capabilities";
/// The entry point for a client without prior knowledge.
pub(crate) const SERVER_URI: &str = "capabilities://server";
pub(crate) const GUIDE: &str = "`capabilities://server` describes this server.";

#[derive(Debug, Serialize)]
struct Metadata {
    total_count: usize,
    version: &'static str,
}

impl Metadata {
    fn counting(total_count: usize) -> Self {
        Self { total_count, version: VERSION }
    }
}

/// One of the four descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Server,
    Tools,
    Resources,
    Generators,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Server, Self::Tools, Self::Resources, Self::Generators];

    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Generators => "generators",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Server => "Version, features, limits, runtime and counts of this server",
            Self::Tools => {
                "Every tool by category, with schemas, examples, errors and how long it takes"
            }
            Self::Resources => "Every pattern of URIs, with its parameters and examples",
            Self::Generators => "Every generator of content there is now, and how one is chosen",
        }
    }

    fn uri(self) -> String {
        format!("{SCHEME}://{}", self.name())
    }

    fn json(self, state: &AppState) -> serde_json::Result<String> {
        match self {
            Self::Server => serde_json::to_string(&server::of(state)),
            Self::Tools => serde_json::to_string(&tools::of(state)),
            Self::Resources => serde_json::to_string(&resources::of(state)),
            Self::Generators => serde_json::to_string(&generators::of(state)),
        }
    }
}

static FAMILY: Family = Family {
    scheme: SCHEME,
    toolset: None,
    description: "What this server is and offers",
    templates: &[Template {
        uri: "capabilities://{capability_type}",
        name: "capabilities",
        title: "Self-description",
        description: "What this server is and offers: server, tools, resources or generators",
        mime_type: JSON,
    }],
    parameters: &[Parameter {
        name: "capability_type",
        description: "What to describe",
        values: Some(&["server", "tools", "resources", "generators"]),
    }],
    is_live: true,
    // Its examples are read from the registry.
    workload: Workload::External,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Capabilities;

impl ResourceFamily for Capabilities {
    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn list(&self, _: &Services, after: Option<&str>, limit: usize) -> Vec<Resource> {
        let last = after.and_then(|uri| Kind::ALL.into_iter().position(|kind| kind.uri() == uri));
        let first = match (after, last) {
            (None, _) => 0,
            (Some(_), Some(last)) => last + 1,
            (Some(_), None) => Kind::ALL.len(),
        };
        Kind::ALL.into_iter().skip(first).take(limit).map(describe).collect()
    }

    fn read(&self, state: &AppState, uri: &str) -> Result<Contents, ReadError> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.uri() == uri).ok_or_else(|| {
            let known = Kind::ALL.map(|kind| format!("`{}`", kind.uri())).join(", ");
            ReadError { message: format!("there is no `{uri}`"), hint: format!("there is {known}") }
        })?;
        let text = kind.json(state).expect("strings, numbers and schemas are JSON");
        Ok(Contents::new(uri, JSON, text))
    }

    /// All of them, since there are no more.
    fn examples(&self, _: &Services) -> Vec<String> {
        Kind::ALL.map(Kind::uri).to_vec()
    }

    fn complete(&self, _: &Services, argument: &str, _: &HashMap<String, String>) -> Vec<String> {
        let asked = FAMILY.parameters.iter().find(|parameter| parameter.name == argument);
        let values = asked.and_then(|parameter| parameter.values).unwrap_or_default();
        values.iter().map(|value| (*value).to_owned()).collect()
    }
}

fn describe(kind: Kind) -> Resource {
    Resource {
        title: Some(format!("Self-description: {}", kind.name())),
        description: Some(kind.description()),
        ..Resource::new(kind.uri(), kind.name(), JSON)
    }
}
