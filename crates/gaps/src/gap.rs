//! The life cycle of a gap: opened by an ask, closed by an answer or by a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ask::{AskKind, core};
use crate::group::{Embed, Meaning, dot, nearest, unit};
use crate::words::Stems;

/// Wordings that a gap stores.
const WORDINGS: usize = 20;
/// The least similarity of an answer to the ask …
const ANSWERS: f32 = 0.55;
/// … or this, if it also has most of the ask's words.
const ANSWERS_IN_ITS_WORDS: f32 = 0.4;
const MOST_WORDS: f32 = 0.6;

/// A capability that is missing, and how often it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    pub id: String,
    pub project_id: String,
    /// Of the first ask.
    pub kind: AskKind,
    /// The first ask in its own words; later asks in other words do not change it.
    pub label: String,
    pub status: Status,
    pub asks: u64,
    /// Explicit requests among them.
    pub requests: u64,
    /// Different texts of the asks, the label first.
    pub wordings: Vec<String>,
    pub first_asked: u64,
    pub last_asked: u64,
    /// The mean of the asks' vectors; empty without a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub centroid: Vec<f32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum Status {
    Open,
    Closed {
        at: u64,
        evidence: Evidence,
    },
    /// Nobody wants to hear of it; asks are still counted.
    Muted {
        at: u64,
    },
    /// Another gap is meant.
    Merged {
        at: u64,
        into: String,
    },
    /// Closed once, and asked for again.
    Reopened {
        at: u64,
        because: String,
    },
}

impl Status {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed { .. } => "closed",
            Self::Muted { .. } => "muted",
            Self::Merged { .. } => "merged",
            Self::Reopened { .. } => "reopened",
        }
    }

    /// Whether it waits for an answer.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open | Self::Reopened { .. })
    }
}

/// What closed a gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "by")]
pub enum Evidence {
    /// Something new that answers it.
    Answer {
        /// A node's id, a skill's name, a tool's name.
        id: String,
        source: Source,
        title: String,
        /// How near it is to what was asked, up to 1.
        likeness: f32,
    },
    /// Somebody who said so.
    Person { name: String, note: String },
}

/// Where answers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Node,
    Skill,
    Tool,
    Capability,
}

/// A change of a gap's status.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Close(Evidence),
    Mute,
    Merge { into: String },
    Reopen { because: String },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GapError {
    #[error("gap `{id}` is {status}; it cannot be {wanted}")]
    WrongState { id: String, status: &'static str, wanted: &'static str },
    #[error("gap `{id}` cannot be merged into itself")]
    IntoItself { id: String },
}

/// An ask that is to be assigned to a gap.
#[derive(Debug, Clone, Copy)]
pub struct IncomingAsk<'a> {
    pub project_id: &'a str,
    pub kind: AskKind,
    pub text: &'a str,
    pub at: u64,
}

impl Gap {
    fn new(ask: &IncomingAsk<'_>, embed: Embed<'_>) -> Self {
        let label = core(ask.text).to_owned();
        Self {
            id: id(ask.project_id, &label),
            project_id: ask.project_id.to_owned(),
            kind: ask.kind,
            status: Status::Open,
            asks: 1,
            requests: u64::from(ask.kind == AskKind::Explicit),
            first_asked: ask.at,
            last_asked: ask.at,
            centroid: embed(&label).unwrap_or_default(),
            wordings: vec![label.clone()],
            label,
        }
    }

    /// Counts an ask. An ask after the gap was closed reopens it: the answer was not found, or is
    /// none.
    fn add(&mut self, ask: &IncomingAsk<'_>, embed: Embed<'_>) {
        let text = core(ask.text);
        if let Some(vector) = embed(text) {
            self.centroid = moved(&self.centroid, self.asks, &vector);
        }
        self.asks += 1;
        self.requests += u64::from(ask.kind == AskKind::Explicit);
        self.first_asked = self.first_asked.min(ask.at);
        self.last_asked = self.last_asked.max(ask.at);
        let known = self.wordings.iter().any(|wording| wording.eq_ignore_ascii_case(text));
        if !known && self.wordings.len() < WORDINGS {
            self.wordings.push(text.to_owned());
        }
        if matches!(self.status, Status::Closed { at, .. } if ask.at > at) {
            self.status = Status::Reopened { at: ask.at, because: "asked for again".to_owned() };
        }
    }

