//! Plugins: generators that consist of a TOML file with a template. They run no code, and are read
//! from a folder of the user, never from a project.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::fill::TemplateFill;
use super::jinja::Jinja2;
use super::metadata::{Metadata, Requirements, Source, Status};
use super::registry::Diagnostic;
use super::{Generated, Generator, Job};
use crate::error::{Error, Result, shortened};
use crate::folder::Folder;
use crate::model::hash;

/// The largest plugin, and the largest template of one.
const MAX_BYTES: usize = 1_000_000;

/// A plugin's file: `<type>.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    /// Lower-case letters, digits and `_`
    #[serde(rename = "type")]
    #[schemars(regex(pattern = r"^[a-z][a-z0-9_]*$"))]
    pub generator_type: String,
    pub name: String,
    pub version: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub status: Status,
    #[serde(default)]
    pub engine: Engine,
    /// What it writes. The context is that of the content, with `elements` by name
    pub template: Option<String>,
    /// A file besides the plugin with the template
    pub template_file: Option<String>,
    /// Names the context must have
    #[serde(default)]
    pub required: Vec<String>,
    /// Values for names that the context has not
    #[serde(default)]
    pub defaults: Map<String, Value>,
    #[serde(default)]
    pub capabilities: Vec<String>,
    #[serde(default)]
    pub best_for: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    #[default]
    Jinja2,
    TemplateFill,
}

#[derive(Debug)]
struct PluginGenerator {
    plugin: Plugin,
    template: String,
    path: String,
}

impl Generator for PluginGenerator {
    fn metadata(&self) -> Metadata {
        let plugin = &self.plugin;
        Metadata {
            version: plugin.version.clone(),
            source: Source::Plugin,
            plugin_path: Some(self.path.clone()),
            status: plugin.status,
            capabilities: plugin.capabilities.clone(),
            requirements: Requirements {
                fields: plugin.required.iter().map(|name| format!("context.{name}")).collect(),
                ..Requirements::default()
            },
            best_for: plugin.best_for.clone(),
            ..Metadata::builtin(&plugin.generator_type, &plugin.name, &plugin.description)
        }
    }

    fn fingerprint(&self) -> String {
        let text = format!("{:?}{}", self.plugin, self.template);
        format!("{}@{}", self.plugin.generator_type, hash(&text))
    }

    fn generate(&self, job: &Job<'_>) -> Result<Generated> {
        let mut context = self.plugin.defaults.clone();
        context.extend(job.context.clone());
        let elements = job.elements.iter().map(|element| (element.name.clone(), json!(element)));
        context.entry("elements").or_insert_with(|| Value::Object(elements.collect()));
        let absent = |name: &&String| !context.contains_key(*name);
        let names: Vec<String> = self.plugin.required.iter().filter(absent).cloned().collect();
        if !names.is_empty() {
            return Err(Error::MissingVariables { id: job.id.to_owned(), names });
        }
        let job = Job { template: Some(&self.template), context: &context, ..*job };
        match self.plugin.engine {
            Engine::Jinja2 => Jinja2.generate(&job),
            Engine::TemplateFill => TemplateFill.generate(&job),
        }
    }
}

/// The plugins of a folder, read again when the folder has changed.
#[derive(Default)]
pub(super) struct Plugins {
    folder: Option<PathBuf>,
    last: Mutex<Scan>,
}

/// Path, modification time and size of each file: differs when one is added, removed or written.
type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

#[derive(Clone, Default)]
pub(super) struct Scan {
    stamp: Stamp,
    pub(super) generators: Vec<Arc<dyn Generator>>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Plugins {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, last: Mutex::default() }
    }

    pub(super) fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// `builtin` are the types of built-in generators, which no plugin replaces.
    pub(super) fn scan(&self, builtin: &[String]) -> Scan {
        let Some(folder) = &self.folder else { return Scan::default() };
        let stamp = stamp(folder);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.stamp != stamp {
            *last = read(folder, builtin);
            last.stamp = stamp;
        }
        last.clone()
    }
}

fn stamp(folder: &Path) -> Stamp {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut stamp: Stamp = entries
        .filter_map(Result::ok)
        .map(|entry| {
            let metadata = entry.metadata().ok();
            let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            (entry.path(), modified, metadata.map_or(0, |metadata| metadata.len()))
        })
        .collect();
    stamp.sort();
    stamp
}

fn read(path: &Path, builtin: &[String]) -> Scan {
    let mut scan = Scan::default();
    // A missing folder has no plugins.
    let Ok(folder) = Folder::open(path) else { return scan };
    let mut names = folder.names(".").unwrap_or_default();
    names.retain(|name| Path::new(name).extension().is_some_and(|extension| extension == "toml"));
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let plugin = read_one(&folder, &name, path).and_then(|plugin| {
            let own = &plugin.plugin.generator_type;
            if builtin.contains(own) {
                return Err(format!("`{own}` is a built-in generator, which it cannot replace"));
            }
            if found.contains(own) {
                return Err(format!("`{own}` is another plugin's type already"));
            }
            Ok(plugin)
        });
        match plugin {
            Ok(plugin) => {
                found.push(plugin.plugin.generator_type.clone());
                scan.generators.push(Arc::new(plugin));
            }
            Err(problem) => scan.diagnostics.push(Diagnostic { plugin: name, problem }),
        }
    }
    scan
}

fn read_one(folder: &Folder, name: &str, path: &Path) -> Result<PluginGenerator, String> {
    let read = |file: &str| match folder.read(file, MAX_BYTES) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(format!("there is no file `{}`", shortened(file))),
        Err(error) => Err(error.to_string()),
    };
    let plugin: Plugin = toml::from_str(&read(name)?).map_err(|error| error.to_string())?;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let own = &plugin.generator_type;
    if !own.starts_with(|c: char| c.is_ascii_lowercase()) || !own.chars().all(allowed) {
        return Err(format!("`{}` is not a type: lower-case letters, digits, `_`", shortened(own)));
    }
    let template = match (&plugin.template, &plugin.template_file) {
        (Some(template), None) => template.clone(),
        (None, Some(file)) => read(file)?,
        _ => return Err("it needs either a template or a template_file".to_owned()),
    };
    if plugin.engine == Engine::Jinja2 {
        crate::template::harden(&template).map_err(|error| error.to_string())?;
    }
    let path = path.join(name).display().to_string();
    Ok(PluginGenerator { plugin, template, path })
}
