//! Generating, skipping unchanged contents, previewing, regenerating, reading sources.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kenning_compose::generate::{GenerateRequest, GenerationStatus, RegenerateRequest};
use kenning_compose::sources::{SourceError, Sources};
use kenning_compose::{Error, Parts};
use serde_json::{Value, json};

use crate::fixture::{code, content, files, fixture, fixture_with, object};

#[test]
fn skips_unchanged_contents() {
    let fixture = fixture();
    fixture.template("c", "{{ a }}");
    let first = fixture.generate("c", json!({"a": 1, "b": {"x": 1, "y": 2}})).unwrap();
    assert_eq!(first.status, GenerationStatus::Generated);
    let again = fixture.generate("c", json!({"b": {"y": 2, "x": 1}, "a": 1})).unwrap();
    assert_eq!((again.status, &again.version), (GenerationStatus::Skipped, &first.version));
    assert_eq!(again.shown.content, "1");
    let other = fixture.generate("c", json!({"a": 2})).unwrap();
    assert_eq!(other.status, GenerationStatus::Regenerated);
    assert_eq!(other.previous_version.as_deref(), Some(first.version.as_str()));
    fixture.template("c", "changed {{ a }}");
    let status = fixture.generate("c", json!({"a": 2})).unwrap().status;
    assert_eq!(status, GenerationStatus::Regenerated);
    let forced = fixture.compose.generate_content(&GenerateRequest {
        content_config_id: "c".to_owned(),
        context: Some(object(json!({"a": 2}))),
        force: true,
    });
    assert_eq!(forced.unwrap().status, GenerationStatus::Regenerated);
    assert_eq!(fixture.versions("c").len(), 4);
}

#[test]
fn included_files_are_inputs() {
    let fixture = fixture();
    fixture.file("t.j2", "{% include 'inner.j2' %}");
    fixture.file("inner.j2", "one");
    fixture.put(&content("c", json!({"template_file": "t.j2"})));
    assert_eq!(fixture.text("c", json!({})), "one");
    assert_eq!(fixture.generate("c", json!({})).unwrap().status, GenerationStatus::Skipped);
    fixture.file("inner.j2", "two");
    assert_eq!(fixture.text("c", json!({})), "two");
    fixture.file("t.j2", "three");
    assert_eq!(fixture.text("c", json!({})), "three");
}

#[test]
fn names_missing_required_variables() {
    let fixture = fixture();
    let variables = json!([
        {"name": "a", "required": true},
        {"name": "b", "required": true},
        {"name": "c", "default": "see"},
        {"name": "d", "default": null},
    ]);
    let template = "{{ a }}{{ b }}{{ c }}{% if d %}d{% endif %}";
    fixture.put(&content("c", json!({"template": template, "variables": variables})));
    match fixture.generate("c", json!({"a": 1})) {
        Err(Error::MissingVariables { id, names }) => {
            assert_eq!((id.as_str(), names), ("c", vec!["b".to_owned()]));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fixture.text("c", json!({"a": 1, "b": 2})), "12see");
}

#[test]
fn joins_several_patterns() {
    let fixture = fixture();
    let mut config = content("c", json!({}));
    config["generation"]["patterns"] = json!([
        {"id": "a", "template": "# {{ title|upper }}"},
        {"id": "b", "template": "{{title}}\n"},
        {"id": "c", "template": "end"},
    ]);
    fixture.put(&config);
    let generated = fixture.generate("c", json!({"title": "t"})).unwrap();
    assert_eq!(generated.shown.content, "# T\nt\nend");
    assert_eq!(generated.generators, ["jinja2", "template_fill", "jinja2"]);
}

#[test]
fn previews_store_nothing_and_warn_of_unused_values() {
    let fixture = fixture();
    fixture.file("inc.j2", "{{ inner }}");
    fixture.template("c", "{{ used }}{% include 'inc.j2' %}");
    let preview = fixture.preview("c", json!({"used": 1, "inner": 2, "forgotten": 3})).unwrap();
    assert_eq!(preview.shown.content, "12");
    assert_eq!(preview.warnings, ["`forgotten` is in the context, and nothing uses it"]);
    assert_eq!(preview.metadata.unwrap().files, ["inc.j2"]);
    assert!(files(fixture.state.path()).is_empty());
}

#[test]
fn regenerating_reports_changes() {
    let fixture = fixture();
    fixture.template("c", "one\n{{ x }}\nthree\n");
    let regenerate = |context: Option<Value>, compare: bool| {
        let request = RegenerateRequest {
            content_config_id: "c".to_owned(),
            context: context.map(object),
            reason: Some("because".to_owned()),
            compare,
        };
        fixture.compose.regenerate_content(&request).unwrap()
    };
    let first = regenerate(Some(json!({"x": "two"})), true);
    assert_eq!(first.generated.status, GenerationStatus::Generated);
    assert!(first.changes.is_none());
    let changes = regenerate(Some(json!({"x": "2\n2b"})), true).changes.unwrap();
    assert_eq!((changes.lines_added, changes.lines_removed, changes.lines_unchanged), (2, 1, 2));
    // Without a context, that of the latest version is used.
    let third = regenerate(None, true);
    assert!(third.changes.unwrap().identical);
    assert_eq!(third.generated.status, GenerationStatus::Regenerated);
    let fourth = regenerate(None, false);
    assert!(fourth.changes.is_none());
    let kept = fixture.compose.content("c", Some(&fourth.generated.version)).unwrap();
    assert_eq!(kept.reason.as_deref(), Some("because"));
}

/// Counts reads, and returns the parameters.
struct Echo(AtomicUsize);

impl Sources for Echo {
    fn read(&self, name: &str, params: &Value) -> Result<Value, SourceError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        match name {
            "gaps" => Err(SourceError("no store".to_owned())),
            _ => Ok(json!({"name": name, "params": params})),
        }
    }
}

