//! `config://`, `schema://`, `content://` and `generator://`.

use std::collections::HashMap;

use kenning_compose::config::{ConfigType, SCHEMAS};
use kenning_compose::list::GeneratorsRequest;
use kenning_compose::{Compose, Error};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;

use crate::house::House;
use crate::inventory::Toolset;
use crate::resource::{Parameter, ReadError, ResourceFamily};
use crate::rooms::Rooms;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// Configs, as they are written.
#[derive(Debug, Clone, Copy)]
pub struct ConfigResources;

impl ResourceFamily for ConfigResources {
    fn scheme(&self) -> &'static str {
        "config"
    }

    fn toolset(&self) -> Option<Toolset> {
        Some(Toolset::Compose)
    }

    fn description(&self) -> &'static str {
        "What can be generated and assembled: configs of the workspace and built-in ones"
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![
            template("config://artifact/{artifact_id}", "artifact_config", JSON)
                .with_title("Artifact config")
                .with_description("What files are put together from"),
            template("config://content/{content_id}", "content_config", JSON)
                .with_title("Content config")
                .with_description("How a text is made"),
        ]
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("artifact_id", "The id of an artifact config"),
            Parameter::new("content_id", "The id of a content config"),
        ]
    }

    fn list(&self, rooms: &Rooms, after: Option<&str>, limit: usize) -> Vec<Resource> {
        // In the order of their URIs.
        let all = [ConfigType::Artifact, ConfigType::Content].into_iter().flat_map(|config_type| {
            let ids = of(rooms, |compose| compose.config_ids(config_type));
            ids.into_iter().map(move |id| format!("config://{config_type}/{id}"))
        });
        page(all, after, limit, JSON)
    }

    fn read(&self, house: &House, uri: &str) -> Result<ResourceContents, ReadError> {
        let named = uri.strip_prefix("config://").and_then(|rest| rest.split_once('/'));
        let (config_type, id) = match named {
            Some(("content", id)) => (ConfigType::Content, id),
            Some(("artifact", id)) => (ConfigType::Artifact, id),
            _ => return Err(malformed(uri, "config://content/agents-md")),
        };
        Ok(json(uri, &house.rooms.compose()?.config(config_type, id)?))
    }

    fn is_live(&self) -> bool {
        true
    }

    fn complete(&self, rooms: &Rooms, argument: &str, _: &HashMap<String, String>) -> Vec<String> {
        match argument {
            "artifact_id" => of(rooms, |compose| compose.config_ids(ConfigType::Artifact)),
            "content_id" => of(rooms, |compose| compose.config_ids(ConfigType::Content)),
            _ => Vec::new(),
        }
    }
}

/// JSON Schemas of what can be written.
#[derive(Debug, Clone, Copy)]
pub struct SchemaResources;

impl ResourceFamily for SchemaResources {
    fn scheme(&self) -> &'static str {
        "schema"
    }

    fn toolset(&self) -> Option<Toolset> {
        Some(Toolset::Compose)
    }

    fn description(&self) -> &'static str {
        "JSON Schemas of configs and plugins"
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let schema = template("schema://{schema_name}", "schema", JSON)
            .with_title("JSON Schema")
            .with_description("What a content config, an artifact config or a plugin has");
        vec![schema]
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter {
            name: "schema_name",
            description: "Whose schema",
            values: Some(SCHEMAS.to_vec()),
        }]
    }

    fn list(&self, _: &Rooms, after: Option<&str>, limit: usize) -> Vec<Resource> {
        let mut names = SCHEMAS;
        names.sort_unstable();
        page(names.map(|name| format!("schema://{name}")), after, limit, JSON)
    }

    fn read(&self, house: &House, uri: &str) -> Result<ResourceContents, ReadError> {
        let name = uri.strip_prefix("schema://").unwrap_or_default();
        Ok(json(uri, &house.rooms.compose()?.schema(name)?))
    }

    fn complete(&self, _: &Rooms, _: &str, _: &HashMap<String, String>) -> Vec<String> {
        SCHEMAS.map(str::to_owned).to_vec()
    }
}

/// What was generated.
#[derive(Debug, Clone, Copy)]
pub struct ContentResources;

