//! The lifecycle of configs: drafts, tests, saving, modifying.

use kenning_compose::config::ConfigType;
use kenning_compose::lifecycle::{
    DraftRequest, ModifyRequest, SaveRequest, SaveResponse, TestRequest,
};
use kenning_compose::{Error, Limits};
use serde_json::{Value, json};

use crate::fixture::{Fixture, artifact, code, content, fixture, limited, object};

fn draft(fixture: &Fixture, config_type: ConfigType, data: Value) -> Result<String, Error> {
    let (config_data, description) = (object(data), Some("try".to_owned()));
    let request = DraftRequest { config_type, config_data, description };
    fixture.compose.draft_config(&request).map(|response| response.draft_id)
}

fn save(fixture: &Fixture, draft: &str, id: &str, overwrite: bool) -> Result<SaveResponse, Error> {
    let (draft_id, config_id) = (draft.to_owned(), id.to_owned());
    fixture.compose.save_config(&SaveRequest { draft_id, config_id, overwrite })
}

fn modify(config_id: &str, updates: Value) -> ModifyRequest {
    ModifyRequest {
        config_id: config_id.to_owned(),
        config_type: None,
        updates: object(updates),
        create_backup: true,
    }
}

#[test]
fn drafts_tests_saves_and_uses_a_content_config() {
    let fixture = fixture();
    let mut data = content("x", json!({"template": "Hello {{name}}"}));
    data.as_object_mut().unwrap().remove("id");
    let draft_id = draft(&fixture, ConfigType::Content, data).unwrap();
    kenning_compose::id::check_id(&draft_id).unwrap();
    let test = |dry_run: bool| {
        fixture.compose.test_config(&TestRequest {
            draft_id: draft_id.clone(),
            context: Some(object(json!({"name": "you", "extra": 1}))),
            dry_run,
        })
    };
    let tested = test(true).unwrap();
    assert_eq!(tested.shown.content, "Hello you");
    assert_eq!(tested.warnings, ["`extra` is in the context, and nothing uses it"]);
    assert!(tested.uri.is_none() && fixture.compose.content_ids().unwrap().is_empty());
    let kept = test(false).unwrap();
    assert!(kept.uri.unwrap().starts_with(&format!("content://{draft_id}/")));
    assert_eq!(fixture.compose.content(&draft_id, None).unwrap().content.unwrap(), "Hello you");
    let path = save(&fixture, &draft_id, "greeting", false).unwrap().path;
    assert_eq!(path, ".kenning/compose/content/greeting.json");
    assert!(fixture.read(&path).contains("\"id\": \"greeting\""));
    assert!(fixture.contents().iter().any(|one| one.id == "greeting"));
    assert_eq!(fixture.text("greeting", json!({"name": "all"})), "Hello all");
    assert_eq!(code(test(true)), "DRAFT_NOT_FOUND");
}

