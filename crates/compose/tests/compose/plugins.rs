//! Plugins: found without a restart, never in place of what is built in.

use kenning_compose::Parts;
use kenning_compose::list::{GeneratorsRequest, SourceFilter};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{Fixture, bed_with, code, content};

const CHANGELOG: &str = r#"
type = "changelog_entry"
name = "ChangelogEntry"
version = "1.2.0"
description = "One entry of a changelog"
required = ["title"]
best_for = ["changelogs"]
template = "- {{ title|upper }} ({{ kind }}){{ elements.body.format }}"
[defaults]
kind = "fix"
"#;

fn with_plugins() -> (Fixture, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let plugins = Some(folder.path().join("plugins"));
    (bed_with(|parts| Parts { plugins, ..parts }), folder)
}

fn install(folder: &TempDir, name: &str, text: &str) {
    let plugins = folder.path().join("plugins");
    std::fs::create_dir_all(&plugins).unwrap();
    std::fs::write(plugins.join(name), text).unwrap();
}

#[test]
fn a_plugin_appears_changes_and_goes_without_a_restart() {
    let (fixture, folder) = with_plugins();
    fixture.put(&content("c", json!({"type": "changelog_entry"})));
    assert_eq!(code(fixture.generate("c", json!({"title": "x"}))), "GENERATOR_NOT_FOUND");
    install(&folder, "changelog.toml", CHANGELOG);
    let made = fixture.generate("c", json!({"title": "x"})).unwrap();
    assert_eq!(made.shown.content, "- X (fix)markdown");
    let metadata = fixture.compose.generator("changelog_entry").unwrap();
    assert_eq!(metadata.version, "1.2.0");
    assert!(metadata.plugin_path.unwrap().ends_with("changelog.toml"));
    let plugins = GeneratorsRequest { source: Some(SourceFilter::Plugin) };
    let listing = fixture.compose.list_generators(&plugins).listing;
    assert_eq!(listing.generators.keys().collect::<Vec<_>>(), ["changelog_entry"]);
    assert_eq!((listing.metadata.plugin_count, listing.metadata.generator_count), (1, 5));
    // A plugin that changes makes something else of the same inputs.
    install(&folder, "changelog.toml", &CHANGELOG.replace("- {{", "* and longer {{"));
    let made = fixture.generate("c", json!({"title": "x"})).unwrap();
    assert_eq!(made.shown.content, "* and longer X (fix)markdown");
    match fixture.generate("c", json!({})) {
        Err(kenning_compose::Error::MissingVariables { names, .. }) => assert_eq!(names, ["title"]),
        other => panic!("{other:?}"),
    }
    std::fs::remove_file(folder.path().join("plugins/changelog.toml")).unwrap();
    assert_eq!(code(fixture.generate("c", json!({"title": "x"}))), "GENERATOR_NOT_FOUND");
}

#[test]
fn nothing_built_in_is_replaced_and_what_is_broken_is_said() {
    let (fixture, folder) = with_plugins();
    let typed = |name: &str| CHANGELOG.replace("changelog_entry", name);
    install(&folder, "a-jinja.toml", &typed("jinja2"));
    install(&folder, "b-one.toml", &typed("one"));
    install(&folder, "c-one-again.toml", &typed("one"));
    install(&folder, "d-not-toml.toml", "type = ");
    install(&folder, "e-bad-template.toml", &typed("bad").replace("|upper", "|"));
    install(
        &folder,
        "f-escape.toml",
        &typed("esc").replace("template = ", "template_file = \"../x\"\nx = "),
    );
    install(&folder, "g-name.toml", &typed("Not A Type"));
    install(&folder, "readme.md", "not a plugin");
    let listing = fixture.compose.list_generators(&GeneratorsRequest::default()).listing;
    let found: Vec<&str> = listing.diagnostics.iter().map(|one| one.plugin.as_str()).collect();
    assert_eq!(
        found,
        [
            "a-jinja.toml",
            "c-one-again.toml",
            "d-not-toml.toml",
            "e-bad-template.toml",
            "f-escape.toml",
            "g-name.toml"
        ]
    );
    assert!(listing.diagnostics[0].problem.contains("cannot replace"));
    assert!(listing.generators.contains_key("one"));
    assert_eq!(fixture.render("{{ 1 + 1 }}", json!({})).unwrap(), "2");
    assert_eq!(fixture.compose.generator("jinja2").unwrap().plugin_path, None);
}

#[test]
fn a_template_may_lie_besides_its_plugin_but_not_outside() {
    let (fixture, folder) = with_plugins();
    install(&folder, "t.j2", "{{ title }} from a file");
    let filed = CHANGELOG
        .lines()
        .filter(|line| !line.starts_with("template"))
        .collect::<Vec<_>>()
        .join("\n");
    let with =
        |file: &str| filed.replace("required", &format!("template_file = \"{file}\"\nrequired"));
    install(&folder, "p.toml", &with("t.j2"));
    fixture.put(&content("c", json!({"type": "changelog_entry"})));
    assert_eq!(
        fixture.generate("c", json!({"title": "x"})).unwrap().shown.content,
        "x from a file"
    );
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    install(&folder, "p.toml", &with("../secret"));
    let listing = fixture.compose.list_generators(&GeneratorsRequest::default()).listing;
    assert!(listing.diagnostics[0].problem.contains("`..`"), "{:?}", listing.diagnostics);
}

#[test]
fn the_project_has_no_plugins() {
    let (fixture, _folder) = with_plugins();
    for place in ["plugins", ".kenning/plugins", ".kenning/compose/plugins"] {
        fixture.file(&format!("{place}/changelog.toml"), CHANGELOG);
    }
    assert_eq!(code(fixture.compose.generator("changelog_entry")), "GENERATOR_NOT_FOUND");
}