impl ResourceFamily for ContentResources {
    fn scheme(&self) -> &'static str {
        "content"
    }

    fn toolset(&self) -> Option<Toolset> {
        Some(Toolset::Compose)
    }

    fn description(&self) -> &'static str {
        "Generated texts: the latest version, or a certain one"
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![
            template("content://{content_id}", "content", TEXT)
                .with_title("Generated content")
                .with_description("The latest version of a text"),
            template("content://{content_id}/{version_id}", "content_version", TEXT)
                .with_title("Version of generated content")
                .with_description("One version of a text"),
        ]
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("content_id", "The id of a content that was generated"),
            Parameter::new("version_id", "One of its versions"),
        ]
    }

    fn list(&self, rooms: &Rooms, after: Option<&str>, limit: usize) -> Vec<Resource> {
        let ids = of(rooms, Compose::content_ids);
        page(ids.into_iter().map(|id| format!("content://{id}")), after, limit, TEXT)
    }

    fn read(&self, house: &House, uri: &str) -> Result<ResourceContents, ReadError> {
        let rest = uri.strip_prefix("content://").unwrap_or_default();
        let (id, version) = match rest.split_once('/') {
            Some((id, version)) => (id, Some(version)),
            None => (rest, None),
        };
        let found = house.rooms.compose()?.content(id, version)?;
        let text = found.content.ok_or_else(|| ReadError {
            message: format!("the content of `{uri}` was deleted"),
            hint: format!("`generate_content` with `{id}` generates it again"),
        })?;
        Ok(ResourceContents::text(text, uri).with_mime_type(mime_type(&found.format)))
    }

    fn is_live(&self) -> bool {
        true
    }

    fn complete(
        &self,
        rooms: &Rooms,
        argument: &str,
        chosen: &HashMap<String, String>,
    ) -> Vec<String> {
        match (argument, chosen.get("content_id")) {
            ("content_id", _) => of(rooms, Compose::content_ids),
            ("version_id", Some(id)) => of(rooms, |compose| compose.version_ids(id)),
            _ => Vec::new(),
        }
    }
}

/// What writes texts, one by one.
#[derive(Debug, Clone, Copy)]
pub struct GeneratorResources;

impl ResourceFamily for GeneratorResources {
    fn scheme(&self) -> &'static str {
        "generator"
    }

    fn toolset(&self) -> Option<Toolset> {
        Some(Toolset::Compose)
    }

    fn description(&self) -> &'static str {
        "Generators: what each can do and needs"
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let generator = template("generator://{generator_type}", "generator", JSON)
            .with_title("Generator")
            .with_description("What a generator can do, needs and is best for");
        vec![generator]
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("generator_type", "The type of a generator, such as jinja2")]
    }

    fn list(&self, rooms: &Rooms, after: Option<&str>, limit: usize) -> Vec<Resource> {
        page(types(rooms).into_iter().map(|name| format!("generator://{name}")), after, limit, JSON)
    }

    fn read(&self, house: &House, uri: &str) -> Result<ResourceContents, ReadError> {
        let generator_type = uri.strip_prefix("generator://").unwrap_or_default();
        Ok(json(uri, &house.rooms.compose()?.generator(generator_type)?))
    }

    fn is_live(&self) -> bool {
        true
    }

    fn complete(&self, rooms: &Rooms, _: &str, _: &HashMap<String, String>) -> Vec<String> {
        types(rooms)
    }
}

/// All types, sorted; those that cannot be used now can still be read about.
fn types(rooms: &Rooms) -> Vec<String> {
    let Ok(compose) = rooms.compose() else { return Vec::new() };
    let listing = compose.list_generators(&GeneratorsRequest::default()).listing;
    let absent = listing.absent.into_iter().map(|absent| absent.generator_type);
    let mut types: Vec<String> = listing.generators.into_keys().chain(absent).collect();
    types.sort();
    types
}

fn template(uri: &str, name: &str, mime_type: &str) -> ResourceTemplate {
    ResourceTemplate::new(uri, name).with_mime_type(mime_type)
}

/// Without a workspace there is nothing.
fn of(rooms: &Rooms, list: impl Fn(&Compose) -> Result<Vec<String>, Error>) -> Vec<String> {
    rooms.compose().and_then(list).unwrap_or_default()
}

/// Those that come after a URI. The one of the cursor may be gone; its place in the order is not.
fn page(
    sorted: impl IntoIterator<Item = String>,
    after: Option<&str>,
    limit: usize,
    mime_type: &str,
) -> Vec<Resource> {
    let rest = sorted.into_iter().filter(|uri| after.is_none_or(|after| uri.as_str() > after));
    let describe = |uri: String| {
        let name = uri.split_once("://").map_or(uri.as_str(), |(_, name)| name).to_owned();
        Resource::new(uri, name).with_mime_type(mime_type)
    };
    rest.take(limit).map(describe).collect()
}

fn malformed(uri: &str, example: &str) -> ReadError {
    ReadError {
        message: format!("`{uri}` names nothing"),
        hint: format!("URIs look like `{example}`"),
    }
}

fn json<T: Serialize>(uri: &str, answer: &T) -> ResourceContents {
    let text = serde_json::to_string(answer).expect("answers are plain JSON");
    ResourceContents::text(text, uri).with_mime_type(JSON)
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
