//! Reads skills from folders with a `SKILL.md`, whose front matter describes the skill.
//!
//! Rules for missing or unusual values:
//! - a skill without a `name` takes the name of its folder;
//! - the version is `metadata.version`, else `version`; one like `1.2` or `v1.2` is completed to
//!   `1.2.0`; without one, or with one that cannot be completed, the version is `0.0.0`;
//! - of several skills with the same name the first one counts, and the others are reported;
//! - a file that cannot be read is reported, and the others are still read.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::model::Metadata;
use crate::rules::{check_name, check_version, completed_version};

pub const FILE: &str = "SKILL.md";
pub const NO_VERSION: &str = "0.0.0";
/// A skill may be up to this many folders below a place. The limit also ends loops of links.
const MAX_DEPTH: usize = 3;
/// Front matter is at the start of a file, and short.
const MAX_BYTES: u64 = 256 * 1024;

/// A skill read from a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSkill {
    pub name: String,
    pub version: String,
    pub description: Option<String>,
    /// The rest of its front matter, without the version.
    pub metadata: Metadata,
    pub path: PathBuf,
}

/// The skills by name, and the problems with some files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    pub skills: Vec<FoundSkill>,
    pub problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    pub path: String,
    pub problem: String,
}

/// Reads all skills in these places. A place that does not exist is an error, because the caller
/// named it.
pub fn read(places: &[PathBuf]) -> Result<Found, Error> {
    let mut found = Found::default();
    for place in places {
        if !place.is_dir() {
            return Err(Error::invalid(place.display().to_string(), "is not a folder"));
        }
        walk(place, 0, &mut found);
    }
    found.keep_first_of_each_name();
    Ok(found)
}

fn walk(folder: &Path, depth: usize, found: &mut Found) {
    let file = folder.join(FILE);
    if file.is_file() {
        found.add(&file);
        return;
    }
    if depth == MAX_DEPTH {
        return;
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return found.report(folder, error.to_string()),
    };
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    for folder in folders {
        walk(&folder, depth + 1, found);
    }
}

impl Found {
    fn add(&mut self, file: &Path) {
        let text = match read_start(file) {
            Ok(text) => text,
            Err(error) => return self.report(file, error.to_string()),
        };
        let (skill, problem) = parse(&text, file);
        if let Some(problem) = problem {
            self.report(file, problem);
        }
        self.skills.extend(skill);
    }

    fn report(&mut self, path: &Path, problem: impl Into<String>) {
        self.problems.push(Problem { path: path.display().to_string(), problem: problem.into() });
    }

    fn keep_first_of_each_name(&mut self) {
        let mut seen: HashMap<String, PathBuf> = HashMap::new();
        let mut kept = Vec::with_capacity(self.skills.len());
        for skill in std::mem::take(&mut self.skills) {
            match seen.get(&skill.name) {
                Some(first) if *first == skill.path => {}
                Some(first) => {
                    let problem = format!("`{}` is already in {}", skill.name, first.display());
                    self.report(&skill.path, problem);
                }
                None => {
                    seen.insert(skill.name.clone(), skill.path.clone());
                    kept.push(skill);
                }
            }
        }
        kept.sort_by(|a, b| a.name.cmp(&b.name));
        self.skills = kept;
    }
}

