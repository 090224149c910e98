//! `config://`, `schema://`, `content://` and `generator://`.

use std::collections::HashMap;

use kenning_compose::config::{ConfigType, SCHEMAS};
use kenning_compose::list::GeneratorsRequest;
use kenning_compose::{Compose, Error};

use crate::limiter::Workload;
use crate::resource::{
    Contents, Family, JSON, Parameter, ReadError, Resource, ResourceFamily, Template,
};
use crate::services::Services;
use crate::state::AppState;
use crate::toolset::Toolset;

const TEXT: &str = "text/plain";

static CONFIGS: Family = Family {
    scheme: "config",
    toolset: Some(Toolset::Compose),
    description: "What can be generated and assembled: configs of the workspace and built-in ones",
    templates: &[
        Template {
            uri: "config://artifact/{artifact_id}",
            name: "artifact_config",
            title: "Artifact config",
            description: "What files are put together from",
            mime_type: JSON,
        },
        Template {
            uri: "config://content/{content_id}",
            name: "content_config",
            title: "Content config",
            description: "How a text is made",
            mime_type: JSON,
        },
    ],
    parameters: &[
        Parameter::new("artifact_id", "The id of an artifact config"),
        Parameter::new("content_id", "The id of a content config"),
    ],
    is_live: true,
    workload: Workload::Local,
};

/// Configs, as they are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfigResources;

impl ResourceFamily for ConfigResources {
    fn family(&self) -> &'static Family {
        &CONFIGS
    }

    fn list(&self, services: &Services, after: Option<&str>, limit: usize) -> Vec<Resource> {
        // In the order of their URIs.
        let all = [ConfigType::Artifact, ConfigType::Content].into_iter().flat_map(|config_type| {
            let ids = of(services, |compose| compose.config_ids(config_type));
            ids.into_iter().map(move |id| format!("config://{config_type}/{id}"))
        });
        page(all, after, limit, JSON)
    }

    fn read(&self, state: &AppState, uri: &str) -> Result<Contents, ReadError> {
        let named = uri.strip_prefix("config://").and_then(|rest| rest.split_once('/'));
        let (config_type, id) = match named {
            Some(("content", id)) => (ConfigType::Content, id),
            Some(("artifact", id)) => (ConfigType::Artifact, id),
            _ => return Err(malformed(uri, "config://content/agents-md")),
        };
        Ok(Contents::json(uri, &state.services.compose()?.config(config_type, id)?))
    }

    fn complete(
        &self,
        services: &Services,
        argument: &str,
        _: &HashMap<String, String>,
    ) -> Vec<String> {
        match argument {
            "artifact_id" => of(services, |compose| compose.config_ids(ConfigType::Artifact)),
            "content_id" => of(services, |compose| compose.config_ids(ConfigType::Content)),
            _ => Vec::new(),
        }
    }
}

static SCHEMA_FAMILY: Family = Family {
    scheme: "schema",
    toolset: Some(Toolset::Compose),
    description: "JSON Schemas of configs and plugins",
    templates: &[Template {
        uri: "schema://{schema_name}",
        name: "schema",
        title: "JSON Schema",
        description: "What a content config, an artifact config or a plugin has",
        mime_type: JSON,
    }],
    parameters: &[Parameter {
        name: "schema_name",
        description: "Whose schema",
        values: Some(&SCHEMAS),
    }],
    is_live: false,
    workload: Workload::Local,
};

/// JSON Schemas of what can be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaResources;

impl ResourceFamily for SchemaResources {
    fn family(&self) -> &'static Family {
        &SCHEMA_FAMILY
    }

    fn list(&self, _: &Services, after: Option<&str>, limit: usize) -> Vec<Resource> {
        let mut names = SCHEMAS;
        names.sort_unstable();
        page(names.map(|name| format!("schema://{name}")), after, limit, JSON)
    }

    fn read(&self, state: &AppState, uri: &str) -> Result<Contents, ReadError> {
        let name = uri.strip_prefix("schema://").unwrap_or_default();
        Ok(Contents::json(uri, &state.services.compose()?.schema(name)?))
    }

    fn complete(&self, _: &Services, _: &str, _: &HashMap<String, String>) -> Vec<String> {
        SCHEMAS.map(str::to_owned).to_vec()
    }
}

static CONTENTS: Family = Family {
    scheme: "content",
    toolset: Some(Toolset::Compose),
    description: "Generated texts: the latest version, or a certain one",
    templates: &[
        Template {
            uri: "content://{content_id}",
            name: "content",
            title: "Generated content",
            description: "The latest version of a text",
            mime_type: TEXT,
        },
        Template {
            uri: "content://{content_id}/{version_id}",
            name: "content_version",
            title: "Version of generated content",
            description: "One version of a text",
            mime_type: TEXT,
        },
    ],
    parameters: &[
        Parameter::new("content_id", "The id of a content that was generated"),
        Parameter::new("version_id", "One of its versions"),
    ],
    is_live: true,
    workload: Workload::Local,
};

