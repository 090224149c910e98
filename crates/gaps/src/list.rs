//! Lists gaps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Gaps;
use crate::ask::AskKind;
use crate::error::Error;
use crate::gap::{Gap, Status};
use crate::ports::{GapPage, GapQuery, Order};

pub const DEFAULT_GAPS: usize = 50;
pub const MAX_GAPS: usize = 500;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GapsRequest {
    /// Only those of this project
    pub project_id: Option<String>,
    /// Only those in this state; open ones unless said otherwise
    pub status: Standing,
    /// Only gaps that were first asked for in this way
    pub kind: Option<AskKind>,
    /// Maximum number of gaps; 50 unless said otherwise
    #[schemars(range(min = 1, max = MAX_GAPS))]
    pub max_results: Option<usize>,
    /// How many gaps to pass over: for the next page, the number seen so far
    pub offset: usize,
}

/// The state of a gap, as a filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Waits for an answer, for the first time or again
    #[default]
    Open,
    Closed,
    Muted,
    Merged,
    All,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GapsResponse {
    /// Those that were requested explicitly first; then by how often they were asked for
    pub gaps: Vec<ListedGap>,
    /// How many gaps fit, on all pages
    pub total_available: usize,
}

/// A gap as callers see it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedGap {
    pub id: String,
    pub project_id: String,
    /// How it was asked for first
    pub kind: AskKind,
    /// What is missing, in the words of those who missed it
    pub label: String,
    pub status: Status,
    /// How often it was asked for
    pub asks: u64,
    /// Explicit requests among them
    pub requests: u64,
    /// Ways in which it was asked for
    pub wordings: Vec<String>,
    /// Milliseconds since 1970
    pub first_asked: u64,
    /// Milliseconds since 1970
    pub last_asked: u64,
}

impl From<&Gap> for ListedGap {
    fn from(gap: &Gap) -> Self {
        Self {
            id: gap.id.clone(),
            project_id: gap.project_id.clone(),
            kind: gap.kind,
            label: gap.label.clone(),
            status: gap.status.clone(),
            asks: gap.asks,
            requests: gap.requests,
            wordings: gap.wordings.clone(),
            first_asked: gap.first_asked,
            last_asked: gap.last_asked,
        }
    }
}

impl Standing {
    /// Where a gap of this status stands; never [`Standing::All`].
    pub fn of(status: &Status) -> Self {
        match status {
            Status::Open | Status::Reopened { .. } => Self::Open,
            Status::Closed { .. } => Self::Closed,
            Status::Muted { .. } => Self::Muted,
            Status::Merged { .. } => Self::Merged,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Muted => "muted",
            Self::Merged => "merged",
            Self::All => "all",
        }
    }
}

impl Gaps {
    pub fn gaps(&self, request: &GapsRequest) -> Result<GapsResponse, Error> {
        let limit = within("maxResults", request.max_results.unwrap_or(DEFAULT_GAPS), MAX_GAPS)?;
        let query = GapQuery {
            project_id: request.project_id.as_deref(),
            standing: request.status,
            kind: request.kind,
            order: Order::Rank,
            offset: request.offset,
            limit,
        };
        Ok(self.storage.gap_page(&query)?.into())
    }

    /// Open gaps by time of their last ask, the newest first.
    pub fn newest(&self, limit: usize) -> Result<GapsResponse, Error> {
        let limit = within("limit", limit, MAX_GAPS)?;
        let query = GapQuery { order: Order::Newest, limit, ..GapQuery::default() };
        Ok(self.storage.gap_page(&query)?.into())
    }

    /// The projects that have gaps, sorted.
    pub fn projects(&self) -> Result<Vec<String>, Error> {
        Ok(self.storage.projects()?)
    }
}

impl From<GapPage> for GapsResponse {
    fn from(page: GapPage) -> Self {
        Self { gaps: page.gaps.iter().map(ListedGap::from).collect(), total_available: page.total }
    }
}

pub(crate) fn within(name: &'static str, given: usize, max: usize) -> Result<usize, Error> {
    if (1..=max).contains(&given) {
        return Ok(given);
    }
    Err(Error::invalid(name, format!("is {given}; it can be 1 to {max}")))
}
