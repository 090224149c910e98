//! Selection of a generator by pattern.

use serde_json::{Value, json};

use crate::fixture::{Fixture, code, content, fixture};

fn selected(fixture: &Fixture, config: &Value) -> String {
    fixture.put(config);
    let context = json!({"name": "x", "user": {"name": "y"}, "list": [1]});
    let preview = fixture.preview("t", context).unwrap();
    preview.metadata.unwrap().generators[0].generator_type.clone()
}

#[test]
fn selects_by_template_syntax() {
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
        assert_eq!(selected(&fixture, &config), expected, "{template}");
    }
}

#[test]
fn a_named_type_always_wins() {
    let fixture = fixture();
    let config = content("t", json!({"template": "{{ name }}", "type": "jinja2"}));
    assert_eq!(selected(&fixture, &config), "jinja2");
    let mut config = content("t", json!({"template": "text {{body}}", "type": "demonstration"}));
    config["elements"][0]["example_output"] = json!("an example");
    assert_eq!(selected(&fixture, &config), "demonstration");
}

#[test]
fn examples_count_only_without_template_tags() {
    let fixture = fixture();
    let mut config = content("t", json!({}));
    config["elements"][0]["example_output"] = json!("an example");
    assert_eq!(selected(&fixture, &config), "demonstration");
    config["generation"]["patterns"][0]["template"] = json!("{{ name }}");
    assert_eq!(selected(&fixture, &config), "template_fill");
    config["generation"]["patterns"][0]["template"] = json!("{% if true %}x{% endif %}");
    assert_eq!(selected(&fixture, &config), "jinja2");
}

#[test]
fn selects_by_the_template_in_a_file() {
    let fixture = fixture();
    fixture.file("t/greeting.txt", "Hello {{name}}");
    let config = content("t", json!({"template_file": "t/greeting.txt"}));
    assert_eq!(selected(&fixture, &config), "template_fill");
}

#[test]
fn suggests_types_similar_to_an_unknown_one() {
    let fixture = fixture();
    fixture.put(&content("t", json!({"template": "x", "type": "jinja"})));
    let error = fixture.generate("t", json!({})).unwrap_err();
    assert_eq!(error.code().as_str(), "GENERATOR_NOT_FOUND");
    assert_eq!(error.hint().unwrap(), "did you mean `jinja2`?");
    fixture.put(&content("t", json!({"template": "x", "type": "magic"})));
    assert_eq!(code(fixture.generate("t", json!({}))), "GENERATOR_NOT_FOUND");
}
