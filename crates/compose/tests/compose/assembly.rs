//! Assembling artifacts: strategies, children, output files, dependencies.

use kenning_compose::assemble::{AssemblyStatus, ChildStatus};
use kenning_compose::trace::{Readiness, TraceRequest};
use serde_json::json;

use crate::fixture::{Fixture, artifact, code, content, fixture, object};

fn with_contents() -> Fixture {
    let fixture = fixture();
    fixture.template("one", "# One\n\nfirst {% if true %}{% endif %}\n");
    fixture.template("two", "# Two\n\nsecond\n");
    fixture.template("three", "# One\n\nthird\n");
    fixture
}

#[test]
fn concat_orders_children() {
    let fixture = with_contents();
    let children =
        json!([{"id": "one", "order": 2}, {"id": "two", "order": 1}, {"id": "three", "order": 2}]);
    fixture.put(&artifact("a", "concat", children));
    let assembled = fixture.assemble("a").unwrap();
    assert_eq!(assembled.status, AssemblyStatus::Assembled);
    assert_eq!(fixture.read("OUT.md"), "# Two\n\nsecond\n\n# One\n\nfirst \n\n# One\n\nthird\n");
    let order: Vec<(&str, ChildStatus)> =
        assembled.children.iter().map(|child| (child.id.as_str(), child.status)).collect();
    let generated = ChildStatus::Generated;
    assert_eq!(order, [("two", generated), ("one", generated), ("three", generated)]);
    let again = fixture.assemble("a").unwrap();
    assert_eq!(again.status, AssemblyStatus::Unchanged);
    assert!(again.children.iter().all(|child| child.status == ChildStatus::Unchanged));
    fixture.template("two", "# Two\n\nchanged\n");
    assert_eq!(fixture.assemble("a").unwrap().status, AssemblyStatus::Assembled);
    assert!(fixture.read("OUT.md").contains("changed"));
}

#[test]
fn merges_markdown_by_heading() {
    let fixture = with_contents();
    fixture.put(&artifact("a", "merge", json!([{"id": "one"}, {"id": "two"}, {"id": "three"}])));
    fixture.assemble("a").unwrap();
    assert_eq!(fixture.read("OUT.md"), "# One\n\nfirst \n\nthird\n\n# Two\n\nsecond\n");
}

