//! The entry with which a client starts the server: command and arguments.

use std::collections::BTreeMap;
use std::path::Path;

use kenning_catalog::clients::{Place, Scope, ServerEntry, Starts};

use super::Target;
use super::machine::{Machine, utf8};
use crate::cli::Global;
use crate::commands::Context;
use crate::failure::Failure;

pub(super) fn of(
    machine: &Machine,
    context: &Context,
    global: &Global,
    target: &Target,
    serve_args: &[String],
) -> Result<ServerEntry, Failure> {
    let place = target.client.place(target.scope);
    let has_flag = |flag: &str| {
        let with_value = format!("{flag}=");
        serve_args.iter().any(|arg| arg == flag || arg.starts_with(&with_value))
    };
    if global.store.is_some() || has_flag("--store") {
        let message = "--store may hold a password, which does not belong in a client's file";
        return Err(Failure::usage(message)
            .hint("set `store.url` in the user's settings, or KENNING_STORE_URL"));
    }
    let mut args = flags(machine, global, target.scope, place)?;
    let is_located = !args.is_empty() || has_flag("--root") || has_flag("--config");
    if let Some(place) = place
        && !is_located
    {
        args.extend(location_flags(place, machine, context.layers.project_file())?);
    }
    args.push("serve".to_owned());
    args.extend(serve_args.iter().cloned());
    Ok(ServerEntry {
        name: target.name.clone(),
        command: machine.command(target.client, target.scope)?,
        args,
        env: BTreeMap::new(),
    })
}

/// The flags of this command that the server needs, too.
fn flags(
    machine: &Machine,
    global: &Global,
    scope: Scope,
    place: Option<&Place>,
) -> Result<Vec<String>, Failure> {
    let mut flags = Vec::new();
    let mut add = |flag: &str, name: &str, path: &str| {
        // A project's file is shared, so a path in it stays relative to the project.
        let is_shared = scope == Scope::Project && Path::new(path).is_relative();
        let path = match place.and_then(|place| place.root.as_deref()) {
            Some(root) if is_shared => format!("{root}/{path}"),
            None if is_shared => path.to_owned(),
            _ => utf8(&machine.project.join(path))?,
        };
        flags.extend([flag.to_owned(), format!("{name}{path}")]);
        Ok::<_, Failure>(())
    };
    for root in &global.root {
        match root.split_once('=') {
            Some((name, path)) => add("--root", &format!("{name}="), path)?,
            None => add("--root", "", root)?,
        }
    }
    if let Some(path) = &global.config {
        add("--config", "", &utf8(path)?)?;
    }
    if let Some(path) = &global.model_path {
        add("--model-path", "", path)?;
    }
    if let Some(path) = &global.catalog {
        add("--catalog", "", path)?;
    }
    Ok(flags)
}

/// Flags that name the project, for clients that do not start servers in its folder.
fn location_flags(
    place: &Place,
    machine: &Machine,
    settings: Option<&Path>,
) -> Result<Vec<String>, Failure> {
    if place.starts == Starts::Project {
        return Ok(Vec::new());
    }
    let is_here = |file: &&Path| file.parent() == Some(&machine.project);
    let (flag, path) = match (&place.root, settings) {
        (Some(root), Some(file)) if is_here(&file) => {
            let name = file.file_name().unwrap_or_default();
            ("--config", format!("{root}/{}", utf8(Path::new(name))?))
        }
        (Some(root), _) => ("--root", root.clone()),
        (None, Some(file)) => ("--config", utf8(file)?),
        (None, None) => ("--root", utf8(&machine.project)?),
    };
    Ok(vec![flag.to_owned(), path])
}
