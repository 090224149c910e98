//! Limits on sizes and counts. Limits of templates are tested in `sandbox`, of batches in `batch`,
//! of retention in `storage`.

use kenning_compose::Limits;
use serde_json::json;

use crate::fixture::{artifact, code, content, fixture, limited};

#[test]
fn limits_the_size_of_contents_files_and_artifacts() {
    let fixture = limited(Limits { max_content_size_bytes: 1_000, ..Limits::default() });
    let over = "x".repeat(1_001);
    fixture.template("c", "{{ 'x' * 990 }}");
    assert!(fixture.generate("c", json!({})).is_ok());
    fixture.template("c", "{{ 'x' * 1001 }}");
    assert_eq!(code(fixture.generate("c", json!({}))), "LIMIT_EXCEEDED");
    let mut config = content("two", json!({}));
    config["generation"]["patterns"] = json!([{"id": "a", "template": "{{ 'x' * 600 }}"}, {"id": "b", "template": "{{ 'x' * 600 }}"}]);
    fixture.put(&config);
    assert_eq!(code(fixture.generate("two", json!({}))), "LIMIT_EXCEEDED");
    fixture.template("c", "{{a}}");
    assert_eq!(code(fixture.generate("c", json!({"a": over}))), "LIMIT_EXCEEDED");
    fixture.file("big.txt", &over);
    fixture.put(&content("c", json!({"template_file": "big.txt"})));
    assert_eq!(code(fixture.generate("c", json!({}))), "LIMIT_EXCEEDED");
    assert_eq!(code(fixture.render("{% include 'big.txt' %}", json!({}))), "LIMIT_EXCEEDED");
    fixture.template("half", "{{ 'x' * 600 }}");
    fixture.template("other-half", "{{ 'y' * 600 }}");
    fixture.put(&artifact("a", "concat", json!([{"id": "half"}, {"id": "other-half"}])));
    assert_eq!(code(fixture.assemble("a")), "LIMIT_EXCEEDED");
    assert!(!fixture.exists("OUT.md"));
}

#[test]
fn limits_the_children_of_an_artifact() {
    let fixture = limited(Limits { max_artifact_components: 2, ..Limits::default() });
    for id in ["a", "b", "c"] {
        fixture.template(id, id);
    }
    fixture.put(&artifact("two", "concat", json!([{"id": "a"}, {"id": "b"}])));
    assert!(fixture.assemble("two").is_ok());
    fixture.put(&artifact("two", "concat", json!([{"id": "a"}, {"id": "b"}, {"id": "c"}])));
    let error = fixture.assemble("two").unwrap_err();
    let details = json!({"limit": "max_artifact_components", "given": 3, "allowed": 2});
    assert_eq!(error.details(), details);
}

#[test]
fn default_limits_are_those_of_the_contract() {
    let fixture = fixture();
    let limits = fixture.compose.limits();
    assert_eq!(limits.max_content_size_bytes, 10_000_000);
    assert_eq!(limits.max_artifact_components, 100);
    assert_eq!(limits.ephemeral_retention_days, 30);
    assert_eq!(limits.max_batch_size, 50);
}
