//! The report over the stored calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Gaps;
use crate::error::Error;
use crate::extract::REACH;
use crate::list::within;
use crate::ports::{Detail, UserFilter, Window};
use crate::render::Format;
use crate::report::{Report, Scope, report};
use crate::session::sessions;

pub const DEFAULT_TOP: usize = 10;
pub const MAX_TOP: usize = 100;
/// How many texts are compared by meaning, missing capabilities first; the others by words only.
const COMPARED_BY_MEANING: usize = 4_000;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReportRequest {
    /// All projects if none
    pub project_id: Option<String>,
    /// Milliseconds since 1970
    pub from: Option<u64>,
    /// Milliseconds since 1970, exclusive
    pub until: Option<u64>,
    /// Entries in each list, explicit requests beyond it; 10 unless said otherwise
    #[schemars(range(min = 1, max = MAX_TOP))]
    pub top: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReportResponse {
    #[serde(flatten)]
    pub report: Report,
    /// The whole, for people
    pub markdown: String,
}

impl Gaps {
    /// Ranks what is missing, for a project over a period. A session that overlaps the period is
    /// counted as a whole.
    pub fn report(&self, request: &ReportRequest) -> Result<ReportResponse, Error> {
        let top = within("top", request.top.unwrap_or(DEFAULT_TOP), MAX_TOP)?;
        let (from, until) = (request.from, request.until);
        if let (Some(from), Some(until)) = (from, until)
            && from >= until
        {
            return Err(Error::invalid("until", format!("is {until}; it has to be after {from}")));
        }
        let scope = Scope { project_id: request.project_id.clone(), from, until, top };
        let window = Window {
            project_id: request.project_id.clone(),
            from,
            until,
            user: UserFilter::Any,
            detail: Detail::Outline,
            last: None,
        };
        let whole = Window {
            from: from.map(|from| from.saturating_sub(REACH)),
            until: until.map(|until| until.saturating_add(REACH)),
            ..window.clone()
        };
        let sessions = sessions(&self.storage.events(&whole)?);
        let offered = self.storage.tools(&window)?;
        let vectors = self.vectors(COMPARED_BY_MEANING);
        let report = report(&sessions, &offered, &scope, &|text| vectors.of(text));
        let markdown = report.render(Format::Markdown);
        Ok(ReportResponse { report, markdown })
    }
}
