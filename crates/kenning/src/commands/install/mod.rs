//! `install`, `uninstall`: adds the server to the configuration files of MCP clients and removes it.
//!
//! [`machine`] finds clients and their files, [`server_entry`] makes the entry, [`config`] edits the
//! text in the formats of [`json`], [`toml`] and [`yaml`], [`file`] reads and replaces the file, and
//! [`list`] lists all clients.

pub(super) mod config;
mod file;
mod json;
mod list;
pub(super) mod machine;
mod server_entry;
mod toml;
mod uninstall;
mod yaml;

use kenning_catalog::clients::{self, Client, Scope, ServerEntry};
use serde::Serialize;
use serde_json::Value;

use self::config::Unusable;
use self::file::ConfigFile;
use self::machine::Machine;
use super::Context;
use crate::cli::{EntryName, Global, Install};
use crate::failure::{Exit, Failure};
use crate::printer;

pub(super) use list::detected;
pub(super) use uninstall::run as uninstall;

/// What was done to one client's file.
#[derive(Debug, Serialize)]
struct Done {
    client: &'static str,
    scope: Scope,
    file: String,
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<Value>,
    /// Copy of the file from before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    /// What the user should do next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Installed,
    Updated,
    AlreadyInstalled,
    WouldInstall,
    WouldUpdate,
    Removed,
    NothingToRemove,
    WouldRemove,
}

/// One entry in one client's configuration.
struct Target {
    client: &'static Client,
    scope: Scope,
    name: String,
}

pub(super) fn run(context: &Context, global: &Global, args: &Install) -> Result<Exit, Failure> {
    let machine = Machine::this()?;
    if args.all_detected {
        return all_detected(context, &machine, global, args);
    }
    let Some(client) = &args.client else {
        return list::run(context, &machine);
    };
    let target = Target::new(find(client)?, &args.entry)?;
    let server = server_entry::of(&machine, context, global, &target, &args.args)?;
    if args.print {
        return print(context, &machine, &target, &server);
    }
    let done = install_one(&machine, &target, &server, args)?;
    context.printer.answer(&done, text)?;
    note(context, &done);
    Ok(Exit::Success)
}

/// Reports a client that fails and goes on with the others.
fn all_detected(
    context: &Context,
    machine: &Machine,
    global: &Global,
    args: &Install,
) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    let mut exit = Exit::Success;
    for client in detected(machine) {
        let one = Target::new(client, &args.entry).and_then(|target| {
            let server = server_entry::of(machine, context, global, &target, &args.args)?;
            install_one(machine, &target, &server, args)
        });
        match one {
            Ok(done) => all.push(done),
            Err(failure) => exit = printer::report(&failure),
        }
    }
    context.printer.answer(&all, |all| all.iter().map(|done| text(done) + "\n").collect())?;
    for done in &all {
        note(context, done);
    }
    Ok(exit)
}

fn install_one(
    machine: &Machine,
    target: &Target,
    server: &ServerEntry,
    args: &Install,
) -> Result<Done, Failure> {
    let entry = clients::entry(target.client, server);
    let file = target.read(machine)?;
    let body = file.body();
    let refuse = |problem| target.refuse(&file, problem);
    let servers = config::servers(target.client, body).map_err(refuse)?;
    let found = servers.into_iter().find(|(name, _)| *name == target.name).map(|(_, entry)| entry);
    if let Some(found) = &found {
        target.refuse_foreign(machine, &file, found)?;
        if config::holds(found, &entry) {
            return Ok(target.done(&file, Action::AlreadyInstalled, Some(entry)));
        }
    }
    let new = config::put(target.client, body, &target.name, &entry).map_err(refuse)?;
    config::refuse_damage(target.client, body, &new, &target.name).map_err(refuse)?;
    let (action, would) = match found {
        Some(_) => (Action::Updated, Action::WouldUpdate),
        None => (Action::Installed, Action::WouldInstall),
    };
    if args.dry_run {
        return Ok(target.done(&file, would, Some(entry)));
    }
    let mut done = target.done(&file, action, Some(entry));
    // A backup from before the first entry must stay, because `uninstall` restores it, and a file
    // that holds nothing else needs none.
    let is_covered =
        found.is_some_and(|found| target.is_origin(&file, &found) || target.is_all(&file, &found));
    if file.exists() && !is_covered {
        done.backup = Some(file.back_up()?.display().to_string());
    }
    file.write(&new)?;
    Ok(done)
}