    /// Applies a change, unless the current status does not allow it.
    pub fn change(&mut self, change: Change, at: u64) -> Result<(), GapError> {
        let merged = matches!(self.status, Status::Merged { .. });
        let closed = matches!(self.status, Status::Closed { .. });
        let wanted = match &change {
            Change::Close(_) if closed || merged => "closed",
            Change::Mute if merged => "muted",
            Change::Merge { .. } if merged => "merged",
            Change::Reopen { .. } if self.status.is_open() => "reopened",
            _ => "",
        };
        if !wanted.is_empty() {
            let (id, status) = (self.id.clone(), self.status.name());
            return Err(GapError::WrongState { id, status, wanted });
        }
        self.status = match change {
            Change::Close(evidence) => Status::Closed { at, evidence },
            Change::Mute => Status::Muted { at },
            Change::Merge { into } if into == self.id => {
                return Err(GapError::IntoItself { id: into });
            }
            Change::Merge { into } => Status::Merged { at, into },
            Change::Reopen { because } => Status::Reopened { at, because },
        };
        Ok(())
    }

    /// Adds the asks of a gap that is merged into this one.
    pub fn absorb(&mut self, other: &Self) {
        if self.centroid.is_empty() {
            self.centroid.clone_from(&other.centroid);
        } else if self.centroid.len() == other.centroid.len() {
            let weights = (self.asks as f32, other.asks as f32);
            let pairs = self.centroid.iter().zip(&other.centroid);
            self.centroid = unit(pairs.map(|(a, b)| a * weights.0 + b * weights.1).collect());
        }
        self.asks += other.asks;
        self.requests += other.requests;
        self.first_asked = self.first_asked.min(other.first_asked);
        self.last_asked = self.last_asked.max(other.last_asked);
        for wording in &other.wordings {
            if self.wordings.len() < WORDINGS && !self.wordings.contains(wording) {
                self.wordings.push(wording.clone());
            }
        }
    }
}

/// Derived from the words, so that two processes that assign the same ask create one gap.
fn id(project: &str, label: &str) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(project.as_bytes()).update(&[0]).update(label.to_lowercase().as_bytes());
    format!("g-{}", &hash.finalize().to_hex()[..10])
}

