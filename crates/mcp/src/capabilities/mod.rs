//! `capabilities://{capability_type}`: what this server is, said by itself.
//!
//! Nothing in it is written down twice: [`server`], [`tools`], [`resources`] and [`generators`]
//! are made from the inventory that requests are answered from, the constants that are enforced
//! and the durations that were measured.

mod generators;
mod resources;
mod server;
mod tools;

use std::collections::HashMap;

use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;

use crate::house::House;
use crate::inventory::Toolset;
use crate::resource::{Parameter, ReadError, ResourceFamily};
use crate::rooms::Rooms;
use crate::server::VERSION;

const SCHEME: &str = "capabilities";
const JSON: &str = "application/json";
/// Where a client that knows nothing begins.
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

    fn json(self, house: &House) -> serde_json::Result<String> {
        match self {
            Self::Server => serde_json::to_string(&server::of(house)),
            Self::Tools => serde_json::to_string(&tools::of(house)),
            Self::Resources => serde_json::to_string(&resources::of(house)),
            Self::Generators => serde_json::to_string(&generators::of(house)),
        }
    }
}

/// The family of the four.
#[derive(Debug, Clone, Copy)]
pub struct Capabilities;

impl ResourceFamily for Capabilities {
    fn scheme(&self) -> &'static str {
        SCHEME
    }

    fn toolset(&self) -> Option<Toolset> {
        None
    }

    fn description(&self) -> &'static str {
        "What this server is and offers"
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![
            ResourceTemplate::new(format!("{SCHEME}://{{capability_type}}"), "capabilities")
                .with_title("Self-description")
                .with_description(
                    "What this server is and offers: server, tools, resources or generators",
                )
                .with_mime_type(JSON),
        ]
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter {
            name: "capability_type",
            description: "What to describe",
            values: Some(Kind::ALL.map(Kind::name).to_vec()),
        }]
    }

    fn list(&self, _: &Rooms, after: Option<&str>, limit: usize) -> Vec<Resource> {
        let seen = after.and_then(|uri| Kind::ALL.into_iter().position(|kind| kind.uri() == uri));
        let first = match (after, seen) {
            (None, _) => 0,
            (Some(_), Some(seen)) => seen + 1,
            (Some(_), None) => Kind::ALL.len(),
        };
        Kind::ALL.into_iter().skip(first).take(limit).map(describe).collect()
    }

    fn read(&self, house: &House, uri: &str) -> Result<ResourceContents, ReadError> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.uri() == uri).ok_or_else(|| {
            let known = Kind::ALL.map(|kind| format!("`{}`", kind.uri())).join(", ");
            ReadError { message: format!("there is no `{uri}`"), hint: format!("there is {known}") }
        })?;
        let text = kind.json(house).expect("strings, numbers and schemas are JSON");
        Ok(ResourceContents::text(text, uri).with_mime_type(JSON))
    }

    /// Counts change with plugins, durations with every call.
    fn is_live(&self) -> bool {
        true
    }

    /// All of them, since there are no more.
    fn examples(&self, _: &Rooms) -> Vec<String> {
        Kind::ALL.map(Kind::uri).to_vec()
    }

    fn complete(&self, _: &Rooms, argument: &str, _: &HashMap<String, String>) -> Vec<String> {
        let asked = self.parameters().into_iter().find(|parameter| parameter.name == argument);
        let values = asked.and_then(|parameter| parameter.values).unwrap_or_default();
        values.into_iter().map(str::to_owned).collect()
    }
}

fn describe(kind: Kind) -> Resource {
    Resource::new(kind.uri(), kind.name())
        .with_title(format!("Self-description: {}", kind.name()))
        .with_description(kind.description())
        .with_mime_type(JSON)
}