fn print(
    context: &Context,
    machine: &Machine,
    target: &Target,
    server: &ServerEntry,
) -> Result<Exit, Failure> {
    let entry = clients::entry(target.client, server);
    context.printer.answer(&entry, |_| clients::snippet(target.client, server))?;
    let path = target.path(machine)?;
    context.printer.note(&format!("paste this into {}", path.display()));
    Ok(Exit::Success)
}

fn find(name: &str) -> Result<&'static Client, Failure> {
    clients::find(name).map_err(|error| Failure::usage(error.to_string()).hint(error.hint()))
}

impl Target {
    fn new(client: &'static Client, entry: &EntryName) -> Result<Self, Failure> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = entry.name.clone();
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(Failure::usage(format!(
                "--name {name}: not a name that all clients accept"
            ))
            .hint("use at most 64 letters, digits, `-` and `_`"));
        }
        let scope = entry.scope;
        if client.place(scope).is_none() {
            return Err(Failure::usage(format!(
                "{} has no configuration per project",
                client.name
            ))
            .hint("omit --scope project"));
        }
        Ok(Self { client, scope, name })
    }

    fn path(&self, machine: &Machine) -> Result<std::path::PathBuf, Failure> {
        let path = machine.file(self.client, self.scope, &self.name);
        path.ok_or_else(|| {
            Failure::new(format!("{} does not exist for this operating system", self.client.name))
        })
    }

    fn read(&self, machine: &Machine) -> Result<ConfigFile, Failure> {
        ConfigFile::read(self.path(machine)?, self.scope, &machine.project)
    }

    fn refuse(&self, file: &ConfigFile, problem: Unusable) -> Failure {
        let Unusable(problem) = problem;
        let id = &self.client.id;
        Failure::new(format!("`{}` is left as it is: {problem}", file.path.display())).hint(
            format!("correct it, or paste the output of `kenning install {id} --print` into it"),
        )
    }

    /// An entry of the same name may start another program.
    fn refuse_foreign(
        &self,
        machine: &Machine,
        file: &ConfigFile,
        found: &Value,
    ) -> Result<(), Failure> {
        if machine.is_ours(found) {
            return Ok(());
        }
        let (name, file) = (&self.name, file.path.display());
        Err(Failure::new(format!("`{name}` in `{file}` does not start Kenning: {found}"))
            .hint("choose another name with --name"))
    }

    /// Whether the backup is this file without the entry.
    fn is_origin(&self, file: &ConfigFile, entry: &Value) -> bool {
        let Some(backup) = file.backup_body() else { return false };
        let servers = config::servers(self.client, &backup).unwrap_or_default();
        let has_entry = servers.iter().any(|(name, _)| *name == self.name);
        let reinstalled = config::put(self.client, &backup, &self.name, entry);
        !has_entry && reinstalled.is_ok_and(|text| text == file.body())
    }

    /// Whether the file holds nothing but the entry as we write it.
    fn is_all(&self, file: &ConfigFile, entry: &Value) -> bool {
        let alone = config::put(self.client, "", &self.name, entry);
        alone.is_ok_and(|text| text == file.body())
    }

    fn done(&self, file: &ConfigFile, action: Action, entry: Option<Value>) -> Done {
        let place = self.client.place(self.scope);
        let next = match action {
            Action::Installed | Action::Updated | Action::AlreadyInstalled => {
                let note = place.and_then(|place| place.note.clone());
                std::iter::once(self.client.next.clone()).chain(note).collect()
            }
            _ => Vec::new(),
        };
        Done {
            client: &self.client.id,
            scope: self.scope,
            file: file.path.display().to_string(),
            action,
            entry,
            backup: None,
            next,
        }
    }
}

fn text(done: &Done) -> String {
    let action = match done.action {
        Action::Installed => "installed in",
        Action::Updated => "updated in",
        Action::AlreadyInstalled => "already installed in",
        Action::WouldInstall => "would be installed in",
        Action::WouldUpdate => "would be updated in",
        Action::Removed => "removed from",
        Action::NothingToRemove => "not in",
        Action::WouldRemove => "would be removed from",
    };
    let mut out = format!("{}: {action} {}", done.client, done.file);
    if let Some(entry) = &done.entry {
        out += &format!("\n  runs    {}", config::command_line(entry).join(" "));
    }
    if let Some(backup) = &done.backup {
        out += &format!("\n  backup  {backup}");
    }
    out
}

fn note(context: &Context, done: &Done) {
    for next in &done.next {
        context.printer.note(&format!("next: {next}"));
    }
}
