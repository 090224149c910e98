//! What was written to the registry and acknowledged.
//!
//! A write that was refused while the database was away may have been made or not: then several
//! states are possible until one is seen. Each agent has one writer, so nothing else is.

use std::collections::BTreeMap;

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Skill {
    pub(super) version: u64,
    pub(super) active: bool,
}

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) agent_id: usize,
    /// What each skill may be; `None` is not there.
    skills: BTreeMap<String, Vec<Option<Skill>>>,
    acknowledged: u64,
}

impl Ledger {
    pub(super) fn new(agent_id: usize) -> Self {
        Self { agent_id, skills: BTreeMap::new(), acknowledged: 0 }
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    fn possible(&mut self, skill: &str) -> &mut Vec<Option<Skill>> {
        self.skills.entry(skill.to_owned()).or_insert_with(|| vec![None])
    }

    /// A registration was acknowledged.
    pub(super) fn registered(&mut self, skill: &str, version: u64) {
        *self.possible(skill) = vec![Some(Skill { version, active: true })];
        self.acknowledged += 1;
    }

    /// A registration was refused; it may have been made.
    pub(super) fn perhaps_registered(&mut self, skill: &str, version: u64) {
        self.possible(skill).push(Some(Skill { version, active: true }));
    }

    /// A deactivation was acknowledged, so the skill is there.
    pub(super) fn deactivated(&mut self, skill: &str) {
        let possible = self.possible(skill);
        possible.retain(Option::is_some);
        for one in possible.iter_mut().flatten() {
            one.active = false;
        }
        self.acknowledged += 1;
    }

    /// A deactivation was refused; it may have been made.
    pub(super) fn perhaps_deactivated(&mut self, skill: &str) {
        let possible = self.possible(skill);
        let inactive = possible.iter().flatten().map(|one| Some(Skill { active: false, ..*one }));
        let inactive: Vec<_> = inactive.collect();
        possible.extend(inactive);
    }

    /// A skill was looked at. Says what is wrong if it cannot be so.
    pub(super) fn see(&mut self, skill: &str, found: Option<Skill>) -> Result<(), String> {
        let agent_id = self.agent_id;
        let possible = self.possible(skill);
        if !possible.contains(&found) {
            return Err(format!("agent {agent_id}, {skill}: {found:?} instead of {possible:?}"));
        }
        *possible = vec![found];
        Ok(())
    }

    /// What is wrong with all skills of the agent.
    pub(super) fn compare(&mut self, listed: &Value) -> Vec<String> {
        let mut found = read(listed);
        let names: Vec<String> = self.skills.keys().cloned().collect();
        let mut wrong: Vec<String> =
            names.iter().filter_map(|name| self.see(name, found.remove(name)).err()).collect();
        wrong.extend(found.keys().map(|name| format!("{name} was never registered")));
        wrong
    }
}

/// The skills in an answer of `get_agent_capabilities`.
pub(super) fn read(listed: &Value) -> BTreeMap<String, Skill> {
    let skills = listed["capabilities"].as_array().into_iter().flatten();
    let skills = skills.filter_map(|skill| {
        let version = skill["version"].as_str()?.split('.').next()?.parse().ok()?;
        let active = skill["active"].as_bool()?;
        Some((skill["skill_name"].as_str()?.to_owned(), Skill { version, active }))
    });
    skills.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(version: u64, active: bool) -> Skill {
        Skill { version, active }
    }

    #[test]
    fn what_was_acknowledged_must_be_there() {
        let mut ledger = Ledger::new(1);
        ledger.registered("a", 1);
        assert!(ledger.see("a", None).is_err());
        assert!(ledger.see("a", Some(one(2, true))).is_err());
        ledger.deactivated("a");
        assert!(ledger.see("a", Some(one(1, true))).is_err());
        assert!(ledger.see("a", Some(one(1, false))).is_ok());
    }

    #[test]
    fn what_was_refused_may_be_there_until_it_is_seen() {
        let mut ledger = Ledger::new(1);
        ledger.registered("a", 1);
        ledger.perhaps_registered("a", 2);
        ledger.perhaps_deactivated("a");
        assert!(ledger.see("a", Some(one(2, false))).is_ok());
        assert!(ledger.see("a", Some(one(1, true))).is_err(), "it cannot go back");
        let listed = json!({"capabilities": [
            {"skill_name": "a", "version": "2.0.0", "active": false},
            {"skill_name": "b", "version": "1.0.0", "active": true}]});
        assert_eq!(ledger.compare(&listed), ["b was never registered"]);
    }
}