/// Assigns asks one after the other to the gaps they match, or to new ones; returns the gap id of
/// each ask. An ask for a merged gap goes to the gap that it was merged into.
pub fn assign(gaps: &mut Vec<Gap>, asks: &[IncomingAsk<'_>], embed: Embed<'_>) -> Vec<String> {
    let mut known: Vec<Meaning> = gaps.iter().map(meaning).collect();
    let mut ids = Vec::with_capacity(asks.len());
    for ask in asks {
        let gap = if let Some(matching) = find(gaps, &known, ask, embed) {
            let gap = follow(gaps, matching);
            gaps[gap].add(ask, embed);
            known[gap] = meaning(&gaps[gap]);
            gap
        } else {
            let gap = Gap::new(ask, embed);
            known.push(meaning(&gap));
            gaps.push(gap);
            gaps.len() - 1
        };
        ids.push(gaps[gap].id.clone());
    }
    ids
}

/// The gap of the ask's project with the same words, or else the most similar one.
fn find(gaps: &[Gap], known: &[Meaning], ask: &IncomingAsk<'_>, embed: Embed<'_>) -> Option<usize> {
    let same = id(ask.project_id, core(ask.text));
    gaps.iter().position(|gap| gap.id == same).or_else(|| {
        let of_project = known.iter().enumerate().zip(gaps);
        let of_project = of_project.filter(|(_, gap)| gap.project_id == ask.project_id);
        nearest(&Meaning::of(ask.text, embed), of_project.map(|(known, _)| known))
    })
}

fn meaning(gap: &Gap) -> Meaning {
    Meaning::known(&gap.label, &gap.centroid)
}

/// The end of a chain of merges. A cycle ends where it began.
pub(crate) fn follow(gaps: &[Gap], start: usize) -> usize {
    let mut at = start;
    for _ in 0..gaps.len() {
        let Status::Merged { into, .. } = &gaps[at].status else { return at };
        let Some(next) = gaps.iter().position(|gap| gap.id == *into) else { return at };
        at = next;
    }
    start
}

/// A gap and the gaps that it was merged into, in order.
pub(crate) fn chain(gaps: &[Gap], id: &str) -> Vec<usize> {
    let mut chain: Vec<usize> = Vec::new();
    let mut next = gaps.iter().position(|gap| gap.id == id);
    while let Some(at) = next.filter(|at| !chain.contains(at)) {
        chain.push(at);
        next = match &gaps[at].status {
            Status::Merged { into, .. } => gaps.iter().position(|gap| gap.id == *into),
            _ => None,
        };
    }
    chain
}

/// Subtracts a gap's asks from the gaps that it was merged into: undoes [`Gap::absorb`].
pub(crate) fn separate(gaps: &mut [Gap], at: usize) {
    let own = gaps[at].clone();
    for other in chain(gaps, &own.id).into_iter().skip(1) {
        let other = &mut gaps[other];
        other.asks = other.asks.saturating_sub(own.asks);
        other.requests = other.requests.saturating_sub(own.requests);
        let label = other.label.clone();
        other.wordings.retain(|wording| *wording == label || !own.wordings.contains(wording));
    }
}

/// The mean of vectors of length 1, of length 1.
pub(crate) fn mean(vectors: impl Iterator<Item = Vec<f32>>) -> Vec<f32> {
    let sum = vectors.reduce(|sum, vector| sum.iter().zip(&vector).map(|(a, b)| a + b).collect());
    sum.map(unit).unwrap_or_default()
}

/// New content that may answer gaps: a section, a skill, a tool or a capability.
#[derive(Debug, Clone)]
pub struct Fresh {
    pub id: String,
    pub source: Source,
    pub title: String,
    pub text: String,
    /// One vector per passage; a long text has several.
    pub vectors: Vec<Vec<f32>>,
}

/// A gap that new content closes.
#[derive(Debug, Clone, PartialEq)]
pub struct Closing {
    pub gap_id: String,
    pub evidence: Evidence,
}

/// The open gaps that new content answers, each with its best answer.
pub fn answered(gaps: &[Gap], fresh: &[Fresh]) -> Vec<Closing> {
    let fresh: Vec<(&Fresh, Stems, Stems)> = fresh
        .iter()
        .map(|new| {
            let all = format!("{} {}", new.title, new.text);
            (new, Stems::of(&new.title), Stems::of(&all))
        })
        .collect();
    let open = gaps.iter().filter(|gap| gap.status.is_open());
    let closings = open.filter_map(|gap| {
        let wanted = Stems::of(&gap.label);
        let answers = fresh.iter().filter_map(|(new, title, all)| {
            let (shared, title) = (wanted.found_in(all), wanted.overlap(title));
            Some((likeness(gap, new, shared, title)?, *new))
        });
        let best = answers.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.id.cmp(&a.1.id)))?;
        let (likeness, new) = best;
        let evidence = Evidence::Answer {
            id: new.id.clone(),
            source: new.source,
            title: new.title.clone(),
            likeness,
        };
        Some(Closing { gap_id: gap.id.clone(), evidence })
    });
    closings.collect()
}

/// How well new content answers a gap; `None` if it does not. Without vectors, only a title with
/// nearly the words of the ask does.
fn likeness(gap: &Gap, new: &Fresh, shared: f32, title: f32) -> Option<f32> {
    let comparable = new.vectors.iter().filter(|vector| vector.len() == gap.centroid.len());
    let nearest = comparable.map(|vector| dot(&gap.centroid, vector)).max_by(f32::total_cmp);
    match nearest.filter(|_| !gap.centroid.is_empty()) {
        Some(near) if near >= ANSWERS => Some(near.min(1.0)),
        Some(near) if near >= ANSWERS_IN_ITS_WORDS && shared >= MOST_WORDS => Some(near),
        Some(_) => None,
        None => (title >= 0.8).then_some(title),
    }
}

fn moved(centroid: &[f32], weight: u64, vector: &[f32]) -> Vec<f32> {
    if centroid.len() != vector.len() {
        return vector.to_vec();
    }
    unit(centroid.iter().zip(vector).map(|(mean, value)| mean * weight as f32 + value).collect())
}
