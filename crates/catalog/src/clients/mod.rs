//! The programs that can be given an MCP server, and how each of them wants to be told.
//!
//! `data/clients.json` is the table. [`entry`] and [`snippet`] say what has to be written for a
//! server, [`Client::files`] where. Nothing is read or written here: the surroundings are given.

mod entry;
mod place;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::names::normal;

pub use entry::{ServerEntry, entry, snippet};
pub use place::{Os, Surroundings};

const TABLE: &str = include_str!("../../../../data/clients.json");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    clients: Vec<Client>,
}

/// One program, as the table describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    pub id: String,
    pub name: String,
    /// Whether it is started from a desktop, where it does not see the `PATH` of a shell.
    #[serde(default)]
    pub desktop: bool,
    pub aliases: Vec<String>,
    /// The agent of the catalog that it is, if there is one.
    pub agent: Option<String>,
    pub format: Format,
    /// The keys that lead to where servers are listed.
    pub servers: Vec<String>,
    /// What is written for one server; `$name`, `$command`, `$args`, `$argv` and `$env` stand for
    /// what it has.
    pub entry: Map<String, Value>,
    /// What else a file needs that holds one server and nothing else. Without it, servers share
    /// a file with other settings.
    pub document: Option<Map<String, Value>>,
    pub scopes: Scopes,
    /// Commands that show that it is installed.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Folders that show that it was used.
    pub traces: Paths,
    /// What a person does once the entry is there.
    pub next: String,
    pub documentation: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Json,
    /// With comments and trailing commas.
    Jsonc,
    Toml,
    Yaml,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scopes {
    /// For everything this user does.
    pub user: Place,
    /// For one project; not all clients have that.
    pub project: Option<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    User,
    Project,
}

/// Where the servers of one scope are written down.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Any of these: the first that exists, or else the first.
    pub files: Paths,
    #[serde(default)]
    pub starts: Starts,
    /// How the client calls the project's folder in an entry, if it has a word for it.
    pub root: Option<String>,
    pub note: Option<String>,
}

/// The folder in which a client starts servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Starts {
    /// The project that is worked on.
    #[default]
    Project,
    /// No folder that can be relied on.
    Anywhere,
}

/// Paths, the same everywhere or by operating system.
///
/// `~` is the user's home and `${NAME:-DEFAULT}` a variable, both at the start only. What starts
/// with neither is relative to the project.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paths {
    #[serde(default)]
    pub any: Vec<String>,
    #[serde(default)]
    pub linux: Vec<String>,
    #[serde(default)]
    pub macos: Vec<String>,
    #[serde(default)]
    pub windows: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("there is no client `{asked}`")]
pub struct ClientNotFound {
    pub asked: String,
}

impl ClientNotFound {
    /// The way out.
    pub fn hint(&self) -> String {
        let ids: Vec<&str> = all().iter().map(|client| client.id.as_str()).collect();
        format!("there is {}", ids.join(", "))
    }
}

/// Every client of the table, in its order.
pub fn all() -> &'static [Client] {
    static CLIENTS: OnceLock<Vec<Client>> = OnceLock::new();
    CLIENTS.get_or_init(|| {
        let table: Table = serde_json::from_str(TABLE).expect("the built-in data is tested");
        table.clients
    })
}

/// The client with this id, name or alias, however it is spelled.
pub fn find(asked: &str) -> Result<&'static Client, ClientNotFound> {
    let wanted = normal(asked);
    let found = all().iter().find(|client| client.names().any(|name| normal(name) == wanted));
    found.ok_or_else(|| ClientNotFound { asked: asked.to_owned() })
}

impl Client {
    fn names(&self) -> impl Iterator<Item = &str> {
        let own = [self.id.as_str(), self.name.as_str()];
        let others = self.aliases.iter().chain(&self.agent).map(String::as_str);
        own.into_iter().chain(others)
    }

    pub fn place(&self, scope: Scope) -> Option<&Place> {
        match scope {
            Scope::User => Some(&self.scopes.user),
            Scope::Project => self.scopes.project.as_ref(),
        }
    }

    /// The scopes it has.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> {
        let project = self.scopes.project.as_ref().map(|_| Scope::Project);
        std::iter::once(Scope::User).chain(project)
    }
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Jsonc => "jsonc",
            Self::Toml => "toml",
            Self::Yaml => "yaml",
        }
    }
}

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}
