//! Ranks what is missing, for a project over a period.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::{Ask, AskKind, asks, core};
use crate::group::{Embed, Group, group};
use crate::session::{Outcome, Session};
use crate::words;

/// Sessions and wordings that are listed for a group.
const EXAMPLES: usize = 3;
const MAX_ERROR_CHARS: usize = 160;
/// The longest sequence of tools that is counted.
const COMBO: usize = 3;

/// What a report covers.
#[derive(Debug, Clone)]
pub struct Scope {
    /// All projects if none.
    pub project_id: Option<String>,
    /// Milliseconds since 1970.
    pub from: Option<u64>,
    pub until: Option<u64>,
    /// Entries in each list. Explicit requests are listed beyond it.
    pub top: usize,
}

impl Default for Scope {
    fn default() -> Self {
        Self { project_id: None, from: None, until: None, top: 10 }
    }
}

impl Scope {
    fn covers(&self, session: &Session) -> bool {
        self.project_id.as_ref().is_none_or(|project| *project == session.project_id)
            && self.from.is_none_or(|from| session.ended_at >= from)
            && self.until.is_none_or(|until| session.started_at < until)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    pub sessions: usize,
    pub calls: usize,
    pub outcomes: BTreeMap<&'static str, usize>,
    pub top_missing_capabilities: Vec<MissingCapability>,
    pub top_failed_asks: Vec<FailedAsk>,
    pub top_intents: Vec<TopIntent>,
    pub tool_combos: Vec<ToolCombo>,
    pub error_patterns: Vec<ErrorPattern>,
    /// Offered to agents and never called.
    pub tools_never_called: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissingCapability {
    pub capability: String,
    /// Sessions in which it was missed.
    pub count: usize,
    /// Explicit requests among the asks.
    pub requests: usize,
    pub confidence: Confidence,
    pub examples: Vec<String>,
    pub example_session_ids: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Somebody asked for it in so many words.
    High,
    /// It was named in passing.
    Medium,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedAsk {
    pub ask: String,
    pub count: usize,
    pub tools: Vec<String>,
    pub example_session_ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopIntent {
    pub intent: String,
    pub count: usize,
    pub example_session_ids: Vec<String>,
}

/// Tools that were called one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolCombo {
    pub tools: Vec<String>,
    /// Sessions in which they were.
    pub count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErrorPattern {
    pub tool: String,
    /// What the messages have in common: numbers, ids and quotations are left out.
    pub error: String,
    pub count: usize,
}

/// Reports on the sessions within the scope; `offered` are the tools that agents could have called.
pub fn report(sessions: &[Session], offered: &[String], scope: &Scope, embed: Embed<'_>) -> Report {
    let sessions: Vec<&Session> = sessions.iter().filter(|s| scope.covers(s)).collect();
    let asks: Vec<Ask> = sessions.iter().flat_map(|session| asks(session)).collect();
    let (failed, missing): (Vec<&Ask>, Vec<&Ask>) =
        asks.iter().partition(|ask| ask.kind == AskKind::Failed);
    let mut outcomes: BTreeMap<&'static str, usize> = BTreeMap::new();
    for outcome in [Outcome::Success, Outcome::Partial, Outcome::Failed, Outcome::Unknown] {
        let count = sessions.iter().filter(|session| session.outcome == outcome).count();
        outcomes.insert(outcome.name(), count);
    }
    Report {
        project_id: scope.project_id.clone(),
        from: scope.from,
        until: scope.until,
        sessions: sessions.len(),
        calls: sessions.iter().map(|session| session.events.len()).sum(),
        outcomes,
        top_missing_capabilities: missing_capabilities(&missing, scope.top, embed),
        top_failed_asks: failed_asks(&failed, scope.top, embed),
        top_intents: intents(&sessions, scope.top, embed),
        tool_combos: combos(&sessions, scope.top),
        error_patterns: errors(&sessions, scope.top),
        tools_never_called: never_called(&sessions, offered),
    }
}

fn grouped(asks: &[&Ask], embed: Embed<'_>) -> Vec<Group> {
    let texts: Vec<&str> = asks.iter().map(|ask| ask.text.as_str()).collect();
    group(&texts, embed)
}

/// Explicit requests first; none of them is ever left out, whatever `top` says.
fn missing_capabilities(asks: &[&Ask], top: usize, embed: Embed<'_>) -> Vec<MissingCapability> {
    let groups = grouped(asks, embed).into_iter();
    let mut found: Vec<MissingCapability> = groups
        .map(|group| {
            let members = || group.members.iter().map(|&place| asks[place]);
            let requests = members().filter(|ask| ask.kind == AskKind::Explicit).count();
            let sessions = sessions_of(members());
            MissingCapability {
                count: sessions.len(),
                requests,
                confidence: if requests > 0 { Confidence::High } else { Confidence::Medium },
                examples: wordings(members().map(|ask| ask.text.as_str()), &group.label),
                example_session_ids: sessions.into_iter().take(EXAMPLES).collect(),
                capability: group.label,
            }
        })
        .collect();
    found.sort_by(|a, b| {
        let rank = |m: &MissingCapability| (m.confidence, usize::MAX - m.count);
        rank(a).cmp(&rank(b)).then_with(|| a.capability.cmp(&b.capability))
    });
    let explicit = found.iter().filter(|m| m.confidence == Confidence::High).count();
    found.truncate(explicit.max(top));
    found
}

fn failed_asks(asks: &[&Ask], top: usize, embed: Embed<'_>) -> Vec<FailedAsk> {
    let groups = grouped(asks, embed).into_iter().map(|group| {
        let members = || group.members.iter().map(|&place| asks[place]);
        let tools: BTreeSet<String> = members().map(|ask| ask.tool.clone()).collect();
        FailedAsk {
            count: group.members.len(),
            tools: tools.into_iter().collect(),
            example_session_ids: sessions_of(members()).into_iter().take(EXAMPLES).collect(),
            ask: group.label,
        }
    });
    groups.take(top).collect()
}

fn intents(sessions: &[&Session], top: usize, embed: Embed<'_>) -> Vec<TopIntent> {
    let mut said: Vec<(&str, &str)> = Vec::new();
    for session in sessions {
        let own: BTreeSet<&str> =
            session.events.iter().filter_map(|event| event.intent.as_deref()).collect();
        said.extend(own.into_iter().map(|intent| (intent, session.id.as_str())));
    }
    let texts: Vec<&str> = said.iter().map(|(intent, _)| *intent).collect();
    let mut found: Vec<TopIntent> = group(&texts, embed)
        .into_iter()
        .map(|group| {
            let ids: BTreeSet<&str> = group.members.iter().map(|&place| said[place].1).collect();
            TopIntent {
                intent: group.label,
                count: ids.len(),
                example_session_ids: ids.into_iter().take(EXAMPLES).map(str::to_owned).collect(),
            }
        })
        .collect();
    found.sort_by(|a, b| (b.count, &a.intent).cmp(&(a.count, &b.intent)));
    found.truncate(top);
    found
}

fn sessions_of<'a>(asks: impl Iterator<Item = &'a Ask>) -> BTreeSet<String> {
    asks.map(|ask| ask.session_id.clone()).collect()
}

/// Wordings other than the label.
fn wordings<'a>(texts: impl Iterator<Item = &'a str>, label: &str) -> Vec<String> {
    let others: BTreeSet<&str> = texts.map(core).filter(|text| *text != label).collect();
    others.into_iter().take(EXAMPLES).map(str::to_owned).collect()
}

/// Sequences of two or three different tools that occur in more than one session.
fn combos(sessions: &[&Session], top: usize) -> Vec<ToolCombo> {
    let mut counts: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for session in sessions {
        let mut tools: Vec<&str> =
            session.events.iter().map(|event| event.tool_name.as_str()).collect();
        tools.dedup();
        let rows: BTreeSet<&[&str]> =
            (2..=COMBO).flat_map(|length| tools.windows(length)).collect();
        for row in rows.into_iter().filter(|row| row.first() != row.last()) {
            *counts.entry(row.to_vec()).or_default() += 1;
        }
    }
    let mut combos: Vec<(Vec<&str>, usize)> =
        counts.into_iter().filter(|(_, count)| *count > 1).collect();
    combos.sort_by(|a, b| (b.1, b.0.len(), &a.0).cmp(&(a.1, a.0.len(), &b.0)));
    let shown = combos.into_iter().take(top).map(|(tools, count)| ToolCombo {
        tools: tools.into_iter().map(str::to_owned).collect(),
        count,
    });
    shown.collect()
}

fn errors(sessions: &[&Session], top: usize) -> Vec<ErrorPattern> {
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for event in sessions.iter().flat_map(|session| &session.events).filter(|e| e.is_error) {
        let message = event.error_message.as_deref().unwrap_or("(no message)");
        *counts.entry((&event.tool_name, error_pattern(message))).or_default() += 1;
    }
    let mut patterns: Vec<ErrorPattern> = counts
        .into_iter()
        .map(|((tool, error), count)| ErrorPattern { tool: tool.to_owned(), error, count })
        .collect();
    patterns.sort_by(|a, b| (b.count, &a.tool, &a.error).cmp(&(a.count, &b.tool, &b.error)));
    patterns.truncate(top);
    patterns
}

/// Ids, quotations, paths and numbers.
static VARYING: LazyLock<Regex> = LazyLock::new(|| {
    let id = r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b0x[0-9a-fA-F]+\b";
    let quoted = r#""[^"]*"|`[^`]*`|\B'[^']*'\B"#;
    let path = r"(?:/[\w.-]+){2,}";
    Regex::new(&format!(r"{id}|{quoted}|{path}|\d+(?:[.:]\d+)*")).expect("the pattern is tested")
});

/// An error message without the parts that vary between two cases of one error.
pub fn error_pattern(message: &str) -> String {
    let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("(no message)");
    words::clip(&VARYING.replace_all(line, "…"), MAX_ERROR_CHARS)
}

fn never_called(sessions: &[&Session], offered: &[String]) -> Vec<String> {
    let called: BTreeSet<&str> = sessions
        .iter()
        .flat_map(|session| &session.events)
        .map(|event| event.tool_name.as_str())
        .collect();
    let offered: BTreeSet<&String> = offered.iter().collect();
    let idle = offered.into_iter().filter(|tool| !called.contains(tool.as_str()));
    idle.filter(|tool| *tool != crate::contract::TOOL_NAME).cloned().collect()
}
