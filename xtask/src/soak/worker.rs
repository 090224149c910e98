//! A client that calls all kinds of tools, one after the other, and checks every answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::documents::{COUNT, id, marker, parse_title};
use super::report::needs_store;
use super::servers::Servers;
use super::{Interval, Random, SETTLE_LIMIT, Scenario};
use crate::client::{Client, HttpClient, ToolResult};

/// Between two calls, to leave the servers processor time.
const PAUSE: Duration = Duration::from_millis(10);
const SKILLS: usize = 20;
const RETRIEVE: &str = "retrieve_knowledge";
const DISCOVER: &str = "discover_context";
const SKILLS_TOOL: &str = "get_agent_capabilities";

/// The newest version of each document that a server has shown. An older one after it is wrong.
pub(super) type NewestShown = Arc<Vec<AtomicU32>>;

pub(super) struct Worker {
    pub(super) client: Client,
    /// Another server on the same database, through which writes are read back. A worker without one
    /// has a store that never goes away.
    pub(super) peer: Option<HttpClient>,
    pub(super) newest_shown: NewestShown,
    /// The answer that every server must give about the catalog at any time.
    pub(super) catalog: Value,
    pub(super) skills: ExpectedSkills,
}

/// The arguments of the catalog lookup.
pub(super) fn lookup() -> Value {
    json!({"agent": "claude-code", "capability": "hooks"})
}

impl Worker {
    pub(super) fn work(&mut self, scenario: &Scenario) {
        let mut random = Random::new(self.skills.agent_id);
        let mut version = 0;
        while !scenario.is_finished() {
            let document = random.below(COUNT);
            let outcome = match random.below(12) {
                0..=2 => self.read(scenario, RETRIEVE, document).map(drop),
                3 | 4 => self.read(scenario, "search_knowledge", document).map(drop),
                5 => self.read(scenario, DISCOVER, document).map(drop),
                6 | 7 => self.look_up(scenario),
                8..=10 => {
                    version += 1;
                    self.register(scenario, random.below(SKILLS), version)
                }
                _ => self.deactivate(scenario, random.below(SKILLS)),
            };
            scenario.check(outcome);
            scenario.pause(PAUSE);
        }
    }

    /// The answer of the worker's own server; `None` if it was refused because the database is away.
    fn call(
        &mut self,
        scenario: &Scenario,
        tool: &'static str,
        arguments: &Value,
    ) -> Result<Option<(Value, Interval)>> {
        let (result, interval) = scenario.timed(|| self.client.call(tool, arguments));
        let answer = checked(scenario, tool, self.peer.is_some(), result, interval)?;
        Ok(answer.map(|answer| (answer, interval)))
    }

    /// Asks for a document with one of three tools, and checks the versions in the answer. Returns the
    /// version of the document that is shown, if any.
    fn read(
        &mut self,
        scenario: &Scenario,
        tool: &'static str,
        document: usize,
    ) -> Result<Option<u32>> {
        // Before the call: another client of the same server may see newer versions meanwhile.
        let newest: Vec<u32> =
            self.newest_shown.iter().map(|version| version.load(Ordering::SeqCst)).collect();
        let search_type = if document.is_multiple_of(2) { "keyword" } else { "hybrid" };
        let task = format!("put the part {} in order", marker(document));
        let (arguments, list) = match tool {
            RETRIEVE => (json!({"ids": [id(document)]}), "nodes"),
            DISCOVER => (json!({"task_description": task}), "recommendations"),
            _ => {
                let query = marker(document);
                (json!({"query": query, "search_type": search_type, "max_results": 5}), "results")
            }
        };
        let answer = self.call(scenario, tool, &arguments)?;
        let (answer, interval) = answer.with_context(|| format!("{tool} needs no store"))?;
        let mut wanted = None;
        for shown in answer[list].as_array().into_iter().flatten() {
            let title = shown["title"].as_str().unwrap_or_default();
            let parsed = parse_title(title);
            let (number, version) =
                parsed.with_context(|| format!("{tool}: {shown} is in no file"))?;
            let says_version = format!("This is version {version}. ");
            let text = shown["content"].as_str().unwrap_or_default();
            let is_whole = text.contains(&says_version) && text.contains(&marker(number));
            ensure!(is_whole || tool != RETRIEVE, "title and text differ: {shown}");
            self.check_version(scenario, number, Some(version), &newest, interval)?;
            if shown["id"] == id(document).as_str() {
                ensure!(number == document, "document {document} is titled `{title}`");
                wanted = Some(version);
            }
        }
        // An existing document must be found, but need not be recommended.
        if wanted.is_none() && tool != DISCOVER {
            self.check_version(scenario, document, None, &newest, interval)?;
        }
        Ok(wanted)
    }