/// The URI of the latest version of a content.
pub fn content_uri(id: &str) -> String {
    format!("content://{id}")
}

fn readable_content_ids(compose: &Compose) -> Result<Vec<String>, Error> {
    let ids = compose.content_ids()?.into_iter();
    Ok(ids.filter(|id| compose.has_content(id)).collect())
}

/// What was generated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentResources;

impl ResourceFamily for ContentResources {
    fn family(&self) -> &'static Family {
        &CONTENTS
    }

    fn list(&self, services: &Services, after: Option<&str>, limit: usize) -> Vec<Resource> {
        // Read one by one, as far as the page goes.
        let readable = |uri: &String| {
            let id = uri.strip_prefix("content://").unwrap_or_default();
            services.compose().is_ok_and(|compose| compose.has_content(id))
        };
        let uris = of(services, Compose::content_ids).into_iter().map(|id| content_uri(&id));
        let after_cursor = uris.filter(|uri| after.is_none_or(|after| uri.as_str() > after));
        page(after_cursor.filter(readable), None, limit, TEXT)
    }

    fn read(&self, state: &AppState, uri: &str) -> Result<Contents, ReadError> {
        let rest = uri.strip_prefix("content://").unwrap_or_default();
        let (id, version) = match rest.split_once('/') {
            Some((id, version)) => (id, Some(version)),
            None => (rest, None),
        };
        let found = state.services.compose()?.content(id, version)?;
        let text = found.content.ok_or_else(|| ReadError {
            message: format!("the content of `{uri}` was deleted"),
            hint: format!("`generate_content` with `{id}` generates it again"),
        })?;
        Ok(Contents::new(uri, mime_type(&found.format), text))
    }

    fn complete(
        &self,
        services: &Services,
        argument: &str,
        chosen: &HashMap<String, String>,
    ) -> Vec<String> {
        match (argument, chosen.get("content_id")) {
            ("content_id", _) => of(services, readable_content_ids),
            ("version_id", Some(id)) => of(services, |compose| compose.version_ids(id)),
            _ => Vec::new(),
        }
    }
}

static GENERATORS: Family = Family {
    scheme: "generator",
    toolset: Some(Toolset::Compose),
    description: "Generators: what each can do and needs",
    templates: &[Template {
        uri: "generator://{generator_type}",
        name: "generator",
        title: "Generator",
        description: "What a generator can do, needs and is best for",
        mime_type: JSON,
    }],
    parameters: &[Parameter::new("generator_type", "The type of a generator, such as jinja2")],
    is_live: true,
    workload: Workload::Local,
};

/// What writes texts, one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GeneratorResources;

impl ResourceFamily for GeneratorResources {
    fn family(&self) -> &'static Family {
        &GENERATORS
    }

    fn list(&self, services: &Services, after: Option<&str>, limit: usize) -> Vec<Resource> {
        page(
            types(services).into_iter().map(|name| format!("generator://{name}")),
            after,
            limit,
            JSON,
        )
    }

    fn read(&self, state: &AppState, uri: &str) -> Result<Contents, ReadError> {
        let generator_type = uri.strip_prefix("generator://").unwrap_or_default();
        Ok(Contents::json(uri, &state.services.compose()?.generator(generator_type)?))
    }

    fn complete(&self, services: &Services, _: &str, _: &HashMap<String, String>) -> Vec<String> {
        types(services)
    }
}

/// All types, sorted; those that cannot be used now can still be read about.
fn types(services: &Services) -> Vec<String> {
    let Ok(compose) = services.compose() else { return Vec::new() };
    let listing = compose.list_generators(&GeneratorsRequest::default()).listing;
    let absent = listing.absent.into_iter().map(|absent| absent.generator_type);
    let mut types: Vec<String> = listing.generators.into_keys().chain(absent).collect();
    types.sort();
    types
}

/// Nothing without a workspace.
fn of(services: &Services, list: impl Fn(&Compose) -> Result<Vec<String>, Error>) -> Vec<String> {
    services.compose().and_then(list).unwrap_or_default()
}

/// The resources that come after a URI. The cursor's own may be gone; its place in the order is not.
fn page(
    sorted: impl IntoIterator<Item = String>,
    after: Option<&str>,
    limit: usize,
    mime_type: &'static str,
) -> Vec<Resource> {
    let rest = sorted.into_iter().filter(|uri| after.is_none_or(|after| uri.as_str() > after));
    let describe = |uri: String| {
        let name = uri.split_once("://").map_or(uri.as_str(), |(_, name)| name).to_owned();
        Resource::new(uri, name, mime_type)
    };
    rest.take(limit).map(describe).collect()
}

fn malformed(uri: &str, example: &str) -> ReadError {
    ReadError {
        message: format!("`{uri}` names nothing"),
        hint: format!("URIs look like `{example}`"),
    }
}

fn mime_type(format: &str) -> &'static str {
    match format {
        "markdown" | "md" => "text/markdown",
        "json" => JSON,
        "yaml" | "yml" => "application/yaml",
        "html" => "text/html",
        _ => TEXT,
    }
}
