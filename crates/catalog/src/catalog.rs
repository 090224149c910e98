//! Reads all agents and capabilities.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::data::{Agent, Claim, Definition, Definitions};
use crate::error::Error;
use crate::resolve::Resolver;

/// The bundled files, from `data/` at the root of the repository.
mod bundled {
    pub(super) const CAPABILITIES: &str = include_str!("../../../data/capabilities.json");
    pub(super) const PHRASES: &str = include_str!("../../../data/phrases.json");
    pub(super) const AGENTS: [&str; 10] = [
        include_str!("../../../data/agents/claude-code/capabilities.json"),
        include_str!("../../../data/agents/copilot-cli/capabilities.json"),
        include_str!("../../../data/agents/gemini-cli/capabilities.json"),
        include_str!("../../../data/agents/vscode-copilot/capabilities.json"),
        include_str!("../../../data/agents/codex-cli/capabilities.json"),
        include_str!("../../../data/agents/cursor/capabilities.json"),
        include_str!("../../../data/agents/opencode/capabilities.json"),
        include_str!("../../../data/agents/windsurf/capabilities.json"),
        include_str!("../../../data/agents/zed/capabilities.json"),
        include_str!("../../../data/agents/aider/capabilities.json"),
    ];
}

/// How a user's own catalog combines with the bundled one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlay {
    /// Adds to it, and replaces agents and capabilities of the same name.
    Extend,
    Replace,
}

#[derive(Debug)]
pub struct Catalog {
    pub(crate) agents: Vec<Agent>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) resolver: Resolver,
}

/// Phrases for capabilities, and for things that are not capabilities.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phrases {
    pub(crate) capabilities: BTreeMap<String, Vec<String>>,
    pub(crate) unrelated: Vec<String>,
}

impl Catalog {
    pub fn bundled() -> Self {
        let (agents, definitions, phrases) = read_bundled();
        let resolver = Resolver::bundled(&agents, &definitions, &phrases);
        Self { agents, definitions, resolver }
    }

    /// Reads a folder with `<agent>/capabilities.json` files and an optional `capabilities.json`
    /// that defines capabilities of its own.
    pub fn with_folder(folder: &Path, overlay: Overlay) -> Result<Self, Error> {
        let (own_agents, own_definitions) = read(folder)?;
        let (mut agents, mut definitions, phrases) = read_bundled();
        if overlay == Overlay::Replace {
            let resolver = Resolver::new(&own_agents, &own_definitions, &phrases.unrelated);
            return Ok(Self { agents: own_agents, definitions: own_definitions, resolver });
        }
        let bundled = Resolver::bundled(&agents, &definitions, &phrases);
        let resolver = bundled.with(&own_agents, &own_definitions);
        agents.retain(|agent| own_agents.iter().all(|own| own.agent != agent.agent));
        agents.extend(own_agents);
        definitions.retain(|known| own_definitions.iter().all(|own| own.name != known.name));
        definitions.extend(own_definitions);
        let catalog = Self { agents, definitions, resolver };
        catalog.check_defined(folder)?;
        Ok(catalog)
    }

    fn check_defined(&self, folder: &Path) -> Result<(), Error> {
        for agent in &self.agents {
            for claim in &agent.capabilities {
                if self.definition(&claim.name).is_none() {
                    let path = folder.join(&agent.agent).join("capabilities.json");
                    let problem = format!(
                        "`{}` is not a capability; define it in capabilities.json",
                        claim.name
                    );
                    return Err(Error::Unusable { path, problem });
                }
            }
        }
        Ok(())
    }

    /// The agents, bundled ones first.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    pub fn agent(&self, id: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.agent == id)
    }

    pub fn definition(&self, name: &str) -> Option<&Definition> {
        self.definitions.iter().find(|definition| definition.name == name)
    }

    /// The distinct categories, in the order of the data.
    pub fn categories(&self) -> Vec<&str> {
        let mut categories: Vec<&str> = Vec::new();
        for definition in &self.definitions {
            if !categories.contains(&definition.category.as_str()) {
                categories.push(&definition.category);
            }
        }
        categories
    }

    /// The texts whose vectors are bundled, in order.
    pub fn bundled_texts() -> Vec<String> {
        let (agents, definitions, phrases) = read_bundled();
        Resolver::bundled(&agents, &definitions, &phrases).into_texts()
    }
}

impl Agent {
    /// The claim about one capability; `None` if it is unknown.
    pub fn claim(&self, capability: &str) -> Option<&Claim> {
        self.capabilities.iter().find(|claim| claim.name == capability)
    }
}

/// The bundled file of one agent, verbatim.
pub fn bundled_file(agent: &str) -> Option<&'static str> {
    let name = format!("\"agent\": \"{agent}\"");
    bundled::AGENTS.into_iter().find(|text| text.contains(&name))
}

fn read_bundled() -> (Vec<Agent>, Vec<Definition>, Phrases) {
    let tested = "the bundled data is tested";
    let agents = bundled::AGENTS.map(|text| serde_json::from_str(text).expect(tested));
    let definitions: Definitions = serde_json::from_str(bundled::CAPABILITIES).expect(tested);
    let phrases = serde_json::from_str(bundled::PHRASES).expect(tested);
    (agents.into(), definitions.capabilities, phrases)
}

fn read(folder: &Path) -> Result<(Vec<Agent>, Vec<Definition>), Error> {
    let unusable =
        |path: &Path, problem: String| Error::Unusable { path: path.to_owned(), problem };
    let entries = fs::read_dir(folder).map_err(|error| unusable(folder, error.to_string()))?;
    let mut folders: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    folders.sort();
    let mut agents = Vec::new();
    for file in folders.iter().map(|folder| folder.join("capabilities.json")) {
        if !file.is_file() {
            continue;
        }
        let agent: Agent = parse(&file)?;
        if file.parent().and_then(Path::file_name).is_none_or(|name| *name != *agent.agent) {
            let problem = format!("the folder of `{}` must have its name", agent.agent);
            return Err(unusable(&file, problem));
        }
        agents.push(agent);
    }
    if agents.is_empty() {
        let problem = "there is no <agent>/capabilities.json in it".to_owned();
        return Err(unusable(folder, problem));
    }
    let definitions = folder.join("capabilities.json");
    let definitions = if definitions.is_file() {
        parse::<Definitions>(&definitions)?.capabilities
    } else {
        Vec::new()
    };
    Ok((agents, definitions))
}

fn parse<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T, Error> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string());
    let parsed = text.and_then(|text| serde_json::from_str(&text).map_err(|e| e.to_string()));
    parsed.map_err(|problem| Error::Unusable { path: file.to_owned(), problem })
}
