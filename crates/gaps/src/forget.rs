//! Removes what must not be stored any longer: a user's calls, and calls that are too old.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Gaps;
use crate::ask::{AskKind, UNSTATED, core};
use crate::error::Error;
use crate::gap::{Gap, chain, mean};
use crate::group::Embed;
use crate::ports::{Removed, StoredAsk, Wording};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForgetUserRequest {
    /// A user's id or e-mail address. Who has both is forgotten by each of them
    #[schemars(length(min = 1))]
    pub user: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ForgottenResponse {
    /// Calls that were removed
    pub events: u64,
    /// Asks that were removed
    pub asks: u64,
    /// Gaps of which nothing was left
    pub gaps: u64,
}

impl From<Removed> for ForgottenResponse {
    fn from(removed: Removed) -> Self {
        Self { events: removed.events, asks: removed.asks, gaps: removed.gaps }
    }
}

impl Gaps {
    /// Removes a user's calls, with arguments and results, and the asks extracted from them. The
    /// user's asks no longer count in gaps, and wordings that no other user shares are removed. A
    /// gap without other asks is deleted; one with other asks is labelled in the words of those.
    /// What stays: a gap's id, which is a hash of its first wording and reveals nothing; the times
    /// of its first and last ask; proposals, which people have read; and calls that were recorded
    /// without a user.
    pub fn forget_user(&self, request: &ForgetUserRequest) -> Result<ForgottenResponse, Error> {
        let user = request.user.trim();
        if user.is_empty() {
            return Err(Error::invalid("user", "is empty"));
        }
        let vectors = self.vectors(usize::MAX);
        let removed = self.storage.forget_user(user, &mut |gaps, gone, left| {
            forget(gaps, gone, left, &|text| vectors.of(text));
        })?;
        Ok(removed.into())
    }

    /// Removes calls before `since` and their asks. Asks are extracted first, so that gaps keep
    /// their counts and labels; other wordings go with the last stored ask that used them.
    pub fn forget_before(&self, since: u64, now: u64) -> Result<ForgottenResponse, Error> {
        self.extract_asks(now)?;
        Ok(self.storage.forget_before(since, &mut |gaps, _, left| expire(gaps, left))?.into())
    }
}

/// Removes the asks in `gone` from gaps; `left` are the wordings of the asks that stay.
pub fn forget(gaps: &mut Vec<Gap>, gone: &[StoredAsk], left: &[Wording], embed: Embed<'_>) {
    for ask in gone {
        for at in chain(gaps, &ask.gap_id) {
            let gap = &mut gaps[at];
            gap.asks = gap.asks.saturating_sub(1);
            let request = u64::from(ask.kind == AskKind::Explicit);
            gap.requests = gap.requests.saturating_sub(request);
        }
    }
    let gone = words(gaps, gone.iter().map(|ask| (ask.gap_id.as_str(), ask.text.as_str())));
    let left = words_left(gaps, left);
    let none = BTreeSet::new();
    for (id, gone) in &gone {
        let left = left.get(id).unwrap_or(&none);
        if let Some(gap) = gaps.iter_mut().find(|gap| gap.id == *id) {
            remove_wordings(gap, gone, left, embed);
        }
    }
    gaps.retain(|gap| gap.asks > 0 || !gone.contains_key(&gap.id));
}

/// Removes the wordings of `gone` that are not in `left`.
fn remove_wordings(
    gap: &mut Gap,
    gone: &BTreeSet<String>,
    left: &BTreeSet<String>,
    embed: Embed<'_>,
) {
    let forgotten = |wording: &str| {
        let wording = normal(wording);
        gone.contains(&wording) && !left.contains(&wording)
    };
    let before = gap.wordings.len();
    gap.wordings.retain(|wording| !forgotten(wording));
    if forgotten(&gap.label) {
        // A gap stores a limited number of wordings; those of the asks that stay may be others.
        let other = gap.wordings.first().cloned().or_else(|| left.first().cloned());
        gap.label = other.unwrap_or_else(|| UNSTATED.to_owned());
        if gap.wordings.is_empty() {
            gap.wordings.push(gap.label.clone());
        }
    }
    if gap.wordings.len() != before {
        gap.centroid = mean(gap.wordings.iter().filter_map(|wording| embed(wording)));
    }
}

/// Removes the wordings that no stored ask uses any more, except the labels.
pub fn expire(gaps: &mut [Gap], left: &[Wording]) {
    let left = words_left(gaps, left);
    for gap in gaps {
        let (label, left) = (normal(&gap.label), left.get(&gap.id));
        gap.wordings.retain(|wording| {
            let wording = normal(wording);
            wording == label || left.is_some_and(|left| left.contains(&wording))
        });
    }
}

/// The wordings of each gap, including those of the gaps merged into it.
fn words<'a>(
    gaps: &[Gap],
    asks: impl Iterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut words: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (gap_id, text) in asks {
        for at in chain(gaps, gap_id) {
            words.entry(gaps[at].id.clone()).or_default().insert(normal(text));
        }
    }
    words
}

fn words_left(gaps: &[Gap], left: &[Wording]) -> BTreeMap<String, BTreeSet<String>> {
    words(gaps, left.iter().map(|wording| (wording.gap_id.as_str(), wording.text.as_str())))
}

fn normal(text: &str) -> String {
    core(text).to_lowercase()
}