#[test]
fn merges_json_and_yaml_by_key_into_several_outputs() {
    let fixture = fixture();
    fixture.template("a", r#"{"name": "x", "list": [1], "in": {"a": 1}}"#);
    fixture.template("b", r#"{"name": "y", "list": [1, 2], "in": {"b": 2}}"#);
    let mut config = artifact("m", "merge", json!([{"id": "a"}, {"id": "b"}]));
    config["metadata"]["outputs"] =
        json!([{"file": "out/m.json", "format": "json"}, {"file": "out/m.yaml", "format": "yaml"}]);
    fixture.put(&config);
    let assembled = fixture.assemble("m").unwrap();
    assert_eq!(assembled.outputs.len(), 2);
    let expected = json!({"name": "y", "list": [1, 2], "in": {"a": 1, "b": 2}});
    let merged: serde_json::Value = serde_json::from_str(&fixture.read("out/m.json")).unwrap();
    assert_eq!(merged, expected);
    assert!(fixture.read("out/m.yaml").contains("name: \"y\""), "{}", fixture.read("out/m.yaml"));
    fixture.template("b", "not json");
    let error = fixture.assemble("m").unwrap_err();
    assert_eq!(error.code().as_str(), "MERGE_FAILED");
    assert!(error.to_string().contains("`b`"), "{error}");
    config["metadata"]["outputs"] = json!([{"file": "m.txt", "format": "text"}]);
    fixture.put(&config);
    assert_eq!(code(fixture.assemble("m")), "MERGE_FAILED");
}

#[test]
fn template_reads_children_by_id() {
    let fixture = with_contents();
    let mut config = artifact("a", "template", json!([{"id": "one"}, {"id": "two"}]));
    config["content"]["template"] = json!(
        "{{ artifact.title }} in {{ output.file }}\n{{ children.two|trim }}\n{% for id in order %}{{ loop.index }}:{{ id }} {% endfor %}{{ extra }}"
    );
    fixture.put(&config);
    let context = Some(object(json!({"extra": "more"})));
    fixture.assemble_with("a", |request| request.context = context).unwrap();
    let expected = "The artifact a in OUT.md\n# Two\n\nsecond\n1:one 2:two more";
    assert_eq!(fixture.read("OUT.md"), expected);
    config["content"].as_object_mut().unwrap().remove("template");
    fixture.put(&config);
    assert_eq!(code(fixture.assemble("a")), "CONFIG_INVALID");
}

#[test]
fn custom_follows_the_listed_order() {
    let fixture = with_contents();
    let children = json!([{"id": "one"}, {"id": "two"}, {"id": "absent", "required": false}]);
    let mut config = artifact("a", "custom", children);
    config["content"]["custom"] = json!(["two", {"text": "---"}, "absent", "one"]);
    fixture.put(&config);
    let assembled = fixture.assemble("a").unwrap();
    assert_eq!(fixture.read("OUT.md"), "# Two\n\nsecond\n\n---\n\n# One\n\nfirst \n");
    assert_eq!(assembled.warnings.len(), 1);
    config["content"]["custom"] = json!(["two", "unknown"]);
    fixture.put(&config);
    assert_eq!(code(fixture.assemble("a")), "CONFIG_INVALID");
}

#[test]
fn names_a_required_child_that_fails() {
    let fixture = with_contents();
    fixture.template("broken", "{{ nothing_like_it + 1 }}");
    fixture.put(&artifact("a", "concat", json!([{"id": "one"}, {"id": "broken"}])));
    let error = fixture.assemble("a").unwrap_err();
    assert_eq!(error.code().as_str(), "CHILD_FAILED");
    assert!(error.to_string().contains("`broken`"), "{error}");
    assert_eq!(error.details()["cause"]["error"], "TEMPLATE_ERROR");
    assert!(!fixture.exists("OUT.md"));
    let optional = json!([{"id": "one"}, {"id": "broken", "required": false}]);
    fixture.put(&artifact("a", "concat", optional));
    let assembled = fixture.assemble("a").unwrap();
    assert_eq!(assembled.children[1].status, ChildStatus::LeftOut);
    assert!(assembled.warnings[0].contains("broken"));
}

#[test]
fn children_can_be_files_or_selected_versions() {
    let fixture = with_contents();
    fixture.file("docs/own.md", "written by hand\n");
    let first = fixture.generate("one", json!({})).unwrap().version;
    fixture.template("one", "later\n");
    fixture.clock.pass_days(1);
    fixture.generate("one", json!({})).unwrap();
    let pinned = json!([
        {"id": "own", "path": "docs/own.md"},
        {"id": "one", "retrievalStrategy": format!("version:{first}")},
    ]);
    fixture.put(&artifact("a", "concat", pinned));
    fixture.assemble("a").unwrap();
    assert_eq!(fixture.read("OUT.md"), "written by hand\n\n# One\n\nfirst \n");
    fixture.put(&artifact("a", "concat", json!([{"id": "one", "retrievalStrategy": "all"}])));
    fixture.assemble("a").unwrap();
    assert_eq!(fixture.read("OUT.md"), "# One\n\nfirst \n\nlater\n");
    let day = json!([{"id": "one", "retrievalStrategy": "timestamp:2025-12-28"}]);
    fixture.put(&artifact("a", "concat", day));
    fixture.assemble("a").unwrap();
    assert_eq!(fixture.read("OUT.md"), "later\n");
    let never = json!([{"id": "one", "retrievalStrategy": "timestamp:1999"}]);
    fixture.put(&artifact("a", "concat", never));
    assert_eq!(code(fixture.assemble("a")), "CHILD_FAILED");
    fixture.put(&artifact("a", "concat", json!([{"id": "one", "retrievalStrategy": "newest"}])));
    assert_eq!(code(fixture.assemble("a")), "CONFIG_INVALID");
}

#[test]
fn a_child_keeps_the_context_of_its_latest_version() {
    let fixture = fixture();
    fixture.template("greeting", "Hello {{ name|upper }}\n");
    fixture.generate("greeting", json!({"name": "you"})).unwrap();
    fixture.put(&artifact("a", "concat", json!([{"id": "greeting"}])));
    fixture.assemble("a").unwrap();
    assert_eq!(fixture.read("OUT.md"), "Hello YOU\n");
    let context = Some(object(json!({"name": "all"})));
    fixture.assemble_with("a", |request| request.context = context).unwrap();
    assert_eq!(fixture.read("OUT.md"), "Hello ALL\n");
}

#[test]
fn overwrites_foreign_files_only_when_forced() {
    let fixture = with_contents();
    fixture.file("OUT.md", "precious\n");
    fixture.put(&artifact("a", "concat", json!([{"id": "one"}])));
    assert_eq!(code(fixture.assemble("a")), "OUTPUT_CHANGED");
    assert_eq!(fixture.read("OUT.md"), "precious\n");
    let forced = fixture.assemble_with("a", |request| request.force = true).unwrap();
    let backup = forced.outputs[0].backup.clone().unwrap();
    assert_eq!(fixture.state_file(&backup), "precious\n");
    // A file that an assembly wrote may be replaced, unless it was changed since.
    fixture.template("one", "next\n");
    fixture.assemble("a").unwrap();
    assert_eq!(fixture.read("OUT.md"), "next\n");
    fixture.file("OUT.md", "edited by hand\n");
    fixture.template("one", "and next\n");
    assert_eq!(code(fixture.assemble("a")), "OUTPUT_CHANGED");
}

#[test]
fn output_path_redirects_a_single_output() {
    let fixture = with_contents();
    let mut config = artifact("a", "concat", json!([{"id": "one"}]));
    fixture.put(&config);
    let to = |path: &str| {
        fixture.assemble_with("a", |request| request.output_path = Some(path.to_owned()))
    };
    to("else/where.md").unwrap();
    assert!(fixture.exists("else/where.md") && !fixture.exists("OUT.md"));
    let config_file = ".kenning/compose/content/x.json";
    for path in ["../out.md", "/tmp/o.md", ".git/x", "a/.GIT/hooks/x", config_file, "a\\b"] {
        assert_eq!(code(to(path)), "INVALID_PATH", "{path}");
    }
    config["metadata"]["outputs"] =
        json!([{"file": "a.md", "format": "markdown"}, {"file": "b.md", "format": "markdown"}]);
    fixture.put(&config);
    assert_eq!(code(to("c.md")), "INVALID_ARGUMENT");
}

#[test]
fn traces_dependencies() {
    let fixture = with_contents();
    fixture.put(&content("code", json!({"type": "code_generation", "specification": "x"})));
    fixture.put(&artifact("a", "concat", json!([{"id": "two", "order": 1}, {"id": "one"}])));
    let trace = |id: &str, check_status: bool| {
        let artifact_config_id = id.to_owned();
        fixture.compose.trace_dependencies(&TraceRequest { artifact_config_id, check_status })
    };
    let before = trace("a", true).unwrap();
    assert_eq!(before.status, Some(Readiness::Incomplete));
    let ids: Vec<&str> = before.dependencies.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["one", "two"]);
    assert_eq!(before.dependencies[0].generators, ["jinja2"]);
    fixture.assemble("a").unwrap();
    assert_eq!(trace("a", true).unwrap().status, Some(Readiness::Ready));
    assert_eq!(trace("a", false).unwrap().status, None);
    fixture.put(&artifact("b", "concat", json!([{"id": "one"}, {"id": "unknown"}])));
    assert_eq!(trace("b", true).unwrap().status, Some(Readiness::MissingConfig));
    let optional = json!([{"id": "one"}, {"id": "unknown", "required": false}]);
    fixture.put(&artifact("b", "concat", optional));
    assert_eq!(trace("b", true).unwrap().status, Some(Readiness::Ready));
    fixture.put(&artifact("c", "concat", json!([{"id": "code"}])));
    let code_needed = trace("c", true).unwrap();
    assert_eq!(code_needed.status, Some(Readiness::Incomplete));
    let problem = code_needed.dependencies[0].problem.clone().unwrap();
    assert!(problem.contains("ANTHROPIC_API_KEY"), "{problem}");
    assert_eq!(code(trace("unknown", true)), "CONFIG_NOT_FOUND");
    fixture.put(&content("one", json!({"template_file": "templates/one.txt"})));
    let without = trace("a", true).unwrap();
    assert_eq!(without.status, Some(Readiness::Incomplete), "its template is gone");
    assert!(without.dependencies[0].problem.as_ref().unwrap().contains("templates/one.txt"));
}

#[test]
fn reports_findings_of_the_artifact_rules() {
    let fixture = with_contents();
    let mut config = artifact("a", "concat", json!([{"id": "one"}]));
    config["rules"] = json!([{"type": "length", "severity": "warning", "config": {"max": 3}}]);
    fixture.put(&config);
    let assembled = fixture.assemble("a").unwrap();
    assert_eq!(assembled.findings.len(), 1);
    assert!(assembled.findings[0].message.contains("more than 3"));
}