#[test]
fn names_issues_by_path() {
    let fixture = fixture();
    let mut bad = content("x", json!({"template": "x"}));
    bad["elements"] = json!([{"format": "text"}]);
    bad["metadata"]["generation_frequency"] = json!("hourly");
    bad["generation"]["patterns"][0]["variables"] = json!([{"nam": "x"}]);
    let error = draft(&fixture, ConfigType::Content, bad).unwrap_err();
    assert_eq!(error.code().as_str(), "CONFIG_INVALID");
    let details = error.details();
    let issues = details["issues"].as_array().unwrap();
    let paths: Vec<&str> = issues.iter().map(|issue| issue["path"].as_str().unwrap()).collect();
    let expected =
        "$.elements[0] $.metadata.generation_frequency $.generation.patterns[0].variables[0]";
    assert!(expected.split(' ').all(|path| paths.contains(&path)), "{paths:?}");
    let pattern = |pattern: Value| json!({"generation": {"patterns": [pattern]}});
    let unknown_type = pattern(json!({"id": "p", "type": "jinja3", "template": "x"}));
    let outside = pattern(json!({"id": "p", "template_file": "../x"}));
    let both = pattern(json!({"id": "p", "template_file": "x", "template": "y"}));
    for (change, path) in [
        (json!({"elements": []}), "$.elements"),
        (json!({"id": "../x"}), "$.id"),
        (json!({"id": "Upper"}), "$.id"),
        (json!({"type": "artifact"}), "$.type"),
        (json!({"surprise": 1}), "$"),
        (json!({"elements": [{"name": "a"}, {"name": "a"}]}), "$.elements[1].name"),
        (unknown_type, "$.generation.patterns[0].type"),
        (outside, "$.generation.patterns[0].template_file"),
        (both, "$.generation.patterns[0]"),
    ] {
        let mut data = content("x", json!({"template": "x"}));
        object(change.clone()).into_iter().for_each(|(key, value)| data[key] = value);
        let error = draft(&fixture, ConfigType::Content, data).unwrap_err();
        assert_eq!(error.details()["issues"][0]["path"], path, "{change}: {error}");
    }
    let children = json!([{"id": "a"}]);
    for (pointer, value, path) in [
        ("/metadata/outputs", json!([]), "$.metadata.outputs"),
        ("/metadata/outputs/0/file", json!("../x.md"), "$.metadata.outputs[0].file"),
        ("/metadata/outputs/0/file", json!("/etc/passwd"), "$.metadata.outputs[0].file"),
        ("/metadata/outputs/0/file", json!(".git/hooks/pre-commit"), "$.metadata.outputs[0].file"),
        ("/content/children", json!([]), "$.content.children"),
        ("/content/children", json!([{"id": "a"}, {"id": "a"}]), "$.content.children[1].id"),
        ("/content/children", json!([{"id": "a", "path": "../x"}]), "$.content.children[0].path"),
        ("/metadata/compositionStrategy", json!("shuffle"), "$.metadata.compositionStrategy"),
    ] {
        let mut data = artifact("x", "concat", children.clone());
        *data.pointer_mut(pointer).unwrap() = value;
        let error = draft(&fixture, ConfigType::Artifact, data).unwrap_err();
        assert_eq!(error.details()["issues"][0]["path"], path, "{pointer}: {error}");
    }
}

#[test]
fn overwrites_only_if_requested_and_keeps_a_backup() {
    let fixture = fixture();
    let new =
        || draft(&fixture, ConfigType::Content, content("x", json!({"template": "new"}))).unwrap();
    fixture.template("c", "old");
    let draft_id = new();
    assert_eq!(code(save(&fixture, &draft_id, "c", false)), "CONFIG_EXISTS");
    let saved = save(&fixture, &draft_id, "c", true).unwrap();
    assert!(fixture.state_file(&saved.backup.unwrap()).contains("old"));
    assert_eq!(fixture.text("c", json!({})), "new");
    for id in ["../c", "a/b", "a\\b", "A", "", "1a", "a.b", "a b"] {
        assert_eq!(code(save(&fixture, &new(), id, true)), "INVALID_ID", "{id}");
    }
    assert_eq!(code(save(&fixture, "draft-content-000000000000", "d", false)), "DRAFT_NOT_FOUND");
    assert_eq!(code(save(&fixture, "../../x", "d", false)), "INVALID_ID");
}

