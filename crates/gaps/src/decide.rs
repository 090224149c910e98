//! Decisions of people about gaps: close, mute, merge, reopen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Gaps;
use crate::error::Error;
use crate::gap::{Change, Evidence, Gap, Status, follow, separate};
use crate::list::ListedGap;

pub(crate) const MAX_NAME_CHARS: usize = 200;
pub(crate) const MAX_NOTE_CHARS: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloseGapRequest {
    pub id: String,
    /// Who says so
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = r"\S"))]
    pub by: String,
    /// What answers it
    #[serde(default)]
    #[schemars(length(max = MAX_NOTE_CHARS))]
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MuteGapRequest {
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergeGapRequest {
    pub id: String,
    /// The gap of the same project that is meant by both
    pub into: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReopenGapRequest {
    pub id: String,
    /// Why it is no answer, or not the same gap
    #[serde(default)]
    #[schemars(length(max = MAX_NOTE_CHARS))]
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GapResponse {
    /// As it is now
    pub gap: ListedGap,
    pub message: String,
}

/// Changes the gap at an index of its project's gaps, and possibly others with it.
type Act<'a> = &'a mut dyn FnMut(&mut [Gap], usize) -> Result<(), Error>;

impl Gaps {
    pub fn close(&self, request: &CloseGapRequest, now: u64) -> Result<GapResponse, Error> {
        let name = checked_name("by", &request.by)?;
        let evidence = Evidence::Person { name, note: checked_note("note", &request.note)? };
        let gap = self.change(&request.id, &mut |gaps, at| {
            Ok(gaps[at].change(Change::Close(evidence.clone()), now)?)
        })?;
        Ok(response(gap, "Closed"))
    }

    /// Removes a gap from the list of open ones; asks are still counted.
    pub fn mute(&self, request: &MuteGapRequest, now: u64) -> Result<GapResponse, Error> {
        let gap =
            self.change(&request.id, &mut |gaps, at| Ok(gaps[at].change(Change::Mute, now)?))?;
        Ok(response(gap, "Muted"))
    }

    /// Opens a gap that was closed, muted or merged. Reopening a merged one undoes the merge.
    pub fn reopen(&self, request: &ReopenGapRequest, now: u64) -> Result<GapResponse, Error> {
        let because = checked_note("because", &request.because)?;
        let gap = self.change(&request.id, &mut |gaps, at| {
            separate(gaps, at);
            Ok(gaps[at].change(Change::Reopen { because: because.clone() }, now)?)
        })?;
        Ok(response(gap, "Reopened"))
    }

    /// Merges a gap into another, to which its past and future asks count from then on.
    pub fn merge(&self, request: &MergeGapRequest, now: u64) -> Result<GapResponse, Error> {
        let MergeGapRequest { id, into } = request;
        let (from, target) = (self.found(id)?, self.found(into)?);
        if from.project_id != target.project_id {
            let problem = format!(
                "is a gap of `{}`; `{id}` is one of `{}`",
                target.project_id, from.project_id
            );
            return Err(Error::invalid("into", problem));
        }
        self.change(id, &mut |gaps, at| merge(gaps, at, into, now))?;
        Ok(response(ListedGap::from(&self.found(into)?), "Merged into"))
    }

    fn found(&self, id: &str) -> Result<Gap, Error> {
        self.storage.gap(id)?.ok_or_else(|| Error::no_gap(id))
    }

    /// Changes the current state of a gap.
    fn change(&self, id: &str, act: Act<'_>) -> Result<ListedGap, Error> {
        let project_id = self.found(id)?.project_id;
        let mut changed = None;
        self.storage.change_gaps(&project_id, &mut |gaps| {
            let at = position(gaps, id)?;
            act(gaps, at)?;
            changed = Some(ListedGap::from(&gaps[at]));
            Ok(())
        })?;
        changed.ok_or_else(|| Error::no_gap(id))
    }
}

fn merge(gaps: &mut [Gap], from: usize, into: &str, now: u64) -> Result<(), Error> {
    let target = follow(gaps, position(gaps, into)?);
    let into = gaps[target].id.clone();
    gaps[from].change(Change::Merge { into }, now)?;
    let absorbed = gaps[from].clone();
    let gap = &mut gaps[target];
    gap.absorb(&absorbed);
    if matches!(gap.status, Status::Closed { at, .. } if absorbed.last_asked > at) {
        let because = format!("`{}`, which was merged into it, was asked for later", absorbed.id);
        gap.change(Change::Reopen { because }, now)?;
    }
    Ok(())
}

fn position(gaps: &[Gap], id: &str) -> Result<usize, Error> {
    gaps.iter().position(|gap| gap.id == id).ok_or_else(|| Error::no_gap(id))
}

fn response(gap: ListedGap, done: &str) -> GapResponse {
    let message = format!("{done} `{}`: {}", gap.id, gap.label);
    GapResponse { gap, message }
}

/// A person's name, on one line.
pub(crate) fn checked_name(argument: &'static str, name: &str) -> Result<String, Error> {
    check_length(argument, name, MAX_NAME_CHARS)?;
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    if name.is_empty() {
        return Err(Error::invalid(argument, "is empty"));
    }
    Ok(name)
}

pub(crate) fn checked_note(argument: &'static str, note: &str) -> Result<String, Error> {
    check_length(argument, note, MAX_NOTE_CHARS)?;
    Ok(note.trim().to_owned())
}

/// As it was given: the schema cannot tell what remains when white space is removed.
fn check_length(argument: &'static str, text: &str, max: usize) -> Result<(), Error> {
    let given = text.chars().count();
    if given <= max {
        return Ok(());
    }
    Err(Error::invalid(argument, format!("is {given} characters long; it can be {max}")))
}
