//! `list_generators`, `list_content` and `list_artifacts`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Compose;
use crate::config::{ArtifactConfig, ConfigType, ContentConfig, Loaded, Origin, Stage};
use crate::error::Error;
use crate::generator::{Listing, Source};
use crate::model::Timestamp;

pub const MAX_LISTED: usize = 500;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GeneratorsRequest {
    /// Only `builtin` or `plugin` ones
    pub source: Option<SourceFilter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceFilter {
    Builtin,
    Plugin,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GeneratorsResponse {
    pub success: bool,
    #[serde(flatten)]
    pub listing: Listing,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListRequest {
    pub filter: ListFilter,
    pub sort: Sort,
    #[schemars(range(min = 1, max = MAX_LISTED))]
    pub limit: usize,
}

impl Default for ListRequest {
    fn default() -> Self {
        Self { filter: ListFilter::default(), sort: Sort::Id, limit: 100 }
    }
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListFilter {
    /// In the id or the description, in any case
    pub text: Option<String>,
    pub origin: Option<Origin>,
    /// Only what has been generated or assembled, or only what has not
    pub made: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    #[default]
    Id,
    /// What was made last comes first
    Newest,
    Oldest,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ContentListResponse {
    pub success: bool,
    pub content: Vec<ListedContent>,
    /// How many fit the filter, shown or not
    pub total: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ListedContent {
    pub id: String,
    pub description: String,
    pub format: String,
    pub origin: Origin,
    /// A built-in config of the same id is hidden by it
    pub shadows_builtin: bool,
    pub stage: Stage,
    /// Values it takes
    pub variables: Vec<ListedVariable>,
    /// Sources it reads
    pub sources: Vec<String>,
    pub versions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated_at: Option<Timestamp>,
    /// Why the config cannot be used
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedVariable {
    pub name: String,
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ArtifactListResponse {
    pub success: bool,
    pub artifacts: Vec<ListedArtifact>,
    /// How many fit the filter, shown or not
    pub total: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ListedArtifact {
    pub id: String,
    pub title: String,
    pub purpose: String,
    pub outputs: Vec<String>,
    /// Files that it was written to, if they are others
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written_elsewhere: Vec<String>,
    pub children: Vec<String>,
    pub origin: Origin,
    /// A built-in config of the same id is hidden by it
    pub shadows_builtin: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assembled_at: Option<Timestamp>,
    /// Why the config cannot be used
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Compose {
    pub fn list_generators(&self, request: &GeneratorsRequest) -> GeneratorsResponse {
        let mut listing = self.inner.generators.list();
        match request.source {
            None => {}
            Some(SourceFilter::Builtin) => {
                listing.generators.retain(|_, one| one.source == Source::Builtin);
                listing.diagnostics.clear();
            }
            Some(SourceFilter::Plugin) => {
                listing.generators.retain(|_, one| one.source == Source::Plugin);
                // Only what comes with us is absent rather than not there.
                listing.absent.clear();
            }
        }
        GeneratorsResponse { success: true, listing }
    }

    pub fn list_content(&self, request: &ListRequest) -> Result<ContentListResponse, Error> {
        let mut all = Vec::new();
        for id in self.inner.configs.ids(ConfigType::Content)? {
            all.push(self.listed_content(&id)?);
        }
        let filter = &request.filter;
        all.retain(|one| filter.fits(&[&one.id, &one.description], one.origin, one.versions > 0));
        let total = all.len();
        sort(&mut all, request.sort, |one| one.generated_at);
        all.truncate(limit(request)?);
        Ok(ContentListResponse { success: true, content: all, total })
    }

    pub fn list_artifacts(&self, request: &ListRequest) -> Result<ArtifactListResponse, Error> {
        let mut all = Vec::new();
        for id in self.inner.configs.ids(ConfigType::Artifact)? {
            all.push(self.listed_artifact(&id)?);
        }
        let filter = &request.filter;
        all.retain(|one| {
            let texts = [one.id.as_str(), &one.title, &one.purpose];
            filter.fits(&texts, one.origin, one.assembled_at.is_some())
        });
        let total = all.len();
        sort(&mut all, request.sort, |one| one.assembled_at);
        all.truncate(limit(request)?);
        Ok(ArtifactListResponse { success: true, artifacts: all, total })
    }

    /// A config that is broken is listed with what is wrong with it.
    fn listed_content(&self, id: &str) -> Result<ListedContent, Error> {
        let versions = self.inner.versions.list(id)?;
        let mut listed = match self.inner.configs.content(id) {
            Ok(loaded) => described_content(id, &loaded),
            Err(error) => broken_content(id, &error),
        };
        listed.versions = versions.len();
        listed.generated_at = versions.last().and_then(|name| crate::version::created_at(name));
        listed.latest_version = versions.into_iter().next_back();
        Ok(listed)
    }

    fn listed_artifact(&self, id: &str) -> Result<ListedArtifact, Error> {
        let mut listed = match self.inner.configs.artifact(id) {
            Ok(loaded) => described_artifact(id, &loaded),
            Err(error) => broken_artifact(id, &error),
        };
        if let Some(manifest) = self.manifest(id)? {
            listed.assembled_at = Some(manifest.assembled_at);
            let written = manifest.outputs.into_keys();
            listed.written_elsewhere =
                written.filter(|file| !listed.outputs.contains(file)).collect();
        }
        Ok(listed)
    }
}

impl ListFilter {
    fn fits(&self, texts: &[&str], origin: Origin, made: bool) -> bool {
        let wanted = self.text.as_ref().map(|text| text.to_lowercase());
        let has = |wanted: &str| texts.iter().any(|text| text.to_lowercase().contains(wanted));
        wanted.is_none_or(|wanted| has(&wanted))
            && self.origin.is_none_or(|wanted| wanted == origin)
            && self.made.is_none_or(|wanted| wanted == made)
    }
}

fn limit(request: &ListRequest) -> Result<usize, Error> {
    if (1..=MAX_LISTED).contains(&request.limit) {
        return Ok(request.limit);
    }
    let problem = format!("is {}; it can be 1 to {MAX_LISTED}", request.limit);
    Err(Error::invalid("limit", problem))
}

/// They come by id; what was never made comes last.
fn sort<T>(all: &mut [T], by: Sort, time: impl Fn(&T) -> Option<Timestamp>) {
    match by {
        Sort::Id => {}
        Sort::Newest => all.sort_by_key(|one| std::cmp::Reverse(time(one))),
        Sort::Oldest => all.sort_by_key(|one| time(one).map_or((1, 0), |time| (0, time.0))),
    }
}

fn described_content(id: &str, loaded: &Loaded<ContentConfig>) -> ListedContent {
    let config = &loaded.config;
    let variables = config.generation.patterns.iter().flat_map(|pattern| &pattern.variables);
    let sources = config.inputs.iter().flat_map(|inputs| &inputs.sources);
    ListedContent {
        id: id.to_owned(),
        description: config.metadata.description.clone(),
        format: config.metadata.output_format.clone(),
        origin: loaded.origin,
        shadows_builtin: loaded.shadows_builtin,
        stage: config.evolution.as_ref().map(|evolution| evolution.stage).unwrap_or_default(),
        variables: variables
            .map(|variable| ListedVariable {
                name: variable.name.clone(),
                required: variable.required,
                description: variable.description.clone(),
            })
            .collect(),
        sources: sources.map(|input| input.source.clone()).collect(),
        versions: 0,
        latest_version: None,
        generated_at: None,
        problem: None,
    }
}

fn broken_content(id: &str, error: &Error) -> ListedContent {
    ListedContent {
        id: id.to_owned(),
        description: String::new(),
        format: String::new(),
        origin: Origin::Workspace,
        shadows_builtin: false,
        stage: Stage::Draft,
        variables: Vec::new(),
        sources: Vec::new(),
        versions: 0,
        latest_version: None,
        generated_at: None,
        problem: Some(error.to_string()),
    }
}

fn described_artifact(id: &str, loaded: &Loaded<ArtifactConfig>) -> ListedArtifact {
    let config = &loaded.config;
    let outputs = config.metadata.outputs.iter().map(|output| output.file.clone());
    ListedArtifact {
        id: id.to_owned(),
        title: config.metadata.title.clone(),
        purpose: config.metadata.purpose.clone(),
        outputs: outputs.collect(),
        written_elsewhere: Vec::new(),
        children: config.content.children.iter().map(|child| child.id.clone()).collect(),
        origin: loaded.origin,
        shadows_builtin: loaded.shadows_builtin,
        assembled_at: None,
        problem: None,
    }
}

fn broken_artifact(id: &str, error: &Error) -> ListedArtifact {
    ListedArtifact {
        id: id.to_owned(),
        title: String::new(),
        purpose: String::new(),
        outputs: Vec::new(),
        written_elsewhere: Vec::new(),
        children: Vec::new(),
        origin: Origin::Workspace,
        shadows_builtin: false,
        assembled_at: None,
        problem: Some(error.to_string()),
    }
}