#[test]
fn reads_sources_with_parameters_from_the_context() {
    let echo = Arc::new(Echo(AtomicUsize::new(0)));
    let sources: Arc<dyn Sources> = echo.clone();
    let fixture = fixture_with(|parts| Parts { sources, ..parts });
    fixture.file("notes.txt", "from a file");
    fixture.file("data.yaml", "a: [1, 2]\n");
    let mut config = content(
        "c",
        json!({
            "template": "{{ k.params.task }}/{{ k.params.max + 1 }}/{{ f.text }}/{{ y.data.a[1] }}/{{ g is none }}",
            "variables": [{"name": "budget", "default": 4}],
        }),
    );
    config["inputs"] = json!({"sources": [
        {"id": "k", "source": "knowledge", "params": {"task": "do {{what}}", "max": "{{budget}}"}},
        {"id": "f", "source": "file", "params": {"path": "notes.txt"}},
        {"id": "y", "source": "file", "params": {"path": "data.yaml", "format": "yaml"}},
        {"id": "g", "source": "gaps", "required": false},
    ]});
    fixture.put(&config);
    let generated = fixture.generate("c", json!({"what": "it"})).unwrap();
    assert_eq!(generated.shown.content, "do it/5/from a file/2/True");
    assert_eq!(generated.warnings, ["source `gaps` of `c` failed: no store"]);
    // A value of the context replaces the source.
    let reads = echo.0.load(Ordering::SeqCst);
    let given = json!({"what": "it", "g": 1, "k": {"params": {"task": "t", "max": 1}}});
    assert_eq!(fixture.generate("c", given).unwrap().shown.content, "t/2/from a file/2/False");
    assert_eq!(echo.0.load(Ordering::SeqCst), reads);
    // Files are inputs.
    fixture.file("notes.txt", "changed");
    let generated = fixture.generate("c", json!({"what": "it"})).unwrap();
    assert_eq!(generated.shown.content, "do it/5/changed/2/True");
    config["inputs"]["sources"][3]["required"] = json!(true);
    fixture.put(&config);
    assert_eq!(code(fixture.generate("c", json!({"what": "it"}))), "SOURCE_FAILED");
    config["inputs"]["sources"][3]["source"] = json!("magic");
    fixture.put(&config);
    assert_eq!(code(fixture.generate("c", json!({"what": "it"}))), "SOURCE_FAILED");
    assert_eq!(code(fixture.generate("c", json!({}))), "MISSING_VARIABLE");
}

#[test]
fn suggests_ids_similar_to_an_unknown_one() {
    let fixture = fixture();
    fixture.template("weekly-report", "x");
    let error = fixture.generate("weekly-reprot", json!({})).unwrap_err();
    assert_eq!(error.code().as_str(), "CONFIG_NOT_FOUND");
    assert_eq!(error.hint().unwrap(), "did you mean `weekly-report`?");
    assert_eq!(error.body().details["did_you_mean"], json!(["weekly-report"]));
}
