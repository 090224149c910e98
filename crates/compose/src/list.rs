//! `list_generators`, `list_content` and `list_artifacts`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Compose;
use crate::config::{ConfigType, Origin, Stage, Variable};
use crate::error::Result;
use crate::generator::{Listing, Source};
use crate::limits::check_range;
use crate::model::Timestamp;
use crate::version::created_at;

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

#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
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

#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
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
                // Only built-in generators are listed as absent.
                listing.absent.clear();
            }
        }
        GeneratorsResponse { success: true, listing }
    }

    pub fn list_content(&self, request: &ListRequest) -> Result<ContentListResponse> {
        let ids = self.inner.configs.ids(ConfigType::Content)?;
        let mut all: Vec<ListedContent> =
            ids.into_iter().map(|id| self.listed_content(id)).collect::<Result<_>>()?;
        all.retain(|one| {
            request.filter.fits(&[&one.id, &one.description], one.origin, one.versions > 0)
        });
        let total = all.len();
        sort_and_cut(&mut all, request, |one| one.generated_at)?;
        Ok(ContentListResponse { success: true, content: all, total })
    }

    pub fn list_artifacts(&self, request: &ListRequest) -> Result<ArtifactListResponse> {
        let ids = self.inner.configs.ids(ConfigType::Artifact)?;
        let mut all: Vec<ListedArtifact> =
            ids.into_iter().map(|id| self.listed_artifact(id)).collect::<Result<_>>()?;
        all.retain(|one| {
            let texts = [one.id.as_str(), &one.title, &one.purpose];
            request.filter.fits(&texts, one.origin, one.assembled_at.is_some())
        });
        let total = all.len();
        sort_and_cut(&mut all, request, |one| one.assembled_at)?;
        Ok(ArtifactListResponse { success: true, artifacts: all, total })
    }

    /// A broken config is listed with its problem.
    fn listed_content(&self, id: String) -> Result<ListedContent> {
        let versions = self.inner.versions.list(&id)?;
        let loaded = self.inner.configs.content(&id);
        let listed = ListedContent {
            id,
            versions: versions.len(),
            generated_at: versions.last().and_then(|name| created_at(name)),
            latest_version: versions.into_iter().next_back(),
            ..ListedContent::default()
        };
        let loaded = match loaded {
            Err(error) => return Ok(ListedContent { problem: Some(error.to_string()), ..listed }),
            Ok(loaded) => loaded,
        };
        let config = loaded.config;
        let variables = config.generation.patterns.into_iter().flat_map(|one| one.variables);
        let sources = config.inputs.into_iter().flat_map(|inputs| inputs.sources);
        Ok(ListedContent {
            description: config.metadata.description,
            format: config.metadata.output_format,
            origin: loaded.origin,
            shadows_builtin: loaded.shadows_builtin,
            stage: config.evolution.unwrap_or_default().stage,
            variables: variables.map(ListedVariable::from).collect(),
            sources: sources.map(|input| input.source).collect(),
            ..listed
        })
    }

    fn listed_artifact(&self, id: String) -> Result<ListedArtifact> {
        let loaded = self.inner.configs.artifact(&id);
        let manifest = self.manifest(&id)?;
        let mut listed = match loaded {
            Err(error) => {
                ListedArtifact { id, problem: Some(error.to_string()), ..ListedArtifact::default() }
            }
            Ok(loaded) => {
                let (metadata, children) = (loaded.config.metadata, loaded.config.content.children);
                ListedArtifact {
                    id,
                    title: metadata.title,
                    purpose: metadata.purpose,
                    outputs: metadata.outputs.into_iter().map(|output| output.file).collect(),
                    children: children.into_iter().map(|child| child.id).collect(),
                    origin: loaded.origin,
                    shadows_builtin: loaded.shadows_builtin,
                    ..ListedArtifact::default()
                }
            }
        };
        if let Some(manifest) = manifest {
            listed.assembled_at = Some(manifest.assembled_at);
            let written = manifest.outputs.into_keys();
            listed.written_elsewhere =
                written.filter(|file| !listed.outputs.contains(file)).collect();
        }
        Ok(listed)
    }
}

impl From<Variable> for ListedVariable {
    fn from(Variable { name, required, description, .. }: Variable) -> Self {
        Self { name, required, description }
    }
}

impl ListFilter {
    fn fits(&self, texts: &[&str], origin: Origin, made: bool) -> bool {
        let text = self.text.as_ref().map(|text| text.to_lowercase());
        text.is_none_or(|text| texts.iter().any(|one| one.to_lowercase().contains(&text)))
            && self.origin.is_none_or(|wanted| wanted == origin)
            && self.made.is_none_or(|wanted| wanted == made)
    }
}

/// Entries come sorted by id; those without a time are last in either order of time.
fn sort_and_cut<T>(
    all: &mut Vec<T>,
    request: &ListRequest,
    time: impl Fn(&T) -> Option<Timestamp>,
) -> Result<()> {
    check_range("limit", request.limit, MAX_LISTED)?;
    match request.sort {
        Sort::Id => {}
        Sort::Newest => all.sort_by_key(|one| std::cmp::Reverse(time(one))),
        Sort::Oldest => all.sort_by_key(|one| time(one).map_or((1, 0), |time| (0, time.0))),
    }
    all.truncate(request.limit);
    Ok(())
}