    fn look_up(&mut self, scenario: &Scenario) -> Result<()> {
        let answer = self.call(scenario, "lookup_capability", &lookup())?;
        let (answer, _) = answer.context("lookup_capability needs no store")?;
        ensure!(answer == self.catalog, "the catalog answers {answer}");
        Ok(())
    }

    /// Compares a shown version with the file's history and with what the server showed before.
    fn check_version(
        &self,
        scenario: &Scenario,
        document: usize,
        version: Option<u32>,
        newest: &[u32],
        interval: Interval,
    ) -> Result<()> {
        let lag = scenario.documents.history(document).lag(version, interval);
        let lag = lag.with_context(|| format!("document {document} never was {version:?}"))?;
        scenario.record(|measurements| measurements.lag(lag));
        if let Some(version) = version {
            let newest = newest[document];
            ensure!(version >= newest, "document {document} went back from {newest} to {version}");
            self.newest_shown[document].fetch_max(version, Ordering::SeqCst);
        }
        Ok(())
    }

    fn register(&mut self, scenario: &Scenario, skill: usize, version: u64) -> Result<()> {
        let name = format!("skill-{skill}");
        let skill = json!({"skill_name": name, "version": format!("{version}.0.0")});
        let arguments = json!({"agent_id": self.skills.agent_id, "capabilities": [skill]});
        self.write(scenario, "register_agent_capabilities", &arguments, &name, (version, true))
    }

    fn deactivate(&mut self, scenario: &Scenario, skill: usize) -> Result<()> {
        let name = format!("skill-{skill}");
        let Some((version, _)) = self.read_back(scenario, &name)? else { return Ok(()) };
        let arguments = json!({"agent_id": self.skills.agent_id, "skill_name": name});
        self.write(scenario, "deactivate_capability", &arguments, &name, (version, false))
    }

    fn write(
        &mut self,
        scenario: &Scenario,
        tool: &'static str,
        arguments: &Value,
        name: &str,
        skill: Skill,
    ) -> Result<()> {
        let answer = self.call(scenario, tool, arguments);
        let acknowledged = matches!(answer, Ok(Some(_)));
        self.skills.written(name, skill, acknowledged);
        if acknowledged {
            self.read_back(scenario, name)?;
        }
        answer.map(drop)
    }

    /// Reads a skill through another server, which must have an acknowledged write at once.
    fn read_back(&mut self, scenario: &Scenario, name: &str) -> Result<Option<Skill>> {
        let agent_id = self.skills.agent_id;
        let arguments = json!({"agent_id": agent_id, "skill_name": name, "active_only": false});
        let answer = if let Some(peer) = &mut self.peer {
            let (result, interval) = scenario.timed(|| peer.call(SKILLS_TOOL, &arguments));
            checked(scenario, SKILLS_TOOL, true, result, interval)?
        } else {
            self.call(scenario, SKILLS_TOOL, &arguments)?.map(|(answer, _)| answer)
        };
        let Some(answer) = answer else { return Ok(None) };
        let found = parse_skills(&answer).remove(name);
        self.skills.observed(name, found)?;
        Ok(found)
    }

    /// At the end, the worker's server must show every document as its file is.
    pub(super) fn verify_documents(&mut self, scenario: &Scenario) -> Result<()> {
        let began = Instant::now();
        for document in 0..COUNT {
            let current = scenario.documents.history(document).current();
            let mut shown = self.read(scenario, RETRIEVE, document)?;
            while shown != current && began.elapsed() < SETTLE_LIMIT {
                thread::sleep(Duration::from_millis(100));
                shown = self.read(scenario, RETRIEVE, document)?;
            }
            let agent_id = self.skills.agent_id;
            ensure!(
                shown == current,
                "the server of agent {agent_id} shows document {document} as {shown:?} instead of {current:?}"
            );
        }
        let what = "documents shown as their files are, on all servers";
        scenario.record(|measurements| measurements.verified(what, COUNT as u64));
        Ok(())
    }

    /// At the end, the skills must be as acknowledged, on the worker's server and on all with its store.
    pub(super) fn verify_skills(&mut self, scenario: &Scenario, servers: &Servers) -> Result<()> {
        let arguments = json!({"agent_id": self.skills.agent_id, "active_only": false});
        let mut answers = vec![self.client.call(SKILLS_TOOL, &arguments)?.ok()?];
        if self.peer.is_some() {
            for number in 0..2 {
                answers.push(servers.connect(number)?.call(SKILLS_TOOL, &arguments)?.ok()?);
            }
        }
        for answer in answers {
            self.skills.compare(&answer).context("at the end")?;
        }
        let what = "acknowledged writes to the registry";
        scenario.record(|measurements| measurements.verified(what, self.skills.acknowledged));
        Ok(())
    }
}

