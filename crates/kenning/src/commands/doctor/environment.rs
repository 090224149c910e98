//! Checks of the clients' configuration, the git hooks, a shared server and the HTTP port.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;

use kenning_catalog::clients::{self, Client, Scope};
#[cfg(unix)]
use kenning_settings::Layers;
use kenning_settings::Settings;
use serde_json::Value;

use super::Check;
use crate::commands::hook::{self, State};
use crate::commands::install::config::{self, Unusable};
use crate::commands::install::machine::{Machine, is_executable, on_path};
#[cfg(unix)]
use crate::commands::serve::daemon::{self, HostStatus};
use crate::failure::Failure;

pub(super) fn checks() -> Vec<Check> {
    let mut checks = match Machine::this() {
        Ok(machine) => all_clients(&machine),
        Err(failure) => vec![Check::fail("clients", failure)],
    };
    checks.push(git_hook());
    checks
}

fn all_clients(machine: &Machine) -> Vec<Check> {
    let mut checks = Vec::new();
    for client in clients::all() {
        for scope in client.scopes() {
            checks.extend(client_checks(machine, client, scope));
        }
    }
    if checks.is_empty() {
        let none = Check::warn("clients", "no MCP client is configured to start Kenning");
        checks.push(none.next("`kenning install` lists the supported clients"));
    }
    checks
}

/// One check for every entry that starts Kenning.
fn client_checks(machine: &Machine, client: &Client, scope: Scope) -> Vec<Check> {
    let Some(file) = machine.file(client, scope, "kenning") else { return Vec::new() };
    let Ok(text) = std::fs::read_to_string(&file) else { return Vec::new() };
    let name = format!("{} ({})", client.id, scope.name());
    let servers = config::servers(client, text.strip_prefix('\u{feff}').unwrap_or(&text));
    let servers = match servers {
        Ok(servers) => servers,
        Err(Unusable(problem)) => {
            let check = Check::warn(name, format!("{}: {problem}", file.display()));
            return vec![
                check.next(format!("correct the file; {} may fail to read it, too", client.name)),
            ];
        }
    };
    let ours = servers.iter().filter(|(_, entry)| machine.is_ours(entry));
    ours.map(|(_, entry)| entry_check(client, scope, &name, &file, entry)).collect()
}

fn entry_check(client: &Client, scope: Scope, name: &str, file: &Path, entry: &Value) -> Check {
    let command_line = config::command_line(entry);
    let command = command_line.first().map(String::as_str).unwrap_or_default();
    let reinstall = format!("`kenning install {} --scope {}`", client.id, scope.name());
    let exists = match Path::new(command) {
        path if path.is_absolute() => is_executable(path),
        _ => on_path(command).is_some(),
    };
    if !exists {
        let problem = format!("{} runs `{command}`, which does not exist", file.display());
        return Check::fail(name, Failure::new(problem)).next(reinstall);
    }
    if let Some(path) = missing_path(&command_line) {
        let problem = format!("{} names `{path}`, which does not exist", file.display());
        let next = format!("{reinstall}, in the right folder");
        return Check::fail(name, Failure::new(problem)).next(next);
    }
    Check::ok(name, format!("{} runs {}", file.display(), command_line.join(" ")))
}

/// A path in the flags that does not exist.
fn missing_path(command_line: &[String]) -> Option<&str> {
    let flags = ["--root", "--config"];
    let given = command_line.windows(2).filter(|pair| flags.contains(&pair[0].as_str()));
    let mut paths = given.map(|pair| pair[1].split_once('=').map_or(pair[1].as_str(), |(_, p)| p));
    paths.find(|path| Path::new(path).is_absolute() && !Path::new(path).exists())
}

fn git_hook() -> Check {
    match hook::state() {
        State::NoRepository => Check::ok("git hook", "this folder is not in a git repository"),
        State::Installed => Check::ok("git hook", "installed; updates vectors after every commit"),
        State::Absent => Check::ok("git hook", "not installed")
            .next("optional: `kenning hook install` updates vectors after every commit"),
        State::Foreign => Check::ok("git hook", "not installed; there are other hooks"),
    }
}

/// Whether a server is running that clients on standard streams can share. `None` if the settings
/// are too broken to find it, which another check reports.
#[cfg(unix)]
pub(super) fn shared_server(settings: &Settings, layers: &Layers) -> Option<Check> {
    let name = "shared server";
    if !settings.server.attach {
        return Some(Check::ok(name, "turned off: server.attach is false"));
    }
    Some(match daemon::probe(settings, layers).ok()? {
        HostStatus::NoHost => Check::ok(name, "not running; every client starts its own server")
            .next("optional: `kenning serve --http` serves all clients of this project"),
        HostStatus::Running { pid, problem: Some(problem), .. } => {
            Check::fail(name, Failure::new(format!("process {pid}: {problem}")))
                .next("`kenning index` names the files that cannot be read")
        }
        HostStatus::Running { pid, clients, socket, problem: None } => {
            Check::ok(name, format!("process {pid} serves {clients} clients at {socket}"))
        }
        HostStatus::Refused { reason, socket } => {
            let found = format!("running at {socket}, but {reason}");
            Check::warn(name, found).next("restart it with the settings of its clients")
        }
    })
}

/// Whether `serve --http` can listen.
pub(super) fn port(settings: &Settings) -> Check {
    let (host, port) = (settings.server.host.as_str(), settings.server.port);
    let name = "http port";
    match TcpListener::bind((host, port)) {
        Ok(_) => Check::ok(name, format!("{host}:{port} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Check::warn(name, format!("{host}:{port} is in use, perhaps by a running server"))
                .next("`kenning serve --http 127.0.0.1:0` uses any free port")
        }
        Err(error) => {
            let problem = format!("cannot listen on {host}:{port}: {error}");
            Check::fail(name, Failure::new(problem)).next("set server.host and server.port")
        }
    }
}