#[test]
fn modifies_by_merge_patch_and_validates_the_result() {
    let fixture = fixture();
    let mut config = content("c", json!({"template": "old"}));
    config["evolution"] = json!({"stage": "draft", "note": "x"});
    fixture.put(&config);
    let updates = json!({
        "metadata": {"version": "2.0.0"},
        "evolution": {"stage": "approved", "note": null},
    });
    let saved = fixture.compose.modify_config(&modify("c", updates)).unwrap();
    assert!(fixture.state.path().join(saved.backup.unwrap()).exists());
    let data = fixture.compose.config(ConfigType::Content, "c").unwrap();
    assert_eq!(data["metadata"]["version"], "2.0.0");
    assert_eq!(data["metadata"]["description"], "the content c");
    assert_eq!(data["evolution"], json!({"stage": "approved"}));
    let before = fixture.read(".kenning/compose/content/c.json");
    for (id, updates, expected) in [
        ("c", json!({"elements": null}), "CONFIG_INVALID"),
        ("c", json!({"id": "d"}), "INVALID_ARGUMENT"),
        ("unknown", json!({}), "CONFIG_NOT_FOUND"),
    ] {
        assert_eq!(code(fixture.compose.modify_config(&modify(id, updates))), expected);
    }
    assert_eq!(fixture.read(".kenning/compose/content/c.json"), before);
    let quiet = ModifyRequest {
        create_backup: false,
        ..modify("c", json!({"metadata": {"version": "3"}}))
    };
    assert_eq!(fixture.compose.modify_config(&quiet).unwrap().backup, None);
}

#[test]
fn an_ambiguous_id_needs_a_type() {
    let fixture = fixture();
    fixture.template("same", "x");
    fixture.put(&artifact("same", "concat", json!([{"id": "same"}])));
    let updates = json!({"metadata": {"title": "New"}});
    let ambiguous = fixture.compose.modify_config(&modify("same", updates.clone()));
    assert_eq!(code(ambiguous), "INVALID_ARGUMENT");
    let request =
        ModifyRequest { config_type: Some(ConfigType::Artifact), ..modify("same", updates) };
    fixture.compose.modify_config(&request).unwrap();
    let data = fixture.compose.config(ConfigType::Artifact, "same").unwrap();
    assert_eq!(data["metadata"]["title"], "New");
}

#[test]
fn modifies_drafts_and_tests_artifacts() {
    let fixture = fixture();
    fixture.template("one", "text\n");
    let draft_id =
        draft(&fixture, ConfigType::Artifact, artifact("x", "concat", json!([{"id": "one"}])))
            .unwrap();
    let test = || {
        let request = TestRequest { draft_id: draft_id.clone(), context: None, dry_run: true };
        fixture.compose.test_config(&request).unwrap().shown.content
    };
    assert_eq!(test(), "text\n");
    let updates = json!({"metadata": {"compositionStrategy": "custom"}, "content": {"custom": [{"text": "top"}, "one"]}});
    fixture.compose.modify_config(&modify(&draft_id, updates)).unwrap();
    assert_eq!(test(), "top\n\ntext\n");
    assert!(!fixture.exists("OUT.md"));
    assert!(fixture.compose.content_ids().unwrap().is_empty(), "a test keeps nothing");
    let keeping = TestRequest { draft_id, context: None, dry_run: false };
    assert_eq!(code(fixture.compose.test_config(&keeping)), "INVALID_ARGUMENT");
}

#[test]
fn limits_the_size_of_a_config() {
    let fixture = limited(Limits { max_content_size_bytes: 2_000, ..Limits::default() });
    let data = content("x", json!({"template": "x".repeat(3_000)}));
    assert_eq!(code(draft(&fixture, ConfigType::Content, data)), "LIMIT_EXCEEDED");
}

#[test]
fn rejects_a_file_with_the_id_of_another_config() {
    let fixture = fixture();
    let text = content("other", json!({"template": "x"})).to_string();
    fixture.file(".kenning/compose/content/c.json", &text);
    let error = fixture.generate("c", json!({})).unwrap_err();
    assert_eq!(error.details()["issues"][0]["path"], "$.id");
    fixture.file(".kenning/compose/content/c.json", "{ not json");
    assert_eq!(code(fixture.generate("c", json!({}))), "CONFIG_INVALID");
    assert!(fixture.contents().iter().any(|one| one.id == "c" && one.problem.is_some()));
}
