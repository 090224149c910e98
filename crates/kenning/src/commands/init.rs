//! `init`: finds the Markdown of a folder and writes a settings file.

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
use crate::printer::count;

/// Tells agents to ask Kenning before they act.
const SKILL: &str = include_str!("../../../../skills/kenning/SKILL.md");

#[derive(Serialize)]
struct Found {
    /// The settings file.
    settings: String,
    /// Whether this run wrote it.
    written: bool,
    files: usize,
    nodes: usize,
    /// Number of files by top-level folder, `.` for this one.
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

pub(super) fn run(context: &Context, args: &Init) -> Result<Exit, Failure> {
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
        skill: args.skill.as_deref().map(write_skill).transpose()?,
    };
    context.printer.answer(&found, text)?;
    context.printer.note(&format!("next: {}", found.next));
    Ok(Exit::Success)
}

/// Writes the skill for agents that read skills from `folder`.
fn write_skill(folder: &Path) -> Result<Skill, Failure> {
    let folder = folder.join("kenning");
    let file = folder.join("SKILL.md");
    let written = !file.exists();
    if written {
        std::fs::create_dir_all(&folder).map_err(|error| {
            Failure::new(format!("cannot create `{}`: {error}", folder.display()))
        })?;
        write(&file, SKILL)?;
    }
    Ok(Skill { file: file.display().to_string(), written })
}

/// Never overwrites a file, not even one created since it was looked for.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::new(format!("cannot write `{}`: {error}", file.display())))
}

/// The base is the folder that holds all the Markdown, or else this one.
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
         # The folder of Markdown to serve, relative to this file and inside the project.\n\
         root_path = {root}\n\
         # Files to include and to exclude. Files that .gitignore or .kenningignore names are\n\
         # always excluded.\n\
         # file_patterns = [\"**/*.md\"]\n\
         # exclude_patterns = [\"**/node_modules/**\", \"**/.git/**\"]\n\
         \n\
         # Several named folders instead of the one above:\n\
         # [bases.handbook]\n\
         # root_path = \"docs/handbook\"\n\
         \n\
         # Boosts of a node's relevance, by the type of the task and the type of the node:\n\
         # [discovery.boosts.implement]\n\
         # guideline = 1.5\n"
    )
}

fn next(folders: &BTreeMap<String, usize>) -> String {
    if folders.is_empty() {
        return "write some Markdown; then `kenning index` shows how it is parsed".to_owned();
    }
    let found = Machine::this().map(|machine| detected(&machine)).unwrap_or_default();
    match found.as_slice() {
        [only] => format!("`kenning install {}`", only.id),
        _ => "`kenning install` lists the supported MCP clients".to_owned(),
    }
}

fn text(found: &Found) -> String {
    let action = |written| if written { "written" } else { "exists, unchanged" };
    let mut out = format!("{}: {}\n", found.settings, action(found.written));
    if let Some(skill) = &found.skill {
        out += &format!("{}: {}\n", skill.file, action(skill.written));
    }
    let (files, nodes) = (count(found.files, "Markdown file"), count(found.nodes, "node"));
    out += &format!("{files} with {nodes}\n");
    for (folder, files) in &found.folders {
        out += &format!("{files:>6}  {folder}\n");
    }
    out
}
