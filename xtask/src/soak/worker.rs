//! A client that asks all kinds of questions and writes to the registry, one call after the other.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::Field;
use super::account::Kind;
use super::client::{Answer, Client};
use super::ledger::{Ledger, read};
use super::random::Random;
use super::servers::Shown;
use super::shelf::{SLOTS, Span, id, marker, read_title};

/// Between two calls, so that the machine has time for the servers.
const PAUSE: Duration = Duration::from_millis(10);
const SKILLS: usize = 20;
/// What is answered by tools while the database is away.
const AWAY: &str = "DATABASE_ERROR";

/// Where a server remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    /// In the database that goes away now and then.
    Shared,
    /// In a file, which does not.
    Own,
}

pub(super) struct Worker {
    pub(super) own: Client,
    /// Another server on the same database, to look at what was written.
    pub(super) peer: Option<Client>,
    pub(super) store: Store,
    pub(super) agent_id: usize,
    pub(super) shown: Shown,
    /// What is always said about the catalog.
    pub(super) reference: Value,
}

/// A worker when its work is done.
pub(super) struct Done {
    pub(super) worker: Worker,
    pub(super) ledger: Ledger,
}

/// What came of a call.
enum Told {
    Given(Value, Span),
    /// As it may be while the database is away.
    Away,
    /// It is noted as wrong.
    Wrong,
}

pub(super) fn lookup() -> Value {
    json!({"agent": "claude-code", "capability": "hooks"})
}

impl Worker {
    pub(super) fn work(mut self, field: &Field) -> Done {
        let mut random = Random::new(self.agent_id as u64);
        let mut ledger = Ledger::new(self.agent_id);
        let mut version = 0;
        while !field.is_over() {
            let slot = random.below(SLOTS);
            match random.below(12) {
                0..=2 => self.retrieve(field, slot),
                3 | 4 => self.search(field, slot),
                5 => self.discover(field, slot),
                6 | 7 => self.look_up(field),
                8..=10 => {
                    version += 1;
                    self.register(field, &mut ledger, random.below(SKILLS), version);
                }
                _ => self.deactivate(field, &mut ledger, random.below(SKILLS)),
            }
            field.pause(PAUSE);
        }
        Done { worker: self, ledger }
    }

    fn ask(&mut self, field: &Field, kind: Kind, tool: &str, arguments: &Value) -> Told {
        ask(field, &mut self.own, self.store, kind, tool, arguments)
    }

    pub(super) fn retrieve(&mut self, field: &Field, slot: usize) {
        let floor = self.shown[slot].load(Ordering::SeqCst);
        let arguments = json!({"ids": [id(slot)]});
        let told = self.ask(field, Kind::Retrieve, "retrieve_knowledge", &arguments);
        let Told::Given(answer, span) = told else { return };
        let node = answer["nodes"].as_array().and_then(|nodes| nodes.first());
        let title = node.and_then(|node| node["title"].as_str());
        let text = node.and_then(|node| node["content"].as_str()).unwrap_or_default();
        let says = title.and_then(read_title).map(|(_, v)| format!("This is version {v}. "));
        if says.is_some_and(|says| !text.contains(&says) || !text.contains(&marker(slot))) {
            field.account.wrong(format!("slot {slot}: title and text disagree: {answer}"));
        }
        self.judge(field, slot, title, floor, span);
    }

    fn search(&mut self, field: &Field, slot: usize) {
        let floor = self.shown[slot].load(Ordering::SeqCst);
        let kind = if slot.is_multiple_of(2) { "keyword" } else { "hybrid" };
        let arguments = json!({"query": marker(slot), "search_type": kind, "max_results": 5});
        let told = self.ask(field, Kind::Search, "search_knowledge", &arguments);
        let Told::Given(answer, span) = told else { return };
        let hits = answer["results"].as_array().into_iter().flatten();
        let mut titles = hits.filter(|hit| hit["id"] == id(slot).as_str());
        self.judge(field, slot, titles.next().and_then(|hit| hit["title"].as_str()), floor, span);
    }

    /// Which documents are relevant is a matter of opinion; which version they are in is not.
    fn discover(&mut self, field: &Field, slot: usize) {
        let floors: Vec<u32> = self.shown.iter().map(|one| one.load(Ordering::SeqCst)).collect();
        let task = format!("put the part {} in order", marker(slot));
        let arguments = json!({"task_description": task});
        let told = self.ask(field, Kind::Discover, "discover_context", &arguments);
        let Told::Given(answer, span) = told else { return };
        for one in answer["recommendations"].as_array().into_iter().flatten() {
            let title = one["title"].as_str().unwrap_or_default();
            match read_title(title) {
                Some((slot, _)) => self.judge(field, slot, Some(title), floors[slot], span),
                None => field.account.wrong(format!("`{title}` is in no file")),
            }
        }
    }

