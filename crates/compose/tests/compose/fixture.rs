//! A workspace in temporary folders, and configs for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kenning_compose::assemble::{AssembleRequest, AssembleResponse};
use kenning_compose::config::ConfigType;
use kenning_compose::generate::{
    GenerateRequest, GenerateResponse, PreviewRequest, PreviewResponse,
};
use kenning_compose::generator::Listing;
use kenning_compose::list::{GeneratorsRequest, ListRequest, ListedContent};
use kenning_compose::validate::{Rule, ValidateRequest, ValidateResponse};
use kenning_compose::{Compose, Error, Limits, Parts, Timestamp};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

pub(crate) struct Fixture {
    pub(crate) compose: Compose,
    pub(crate) root: TempDir,
    pub(crate) state: TempDir,
    pub(crate) clock: Clock,
}

/// A clock that stands still until a test advances it.
#[derive(Clone)]
pub(crate) struct Clock(Arc<AtomicI64>);

impl Clock {
    pub(crate) fn pass_days(&self, days: i64) {
        self.0.fetch_add(days * 86_400_000, Ordering::SeqCst);
    }
}

pub(crate) fn fixture() -> Fixture {
    fixture_with(|parts| parts)
}

pub(crate) fn limited(limits: Limits) -> Fixture {
    fixture_with(|parts| Parts { limits, ..parts })
}

pub(crate) fn fixture_with(change: impl FnOnce(Parts) -> Parts) -> Fixture {
    let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = Clock(Arc::new(AtomicI64::new(1_766_829_600_000)));
    let time = clock.clone();
    let parts = Parts {
        clock: Arc::new(move || Timestamp(time.0.load(Ordering::SeqCst))),
        ..Parts::new(root.path(), state.path())
    };
    let compose = Compose::open(change(parts)).unwrap();
    Fixture { compose, root, state, clock }
}

impl Fixture {
    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.path().join(path)).unwrap()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root.path().join(path).exists()
    }

    pub(crate) fn put(&self, config: &Value) {
        let (kind, id) = (config["type"].as_str().unwrap(), config["id"].as_str().unwrap());
        self.file(&format!(".kenning/compose/{kind}/{id}.json"), &config.to_string());
    }

    /// A content config with one pattern that has this template.
    pub(crate) fn template(&self, id: &str, template: &str) {
        self.put(&content(id, json!({"template": template})));
    }

    pub(crate) fn generate(&self, id: &str, context: Value) -> Result<GenerateResponse, Error> {
        self.compose.generate_content(&GenerateRequest {
            content_config_id: id.to_owned(),
            context: Some(object(context)),
            force: false,
        })
    }

    /// The text of a content that must be generated.
    pub(crate) fn text(&self, id: &str, context: Value) -> String {
        self.generate(id, context).unwrap().shown.content
    }

    /// What a jinja2 template renders.
    pub(crate) fn render(&self, template: &str, context: Value) -> Result<String, Error> {
        self.pattern(json!({"type": "jinja2", "template": template}), context)
    }

    /// What a pattern generates.
    pub(crate) fn pattern(&self, pattern: Value, context: Value) -> Result<String, Error> {
        self.put(&content("under-test", pattern));
        Ok(self.preview("under-test", context)?.shown.content)
    }

    pub(crate) fn preview(&self, id: &str, context: Value) -> Result<PreviewResponse, Error> {
        self.compose.preview_generation(&PreviewRequest {
            content_config_id: id.to_owned(),
            context: Some(object(context)),
            show_metadata: true,
        })
    }

    pub(crate) fn assemble(&self, id: &str) -> Result<AssembleResponse, Error> {
        self.assemble_with(id, |_| ())
    }

    pub(crate) fn assemble_with(
        &self,
        id: &str,
        edit: impl FnOnce(&mut AssembleRequest),
    ) -> Result<AssembleResponse, Error> {
        let artifact_config_id = id.to_owned();
        let mut request = AssembleRequest { artifact_config_id, ..AssembleRequest::default() };
        edit(&mut request);
        self.compose.assemble_artifact(&request)
    }

    pub(crate) fn validate(
        &self,
        id: &str,
        validation_rules: Vec<Rule>,
        config_type: Option<ConfigType>,
    ) -> Result<ValidateResponse, Error> {
        let content_or_config_id = id.to_owned();
        let request = ValidateRequest { content_or_config_id, validation_rules, config_type };
        self.compose.validate_content(&request)
    }

    pub(crate) fn generators(&self) -> Listing {
        self.compose.list_generators(&GeneratorsRequest::default()).listing
    }

    pub(crate) fn contents(&self) -> Vec<ListedContent> {
        self.compose.list_content(&ListRequest::default()).unwrap().content
    }

    /// The versions of a content, oldest first.
    pub(crate) fn versions(&self, id: &str) -> Vec<String> {
        self.compose.version_ids(id).unwrap()
    }

    /// A file below the state folder.
    pub(crate) fn state_file(&self, path: &str) -> String {
        std::fs::read_to_string(self.state.path().join(path)).unwrap()
    }
}

pub(crate) fn files(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push(path);
        }
    }
    all
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => panic!("not an object: {other}"),
    }
}

/// A content config with one pattern, which gets an id if it has none.
pub(crate) fn content(id: &str, mut pattern: Value) -> Value {
    if pattern["id"].is_null() {
        pattern["id"] = json!("main");
    }
    json!({
        "type": "content",
        "id": id,
        "schemaRef": {"id": "content", "version": "1.0"},
        "metadata": {
            "description": format!("the content {id}"),
            "version": "1.0.0",
            "generation_frequency": "manual",
            "output_format": "markdown",
        },
        "elements": [{"name": "body", "format": "markdown"}],
        "generation": {"patterns": [pattern]},
    })
}

/// An artifact config that writes `OUT.md` from these children.
#[expect(clippy::needless_pass_by_value, reason = "cases read better with the value in them")]
pub(crate) fn artifact(id: &str, strategy: &str, children: Value) -> Value {
    json!({
        "type": "artifact",
        "id": id,
        "schemaRef": {"id": "artifact", "version": "1.0"},
        "metadata": {
            "title": format!("The artifact {id}"),
            "purpose": "to be tested",
            "outputs": [{"file": "OUT.md", "format": "markdown"}],
            "compositionStrategy": strategy,
        },
        "content": {"children": children},
    })
}

/// The code of an outcome that must be an error.
pub(crate) fn code<T: std::fmt::Debug>(outcome: Result<T, Error>) -> &'static str {
    outcome.unwrap_err().code().as_str()
}