/// The answer; `None` if the call was refused, as it may be while the database is away.
fn checked(
    scenario: &Scenario,
    tool: &'static str,
    store_may_be_away: bool,
    result: Result<ToolResult>,
    interval: Interval,
) -> Result<Option<Value>> {
    let may_refuse = store_may_be_away && needs_store(tool) && scenario.outages.touch(interval);
    match result {
        Ok(ToolResult::Ok(value)) => {
            scenario.answered(tool, interval);
            Ok(Some(value))
        }
        Ok(ToolResult::Error { code, .. }) if may_refuse && code == "DATABASE_ERROR" => {
            scenario.record(|measurements| measurements.refused(tool, interval));
            Ok(None)
        }
        Ok(ToolResult::Error { code, text }) => bail!("{tool} failed with {code}: {text}"),
        Err(error) => {
            scenario.pause(Duration::from_secs(1));
            Err(error.context(format!("{tool} was not answered")))
        }
    }
}

/// Major version, and whether it is active.
type Skill = (u64, bool);

/// What the registry may hold for an agent. Only one worker writes to it, so only an unacknowledged
/// write leaves more than one possibility, until one of them is observed.
pub(super) struct ExpectedSkills {
    agent_id: usize,
    /// `None` is a skill that is not registered.
    skills: BTreeMap<String, Vec<Option<Skill>>>,
    acknowledged: u64,
}

impl ExpectedSkills {
    pub(super) fn new(agent_id: usize) -> Self {
        Self { agent_id, skills: BTreeMap::new(), acknowledged: 0 }
    }

    fn possible(&mut self, name: &str) -> &mut Vec<Option<Skill>> {
        self.skills.entry(name.to_owned()).or_insert_with(|| vec![None])
    }

    /// A write without an acknowledgement may have been made, or not.
    fn written(&mut self, name: &str, skill: Skill, acknowledged: bool) {
        let possible = self.possible(name);
        if acknowledged {
            possible.clear();
        }
        possible.push(Some(skill));
        self.acknowledged += u64::from(acknowledged);
    }

    fn observed(&mut self, name: &str, found: Option<Skill>) -> Result<()> {
        let agent_id = self.agent_id;
        let possible = self.possible(name);
        let is_possible = possible.contains(&found);
        ensure!(is_possible, "agent {agent_id}, {name}: {found:?} instead of {possible:?}");
        *possible = vec![found];
        Ok(())
    }

    /// Checks an answer that lists all skills of the agent.
    fn compare(&mut self, answer: &Value) -> Result<()> {
        let mut found = parse_skills(answer);
        let names: Vec<String> = self.skills.keys().cloned().collect();
        for name in names {
            self.observed(&name, found.remove(&name))?;
        }
        ensure!(found.is_empty(), "never registered: {found:?}");
        Ok(())
    }
}

/// The skills in an answer of `get_agent_capabilities`.
fn parse_skills(answer: &Value) -> BTreeMap<String, Skill> {
    let skills = answer["capabilities"].as_array().into_iter().flatten();
    let skills = skills.filter_map(|skill| {
        let version = skill["version"].as_str()?.split('.').next()?.parse().ok()?;
        Some((skill["skill_name"].as_str()?.to_owned(), (version, skill["active"].as_bool()?)))
    });
    skills.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledged_write_must_be_there() {
        let mut skills = ExpectedSkills::new(1);
        skills.written("a", (1, true), true);
        assert!(skills.observed("a", None).is_err());
        assert!(skills.observed("a", Some((2, true))).is_err());
        skills.written("a", (1, false), true);
        assert!(skills.observed("a", Some((1, true))).is_err());
        assert!(skills.observed("a", Some((1, false))).is_ok());
    }

    #[test]
    fn an_unacknowledged_write_may_be_there_until_the_skill_is_observed() {
        let mut skills = ExpectedSkills::new(1);
        skills.written("a", (1, true), true);
        skills.written("a", (2, true), false);
        skills.written("a", (2, false), false);
        let own = json!({"skill_name": "a", "version": "2.0.0", "active": false});
        assert!(skills.compare(&json!({"capabilities": [own]})).is_ok());
        assert!(skills.observed("a", Some((1, true))).is_err(), "it cannot go back");
        let other = json!({"skill_name": "b", "version": "1.0.0", "active": true});
        let answer = json!({"capabilities": [own, other]});
        assert!(skills.compare(&answer).is_err(), "b was never registered");
    }
}
