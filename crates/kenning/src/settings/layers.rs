//! Settings from several places, leaf by leaf, each knowing where it comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::failure::Failure;

/// All settings there are, with their defaults.
pub const DEFAULTS: &str = include_str!("defaults.toml");
/// What may hold a password and is not repeated.
const SECRET: [&str; 1] = ["store.url"];

const PROJECT_FILE: &str = "kenning.toml";
const ENV_PREFIX: &str = "KENNING_";
const TASK_TYPES: [&str; 7] =
    ["implement", "debug", "refactor", "document", "review", "design", "test"];
const BASE_KEYS: [&str; 3] = ["root_path", "file_patterns", "exclude_patterns"];

/// Where settings may come from.
#[derive(Debug, Default)]
pub struct Sources {
    pub working_directory: PathBuf,
    /// The user's file, which need not exist.
    pub user_file: Option<PathBuf>,
    /// The project's file, if it was named; otherwise it is looked for.
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
    project_directory: Option<PathBuf>,
    project_file: Option<PathBuf>,
}

impl Layers {
    pub fn merge(sources: Sources) -> Result<Self, Failure> {
        let defaults: Table = DEFAULTS.parse().expect("the built-in defaults are valid TOML");
        let mut layers = Self {
            leaves: BTreeMap::new(),
            working_directory: sources.working_directory.clone(),
            project_directory: None,
            project_file: None,
        };
        layers.lay(defaults, &Origin::Default);
        let known: Vec<String> = layers.leaves.keys().cloned().collect();
        if let Some(path) = sources.user_file.filter(|path| path.exists()) {
            layers.lay_file(&path, Origin::UserFile, &known)?;
        }
        let found = sources.project_file.or_else(|| find_project_file(&sources.working_directory));
        if let Some(path) = found {
            layers.lay_file(&path, Origin::ProjectFile, &known)?;
            layers.project_directory = path.parent().map(Path::to_path_buf);
            layers.project_file = Some(path);
        }
        for (name, text) in sources.variables {
            layers.lay_variable(&name, &text, &known)?;
        }
        for (key, value, flag) in sources.flags {
            layers.leaves.insert(key, (value, Origin::Flag(flag)));
        }
        Ok(layers)
    }

    fn lay(&mut self, table: Table, origin: &Origin) {
        for (key, value) in leaves(table, "") {
            self.leaves.insert(key, (value, origin.clone()));
        }
    }

    fn lay_file(
        &mut self,
        path: &Path,
        origin: fn(PathBuf) -> Origin,
        known: &[String],
    ) -> Result<(), Failure> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("{shown} cannot be read: {error}")))?;
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            Failure::usage(format!("{shown} is not valid TOML:\n{error}"))
        })?;
        for (key, _) in leaves(table.clone(), "") {
            check_known(&key, known, &shown.to_string())?;
        }
        self.lay(table, &origin(path.to_path_buf()));
        Ok(())
    }

    fn lay_variable(&mut self, name: &str, text: &str, known: &[String]) -> Result<(), Failure> {
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
            Failure::usage(format!("{name} is `{text}`, which is not of the type {kind}"))
                .hint(format!("unset {name}, or give it a value of the type {kind}"))
        })?;
        self.leaves.insert(key.clone(), (value, Origin::Variable(name.to_owned())));
        Ok(())
    }

    pub(super) fn deserialize<T: DeserializeOwned>(&self) -> Result<T, Failure> {
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

    /// A value that cannot be used, named with the place that set it.
    pub fn fault(&self, key: &str, problem: &str) -> Failure {
        match self.leaves.get(key) {
            Some((_, origin)) if SECRET.contains(&key) => {
                Failure::usage(format!("{origin}: `{key}`: {problem}"))
            }
            Some((value, origin)) => {
                Failure::usage(format!("{origin}: `{key}` is {value}: {problem}"))
            }
            None => Failure::usage(format!("`{key}`: {problem}")),
        }
        .hint("`kenning config show --origin` shows every setting and where it comes from")
    }

    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.leaves.get(key).map(|(_, origin)| origin)
    }

    /// The folder of the project: that of its settings, or the one at hand.
    pub fn project_folder(&self) -> &Path {
        self.project_directory.as_deref().unwrap_or(&self.working_directory)
    }

    /// The project's file that is in force.
    pub fn project_file(&self) -> Option<&Path> {
        self.project_file.as_deref()
    }

    /// Every setting with its value and origin, by key.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.leaves.iter().map(|(key, (value, origin))| (key.as_str(), value, origin))
    }

    /// Whether a single root, such as from `--root`, was asked for more strongly than any of the
    /// named bases.
    pub(super) fn single_base_wins(&self) -> bool {
        let single = self.origin("knowledge_base.root_path");
        let named = self.leaves.iter().filter(|(key, _)| key.starts_with("bases."));
        named.map(|(_, (_, origin))| origin).max() < single
    }

    /// A path relative to where it was written. What a project says about itself is not trusted
    /// to reach outside of the project.
    pub(super) fn resolve_path(&self, key: &str, path: &Path) -> Result<PathBuf, Failure> {
        let origin = self.origin(key).unwrap_or(&Origin::Default);
        let start = match origin {
            Origin::UserFile(file) | Origin::ProjectFile(file) => file.parent(),
            Origin::Default => self.project_directory.as_deref(),
            Origin::Variable(_) | Origin::Flag(_) => None,
        };
        let start = start.unwrap_or(&self.working_directory);
        let resolved = start.join(path);
        if matches!(origin, Origin::ProjectFile(_)) {
            let project = start.canonicalize().unwrap_or_else(|_| start.to_path_buf());
            let real = really(&resolved);
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
}

/// Where a path ends, whether that is there yet or not: what is made later must not lie elsewhere.
/// It is walked as the system does, link by link; a link that ends nowhere could end anywhere.
fn really(path: &Path) -> Option<PathBuf> {
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

fn check_known(key: &str, known: &[String], place: &str) -> Result<(), Failure> {
    let parts: Vec<&str> = key.split('.').collect();
    let is_known = match parts.as_slice() {
        ["bases", _, field] => BASE_KEYS.contains(field),
        ["discovery", "boosts", task, _] => TASK_TYPES.contains(task),
        _ => known.iter().any(|known| known == key),
    };
    if is_known {
        return Ok(());
    }
    let mut candidates = known.to_vec();
    match parts.as_slice() {
        ["bases", name, ..] => {
            candidates.extend(BASE_KEYS.map(|field| format!("bases.{name}.{field}")));
        }
        ["discovery", "boosts", _, node] => {
            candidates.extend(TASK_TYPES.map(|task| format!("discovery.boosts.{task}.{node}")));
        }
        _ => {}
    }
    Err(unknown(key, place, &candidates))
}

fn unknown(name: &str, place: &str, known: &[String]) -> Failure {
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let closeness = |key: &str| {
        let whole = strsim::jaro_winkler(name, key);
        whole.max(0.95 * strsim::jaro_winkler(&last(name), &last(key)))
    };
    let nearest = known.iter().max_by(|a, b| closeness(a).total_cmp(&closeness(b)));
    let failure = Failure::usage(format!("{place}: there is no setting `{name}`"));
    match nearest {
        Some(nearest) => failure.hint(format!("did you mean `{nearest}`?")),
        None => failure,
    }
}
