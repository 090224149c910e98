//! Plugins: loaded without a restart, and never in place of a built-in generator.

use kenning_compose::Parts;
use kenning_compose::list::{GeneratorsRequest, SourceFilter};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{Fixture, code, content, fixture_with};

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
    (fixture_with(|parts| Parts { plugins, ..parts }), folder)
}

fn install(folder: &TempDir, name: &str, text: &str) {
    let plugins = folder.path().join("plugins");
    std::fs::create_dir_all(&plugins).unwrap();
    std::fs::write(plugins.join(name), text).unwrap();
}

#[test]
fn loads_changed_plugins_without_a_restart() {
    let (fixture, folder) = with_plugins();
    fixture.put(&content("c", json!({"type": "changelog_entry"})));
    assert_eq!(code(fixture.generate("c", json!({"title": "x"}))), "GENERATOR_NOT_FOUND");
    install(&folder, "changelog.toml", CHANGELOG);
    assert_eq!(fixture.text("c", json!({"title": "x"})), "- X (fix)markdown");
    let metadata = fixture.compose.generator("changelog_entry").unwrap();
    assert_eq!(metadata.version, "1.2.0");
    assert!(metadata.plugin_path.unwrap().ends_with("changelog.toml"));
    let plugins = GeneratorsRequest { source: Some(SourceFilter::Plugin) };
    let listing = fixture.compose.list_generators(&plugins).listing;
    assert_eq!(listing.generators.keys().collect::<Vec<_>>(), ["changelog_entry"]);
    assert_eq!((listing.metadata.plugin_count, listing.metadata.generator_count), (1, 5));
    // A changed plugin is another input.
    install(&folder, "changelog.toml", &CHANGELOG.replace("- {{", "* and longer {{"));
    assert_eq!(fixture.text("c", json!({"title": "x"})), "* and longer X (fix)markdown");
    match fixture.generate("c", json!({})) {
        Err(kenning_compose::Error::MissingVariables { names, .. }) => assert_eq!(names, ["title"]),
        other => panic!("{other:?}"),
    }
    std::fs::remove_file(folder.path().join("plugins/changelog.toml")).unwrap();
    assert_eq!(code(fixture.generate("c", json!({"title": "x"}))), "GENERATOR_NOT_FOUND");
}

#[test]
fn keeps_built_in_generators_and_reports_broken_plugins() {
    let (fixture, folder) = with_plugins();
    let typed = |name: &str| CHANGELOG.replace("changelog_entry", name);
    install(&folder, "a-jinja.toml", &typed("jinja2"));
    install(&folder, "b-one.toml", &typed("one"));
    install(&folder, "c-one-again.toml", &typed("one"));
    install(&folder, "d-not-toml.toml", "type = ");
    install(&folder, "e-bad-template.toml", &typed("bad").replace("|upper", "|"));
    let outside = typed("esc").replace("template = ", "template_file = \"../x\"\nx = ");
    install(&folder, "f-escape.toml", &outside);
    install(&folder, "g-name.toml", &typed("Not A Type"));
    install(&folder, "readme.md", "not a plugin");
    let listing = fixture.generators();
    let found = listing.diagnostics.iter().map(|one| one.plugin.trim_end_matches(".toml"));
    let found: Vec<&str> = found.collect();
    let broken = "a-jinja c-one-again d-not-toml e-bad-template f-escape g-name";
    assert_eq!(found.join(" "), broken);
    assert!(listing.diagnostics[0].problem.contains("cannot replace"));
    assert!(listing.generators.contains_key("one"));
    assert_eq!(fixture.render("{{ 1 + 1 }}", json!({})).unwrap(), "2");
    assert_eq!(fixture.compose.generator("jinja2").unwrap().plugin_path, None);
}

#[test]
fn reads_template_files_only_from_the_plugin_folder() {
    let (fixture, folder) = with_plugins();
    install(&folder, "t.j2", "{{ title }} from a file");
    let (before, rest) = CHANGELOG.split_once("template = ").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    let with = |file: &str| format!("{before}template_file = \"{file}\"\n{after}");
    install(&folder, "p.toml", &with("t.j2"));
    fixture.put(&content("c", json!({"type": "changelog_entry"})));
    assert_eq!(fixture.text("c", json!({"title": "x"})), "x from a file");
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    install(&folder, "p.toml", &with("../secret"));
    let listing = fixture.generators();
    assert!(listing.diagnostics[0].problem.contains("`..`"), "{:?}", listing.diagnostics);
}

#[test]
fn never_loads_plugins_from_the_project() {
    let (fixture, _folder) = with_plugins();
    for folder in ["plugins", ".kenning/plugins", ".kenning/compose/plugins"] {
        fixture.file(&format!("{folder}/changelog.toml"), CHANGELOG);
    }
    assert_eq!(code(fixture.compose.generator("changelog_entry")), "GENERATOR_NOT_FOUND");
}
