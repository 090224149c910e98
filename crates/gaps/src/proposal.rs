//! A file for a knowledge base that an agent proposes and a person accepts or rejects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const MAX_TITLE_CHARS: usize = 200;
pub(crate) const MAX_MARKDOWN_CHARS: usize = 256 * 1024;
pub(crate) const MAX_PATH_CHARS: usize = 300;
/// What [`check_path`] accepts, for the published schemas.
pub(crate) const PATH_PATTERN: &str = concat!(
    r#"^[ \t\n\r]*([^\s./\\:*?"<>|\x00-\x1f\x7f-\x9f]"#,
    r#"([^/\\:*?"<>|\x00-\x1f\x7f-\x9f]*[^\s./\\:*?"<>|\x00-\x1f\x7f-\x9f])?/)*"#,
    r#"[^\s./\\:*?"<>|\x00-\x1f\x7f-\x9f][^/\\:*?"<>|\x00-\x1f\x7f-\x9f]*\.[mM][dD][ \t\n\r]*$"#,
);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    pub id: String,
    pub title: String,
    pub markdown: String,
    /// Where the file is to be, below the root of a knowledge base.
    pub target_path: String,
    /// The gap it would close, if it was written for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_id: Option<String>,
    pub proposed_at: u64,
    pub status: ProposalStatus,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum ProposalStatus {
    Pending,
    Accepted { at: u64, by: String },
    Rejected { at: u64, by: String, reason: String },
}

impl ProposalStatus {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Accepted { .. } => "accepted",
            Self::Rejected { .. } => "rejected",
        }
    }
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    Reject { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposalError {
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("`{name}` is {given} long; it can be {max}")]
    TooLong { name: &'static str, given: usize, max: usize },
    #[error("`{path}` is not a path of a Markdown file below the root: {reason}")]
    Path { path: String, reason: &'static str },
    #[error("proposal `{id}` is {status} already")]
    Decided { id: String, status: &'static str },
}

impl Proposal {
    /// Checks a proposal and derives its id: the same text for the same path is the same proposal.
    pub fn new(
        title: &str,
        markdown: &str,
        target_path: &str,
        gap_id: Option<String>,
        now: u64,
    ) -> Result<Self, ProposalError> {
        within("title", title, MAX_TITLE_CHARS)?;
        within("markdown", markdown, MAX_MARKDOWN_CHARS)?;
        within("target_path", target_path, MAX_PATH_CHARS)?;
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let markdown = with_heading(&title, markdown);
        let target_path = target_path.trim().to_owned();
        check_path(&target_path)?;
        let mut hash = blake3::Hasher::new();
        hash.update(target_path.as_bytes()).update(&[0]).update(markdown.as_bytes());
        let id = format!("p-{}", &hash.finalize().to_hex()[..10]);
        let status = ProposalStatus::Pending;
        Ok(Self { id, title, markdown, target_path, gap_id, proposed_at: now, status })
    }

    /// A decision is final.
    pub fn decide(&mut self, verdict: Verdict, by: &str, at: u64) -> Result<(), ProposalError> {
        if self.status != ProposalStatus::Pending {
            let (id, status) = (self.id.clone(), self.status.name());
            return Err(ProposalError::Decided { id, status });
        }
        let by = by.to_owned();
        self.status = match verdict {
            Verdict::Accept => ProposalStatus::Accepted { at, by },
            Verdict::Reject { reason } => ProposalStatus::Rejected { at, by, reason },
        };
        Ok(())
    }
}

/// As it was given: the schema cannot tell what remains when white space is removed.
fn within(name: &'static str, text: &str, max: usize) -> Result<(), ProposalError> {
    if text.trim().is_empty() {
        return Err(ProposalError::Empty(name));
    }
    match text.chars().count() {
        given if given > max => Err(ProposalError::TooLong { name, given, max }),
        _ => Ok(()),
    }
}

/// The text as a file that starts with a heading and ends with a line break.
fn with_heading(title: &str, markdown: &str) -> String {
    let body = markdown.trim();
    if body.is_empty() || body.starts_with('#') || body.starts_with("---\n") {
        return if body.is_empty() { String::new() } else { format!("{body}\n") };
    }
    format!("# {title}\n\n{body}\n")
}

/// Plain names only: no way out of the root, no hidden file, nothing that some file system would
/// interpret.
fn check_path(path: &str) -> Result<(), ProposalError> {
    let wrong = |reason| Err(ProposalError::Path { path: path.to_owned(), reason });
    if path.starts_with('/') {
        return wrong("it starts at the root of the file system");
    }
    if path.contains(['\\', ':', '\0', '*', '?', '"', '<', '>', '|'])
        || path.contains(char::is_control)
    {
        return wrong("it has a character that not every file system takes");
    }
    let mut names = path.split('/');
    if names.clone().any(|name| name.is_empty() || name.trim() != name) {
        return wrong("it has an empty name");
    }
    if names.any(|name| name.starts_with('.') || name.ends_with('.')) {
        return wrong("it has a hidden or a dotted name");
    }
    if !path.to_lowercase().ends_with(".md") {
        return wrong("it does not end in `.md`");
    }
    Ok(())
}
