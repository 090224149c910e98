//! Which generator a pattern is for: always exactly one.

use kenning_compose::generate::PreviewRequest;
use serde_json::{Value, json};

use crate::bed::{Bed, bed, code, content};

fn chosen(bed: &Bed, config: &Value) -> String {
    bed.put(config);
    let request = PreviewRequest {
        content_config_id: config["id"].as_str().unwrap().to_owned(),
        context: Some(crate::bed::object(json!({"name": "x", "user": {"name": "y"}, "list": [1]}))),
        show_metadata: true,
    };
    let preview = bed.compose.preview_generation(&request).unwrap();
    preview.metadata.unwrap().generators[0].generator_type.clone()
}

#[test]
fn the_table_of_templates() {
    let bed = bed();
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
        assert_eq!(chosen(&bed, &config), expected, "{template}");
    }
}

#[test]
fn a_type_that_is_named_wins_over_everything() {
    let bed = bed();
    let config = content("t", json!({"template": "{{ name }}", "type": "jinja2"}));
    assert_eq!(chosen(&bed, &config), "jinja2");
    let mut config = content("t", json!({"template": "text {{body}}", "type": "demonstration"}));
    config["elements"][0]["example_output"] = json!("an example");
    assert_eq!(chosen(&bed, &config), "demonstration");
}

#[test]
fn examples_count_only_where_the_template_says_nothing() {
    let bed = bed();
    let mut config = content("t", json!({}));
    config["elements"][0]["example_output"] = json!("an example");
    assert_eq!(chosen(&bed, &config), "demonstration");
    config["generation"]["patterns"][0]["template"] = json!("{{ name }}");
    assert_eq!(chosen(&bed, &config), "template_fill");
    config["generation"]["patterns"][0]["template"] = json!("{% if true %}x{% endif %}");
    assert_eq!(chosen(&bed, &config), "jinja2");
}

#[test]
fn a_template_in_a_file_is_looked_at_like_any_other() {
    let bed = bed();
    bed.file("t/greeting.txt", "Hello {{name}}");
    let config = content("t", json!({"template_file": "t/greeting.txt"}));
    assert_eq!(chosen(&bed, &config), "template_fill");
}

#[test]
fn an_unknown_type_is_an_error_that_suggests() {
    let bed = bed();
    bed.put(&content("t", json!({"template": "x", "type": "jinja"})));
    let error = bed.generate("t", json!({})).unwrap_err();
    assert_eq!(error.code().as_str(), "GENERATOR_NOT_FOUND");
    assert_eq!(error.hint().unwrap(), "did you mean `jinja2`?");
    bed.put(&content("t", json!({"template": "x", "type": "magic"})));
    assert_eq!(code(bed.generate("t", json!({}))), "GENERATOR_NOT_FOUND");
}
