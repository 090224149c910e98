//! Merges settings key by key and remembers where each value was set.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::Error;
use kenning_knowledge::discover::TaskType;
use kenning_knowledge::role::Role;

/// All settings there are, with their defaults.
pub const DEFAULTS: &str = include_str!("defaults.toml");
/// These may hold a password, so errors do not repeat their values.
const SECRET: [&str; 1] = ["store.url"];

const PROJECT_FILE: &str = "kenning.toml";
const ENV_PREFIX: &str = "KENNING_";
const BASE_KEYS: [&str; 3] = ["root_path", "file_patterns", "exclude_patterns"];

/// The places settings are read from.
#[derive(Debug, Default)]
pub struct Sources {
    pub working_directory: PathBuf,
    /// The user's file, which need not exist.
    pub user_file: Option<PathBuf>,
    /// The project's file, if it was named; otherwise the nearest one above the working directory.
    pub project_file: Option<PathBuf>,
    /// `KENNING_*` variables.
    pub variables: Vec<(String, String)>,
    /// Key, value and the flag as the user typed it.
    pub flags: Vec<(String, Value, String)>,
}

/// Where a value was set. Stronger ones come later.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Default,
    UserFile(PathBuf),
    ProjectFile(PathBuf),
    Variable(String),
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::UserFile(path) | Self::ProjectFile(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// The merged settings.
#[derive(Debug)]
pub struct Layers {
    leaves: BTreeMap<String, (Value, Origin)>,
    working_directory: PathBuf,
    project_file: Option<PathBuf>,
}

impl Layers {
    pub fn merge(sources: Sources) -> Result<Self, Error> {
        let defaults: Table = DEFAULTS.parse().expect("the built-in defaults are valid TOML");
        let mut layers = Self {
            leaves: BTreeMap::new(),
            working_directory: sources.working_directory.clone(),
            project_file: None,
        };
        layers.apply(leaves(defaults, ""), &Origin::Default);
        let known: Vec<String> = layers.leaves.keys().cloned().collect();
        if let Some(path) = sources.user_file.filter(|path| path.exists()) {
            layers.apply_file(&path, Origin::UserFile, &known)?;
        }
        let found = sources.project_file.or_else(|| find_project_file(&sources.working_directory));
        if let Some(path) = found {
            layers.apply_file(&path, Origin::ProjectFile, &known)?;
            layers.project_file = Some(path);
        }
        for (name, text) in sources.variables {
            layers.apply_variable(&name, &text, &known)?;
        }
        for (key, value, flag) in sources.flags {
            layers.leaves.insert(key, (value, Origin::Flag(flag)));
        }
        Ok(layers)
    }

    fn apply(&mut self, leaves: Vec<(String, Value)>, origin: &Origin) {
        for (key, value) in leaves {
            self.leaves.insert(key, (value, origin.clone()));
        }
    }

    fn apply_file(
        &mut self,
        path: &Path,
        origin: fn(PathBuf) -> Origin,
        known: &[String],
    ) -> Result<(), Error> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::new(format!("{file} cannot be read: {error}")))?;
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            Error::new(format!("{file} is not valid TOML:\n{error}"))
        })?;
        let leaves = leaves(table, "");
        for (key, _) in &leaves {
            check_known(key, known, &file)?;
        }
        self.apply(leaves, &origin(path.to_path_buf()));
        Ok(())
    }

    fn apply_variable(&mut self, name: &str, text: &str, known: &[String]) -> Result<(), Error> {
        let key = known.iter().find(|key| env_name(key) == name).ok_or_else(|| {
            let names: Vec<String> = known.iter().map(|key| env_name(key)).collect();
            unknown(name, "the environment", &names)
        })?;
        let value = match &self.leaves[key].0 {
            Value::Array(_) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Some(Value::Array(items.map(Value::from).collect()))
            }
            Value::Integer(_) => text.trim().parse().ok().map(Value::Integer),
            Value::Float(_) => text.trim().parse().ok().map(Value::Float),
            Value::Boolean(_) => text.trim().parse().ok().map(Value::Boolean),
            _ => Some(Value::from(text)),
        };
        let kind = self.leaves[key].0.type_str();
        let value = value.ok_or_else(|| {
            Error::new(format!("{name} is `{text}`, which is not of the type {kind}"))
                .hint(format!("unset {name}, or give it a value of the type {kind}"))
        })?;
        self.leaves.insert(key.clone(), (value, Origin::Variable(name.to_owned())));
        Ok(())
    }

    pub(crate) fn deserialize<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let mut table = Table::new();
        table.insert("bases".to_owned(), Value::Table(Table::new()));
        for (key, (value, _)) in &self.leaves {
            insert(&mut table, key, value.clone());
        }
        serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
            let key = error.path().to_string();
            self.fault(&key, error.into_inner().message())
        })
    }

    /// The error for a value that cannot be used; it names the value and where it was set.
    pub fn fault(&self, key: &str, problem: &str) -> Error {
        let message = match self.leaves.get(key) {
            Some((_, origin)) if SECRET.contains(&key) => format!("{origin}: `{key}`: {problem}"),
            Some((value, origin)) => format!("{origin}: `{key}` is {value}: {problem}"),
            None => format!("`{key}`: {problem}"),
        };
        Error::new(message)
            .hint("`kenning config show --origin` shows every setting and where it comes from")
    }

    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.leaves.get(key).map(|(_, origin)| origin)
    }

    pub(crate) fn is_from_project(&self, key: &str) -> bool {
        matches!(self.origin(key), Some(Origin::ProjectFile(_)))
    }

    /// The folder of the project's file, or the working directory if there is none.
    pub fn project_folder(&self) -> &Path {
        self.project_file().and_then(Path::parent).unwrap_or(&self.working_directory)
    }

    /// The project's file, if there is one.
    pub fn project_file(&self) -> Option<&Path> {
        self.project_file.as_deref()
    }

    /// Every setting with its value and origin, by key.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.leaves.iter().map(|(key, (value, origin))| (key.as_str(), value, origin))
    }

    /// Whether the single root, such as from `--root`, has a stronger origin than every named base.
    pub(crate) fn single_base_wins(&self) -> bool {
        let single = self.origin("knowledge_base.root_path");
        let named = self.leaves.iter().filter(|(key, _)| key.starts_with("bases."));
        named.map(|(_, (_, origin))| origin).max() < single
    }

    /// Resolves a path against the place it was written in. A path from a project's file must not
    /// lead outside of the project.
    pub fn resolve_path(&self, key: &str, path: &Path) -> Result<PathBuf, Error> {
        let origin = self.origin(key).unwrap_or(&Origin::Default);
        let start = match origin {
            Origin::UserFile(file) | Origin::ProjectFile(file) => file.parent(),
            Origin::Default => Some(self.project_folder()),
            Origin::Variable(_) | Origin::Flag(_) => None,
        };
        let start = start.unwrap_or(&self.working_directory);
        let resolved = start.join(path);
        if self.is_from_project(key) {
            let project = start.canonicalize().unwrap_or_else(|_| start.to_path_buf());
            let real = real_path(&resolved);
            if !real.as_ref().is_some_and(|real| real.starts_with(&project)) {
                let problem = "a project's file cannot reach outside of the project";
                return Err(self.fault(key, problem).hint(format!(
                    "name the folder in your own settings, or with --root {}",
                    real.as_ref().unwrap_or(&resolved).display()
                )));
            }
        }
        Ok(resolved)
    }

    /// Like [`Self::resolve_path`]; an empty path is a setting that was left out.
    pub(crate) fn resolve_optional(
        &self,
        key: &str,
        path: &Path,
    ) -> Result<Option<PathBuf>, Error> {
        let path = Some(path).filter(|path| !path.as_os_str().is_empty());
        path.map(|path| self.resolve_path(key, path)).transpose()
    }
}

