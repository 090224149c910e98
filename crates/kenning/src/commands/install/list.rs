//! Lists all supported clients and their state on this machine.

use kenning_catalog::clients::{self, Client, Scope};
use serde::Serialize;

use super::config;
use super::file::ConfigFile;
use super::machine::Machine;
use crate::commands::Context;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct Listed {
    clients: Vec<ListedClient>,
}

#[derive(Serialize)]
struct ListedClient {
    id: &'static str,
    name: &'static str,
    /// Whether it seems to be installed on this machine.
    detected: bool,
    scopes: Vec<ListedScope>,
}

#[derive(Serialize)]
struct ListedScope {
    scope: Scope,
    file: String,
    installed: bool,
}

/// The clients that seem to be installed on this machine.
pub(in crate::commands) fn detected(machine: &Machine) -> Vec<&'static Client> {
    clients::all().iter().filter(|client| machine.has(client)).collect()
}

pub(super) fn run(context: &Context, machine: &Machine) -> Result<Exit, Failure> {
    let clients = clients::all().iter().map(|client| listed(machine, client)).collect();
    context.printer.answer(&Listed { clients }, text)?;
    context
        .printer
        .note("* found on this machine. `kenning install CLIENT` adds the server to a client.");
    Ok(Exit::Success)
}

fn listed(machine: &Machine, client: &'static Client) -> ListedClient {
    let scope = |scope: Scope| {
        let file = machine.file(client, scope, "kenning")?;
        let installed = is_installed(machine, client, scope).unwrap_or(false);
        Some(ListedScope { scope, file: file.display().to_string(), installed })
    };
    ListedClient {
        id: &client.id,
        name: &client.name,
        detected: machine.has(client),
        scopes: client.scopes().filter_map(scope).collect(),
    }
}

/// `None` if the client's file cannot be read.
fn is_installed(machine: &Machine, client: &Client, scope: Scope) -> Option<bool> {
    let path = machine.file(client, scope, "kenning")?;
    let file = ConfigFile::read(path, scope, &machine.project).ok()?;
    let servers = config::servers(client, file.body()).ok()?;
    Some(servers.iter().any(|(_, entry)| machine.is_ours(entry)))
}

fn text(listed: &Listed) -> String {
    let line = |client: &ListedClient| {
        let mark = if client.detected { '*' } else { ' ' };
        let scope = |scope: &ListedScope| {
            let installed = if scope.installed { " (installed)" } else { "" };
            format!("{}{installed}", scope.scope.name())
        };
        let scopes: Vec<String> = client.scopes.iter().map(scope).collect();
        format!("{mark} {:<15} {:<15} {}\n", client.id, client.name, scopes.join(", "))
    };
    listed.clients.iter().map(line).collect()
}