    fn look_up(&mut self, field: &Field) {
        let told = self.ask(field, Kind::Lookup, "lookup_capability", &lookup());
        let Told::Given(answer, _) = told else { return };
        if answer != self.reference {
            field.account.wrong(format!("the catalog says {answer}"));
        }
    }

    /// Holds what is shown of a document against its history, and against what was shown before.
    fn judge(&self, field: &Field, slot: usize, title: Option<&str>, floor: u32, span: Span) {
        let version = title.and_then(read_title).filter(|(number, _)| *number == slot);
        let version = version.map(|(_, version)| version);
        if title.is_some() && version.is_none() {
            field.account.wrong(format!("slot {slot} is shown as {title:?}"));
            return;
        }
        match field.shelf.history(slot).lateness(version, span) {
            Some(late) => field.account.late(late),
            None => field.account.wrong(format!("slot {slot} never was {version:?}")),
        }
        if let Some(version) = version {
            if version < floor {
                field.account.wrong(format!("slot {slot} went back from {floor} to {version}"));
            }
            self.shown[slot].fetch_max(version, Ordering::SeqCst);
        }
    }

    fn register(&mut self, field: &Field, ledger: &mut Ledger, skill: usize, version: u64) {
        let skill = format!("skill-{skill}");
        let one = json!({"skill_name": skill, "version": format!("{version}.0.0")});
        let arguments = json!({"agent_id": self.agent_id, "capabilities": [one]});
        match self.ask(field, Kind::Register, "register_agent_capabilities", &arguments) {
            Told::Given(..) => {
                ledger.registered(&skill, version);
                self.look(field, ledger, &skill);
            }
            Told::Away | Told::Wrong => ledger.perhaps_registered(&skill, version),
        }
    }

    fn deactivate(&mut self, field: &Field, ledger: &mut Ledger, skill: usize) {
        let skill = format!("skill-{skill}");
        if !self.look(field, ledger, &skill) {
            return;
        }
        let arguments = json!({"agent_id": self.agent_id, "skill_name": skill});
        match self.ask(field, Kind::Deactivate, "deactivate_capability", &arguments) {
            Told::Given(..) => {
                ledger.deactivated(&skill);
                self.look(field, ledger, &skill);
            }
            Told::Away | Told::Wrong => ledger.perhaps_deactivated(&skill),
        }
    }

    /// Looks at a skill through another server, which must have at once what was acknowledged.
    /// Says whether it is there.
    fn look(&mut self, field: &Field, ledger: &mut Ledger, skill: &str) -> bool {
        let arguments =
            json!({"agent_id": self.agent_id, "skill_name": skill, "active_only": false});
        let client = self.peer.as_mut().unwrap_or(&mut self.own);
        let told =
            ask(field, client, self.store, Kind::Skills, "get_agent_capabilities", &arguments);
        let Told::Given(answer, _) = told else { return false };
        let found = read(&answer).remove(skill);
        if let Err(wrong) = ledger.see(skill, found) {
            field.account.wrong(wrong);
        }
        found.is_some()
    }

    /// All skills of the agent, as the worker's own server knows them.
    pub(super) fn all_skills(&mut self, field: &Field) -> Option<Value> {
        let arguments = json!({"agent_id": self.agent_id, "active_only": false});
        match self.ask(field, Kind::Skills, "get_agent_capabilities", &arguments) {
            Told::Given(answer, _) => Some(answer),
            Told::Away | Told::Wrong => None,
        }
    }

    /// The version of a document that the worker's own server shows.
    pub(super) fn version(&mut self, field: &Field, slot: usize) -> Option<u32> {
        let arguments = json!({"ids": [id(slot)]});
        match self.ask(field, Kind::Retrieve, "retrieve_knowledge", &arguments) {
            Told::Given(answer, _) => {
                let title = answer["nodes"][0]["title"].as_str()?;
                read_title(title).map(|(_, version)| version)
            }
            Told::Away | Told::Wrong => None,
        }
    }
}

fn ask(
    field: &Field,
    client: &mut Client,
    store: Store,
    kind: Kind,
    tool: &str,
    arguments: &Value,
) -> Told {
    let from = field.now();
    let answer = client.call(tool, arguments);
    let span = Span { from, until: field.now() };
    match answer {
        Ok(Answer::Given(value)) => {
            field.account.answered(kind, span, field.outages.cover(span));
            Told::Given(value, span)
        }
        Ok(Answer::Refused(code, _)) if may_be_away(field, store, kind, span) && code == AWAY => {
            field.account.refused(kind, span);
            Told::Away
        }
        Ok(Answer::Refused(code, text)) => {
            field.account.wrong(format!("{tool} was refused with {code}: {text}"));
            Told::Wrong
        }
        Err(error) => {
            field.account.wrong(format!("{tool} was not answered: {error:#}"));
            field.pause(Duration::from_secs(1));
            Told::Wrong
        }
    }
}

fn may_be_away(field: &Field, store: Store, kind: Kind, span: Span) -> bool {
    store == Store::Shared && kind.needs_store() && field.outages.touch(span)
}
