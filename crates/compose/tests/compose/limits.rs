//! Each limit, where it is enforced. Those of templates are in `sandbox`, that of batches in `batch`,
//! that of days in `storage`.

use kenning_compose::Limits;
use serde_json::json;

use crate::bed::{artifact, bed, code, content, limited};

#[test]
fn a_content_has_a_size() {
    let bed = limited(Limits { max_content_size_bytes: 1_000, ..Limits::default() });
    let over = "x".repeat(1_001);
    bed.template("c", "{{ 'x' * 990 }}");
    assert!(bed.generate("c", json!({})).is_ok());
    bed.template("c", "{{ 'x' * 1001 }}");
    assert_eq!(code(bed.generate("c", json!({}))), "LIMIT_EXCEEDED");
    let mut config = content("two", json!({}));
    config["generation"]["patterns"] = json!([{"id": "a", "template": "{{ 'x' * 600 }}"}, {"id": "b", "template": "{{ 'x' * 600 }}"}]);
    bed.put(&config);
    assert_eq!(code(bed.generate("two", json!({}))), "LIMIT_EXCEEDED");
    bed.template("c", "{{a}}");
    assert_eq!(code(bed.generate("c", json!({"a": over}))), "LIMIT_EXCEEDED");
    bed.file("big.txt", &over);
    bed.put(&content("c", json!({"template_file": "big.txt"})));
    assert_eq!(code(bed.generate("c", json!({}))), "LIMIT_EXCEEDED");
    assert_eq!(code(bed.render("{% include 'big.txt' %}", json!({}))), "LIMIT_EXCEEDED");
    bed.template("half", "{{ 'x' * 600 }}");
    bed.template("other-half", "{{ 'y' * 600 }}");
    bed.put(&artifact("a", "concat", json!([{"id": "half"}, {"id": "other-half"}])));
    assert_eq!(code(bed.assemble("a")), "LIMIT_EXCEEDED");
    assert!(!bed.exists("OUT.md"));
}

#[test]
fn an_artifact_has_a_number_of_children() {
    let bed = limited(Limits { max_artifact_components: 2, ..Limits::default() });
    for id in ["a", "b", "c"] {
        bed.template(id, id);
    }
    bed.put(&artifact("two", "concat", json!([{"id": "a"}, {"id": "b"}])));
    assert!(bed.assemble("two").is_ok());
    bed.put(&artifact("two", "concat", json!([{"id": "a"}, {"id": "b"}, {"id": "c"}])));
    let error = bed.assemble("two").unwrap_err();
    assert_eq!(
        error.details(),
        json!({"limit": "max_artifact_components", "given": 3, "allowed": 2})
    );
}

#[test]
fn the_limits_are_those_of_the_contract() {
    let bed = bed();
    let limits = bed.compose.limits();
    assert_eq!(limits.max_content_size_bytes, 10_000_000);
    assert_eq!(limits.max_artifact_components, 100);
    assert_eq!(limits.ephemeral_retention_days, 30);
    assert_eq!(limits.max_batch_size, 50);
}
