//! Proposals: written by agents, decided by people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Gaps;
use crate::decide::{MAX_NAME_CHARS, MAX_NOTE_CHARS, checked_name, checked_note};
use crate::error::Error;
use crate::proposal::{
    MAX_MARKDOWN_CHARS, MAX_PATH_CHARS, MAX_TITLE_CHARS, PATH_PATTERN, Proposal, ProposalStatus,
    Verdict,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProposeRequest {
    #[schemars(length(min = 1, max = MAX_TITLE_CHARS), regex(pattern = r"\S"))]
    pub title: String,
    /// The whole file; the title becomes its heading if it has none
    #[schemars(length(min = 1, max = MAX_MARKDOWN_CHARS), regex(pattern = r"\S"))]
    pub markdown: String,
    /// Where the file is to be, below the root of a knowledge base, like `guides/ROLLBACK.md`
    #[schemars(length(min = 4, max = MAX_PATH_CHARS), regex(pattern = PATH_PATTERN))]
    pub target_path: String,
    /// The gap it would close
    pub gap_id: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProposalsRequest {
    /// Only those in this state; pending ones unless said otherwise
    pub status: Decision,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    #[default]
    Pending,
    Accepted,
    Rejected,
    All,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowProposalRequest {
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptProposalRequest {
    pub id: String,
    /// Who accepts it
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = r"\S"))]
    pub by: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RejectProposalRequest {
    pub id: String,
    /// Who rejects it
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = r"\S"))]
    pub by: String,
    #[serde(default)]
    #[schemars(length(max = MAX_NOTE_CHARS))]
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProposalsResponse {
    /// The newest first
    pub proposals: Vec<ListedProposal>,
}

/// A proposal without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedProposal {
    pub id: String,
    pub title: String,
    pub target_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_id: Option<String>,
    /// Milliseconds since 1970
    pub proposed_at: u64,
    pub status: ProposalStatus,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProposalResponse {
    /// As it is now
    pub proposal: Proposal,
    pub message: String,
}

/// A proposal that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AcceptedResponse {
    pub proposal: Proposal,
    /// As it was written
    pub file: NewFile,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NewFile {
    /// Below the root of a knowledge base
    pub path: String,
    pub markdown: String,
}

impl From<&Proposal> for ListedProposal {
    fn from(proposal: &Proposal) -> Self {
        Self {
            id: proposal.id.clone(),
            title: proposal.title.clone(),
            target_path: proposal.target_path.clone(),
            gap_id: proposal.gap_id.clone(),
            proposed_at: proposal.proposed_at,
            status: proposal.status.clone(),
        }
    }
}

impl Decision {
    fn fits(self, status: &ProposalStatus) -> bool {
        match self {
            Self::Pending => matches!(status, ProposalStatus::Pending),
            Self::Accepted => matches!(status, ProposalStatus::Accepted { .. }),
            Self::Rejected => matches!(status, ProposalStatus::Rejected { .. }),
            Self::All => true,
        }
    }
}

impl Gaps {
    /// Stores a proposal for a person to decide. The same text for the same path is one proposal,
    /// with the decision that was made about it. It is not redacted: it is no recorded call, and a
    /// person reads it before it is used.
    pub fn propose(&self, request: &ProposeRequest, now: u64) -> Result<ProposalResponse, Error> {
        let ProposeRequest { title, markdown, target_path, gap_id } = request;
        if let Some(id) = gap_id
            && self.storage.gap(id)?.is_none()
        {
            return Err(Error::no_gap(id));
        }
        let proposal = Proposal::new(title, markdown, target_path, gap_id.clone(), now)?;
        let proposal = self.storage.add_proposal(&proposal)?;
        let message = match &proposal.status {
            ProposalStatus::Pending => "It waits for a person to accept it".to_owned(),
            decided => format!("It was proposed before and is {}", decided.name()),
        };
        Ok(ProposalResponse { proposal, message })
    }

    pub fn proposals(&self, request: &ProposalsRequest) -> Result<ProposalsResponse, Error> {
        let proposals = self.storage.proposals()?;
        let fitting = proposals.iter().filter(|one| request.status.fits(&one.status));
        Ok(ProposalsResponse { proposals: fitting.map(ListedProposal::from).collect() })
    }

    /// One proposal with its text.
    pub fn proposal(&self, request: &ShowProposalRequest) -> Result<Proposal, Error> {
        let id = &request.id;
        self.storage.proposal(id)?.ok_or_else(|| Error::no_proposal(id))
    }

    /// Writes the file of a proposal and marks it accepted, unless it was rejected. If writing
    /// fails, it stays pending. Accepting it again writes the file again, which may have been
    /// removed. The gap closes when the file is indexed.
    pub fn accept(
        &self,
        request: &AcceptProposalRequest,
        now: u64,
        write: &dyn Fn(&NewFile) -> Result<(), String>,
    ) -> Result<AcceptedResponse, Error> {
        let by = checked_name("by", &request.by)?;
        let mut accepted = None;
        self.storage.change_proposal(&request.id, &mut |proposal| {
            if !matches!(proposal.status, ProposalStatus::Accepted { .. }) {
                proposal.decide(Verdict::Accept, &by, now)?;
            }
            let (path, markdown) = (proposal.target_path.clone(), proposal.markdown.clone());
            let file = NewFile { path, markdown };
            write(&file).map_err(Error::NotWritten)?;
            accepted = Some(AcceptedResponse { proposal: proposal.clone(), file });
            Ok(())
        })?;
        accepted.ok_or_else(|| Error::no_proposal(&request.id))
    }

    pub fn reject(
        &self,
        request: &RejectProposalRequest,
        now: u64,
    ) -> Result<ProposalResponse, Error> {
        let by = checked_name("by", &request.by)?;
        let reason = checked_note("reason", &request.reason)?;
        let mut rejected = None;
        self.storage.change_proposal(&request.id, &mut |proposal| {
            proposal.decide(Verdict::Reject { reason: reason.clone() }, &by, now)?;
            rejected = Some(proposal.clone());
            Ok(())
        })?;
        let proposal = rejected.ok_or_else(|| Error::no_proposal(&request.id))?;
        Ok(ProposalResponse { proposal, message: "Rejected".to_owned() })
    }
}
