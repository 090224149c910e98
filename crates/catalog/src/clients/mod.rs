//! MCP clients and how each one is configured.
//!
//! `data/clients.json` is the table. [`entry`] and [`snippet`] produce the configuration of a server,
//! [`Client::files`] the files it belongs in. This module touches no file: the caller describes the
//! machine as an [`Environment`].

mod entry;
mod place;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::names::normalize;

pub use entry::{ServerEntry, entry, snippet};
pub use place::{Environment, Os};

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
    /// Whether it is started from a desktop, where it does not inherit the `PATH` of a shell.
    #[serde(default)]
    pub desktop: bool,
    pub aliases: Vec<String>,
    /// Its id in the catalog of agents, if it is listed there.
    pub agent: Option<String>,
    pub format: Format,
    /// The path of keys to the list of servers.
    pub servers: Vec<String>,
    /// A template for one server, with the placeholders `$name`, `$command`, `$args`, `$argv` and
    /// `$env`.
    pub entry: Map<String, Value>,
    /// The other keys of a file that holds one server and nothing else. Without it, servers share
    /// a file with other settings.
    pub document: Option<Map<String, Value>>,
    pub scopes: Scopes,
    /// Commands whose presence shows that it is installed.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Folders whose presence shows that it was used.
    pub traces: Paths,
    /// What the user does after the entry was written.
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
    /// For all projects of a user.
    pub user: Place,
    /// For one project; not all clients support it.
    pub project: Option<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    User,
    Project,
}

/// The files that list the servers of one scope.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The first one that exists is used, or else the first.
    pub files: Paths,
    #[serde(default)]
    pub starts: Starts,
    /// The client's placeholder for the project's folder, if it has one.
    pub root: Option<String>,
    pub note: Option<String>,
}

/// The working directory of the servers that a client starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Starts {
    /// The open project.
    #[default]
    Project,
    /// Unspecified.
    Anywhere,
}

/// Paths, the same everywhere or by operating system.
///
/// `~` is the home directory and `${NAME:-DEFAULT}` a variable, both at the start only. Other paths
/// are relative to the project.
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
    /// What to do about it.
    pub fn hint(&self) -> String {
        let ids: Vec<&str> = all().iter().map(|client| client.id.as_str()).collect();
        format!("there is {}", ids.join(", "))
    }
}

/// Every client of the table, in its order.
pub fn all() -> &'static [Client] {
    static CLIENTS: OnceLock<Vec<Client>> = OnceLock::new();
    CLIENTS.get_or_init(|| {
        let table: Table = serde_json::from_str(TABLE).expect("the bundled data is tested");
        table.clients
    })
}

/// Finds a client by id, name or alias, regardless of case and punctuation.
pub fn find(asked: &str) -> Result<&'static Client, ClientNotFound> {
    let wanted = normalize(asked);
    let found = all().iter().find(|client| client.names().any(|name| normalize(name) == wanted));
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

    /// The scopes that the client supports.
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
