//! A workspace with valid configs, and with configs that fail in every way there is.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kenning_catalog::clients;
use kenning_compose::generate::GenerateRequest;
use kenning_compose::sources::{ClientSetup, ClientsDigest, SourceError, Sources};
use kenning_compose::{Compose, Limits, Parts, Timestamp};
use serde_json::{Value, json};

/// A draft that asks for `name`, one whose template is broken, and one that never ends.
pub(crate) const DRAFT: &str = "draft-content-000000000001";
pub(crate) const BROKEN_DRAFT: &str = "draft-content-000000000002";
pub(crate) const ENDLESS_DRAFT: &str = "draft-content-000000000003";

const NEEDS_NAME: &str = "Hello {{name}}";
const BROKEN: &str = "{% if %}";
const ENDLESS: &str =
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";

/// The only source that the examples read: clients by name.
struct Clients;

impl Sources for Clients {
    fn read(&self, name: &str, params: &Value) -> Result<Value, SourceError> {
        if name != "clients" {
            return Err(SourceError(format!("there is no source `{name}` here")));
        }
        let wanted = params["client"].as_str().map(|name| clients::find(name).unwrap());
        let clients = clients::all().iter().filter(|one| wanted.is_none_or(|it| it.id == one.id));
        let setup = |client: &clients::Client| ClientSetup {
            id: client.id.clone(),
            name: client.name.clone(),
            ..ClientSetup::default()
        };
        Ok(json!(ClientsDigest { clients: clients.map(setup).collect() }))
    }
}

/// Its folder is removed with it, because the clock owns the folder.
pub(crate) fn open_at(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Compose {
    let folder = tempfile::tempdir().unwrap();
    let (root, state) = (folder.path().join("workspace"), folder.path().join("state"));
    for config in contents().into_iter().chain(artifacts()) {
        let (kind, id) = (config["type"].as_str().unwrap(), config["id"].as_str().unwrap());
        write(&root, &format!(".kenning/compose/{kind}/{id}.json"), &config.to_string());
    }
    write(&root, "occupied.md", "written by hand\n");
    for (id, template) in [(DRAFT, NEEDS_NAME), (BROKEN_DRAFT, BROKEN), (ENDLESS_DRAFT, ENDLESS)] {
        let draft = json!({
            "draft_id": id, "config_type": "content", "created_at": "2026-05-01T00:00:00.000Z",
            "config_data": content("draft", &json!({"template": template})),
        });
        write(&state, &format!("drafts/{id}.json"), &draft.to_string());
    }
    let clock = move || {
        let _kept = &folder;
        clock()
    };
    let (clock, sources) = (Arc::new(clock), Arc::new(Clients));
    let parts = Parts { clock, sources, ..Parts::new(root, state) };
    let compose = Compose::open(parts).unwrap();
    for id in ["client-config", "referenced"] {
        let content_config_id = id.to_owned();
        let request = GenerateRequest { content_config_id, ..GenerateRequest::default() };
        compose.generate_content(&request).unwrap();
    }
    compose
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn content(id: &str, pattern: &Value) -> Value {
    let mut pattern = pattern.clone();
    pattern["id"] = json!("main");
    json!({
        "type": "content", "id": id, "schemaRef": {"id": "content", "version": "1.0"},
        "metadata": {"description": "for a test", "version": "1.0.0", "output_format": "text"},
        "elements": [{"name": "body"}],
        "generation": {"patterns": [pattern]},
    })
}

/// An artifact with so many children.
pub(crate) fn artifact(id: &str, children: usize) -> Value {
    let children = (0..children).map(|n| {
        if n == 0 { json!({"id": "referenced"}) } else { json!({"id": format!("child-{n}")}) }
    });
    json!({
        "type": "artifact", "id": id, "schemaRef": {"id": "artifact", "version": "1.0"},
        "metadata": {
            "title": "For a test", "purpose": "to be tested",
            "outputs": [{"file": format!("{id}.md"), "format": "text"}],
        },
        "content": {"children": children.collect::<Vec<_>>()},
    })
}

fn contents() -> Vec<Value> {
    let mut invalid = content("invalid", &json!({"template": "x"}));
    invalid["elements"] = json!([]);
    vec![
        content("needs-name", &json!({"template": NEEDS_NAME})),
        content("broken", &json!({"template": BROKEN})),
        content("endless", &json!({"template": ENDLESS})),
        content("needs-model", &json!({"type": "code_generation", "specification": "x"})),
        content("referenced", &json!({"template": "plain"})),
        invalid,
    ]
}

fn artifacts() -> Vec<Value> {
    let mut invalid = artifact("invalid", 1);
    invalid["metadata"]["outputs"] = json!([]);
    let mut merged = artifact("merged", 1);
    merged["metadata"]["compositionStrategy"] = json!("merge");
    let mut broken = artifact("broken", 1);
    broken["metadata"]["compositionStrategy"] = json!("template");
    broken["content"]["template"] = json!(BROKEN);
    let too_many = artifact("too-many", Limits::default().max_artifact_components + 1);
    vec![artifact("occupied", 1), invalid, merged, broken, too_many]
}
