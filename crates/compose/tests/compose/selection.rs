//! Which generator a pattern is for: always exactly one.

use kenning_compose::generate::PreviewRequest;
use serde_json::{Value, json};

use crate::fixture::{Fixture, code, content, fixture};

fn chosen(fixture: &Fixture, config: &Value) -> String {
    fixture.put(config);
    let request = PreviewRequest {
        content_config_id: config["id"].as_str().unwrap().to_owned(),
        context: Some(crate::fixture::object(
            json!({"name": "x", "user": {"name": "y"}, "list": [1]}),
        )),
        show_metadata: true,
    };
    let preview = fixture.compose.preview_generation(&request).unwrap();
    preview.metadata.unwrap().generators[0].generator_type.clone()
}

#[test]
fn the_table_of_templates() {
    let fixture = fixture();
    for (template, expected) in [
        ("{% if true %}x{% endif %}", "jinja2"),
        ("{# a comment #}{{ name }}", "jinja2"),
        ("{{ name }}{% set x = 1 %}", "jinja2"),
        ("{{ name }}", "template_fill"),
        ("{{name}} and {{user.name}} and {{ list.0 }}", "template_fill"),
        ("{{ name|upper }}", "jinja2"),
        ("{{ name }} {{ 1 + 1 }}", "jinja2"),
        ("{{ user['name'] }}", "jinja2"),
        ("{{ true }}", "jinja2"),
        ("{{- name }}", "jinja2"),
        ("{{ name ~ user.name }}", "jinja2"),
        ("no tags at all", "jinja2"),
        ("", "jinja2"),
    ] {
        let config = content("t", json!({"template": template}));
        assert_eq!(chosen(&fixture, &config), expected, "{template}");
    }
}

#[test]
fn a_type_that_is_named_wins_over_everything() {
    let fixture = fixture();
    let config = content("t", json!({"template": "{{ name }}", "type": "jinja2"}));
    assert_eq!(chosen(&fixture, &config), "jinja2");
    let mut config = content("t", json!({"template": "text {{body}}", "type": "demonstration"}));
    config["elements"][0]["example_output"] = json!("an example");
    assert_eq!(chosen(&fixture, &config), "demonstration");
}

#[test]
fn examples_count_only_where_the_template_says_nothing() {
    let fixture = fixture();
    let mut config = content("t", json!({}));
    config["elements"][0]["example_output"] = json!("an example");
    assert_eq!(chosen(&fixture, &config), "demonstration");
    config["generation"]["patterns"][0]["template"] = json!("{{ name }}");
    assert_eq!(chosen(&fixture, &config), "template_fill");
    config["generation"]["patterns"][0]["template"] = json!("{% if true %}x{% endif %}");
    assert_eq!(chosen(&fixture, &config), "jinja2");
}

#[test]
fn a_template_in_a_file_is_looked_at_like_any_other() {
    let fixture = fixture();
    fixture.file("t/greeting.txt", "Hello {{name}}");
    let config = content("t", json!({"template_file": "t/greeting.txt"}));
    assert_eq!(chosen(&fixture, &config), "template_fill");
}

#[test]
fn an_unknown_type_is_an_error_that_suggests() {
    let fixture = fixture();
    fixture.put(&content("t", json!({"template": "x", "type": "jinja"})));
    let error = fixture.generate("t", json!({})).unwrap_err();
    assert_eq!(error.code().as_str(), "GENERATOR_NOT_FOUND");
    assert_eq!(error.hint().unwrap(), "did you mean `jinja2`?");
    fixture.put(&content("t", json!({"template": "x", "type": "magic"})));
    assert_eq!(code(fixture.generate("t", json!({}))), "GENERATOR_NOT_FOUND");
}
