//! Listing files with their metadata.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, in_range};
use crate::metadata::{KNOWN_STATUSES, KNOWN_TYPES};
use crate::node::NodeRef;
use crate::snapshot::Snapshot;
use crate::text::summary;

pub const DEFAULT_LIST: usize = 50;
pub const MAX_LIST: usize = 500;
const DESCRIPTION_CHARS: usize = 160;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRequest {
    /// Optional filter by node type
    #[schemars(extend("enum" = KNOWN_TYPES))]
    pub filter_type: Option<String>,
    /// Optional filter by status
    #[schemars(extend("enum" = KNOWN_STATUSES))]
    pub filter_status: Option<String>,
    /// Only the files of this base
    pub base: Option<String>,
    /// Maximum number of entries to return
    #[serde(default = "default_list")]
    #[schemars(range(min = 1, max = MAX_LIST))]
    pub max_results: usize,
    /// How many entries to pass over: for the next page, the number seen so far
    #[serde(default)]
    pub offset: usize,
}

fn default_list() -> usize {
    DEFAULT_LIST
}

impl Default for ListRequest {
    fn default() -> Self {
        Self {
            filter_type: None,
            filter_status: None,
            base: None,
            max_results: DEFAULT_LIST,
            offset: 0,
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListResponse {
    pub knowledge_bases: Vec<Listed>,
    /// How many entries the filters let through, on all pages
    pub total_available: usize,
    /// Why there is nothing to see
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Listed {
    pub id: String,
    /// Name of the base that holds the file
    pub base: String,
    pub path: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_checked: Option<String>,
    pub node_count: usize,
}

impl Listed {
    pub fn of(root: NodeRef<'_>) -> Self {
        let described = root.subtree().find(|node| !node.body().is_empty()).unwrap_or(root);
        Self {
            id: root.id().to_owned(),
            base: root.base().name().to_owned(),
            path: root.path(),
            title: root.title().to_owned(),
            kind: root.kind().to_owned(),
            status: root.status().to_owned(),
            description: summary(&described.body(), DESCRIPTION_CHARS),
            last_checked: root.section().last_checked.clone(),
            node_count: root.document().sections.len(),
        }
    }
}

impl Snapshot {
    /// The files in which any section has the requested type and status.
    pub fn list(&self, request: &ListRequest) -> Result<ListResponse, Error> {
        in_range("max_results", request.max_results, 1..=MAX_LIST)?;
        if let Some(base) = &request.base {
            self.base_index(base)?;
        }
        let (kind, status) = (&request.filter_type, &request.filter_status);
        self.check_filter("filter_type", kind.as_deref(), &KNOWN_TYPES, NodeRef::kind)?;
        self.check_filter("filter_status", status.as_deref(), &KNOWN_STATUSES, NodeRef::status)?;
        let matches = |node: NodeRef<'_>| {
            request.filter_type.as_deref().is_none_or(|kind| node.kind() == kind)
                && request.filter_status.as_deref().is_none_or(|status| node.status() == status)
        };
        let matching: Vec<NodeRef<'_>> = self
            .roots()
            .filter(|root| request.base.as_deref().is_none_or(|base| root.base().name() == base))
            .filter(|root| root.subtree().any(matches))
            .collect();
        let page = matching.iter().skip(request.offset).take(request.max_results);
        Ok(ListResponse {
            knowledge_bases: page.map(|&root| Listed::of(root)).collect(),
            total_available: matching.len(),
            message: self
                .unavailable_message()
                .or_else(|| matching.is_empty().then(|| self.empty_message(request))),
        })
    }

    /// A value that can match nothing is an error. Files may hold other values than the known ones,
    /// which are reported but kept, so those that a file holds are accepted as well.
    fn check_filter<'a>(
        &'a self,
        name: &'static str,
        given: Option<&str>,
        known: &[&'static str],
        of_node: impl Fn(NodeRef<'a>) -> &'a str,
    ) -> Result<(), Error> {
        let Some(given) = given.filter(|given| !known.contains(given)) else { return Ok(()) };
        let held: BTreeSet<&str> = self.nodes().map(of_node).collect();
        if held.contains(given) {
            return Ok(());
        }
        let others = held.into_iter().filter(|value| !known.contains(value));
        let known = known.iter().copied().chain(others).map(str::to_owned).collect();
        Err(Error::UnknownValue { name, given: given.to_owned(), known })
    }

    fn empty_message(&self, request: &ListRequest) -> String {
        if self.file_count() == 0 {
            let roots: Vec<String> =
                self.bases().map(|base| base.root().display().to_string()).collect();
            return format!("there are no Markdown files in {}", roots.join(", "));
        }
        let mut present: Vec<&str> = match request.filter_type {
            Some(_) => self.nodes().map(NodeRef::kind).collect(),
            None => self.nodes().map(NodeRef::status).collect(),
        };
        present.sort_unstable();
        present.dedup();
        format!("no file matches these filters; there is {}", present.join(", "))
    }
}
