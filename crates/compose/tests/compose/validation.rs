//! Contents held against rules.

use kenning_compose::config::ConfigType;
use kenning_compose::validate::{Rule, Severity, ValidateRequest, ValidateResponse};
use serde_json::{Value, json};

use crate::fixture::{Fixture, artifact, code, content, fixture};

#[expect(clippy::needless_pass_by_value, reason = "cases read better with the value in them")]
fn rule(kind: &str, severity: &str, config: Value) -> Rule {
    serde_json::from_value(json!({"type": kind, "severity": severity, "config": config})).unwrap()
}

fn validate(
    fixture: &Fixture,
    id: &str,
    rules: Vec<Rule>,
) -> Result<ValidateResponse, kenning_compose::Error> {
    fixture.compose.validate_content(&ValidateRequest {
        content_or_config_id: id.to_owned(),
        validation_rules: rules,
        config_type: None,
    })
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
fn every_kind_of_rule() {
    let fixture = fixture();
    with(&fixture, "# Title\n\nsome text\n\n## Usage\n\nmore", "markdown");
    assert_eq!(messages(&fixture, "length", json!({"min": 1, "max": 1000})), Vec::<String>::new());
    assert_eq!(
        messages(&fixture, "length", json!({"max": 5})),
        ["it has 34 characters, more than 5"]
    );
    assert_eq!(messages(&fixture, "lines", json!({"min": 50})), ["it has 7 lines, fewer than 50"]);
    assert_eq!(messages(&fixture, "tokens", json!({"max": 2})).len(), 1);
    assert_eq!(
        messages(&fixture, "required_fields", json!({"fields": ["usage", "License"]})),
        ["`License` is missing"]
    );
    assert_eq!(messages(&fixture, "pattern", json!({"regex": "^# "})), Vec::<String>::new());
    assert_eq!(
        messages(&fixture, "pattern", json!({"regex": "some", "absent": true})),
        ["`some` is in it"]
    );
    assert_eq!(
        messages(&fixture, "forbidden", json!({"words": ["TEXT", "nope"]})),
        ["`TEXT` is in it"]
    );
    assert_eq!(messages(&fixture, "format", json!({"format": "json"})).len(), 1);
    with(&fixture, "{\"a\": {\"b\": 1}, \"n\": null}", "json");
    assert_eq!(messages(&fixture, "format", json!({})), Vec::<String>::new());
    assert_eq!(
        messages(&fixture, "required_fields", json!({"fields": ["a.b", "n", "z"]})),
        ["`n` is missing", "`z` is missing"]
    );
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let found = messages(&fixture, "schema", json!({"schema": schema}));
    assert!(found[0].starts_with("/a: "), "{found:?}");
}

#[test]
fn severities_decide_what_is_valid() {
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
fn a_rule_that_cannot_be_followed_is_an_error_itself() {
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
        assert!(found.findings[0].message.contains("the rule is not one"), "{kind} {config}");
    }
}

#[test]
fn the_rules_of_the_config_are_followed_too() {
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
fn artifacts_are_validated_as_they_lie_in_the_workspace() {
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
    assert_eq!(code(validate(&fixture, "nobody", vec![])), "CONFIG_NOT_FOUND");
    assert_eq!(code(validate(&fixture, "../c", vec![])), "INVALID_ID");
    fixture.template("a", "a content of the same id\n");
    fixture.generate("a", json!({})).unwrap();
    let of_type = |config_type| {
        let request = ValidateRequest {
            content_or_config_id: "a".to_owned(),
            config_type,
            ..ValidateRequest::default()
        };
        fixture.compose.validate_content(&request).unwrap()
    };
    assert_eq!(of_type(None).config_type, ConfigType::Content);
    let artifact = of_type(Some(ConfigType::Artifact));
    assert!(artifact.config_type == ConfigType::Artifact && !artifact.valid);
}
