//! Validation of contents and artifacts.

use kenning_compose::Error;
use kenning_compose::config::ConfigType;
use kenning_compose::validate::{Rule, Severity, ValidateResponse};
use serde_json::{Value, json};

use crate::fixture::{Fixture, artifact, code, content, fixture};

#[expect(clippy::needless_pass_by_value, reason = "cases read better with the value in them")]
fn rule(kind: &str, severity: &str, config: Value) -> Rule {
    serde_json::from_value(json!({"type": kind, "severity": severity, "config": config})).unwrap()
}

fn validate(fixture: &Fixture, id: &str, rules: Vec<Rule>) -> Result<ValidateResponse, Error> {
    fixture.validate(id, rules, None)
}

fn with(fixture: &Fixture, text: &str, format: &str) {
    let mut config = content("c", json!({"type": "template_fill", "template": "{{text}}"}));
    config["metadata"]["output_format"] = json!(format);
    fixture.put(&config);
    fixture.generate("c", json!({"text": text})).unwrap();
}

fn messages(fixture: &Fixture, kind: &str, config: Value) -> Vec<String> {
    let found = validate(fixture, "c", vec![rule(kind, "error", config)]).unwrap().findings;
    found.into_iter().map(|finding| finding.message).collect()
}

#[test]
fn checks_every_type_of_rule() {
    let fixture = fixture();
    with(&fixture, "# Title\n\nsome text\n\n## Usage\n\nmore", "markdown");
    for (kind, config, expected) in [
        ("length", json!({"min": 1, "max": 1000}), ""),
        ("length", json!({"max": 5}), "it has 34 characters, more than 5"),
        ("lines", json!({"min": 50}), "it has 7 lines, fewer than 50"),
        ("required_fields", json!({"fields": ["usage", "License"]}), "`License` is missing"),
        ("pattern", json!({"regex": "^# "}), ""),
        ("pattern", json!({"regex": "some", "absent": true}), "`some` is in it"),
        ("forbidden", json!({"words": ["TEXT", "nope"]}), "`TEXT` is in it"),
    ] {
        assert_eq!(messages(&fixture, kind, config).join(" "), expected);
    }
    assert_eq!(messages(&fixture, "tokens", json!({"max": 2})).len(), 1);
    assert_eq!(messages(&fixture, "format", json!({"format": "json"})).len(), 1);
    with(&fixture, "{\"a\": {\"b\": 1}, \"n\": null}", "json");
    assert!(messages(&fixture, "format", json!({})).is_empty());
    let missing = messages(&fixture, "required_fields", json!({"fields": ["a.b", "n", "z"]}));
    assert_eq!(missing, ["`n` is missing", "`z` is missing"]);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let found = messages(&fixture, "schema", json!({"schema": schema}));
    assert!(found[0].starts_with("/a: "), "{found:?}");
}

#[test]
fn only_errors_make_a_content_invalid() {
    let fixture = fixture();
    with(&fixture, "text", "markdown");
    let long = |severity: &str| rule("length", severity, json!({"min": 100}));
    let mild = validate(&fixture, "c", vec![long("warning"), long("info")]).unwrap();
    assert!(mild.valid);
    assert_eq!((mild.errors, mild.warnings, mild.infos), (0, 1, 1));
    let strict = validate(&fixture, "c", vec![long("warning"), long("error")]).unwrap();
    assert!(!strict.valid);
    assert_eq!((strict.errors, strict.warnings), (1, 1));
    assert_eq!(strict.rules_checked, 2);
}

#[test]
fn an_invalid_rule_is_an_error() {
    let fixture = fixture();
    with(&fixture, "text", "markdown");
    for (kind, config) in [
        ("length", json!({})),
        ("length", json!({"max": "many"})),
        ("pattern", json!({"regex": "("})),
        ("pattern", json!({"regex": "(((a{1000}){1000}){1000})"})),
        ("pattern", json!({})),
        ("required_fields", json!({})),
        ("schema", json!({"schema": {"type": 7}})),
    ] {
        let found = validate(&fixture, "c", vec![rule(kind, "info", config.clone())]).unwrap();
        assert_eq!(found.findings[0].severity, Severity::Error, "{kind} {config}");
        assert!(found.findings[0].message.contains("invalid rule"), "{kind} {config}");
    }
}

#[test]
fn applies_the_rules_of_the_config() {
    let fixture = fixture();
    let mut config = content("c", json!({"template": "short"}));
    config["validation"] =
        json!({"rules": [{"id": "long", "type": "length", "config": {"min": 10}}]});
    fixture.put(&config);
    let before = validate(&fixture, "c", vec![]).unwrap();
    assert!(!before.valid && before.version.is_none() && before.rules_checked == 0);
    assert_eq!(before.findings[0].message, "nothing has been generated yet");
    fixture.generate("c", json!({})).unwrap();
    let after = validate(&fixture, "c", vec![]).unwrap();
    assert!(!after.valid && after.version.is_some());
    assert_eq!(after.findings[0].rule, "long");
}

#[test]
fn validates_the_files_of_artifacts() {
    let fixture = fixture();
    fixture.template("c", "text\n");
    let mut config = artifact("a", "concat", json!([{"id": "c"}]));
    config["rules"] = json!([{"type": "forbidden", "config": {"words": ["secret"]}}]);
    fixture.put(&config);
    let before = validate(&fixture, "a", vec![]).unwrap();
    assert_eq!(before.config_type, ConfigType::Artifact);
    assert_eq!(before.findings[0].message, "`OUT.md` is not there");
    fixture.assemble("a").unwrap();
    assert!(validate(&fixture, "a", vec![]).unwrap().findings.is_empty());
    fixture.file("OUT.md", "a secret");
    assert!(!validate(&fixture, "a", vec![]).unwrap().valid);
    assert_eq!(code(validate(&fixture, "unknown", vec![])), "CONFIG_NOT_FOUND");
    assert_eq!(code(validate(&fixture, "../c", vec![])), "INVALID_ID");
    fixture.template("a", "a content of the same id\n");
    fixture.generate("a", json!({})).unwrap();
    assert_eq!(validate(&fixture, "a", vec![]).unwrap().config_type, ConfigType::Content);
    let artifact = fixture.validate("a", vec![], Some(ConfigType::Artifact)).unwrap();
    assert!(artifact.config_type == ConfigType::Artifact && !artifact.valid);
}