fn read_start(file: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[derive(Default, Deserialize)]
struct FrontMatter {
    name: Option<String>,
    description: Option<String>,
    version: Option<String>,
    metadata: Option<Versioned>,
}

/// Read as text, because as a number `1.10` would be `1.1`.
#[derive(Default, Deserialize)]
struct Versioned {
    version: Option<String>,
}

#[derive(Default, Deserialize)]
struct Extra {
    metadata: Option<Metadata>,
}

/// The skill in a file, if it has a name that can be registered, and a problem, if there is one.
fn parse(text: &str, file: &Path) -> (Option<FoundSkill>, Option<String>) {
    let Some(yaml) = front_matter(text) else {
        return (None, Some("has no front matter".to_owned()));
    };
    let Ok(front) = serde_saphyr::from_str::<FrontMatter>(yaml) else {
        return (None, Some("its front matter does not follow the Agent Skills format".to_owned()));
    };
    let extra: Extra = serde_saphyr::from_str(yaml).unwrap_or_default();
    let folder = file.parent().and_then(Path::file_name);
    let name = front.name.filter(|name| !name.trim().is_empty());
    let name = name.unwrap_or_else(|| folder.unwrap_or_default().to_string_lossy().into_owned());
    let name = name.trim().to_owned();
    if let Err(error) = check_name("its name", &name) {
        return (None, Some(error.to_string()));
    }
    let version = front.metadata.and_then(|metadata| metadata.version).or(front.version);
    let (version, problem) = version_or_default(version.as_deref());
    let mut metadata = extra.metadata.unwrap_or_default();
    metadata.remove("version");
    let description = front.description.map(|text| text.trim().to_owned());
    let skill = FoundSkill { name, version, description, metadata, path: file.to_path_buf() };
    (Some(skill), problem)
}

fn version_or_default(version: Option<&str>) -> (String, Option<String>) {
    let Some(text) = version.map(str::trim) else {
        return (NO_VERSION.to_owned(), None);
    };
    if check_version(text).is_ok() {
        return (text.to_owned(), None);
    }
    match completed_version(text) {
        Some(version) => (version, None),
        None => (NO_VERSION.to_owned(), Some("its version is not a semantic version".to_owned())),
    }
}

/// The text between a first line `---` and the next one.
fn front_matter(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---")?;
    let start = rest.find('\n')? + 1;
    rest[..start].trim().is_empty().then_some(())?;
    let body = &rest[start..];
    let mut offset = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&body[..offset]);
        }
        offset += line.len();
    }
    None
}

impl FoundSkill {
    /// The metadata to store: the existing entries, overwritten by those of the file.
    pub(crate) fn metadata_over(&self, existing: Option<&Metadata>) -> Metadata {
        let mut metadata = existing.cloned().unwrap_or_default();
        metadata.extend(self.metadata.clone());
        if let Some(description) = &self.description {
            metadata.insert("description".to_owned(), Value::from(description.as_str()));
        }
        metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, expected: Option<(&str, &str)>) {
        let (skill, _) = parse(text, Path::new("skills/folder-name/SKILL.md"));
        let found = skill.as_ref().map(|skill| (skill.name.as_str(), skill.version.as_str()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn reads_name_and_version_from_front_matter() {
        check("---\nname: tdd\nmetadata:\n  version: \"2.0.1\"\n---\n# Hi", Some(("tdd", "2.0.1")));
        check("---\r\nname: tdd\r\n---\r\n", Some(("tdd", "0.0.0")));
        check("\u{feff}---\nname: tdd\n---\n", Some(("tdd", "0.0.0")));
        check("---\ndescription: none\n---\n", Some(("folder-name", "0.0.0")));
        check("---\nname: a\nversion: 3.0.0\n---\n", Some(("a", "3.0.0")));
        check("---\nname: a\nmetadata:\n  version: 1.10\n---\n", Some(("a", "1.10.0")));
        check("---\nname: a\nmetadata:\n  version: v2\n---\n", Some(("a", "2.0.0")));
        check("---\nname: a\nmetadata:\n  version: soon\n---\n", Some(("a", "0.0.0")));
        check("# No front matter", None);
        check("---\nname: never closed\n", None);
        check("---\nname: [a, b]\n---\n", None);
        check("", None);
    }

    #[test]
    fn keeps_other_metadata_of_the_file_and_of_the_registry() {
        let text = "---\nname: a\ndescription: Does a.\nmetadata:\n  version: 1.0.0\n  author: me\n\
                    ---\n";
        let (skill, _) = parse(text, Path::new("a/SKILL.md"));
        let existing = json!({"category": "x", "description": "old"});
        assert_eq!(
            Value::Object(skill.unwrap().metadata_over(existing.as_object())),
            json!({"category": "x", "description": "Does a.", "author": "me"})
        );
    }
}
