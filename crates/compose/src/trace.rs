//! `trace_dependencies`: the children of an artifact, and whether each is ready.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Compose;
use crate::config::{Child, ContentConfig};
use crate::error::Result;
use crate::id::{MAX_ID, PATTERN};
use crate::model::yes;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceRequest {
    /// Id of an artifact config
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub artifact_config_id: String,
    /// Look whether each part is there
    #[serde(default = "yes")]
    pub check_status: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TraceResponse {
    pub success: bool,
    pub artifact_id: String,
    /// Absent without `check_status`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Readiness>,
    pub outputs: Vec<String>,
    /// In the order in which they are put together
    pub dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    Ready,
    /// Something has not been generated yet, or cannot be now
    Incomplete,
    /// Something has no config, or one that is broken
    MissingConfig,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Dependency {
    pub id: String,
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Readiness>,
    /// The file it is taken from, if it is not generated
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub retrieval: String,
    pub generators: Vec<String>,
    pub sources: Vec<String>,
    /// Values it needs
    pub required_variables: Vec<String>,
    pub versions: usize,
    /// Why it is not ready
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Compose {
    pub fn trace_dependencies(&self, request: &TraceRequest) -> Result<TraceResponse> {
        let config = self.inner.configs.artifact(&request.artifact_config_id)?.config;
        let mut children: Vec<&Child> = config.content.children.iter().collect();
        children.sort_by_key(|child| child.order);
        let dependencies = children.into_iter().map(|child| self.dependency(child));
        let mut dependencies: Vec<Dependency> = dependencies.collect::<Result<_>>()?;
        let needed = dependencies.iter().filter(|one| one.required);
        let status = needed.filter_map(|one| one.status).max().unwrap_or(Readiness::Ready);
        if !request.check_status {
            for dependency in &mut dependencies {
                (dependency.status, dependency.problem) = (None, None);
            }
        }
        Ok(TraceResponse {
            success: true,
            artifact_id: config.id.clone(),
            status: request.check_status.then_some(status),
            outputs: config.metadata.outputs.into_iter().map(|output| output.file).collect(),
            dependencies,
        })
    }

    fn dependency(&self, child: &Child) -> Result<Dependency> {
        let mut dependency = Dependency {
            id: child.id.clone(),
            required: child.required,
            status: Some(Readiness::Ready),
            path: child.path.clone(),
            retrieval: child.retrieval_strategy.to_string(),
            ..Dependency::default()
        };
        if let Some(path) = &child.path {
            match self.file(path) {
                Ok(Some(_)) => {}
                Ok(None) => dependency.unready(Readiness::Incomplete, "there is no such file"),
                Err(error) => dependency.unready(Readiness::Incomplete, &error.to_string()),
            }
            return Ok(dependency);
        }
        dependency.versions = self.inner.versions.list(&child.id)?.len();
        match self.inner.configs.content(&child.id) {
            Err(error) => dependency.unready(Readiness::MissingConfig, &error.to_string()),
            Ok(loaded) => self.describe(&mut dependency, &loaded.config),
        }
        let found = self.inner.versions.retrieve(&child.id, &child.retrieval_strategy);
        let is_stored =
            found.is_ok_and(|found| found.iter().any(|version| version.content.is_some()));
        if !is_stored && dependency.status == Some(Readiness::Ready) {
            dependency.unready(Readiness::Incomplete, "it has not been generated yet");
        }
        Ok(dependency)
    }

    fn describe(&self, dependency: &mut Dependency, config: &ContentConfig) {
        for pattern in &config.generation.patterns {
            match self.resolve(config, pattern) {
                Ok((selection, _)) => {
                    if let Err(error) = self.inner.generators.ready(&selection) {
                        dependency.unready(Readiness::Incomplete, &error.to_string());
                    }
                    dependency.generators.push(selection.generator_type);
                }
                Err(error) => dependency.unready(Readiness::Incomplete, &error.to_string()),
            }
            let required =
                pattern.variables.iter().filter(|one| one.required && one.default.is_none());
            dependency.required_variables.extend(required.map(|one| one.name.clone()));
        }
        let sources = config.inputs.iter().flat_map(|inputs| &inputs.sources);
        dependency.sources = sources.map(|input| input.source.clone()).collect();
    }
}

impl Dependency {
    fn unready(&mut self, status: Readiness, problem: &str) {
        self.status = Some(status);
        self.problem = Some(problem.to_owned());
    }
}
