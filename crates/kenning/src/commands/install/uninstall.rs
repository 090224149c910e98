//! `uninstall`: removes the entry and restores the file as it was before `install`.

use kenning_catalog::clients::Scope;

use super::config;
use super::file::ConfigFile;
use super::machine::Machine;
use super::{Action, Done, Target, find, note, text};
use crate::cli::Uninstall;
use crate::commands::Context;
use crate::failure::{Exit, Failure};

pub(in crate::commands) fn run(context: &Context, args: &Uninstall) -> Result<Exit, Failure> {
    let machine = Machine::this()?;
    let target = Target::new(find(&args.client)?, &args.entry)?;
    let done = remove(&machine, &target, args)?;
    context.printer.answer(&done, text)?;
    note(context, &done);
    Ok(Exit::Success)
}

fn remove(machine: &Machine, target: &Target, args: &Uninstall) -> Result<Done, Failure> {
    let file = target.read(machine)?;
    let servers = config::servers(target.client, file.body());
    let servers = servers.map_err(|problem| target.refuse(&file, problem))?;
    let found = servers.into_iter().find(|(name, _)| *name == target.name);
    let Some((_, entry)) = found else {
        let mut done = target.done(&file, Action::NothingToRemove, None);
        done.next.extend(elsewhere(machine, target));
        return Ok(done);
    };
    target.refuse_foreign(machine, &file, &entry)?;
    if args.dry_run {
        return Ok(target.done(&file, Action::WouldRemove, Some(entry)));
    }
    let mut done = target.done(&file, Action::Removed, None);
    if target.is_origin(&file, &entry) {
        file.restore()?;
    } else if target.is_all(&file, &entry) {
        file.delete()?;
    } else {
        let left = config::remove(target.client, file.body(), &target.name);
        let left = left.and_then(|left| {
            config::refuse_damage(target.client, file.body(), &left, &target.name)?;
            Ok(left)
        });
        let left = left.map_err(|problem| target.refuse(&file, problem))?;
        done.backup = Some(file.back_up()?.display().to_string());
        file.write(&left)?;
    }
    Ok(done)
}

/// A hint if the entry is in the other scope.
fn elsewhere(machine: &Machine, target: &Target) -> Option<String> {
    let other = match target.scope {
        Scope::User => Scope::Project,
        Scope::Project => Scope::User,
    };
    let path = machine.file(target.client, other, &target.name)?;
    let file = ConfigFile::read(path, other, &machine.project).ok()?;
    let servers = config::servers(target.client, file.body()).ok()?;
    servers
        .iter()
        .any(|(name, _)| *name == target.name)
        .then(|| format!("the entry is in {}: add --scope {}", file.path.display(), other.name()))
}