/// Where a path leads, whether it exists yet or not, so that a folder created later is inside too.
/// Follows links step by step as the system does. `None` for a dangling link: its target may be
/// created anywhere.
fn real_path(path: &Path) -> Option<PathBuf> {
    let mut at = PathBuf::new();
    for step in path.components() {
        match step {
            Component::ParentDir => {
                at.pop();
            }
            Component::CurDir => {}
            step => at.push(step),
        }
        match at.canonicalize() {
            Ok(real) => at = real,
            Err(_) if at.is_symlink() => return None,
            Err(_) => {}
        }
    }
    Some(at)
}

/// The variable that sets a key: `server.port` → `KENNING_SERVER_PORT`.
pub fn env_name(key: &str) -> String {
    format!("{ENV_PREFIX}{}", key.replace('.', "_").to_ascii_uppercase())
}

fn find_project_file(from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|file| file.is_file())
}

fn leaves(table: Table, prefix: &str) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (name, value) in table {
        let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(table) => all.extend(leaves(table, &key)),
            value => all.push((key, value)),
        }
    }
    all
}

fn insert(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((head, rest)) => {
            let entry = table.entry(head).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = entry {
                insert(inner, rest, value);
            }
        }
    }
}

fn check_known(key: &str, known: &[String], place: &str) -> Result<(), Error> {
    let parts: Vec<&str> = key.split('.').collect();
    let is_known = match parts.as_slice() {
        ["bases", _, field] => BASE_KEYS.contains(field),
        ["discovery", "boosts", task, _] => TaskType::ALL.iter().any(|known| known.name() == *task),
        _ => known.iter().any(|known| known == key),
    };
    if is_known {
        return Ok(());
    }
    if let ["roles", name] = parts.as_slice() {
        let names = Role::ALL.map(Role::name).join(", ");
        let error = Error::new(format!("{place}: there is no role `{name}`"));
        return Err(error.hint(format!("the roles are {names}")));
    }
    let mut candidates = known.to_vec();
    match parts.as_slice() {
        ["bases", name, ..] => {
            candidates.extend(BASE_KEYS.map(|field| format!("bases.{name}.{field}")));
        }
        ["discovery", "boosts", _, node] => {
            let key = |task: TaskType| format!("discovery.boosts.{}.{node}", task.name());
            candidates.extend(TaskType::ALL.map(key));
        }
        _ => {}
    }
    Err(unknown(key, place, &candidates))
}

fn unknown(name: &str, place: &str, known: &[String]) -> Error {
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let closeness = |key: &str| {
        let whole = strsim::jaro_winkler(name, key);
        whole.max(0.95 * strsim::jaro_winkler(&last(name), &last(key)))
    };
    let nearest = known.iter().max_by(|a, b| closeness(a).total_cmp(&closeness(b)));
    let error = Error::new(format!("{place}: there is no setting `{name}`"));
    match nearest {
        Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
        None => error,
    }
}
