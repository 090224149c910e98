//! No id, path or link leads out of the workspace root.

use std::os::unix::fs::symlink;

use kenning_compose::Parts;
use kenning_compose::config::ConfigType;
use serde_json::json;

use crate::fixture::{Fixture, artifact, code, content, fixture, fixture_with};

/// Separated by `|`.
const HOSTILE: &str = "../secret|a/../../secret|/etc/passwd|..\\secret|C:/secret|secret\0||.|..|a//b|\
                       ./a|\u{202e}/../x";

/// A workspace, and a folder outside of it with a secret.
fn with_secret() -> (Fixture, tempfile::TempDir) {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "TOP SECRET").unwrap();
    (fixture(), outside)
}

#[test]
fn rejects_ids_that_are_not_plain_names() {
    let fixture = fixture();
    for id in HOSTILE.split('|') {
        assert_eq!(code(fixture.generate(id, json!({}))), "INVALID_ID", "{id:?}");
        assert_eq!(code(fixture.assemble(id)), "INVALID_ID", "{id:?}");
        assert_eq!(code(fixture.compose.content(id, None)), "INVALID_ID", "{id:?}");
        assert_eq!(code(fixture.compose.config(ConfigType::Content, id)), "INVALID_ID", "{id:?}");
        assert_eq!(code(fixture.preview(id, json!({}))), "INVALID_ID", "{id:?}");
    }
    fixture.template("c", "x");
    fixture.generate("c", json!({})).unwrap();
    for version in HOSTILE.split('|') {
        let got = fixture.compose.content("c", Some(version));
        assert_eq!(code(got), "INVALID_ARGUMENT", "{version:?}");
    }
}

#[test]
fn rejects_paths_that_leave_the_workspace() {
    let fixture = fixture();
    for path in HOSTILE.split('|') {
        fixture.put(&content("c", json!({"template_file": path})));
        assert_eq!(code(fixture.generate("c", json!({}))), "CONFIG_INVALID", "{path:?}");
        let mut config = content("c", json!({"template": "{{ f.text }}"}));
        config["inputs"] =
            json!({"sources": [{"id": "f", "source": "file", "params": {"path": path}}]});
        fixture.put(&config);
        assert_eq!(code(fixture.generate("c", json!({}))), "INVALID_PATH", "{path:?}");
        config["inputs"]["sources"][0]["params"]["path"] = json!("{{where}}");
        fixture.put(&config);
        assert_eq!(code(fixture.generate("c", json!({"where": path}))), "INVALID_PATH", "{path:?}");
        for tag in ["include", "extends", "import"] {
            let alias = if tag == "import" { " as x" } else { "" };
            let template = format!("{{% {tag} name{alias} %}}");
            let got = fixture.render(&template, json!({"name": path}));
            assert_eq!(code(got), "INVALID_PATH", "{tag} {path:?}");
        }
        let mut config = artifact("a", "concat", json!([{"id": "c", "path": path}]));
        fixture.put(&config);
        assert_eq!(code(fixture.assemble("a")), "CONFIG_INVALID", "{path:?}");
        config["content"]["children"] = json!([{"id": "c"}]);
        config["metadata"]["outputs"][0]["file"] = json!(path);
        fixture.put(&config);
        assert_eq!(code(fixture.assemble("a")), "CONFIG_INVALID", "{path:?}");
    }
}

#[test]
fn does_not_follow_links_out_of_the_workspace() {
    let (fixture, outside) = with_secret();
    symlink(outside.path().join("secret"), fixture.root.path().join("link")).unwrap();
    symlink(outside.path(), fixture.root.path().join("folder")).unwrap();
    for path in ["link", "folder/secret"] {
        let got = fixture.render(&format!("{{% include '{path}' %}}"), json!({}));
        assert_eq!(code(got), "INVALID_PATH", "{path}");
        fixture.put(&content("c", json!({"template_file": path})));
        assert_eq!(code(fixture.generate("c", json!({}))), "INVALID_PATH", "{path}");
        fixture.put(&artifact("a", "concat", json!([{"id": "x", "path": path}])));
        assert_eq!(code(fixture.assemble("a")), "CHILD_FAILED", "{path}");
    }
    fixture.template("c", "ours\n");
    fixture.put(&artifact("a", "concat", json!([{"id": "c"}])));
    for path in ["folder/secret", "folder/new", "link"] {
        let written = fixture.assemble_with("a", |request| {
            (request.output_path, request.force) = (Some(path.to_owned()), true);
        });
        assert!(written.is_err(), "{path}");
    }
    let secret = std::fs::read_to_string(outside.path().join("secret")).unwrap();
    assert_eq!(secret, "TOP SECRET");
    assert!(!outside.path().join("new").exists());
}

#[test]
fn follows_links_inside_the_workspace() {
    let fixture = fixture();
    fixture.file("real/part.j2", "inside");
    symlink("real/part.j2", fixture.root.path().join("link.j2")).unwrap();
    assert_eq!(fixture.render("{% include 'link.j2' %}", json!({})).unwrap(), "inside");
}

#[test]
fn does_not_read_a_linked_config_folder() {
    let (fixture, outside) = with_secret();
    let config = content("c", json!({"template": "x"})).to_string();
    std::fs::create_dir_all(outside.path().join("content")).unwrap();
    std::fs::write(outside.path().join("content/c.json"), config).unwrap();
    std::fs::create_dir_all(fixture.root.path().join(".kenning")).unwrap();
    symlink(outside.path(), fixture.root.path().join(".kenning/compose")).unwrap();
    assert_eq!(code(fixture.generate("c", json!({}))), "INVALID_PATH");
}

#[test]
fn does_not_read_pipes_and_folders() {
    let fixture = fixture();
    std::fs::create_dir(fixture.root.path().join("folder")).unwrap();
    let created =
        std::process::Command::new("mkfifo").arg(fixture.root.path().join("pipe")).status();
    assert!(created.unwrap().success());
    for path in ["folder", "pipe", "absent"] {
        fixture.put(&content("c", json!({"template_file": path})));
        assert_eq!(code(fixture.generate("c", json!({}))), "FILE_NOT_FOUND", "{path}");
    }
}

#[test]
fn rejects_a_missing_workspace_and_creates_the_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    let parts = Parts::new(folder.path().join("absent"), folder.path().join("state"));
    assert_eq!(code(kenning_compose::Compose::open(parts)), "STORAGE_ERROR");
    // The state folder is created.
    let fixture = fixture_with(|parts| Parts { state: folder.path().join("deep/state"), ..parts });
    fixture.template("c", "x");
    fixture.generate("c", json!({})).unwrap();
    assert!(folder.path().join("deep/state/content/c").exists());
}
