//! The words with which a client starts the server.

use std::collections::BTreeMap;
use std::path::Path;

use kenning_catalog::clients::{Place, Scope, ServerEntry, Starts};

use super::Target;
use super::machine::{Machine, utf8};
use crate::cli::Global;
use crate::commands::Context;
use crate::failure::Failure;

pub(super) fn server(
    machine: &Machine,
    context: &Context,
    global: &Global,
    target: &Target,
    further: &[String],
) -> Result<ServerEntry, Failure> {
    let place = target.client.place(target.scope);
    let names = |flag: &str| {
        let with_value = format!("{flag}=");
        further.iter().any(|word| word == flag || word.starts_with(&with_value))
    };
    if global.store.is_some() || names("--store") {
        let message = "--store may hold a password, which does not belong into a client's file";
        return Err(Failure::usage(message)
            .hint("set `store.url` in your own settings, or KENNING_STORE_URL"));
    }
    let mut args = flags(machine, global, target.scope, place)?;
    let is_located = !args.is_empty() || names("--root") || names("--config");
    if let Some(place) = place
        && !is_located
    {
        args.extend(whereabouts(place, machine, context.layers.project_file())?);
    }
    args.push("serve".to_owned());
    args.extend(further.iter().cloned());
    Ok(ServerEntry {
        name: target.name.clone(),
        command: machine.command(target.client, target.scope)?,
        args,
        env: BTreeMap::new(),
    })
}

/// The flags that this command was given, for the server to have them as well.
fn flags(
    machine: &Machine,
    global: &Global,
    scope: Scope,
    place: Option<&Place>,
) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut add = |flag: &str, name: &str, path: &str| {
        // In a project's file a path is the same for everybody who has the project.
        let is_shared = scope == Scope::Project && Path::new(path).is_relative();
        let path = match place.and_then(|place| place.root.as_deref()) {
            Some(root) if is_shared => format!("{root}/{path}"),
            None if is_shared => path.to_owned(),
            _ => utf8(&machine.project.join(path))?,
        };
        words.extend([flag.to_owned(), format!("{name}{path}")]);
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
    Ok(words)
}

/// What tells a server about this project that is not started in it.
fn whereabouts(
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
