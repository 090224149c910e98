//! The first step in a folder: what is there, and a file for settings.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::Context;
use super::install::detected;
use super::install::machine::Machine;
use crate::cli::Init;
use crate::failure::{Exit, Failure};

/// What teaches an agent to ask first.
const SKILL: &str = include_str!("../../../../skills/kenning/SKILL.md");

#[derive(Serialize)]
struct Found {
    /// The settings that are in force here.
    settings: String,
    /// Whether they were written just now.
    written: bool,
    files: usize,
    nodes: usize,
    /// Files by the folder they are in, `.` for this one.
    folders: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill: Option<Skill>,
    next: String,
}

#[derive(Serialize)]
struct Skill {
    file: String,
    written: bool,
}

pub(super) fn run(context: &Context, words: &Init) -> Result<Exit, Failure> {
    let snapshot = context.open_library()?.snapshot();
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for root in snapshot.roots() {
        let path = root.path();
        let folder = path.split_once('/').map_or(".", |(first, _)| first);
        *folders.entry(folder.to_owned()).or_default() += 1;
    }
    let existing = context.layers.project_file();
    let file = match existing {
        Some(file) => file.to_path_buf(),
        None => std::env::current_dir()?.join("kenning.toml"),
    };
    if existing.is_none() {
        write(&file, &settings(&folders))?;
    }
    let found = Found {
        settings: file.display().to_string(),
        written: existing.is_none(),
        files: snapshot.file_count(),
        nodes: snapshot.node_count(),
        next: next(&folders),
        folders,
        skill: words.skill.as_deref().map(teach).transpose()?,
    };
    context.printer.answer(&found, text)?;
    context.printer.note(&format!("next: {}", found.next));
    Ok(Exit::Success)
}

/// Agents that look for skills in this folder learn to ask first.
fn teach(folder: &Path) -> Result<Skill, Failure> {
    let folder = folder.join("kenning");
    let file = folder.join("SKILL.md");
    let written = !file.exists();
    if written {
        std::fs::create_dir_all(&folder).map_err(|error| {
            Failure::new(format!("`{}` cannot be made: {error}", folder.display()))
        })?;
        write(&file, SKILL)?;
    }
    Ok(Skill { file: file.display().to_string(), written })
}

/// Never over a file that is there, even if it appeared just now.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let made = OpenOptions::new().write(true).create_new(true).open(file);
    let written = made.and_then(|mut made| made.write_all(text.as_bytes()));
    written
        .map_err(|error| Failure::new(format!("`{}` cannot be written: {error}", file.display())))
}

/// All Markdown in one folder means that folder; otherwise this one is meant.
fn settings(folders: &BTreeMap<String, usize>) -> String {
    let root = match folders.len() {
        1 => folders.keys().next().map_or(".", String::as_str),
        _ => ".",
    };
    let root = toml::Value::from(root);
    format!(
        "# Kenning's settings for this project. All of them are optional; `kenning config show`\n\
         # prints every one with its value, and `--origin` where it comes from.\n\
         \n\
         [knowledge_base]\n\
         # The folder of Markdown to serve, relative to this file. It cannot lead out of the project.\n\
         root_path = {root}\n\
         # Which files belong to it, and which of those do not. What .gitignore and .kenningignore\n\
         # name is left out as well.\n\
         # file_patterns = [\"**/*.md\"]\n\
         # exclude_patterns = [\"**/node_modules/**\", \"**/.git/**\"]\n\
         \n\
         # Several folders, each with a name of its own, instead of the one above:\n\
         # [bases.handbook]\n\
         # root_path = \"docs/handbook\"\n\
         \n\
         # What makes a node fit a task, by the type of the task, then by the type of the node:\n\
         # [discovery.boosts.implement]\n\
         # guideline = 1.5\n"
    )
}

fn next(folders: &BTreeMap<String, usize>) -> String {
    if folders.is_empty() {
        return "write some Markdown; then `kenning index` shows what is understood".to_owned();
    }
    let found = Machine::this().map(|machine| detected(&machine)).unwrap_or_default();
    match found.as_slice() {
        [only] => format!("`kenning install {}`", only.id),
        _ => "`kenning install` lists the clients that can be given the server".to_owned(),
    }
}

fn text(found: &Found) -> String {
    let did = |written| if written { "written" } else { "already there, and left as it is" };
    let mut out = format!("{}: {}\n", found.settings, did(found.written));
    if let Some(skill) = &found.skill {
        out += &format!("{}: {}\n", skill.file, did(skill.written));
    }
    out += &format!("{} Markdown files with {} nodes\n", found.files, found.nodes);
    for (folder, files) in &found.folders {
        out += &format!("{files:>6}  {folder}\n");
    }
    out
}
