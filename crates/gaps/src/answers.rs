//! Closes gaps when new content answers them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Gaps;
use crate::error::Error;
use crate::gap::{Change, Closing, Fresh, answered};
use crate::list::ListedGap;

/// What something new closed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct AnsweredResponse {
    /// Each with what answered it as evidence
    pub closed: Vec<ListedGap>,
}

impl Gaps {
    /// Closes the open gaps of all projects that new content answers. Content without vectors gets
    /// one of its title and the beginning of its text.
    pub fn answered_by(&self, fresh: Vec<Fresh>, now: u64) -> Result<AnsweredResponse, Error> {
        let open: Vec<_> =
            self.storage.gaps(None)?.into_iter().filter(|gap| gap.status.is_open()).collect();
        let mut response = AnsweredResponse::default();
        if open.is_empty() || fresh.is_empty() {
            return Ok(response);
        }
        let fresh: Vec<Fresh> = fresh.into_iter().map(|new| self.with_vectors(new)).collect();
        let mut by_project: BTreeMap<String, Vec<Closing>> = BTreeMap::new();
        for closing in answered(&open, &fresh) {
            let gap = open.iter().find(|gap| gap.id == closing.gap_id);
            let Some(gap) = gap else { continue };
            by_project.entry(gap.project_id.clone()).or_default().push(closing);
        }
        for (project_id, closings) in by_project {
            response.closed.extend(self.close_all(&project_id, &closings, now)?);
        }
        Ok(response)
    }

    fn with_vectors(&self, mut new: Fresh) -> Fresh {
        if new.vectors.is_empty() {
            let text = format!("{}\n{}", new.title, new.text);
            new.vectors.extend(self.embedder.embed(&text));
        }
        new
    }

    /// Closes the gaps that are still open by now.
    fn close_all(
        &self,
        project_id: &str,
        closings: &[Closing],
        now: u64,
    ) -> Result<Vec<ListedGap>, Error> {
        let mut closed = Vec::new();
        self.storage.change_gaps(project_id, &mut |gaps| {
            for closing in closings {
                let open = |gap: &&mut crate::Gap| gap.id == closing.gap_id && gap.status.is_open();
                let Some(gap) = gaps.iter_mut().find(open) else { continue };
                gap.change(Change::Close(closing.evidence.clone()), now)?;
                closed.push(ListedGap::from(&*gap));
            }
            Ok(())
        })?;
        Ok(closed)
    }
}
