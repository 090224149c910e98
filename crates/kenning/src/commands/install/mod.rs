//! Giving the server to MCP clients, and taking it from them: `install`, `uninstall`.
//!
//! [`machine`] knows where things are, [`config`] what a client's file says, in the formats of
//! [`json`], [`toml`] and [`yaml`], [`file`] how it is changed; [`list`] shows all clients.

pub(super) mod config;
mod file;
mod json;
mod list;
pub(super) mod machine;
mod toml;
mod uninstall;
mod words;
mod yaml;

use kenning_catalog::clients::{self, Client, Scope, ServerEntry};
use serde::Serialize;
use serde_json::Value;

use self::config::Unusable;
use self::file::ConfigFile;
use self::machine::Machine;
use super::Context;
use crate::cli::{EntryName, Global, Install, InstallScope};
use crate::failure::{Exit, Failure};
use crate::printer;

pub(super) use list::detected;
pub(super) use uninstall::run as uninstall;

/// What was done with one client.
#[derive(Debug, Serialize)]
struct Done {
    client: &'static str,
    scope: Scope,
    file: String,
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<Value>,
    /// What the file was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    /// For the person at the terminal.
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

/// One entry of one client.
struct Target {
    client: &'static Client,
    scope: Scope,
    name: String,
}

pub(super) fn run(context: &Context, global: &Global, install: &Install) -> Result<Exit, Failure> {
    let machine = Machine::this()?;
    if install.all_detected {
        return all_detected(context, &machine, global, install);
    }
    let Some(asked) = &install.client else {
        return list::run(context, &machine);
    };
    let target = Target::new(find(asked)?, &install.entry)?;
    let server = words::server(&machine, context, global, &target, &install.args)?;
    if install.print {
        return print(context, &machine, &target, &server);
    }
    let done = install_one(&machine, &target, &server, install)?;
    context.printer.answer(&done, text)?;
    note(context, &done);
    Ok(Exit::Success)
}

/// One that fails does not stop the others.
fn all_detected(
    context: &Context,
    machine: &Machine,
    global: &Global,
    install: &Install,
) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    let mut exit = Exit::Success;
    for client in detected(machine) {
        let one = Target::new(client, &install.entry).and_then(|target| {
            let server = words::server(machine, context, global, &target, &install.args)?;
            install_one(machine, &target, &server, install)
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
    install: &Install,
) -> Result<Done, Failure> {
    let entry = clients::entry(target.client, server);
    let file = target.read(machine)?;
    let body = file.body();
    let usable = |problem| target.refuse(&file, problem);
    let servers = config::servers(target.client, body).map_err(usable)?;
    let found = servers.into_iter().find(|(name, _)| *name == target.name).map(|(_, entry)| entry);
    if let Some(found) = &found {
        target.refuse_foreign(machine, &file, found)?;
        if config::holds(found, &entry) {
            return Ok(target.done(&file, Action::AlreadyInstalled, Some(entry)));
        }
    }
    let new = config::put(target.client, body, &target.name, &entry).map_err(usable)?;
    config::refuse_damage(target.client, body, &new, &target.name).map_err(usable)?;
    let (action, would) = match found {
        Some(_) => (Action::Updated, Action::WouldUpdate),
        None => (Action::Installed, Action::WouldInstall),
    };
    if install.dry_run {
        return Ok(target.done(&file, would, Some(entry)));
    }
    let mut done = target.done(&file, action, Some(entry));
    // An older copy, from before the first entry, is worth more than one that has it already.
    let needs_none =
        found.is_some_and(|found| target.is_origin(&file, &found) || target.is_all(&file, &found));
    if file.exists() && !needs_none {
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
    let shown = clients::snippet(target.client, server);
    let entry = clients::entry(target.client, server);
    context.printer.answer(&entry, |_| shown)?;
    let path = target.path(machine)?;
    context.printer.note(&format!("this belongs into {}", path.display()));
    Ok(Exit::Success)
}

fn find(asked: &str) -> Result<&'static Client, Failure> {
    clients::find(asked).map_err(|error| Failure::usage(error.to_string()).hint(error.hint()))
}

impl Target {
    fn new(client: &'static Client, entry: &EntryName) -> Result<Self, Failure> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = entry.name.clone();
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(Failure::usage(format!("--name {name}: not a name that all clients take"))
                .hint("use letters, digits, `-` and `_`, at most 64 of them"));
        }
        let scope = match entry.scope {
            InstallScope::User => Scope::User,
            InstallScope::Project => Scope::Project,
        };
        if client.place(scope).is_none() {
            return Err(Failure::usage(format!("{} has no servers of a project", client.name))
                .hint("leave out --scope project"));
        }
        Ok(Self { client, scope, name })
    }

    fn path(&self, machine: &Machine) -> Result<std::path::PathBuf, Failure> {
        let path = machine.file(self.client, self.scope, &self.name);
        path.ok_or_else(|| Failure::new(format!("{} is not for this system", self.client.name)))
    }

    fn read(&self, machine: &Machine) -> Result<ConfigFile, Failure> {
        ConfigFile::read(self.path(machine)?, self.scope, &machine.project)
    }

    fn refuse(&self, file: &ConfigFile, problem: Unusable) -> Failure {
        let Unusable(problem) = problem;
        let id = &self.client.id;
        Failure::new(format!("`{}` is left as it is: {problem}", file.path.display()))
            .hint(format!("mend it, or paste what `kenning install {id} --print` shows yourself"))
    }

    /// An entry of the same name may be somebody else's.
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

    /// Whether the copy that is there is this file without the entry.
    fn is_origin(&self, file: &ConfigFile, entry: &Value) -> bool {
        let Some(backup) = file.backup_body() else { return false };
        let servers = config::servers(self.client, &backup).unwrap_or_default();
        let has_entry = servers.iter().any(|(name, _)| *name == self.name);
        let again = config::put(self.client, &backup, &self.name, entry);
        !has_entry && again.is_ok_and(|again| again == file.body())
    }

    /// Whether the file holds the entry and nothing that was not written with it.
    fn is_all(&self, file: &ConfigFile, entry: &Value) -> bool {
        let alone = config::put(self.client, "", &self.name, entry);
        alone.is_ok_and(|alone| alone == file.body())
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
    let did = match done.action {
        Action::Installed => "installed in",
        Action::Updated => "brought up to date in",
        Action::AlreadyInstalled => "already installed in",
        Action::WouldInstall => "would be installed in",
        Action::WouldUpdate => "would be brought up to date in",
        Action::Removed => "removed from",
        Action::NothingToRemove => "not in",
        Action::WouldRemove => "would be removed from",
    };
    let mut out = format!("{}: {did} {}", done.client, done.file);
    if let Some(entry) = &done.entry {
        out += &format!("\n  runs    {}", config::words(entry).join(" "));
    }
    if let Some(backup) = &done.backup {
        out += &format!("\n  before  {backup}");
    }
    out
}

fn note(context: &Context, done: &Done) {
    for next in &done.next {
        context.printer.note(&format!("next: {next}"));
    }
}
