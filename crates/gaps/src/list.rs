//! The gaps there are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Gaps;
use crate::ask::AskKind;
use crate::error::Error;
use crate::gap::{Gap, Status};

pub const DEFAULT_GAPS: usize = 50;
pub const MAX_GAPS: usize = 500;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GapsRequest {
    /// Only those of this project
    pub project_id: Option<String>,
    /// Only those in this state; open ones unless said otherwise
    pub status: Standing,
    /// Only those that were heard like this first
    pub kind: Option<AskKind>,
    /// Maximum number of gaps; 50 unless said otherwise
    #[schemars(range(min = 1, max = MAX_GAPS))]
    pub max_results: Option<usize>,
    /// How many gaps to pass over: for the next page, the number seen so far
    pub offset: usize,
}

/// Where a gap stands, for those who look.
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
    /// How it was heard first
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
    fn fits(self, status: &Status) -> bool {
        match self {
            Self::Open => status.is_open(),
            Self::Closed => matches!(status, Status::Closed { .. }),
            Self::Muted => matches!(status, Status::Muted { .. }),
            Self::Merged => matches!(status, Status::Merged { .. }),
            Self::All => true,
        }
    }
}

impl Gaps {
    pub fn gaps(&self, request: &GapsRequest) -> Result<GapsResponse, Error> {
        let limit = within("maxResults", request.max_results.unwrap_or(DEFAULT_GAPS), MAX_GAPS)?;
        let mut gaps = self.memory.gaps(request.project_id.as_deref())?;
        gaps.retain(|gap| {
            request.status.fits(&gap.status) && request.kind.is_none_or(|kind| gap.kind == kind)
        });
        gaps.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.id.cmp(&b.id)));
        let page = gaps.iter().skip(request.offset).take(limit);
        Ok(GapsResponse { gaps: page.map(ListedGap::from).collect(), total_available: gaps.len() })
    }
}

fn rank(gap: &Gap) -> (bool, u64, u64, u64) {
    (gap.requests > 0, gap.asks, gap.requests, gap.last_asked)
}

pub(crate) fn within(name: &'static str, given: usize, max: usize) -> Result<usize, Error> {
    if (1..=max).contains(&given) {
        return Ok(given);
    }
    Err(Error::invalid(name, format!("is {given}; it can be 1 to {max}")))
}
