//! Validates a catalog's data.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use serde::Serialize;

use crate::catalog::Catalog;
use crate::data::Agent;
use crate::names::normalize;
use crate::sources::{AGING_DAYS, Freshness, STALE_DAYS};

/// The form of `<agent>/capabilities.json`.
pub const SCHEMA: &str = include_str!("../../../data/agents/capabilities.schema.json");
/// A page cited this often is probably too general to support every claim.
const CITED_OFTEN: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    pub severity: Severity,
    /// The agent and capability, or the file.
    pub at: String,
    pub problem: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Warning,
    Error,
}

impl Catalog {
    /// All problems, errors first.
    pub fn check(&self, today: NaiveDate) -> Vec<Fault> {
        let mut faults = Faults::default();
        self.check_names(&mut faults);
        for agent in &self.agents {
            self.check_agent(agent, today, &mut faults);
        }
        let mut faults = faults.0;
        faults.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.at.cmp(&b.at)));
        faults
    }

    /// Every URL with the claims that cite it.
    pub fn links(&self) -> BTreeMap<&str, Vec<String>> {
        let mut links: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for agent in &self.agents {
            for claim in &agent.capabilities {
                let at = format!("{}: {}", agent.agent, claim.name);
                let notes = claim.implementation_notes.as_ref();
                let start = notes.and_then(|notes| notes.start_url.as_deref());
                for url in claim.sources.iter().map(|source| source.url.as_str()).chain(start) {
                    let cited = links.entry(url).or_default();
                    if !cited.contains(&at) {
                        cited.push(at.clone());
                    }
                }
            }
        }
        links
    }

    fn check_names(&self, faults: &mut Faults) {
        let mut owners: HashMap<String, &str> = HashMap::new();
        for definition in &self.definitions {
            for name in std::iter::once(&definition.name).chain(&definition.aliases) {
                let key = normalize(name);
                if key.is_empty() {
                    faults.error(&definition.name, "an alias is empty");
                } else if let Some(owner) = owners.insert(key, &definition.name) {
                    let problem = format!("`{name}` is a name of `{owner}` as well");
                    faults.error(&definition.name, &problem);
                }
            }
        }
        let mut agents: HashMap<String, &str> = HashMap::new();
        for agent in &self.agents {
            for name in [&agent.agent, &agent.name].into_iter().chain(&agent.aliases) {
                match agents.insert(normalize(name), &agent.agent) {
                    Some(owner) if owner != agent.agent => {
                        let problem = format!("`{name}` means `{owner}` as well");
                        faults.error(&agent.agent, &problem);
                    }
                    _ => {}
                }
            }
        }
    }

    fn check_agent(&self, agent: &Agent, today: NaiveDate, faults: &mut Faults) {
        let mut claimed: Vec<&str> = Vec::new();
        let mut cited: HashMap<&str, usize> = HashMap::new();
        for claim in &agent.capabilities {
            let at = format!("{}: {}", agent.agent, claim.name);
            if claimed.contains(&claim.name.as_str()) {
                faults.error(&at, "it is claimed twice");
            }
            claimed.push(&claim.name);
            if self.definition(&claim.name).is_none() {
                faults.error(&at, "there is no such capability");
            }
            for source in &claim.sources {
                *cited.entry(&source.url).or_default() += 1;
                let days = (today - source.verified_date).num_days();
                match Freshness::of(source.verified_date, today) {
                    _ if days < 0 => {
                        faults.error(&at, &format!("{} is verified in the future", source.url));
                    }
                    Freshness::Stale => faults.error(
                        &at,
                        &format!("{} was verified {days} days ago, over {STALE_DAYS}", source.url),
                    ),
                    Freshness::Aging => faults.warning(
                        &at,
                        &format!("{} was verified {days} days ago, over {AGING_DAYS}", source.url),
                    ),
                    Freshness::Fresh => {}
                }
            }
        }
        for (url, count) in cited {
            if count >= CITED_OFTEN {
                faults.warning(&agent.agent, &format!("{url} is cited {count} times"));
            }
        }
    }
}

/// Validates the files of a folder against their schema.
pub fn check_folder(folder: &Path) -> std::io::Result<Vec<Fault>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("capabilities.json"))
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    let mut faults = Faults::default();
    for file in files {
        check_file(&file.display().to_string(), &fs::read_to_string(&file)?, &mut faults);
    }
    Ok(faults.0)
}

fn check_file(name: &str, text: &str, faults: &mut Faults) {
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .expect("the schema is a schema");
    match serde_json::from_str(text) {
        Err(error) => faults.error(name, &error.to_string()),
        Ok(value) => {
            for error in validator.iter_errors(&value) {
                faults.error(name, &format!("{}: {error}", error.instance_path()));
            }
        }
    }
}

#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn error(&mut self, at: &str, problem: &str) {
        self.push(Severity::Error, at, problem);
    }

    fn warning(&mut self, at: &str, problem: &str) {
        self.push(Severity::Warning, at, problem);
    }

    fn push(&mut self, severity: Severity, at: &str, problem: &str) {
        self.0.push(Fault { severity, at: at.to_owned(), problem: problem.to_owned() });
    }
}
