//! Contents become files.

use kenning_compose::assemble::{AssembleRequest, AssemblyStatus, ChildStatus};
use kenning_compose::trace::{Readiness, TraceRequest};
use serde_json::json;

use crate::bed::{Bed, artifact, bed, code, content, object};

fn with_contents() -> Bed {
    let bed = bed();
    bed.template("one", "# One\n\nfirst {% if true %}{% endif %}\n");
    bed.template("two", "# Two\n\nsecond\n");
    bed.template("three", "# One\n\nthird\n");
    bed
}

fn forced(bed: &Bed, id: &str) -> kenning_compose::assemble::AssembleResponse {
    let request = AssembleRequest {
        artifact_config_id: id.to_owned(),
        force: true,
        ..AssembleRequest::default()
    };
    bed.compose.assemble_artifact(&request).unwrap()
}

#[test]
fn concat_puts_children_in_order() {
    let bed = with_contents();
    let children =
        json!([{"id": "one", "order": 2}, {"id": "two", "order": 1}, {"id": "three", "order": 2}]);
    bed.put(&artifact("a", "concat", children));
    let made = bed.assemble("a").unwrap();
    assert_eq!(made.status, AssemblyStatus::Assembled);
    assert_eq!(bed.read("OUT.md"), "# Two\n\nsecond\n\n# One\n\nfirst \n\n# One\n\nthird\n");
    let order: Vec<(&str, ChildStatus)> =
        made.children.iter().map(|child| (child.id.as_str(), child.status)).collect();
    let generated = ChildStatus::Generated;
    assert_eq!(order, [("two", generated), ("one", generated), ("three", generated)]);
    let again = bed.assemble("a").unwrap();
    assert_eq!(again.status, AssemblyStatus::Unchanged);
    assert!(again.children.iter().all(|child| child.status == ChildStatus::Unchanged));
    bed.template("two", "# Two\n\nchanged\n");
    assert_eq!(bed.assemble("a").unwrap().status, AssemblyStatus::Assembled);
    assert!(bed.read("OUT.md").contains("changed"));
}

#[test]
fn merge_goes_by_heading_in_markdown() {
    let bed = with_contents();
    bed.put(&artifact("a", "merge", json!([{"id": "one"}, {"id": "two"}, {"id": "three"}])));
    bed.assemble("a").unwrap();
    assert_eq!(bed.read("OUT.md"), "# One\n\nfirst \n\nthird\n\n# Two\n\nsecond\n");
}

#[test]
fn merge_goes_by_key_in_json_and_yaml_and_to_several_outputs() {
    let bed = bed();
    bed.template("a", r#"{"name": "x", "list": [1], "in": {"a": 1}}"#);
    bed.template("b", r#"{"name": "y", "list": [1, 2], "in": {"b": 2}}"#);
    let mut config = artifact("m", "merge", json!([{"id": "a"}, {"id": "b"}]));
    config["metadata"]["outputs"] =
        json!([{"file": "out/m.json", "format": "json"}, {"file": "out/m.yaml", "format": "yaml"}]);
    bed.put(&config);
    let made = bed.assemble("m").unwrap();
    assert_eq!(made.outputs.len(), 2);
    let expected = json!({"name": "y", "list": [1, 2], "in": {"a": 1, "b": 2}});
    let merged: serde_json::Value = serde_json::from_str(&bed.read("out/m.json")).unwrap();
    assert_eq!(merged, expected);
    assert!(bed.read("out/m.yaml").contains("name: \"y\""), "{}", bed.read("out/m.yaml"));
    bed.template("b", "not json");
    let error = bed.assemble("m").unwrap_err();
    assert_eq!(error.code().as_str(), "MERGE_FAILED");
    assert!(error.to_string().contains("`b`"), "{error}");
    config["metadata"]["outputs"] = json!([{"file": "m.txt", "format": "text"}]);
    bed.put(&config);
    assert_eq!(code(bed.assemble("m")), "MERGE_FAILED");
}

#[test]
fn a_template_has_the_children_by_id() {
    let bed = with_contents();
    let mut config = artifact("a", "template", json!([{"id": "one"}, {"id": "two"}]));
    config["content"]["template"] = json!(
        "{{ artifact.title }} in {{ output.file }}\n{{ children.two|trim }}\n{% for id in order %}{{ loop.index }}:{{ id }} {% endfor %}{{ extra }}"
    );
    bed.put(&config);
    let request = AssembleRequest {
        artifact_config_id: "a".to_owned(),
        context: Some(object(json!({"extra": "more"}))),
        ..AssembleRequest::default()
    };
    bed.compose.assemble_artifact(&request).unwrap();
    assert_eq!(bed.read("OUT.md"), "The artifact a in OUT.md\n# Two\n\nsecond\n1:one 2:two more");
    config["content"].as_object_mut().unwrap().remove("template");
    bed.put(&config);
    assert_eq!(code(bed.assemble("a")), "CONFIG_INVALID");
}

#[test]
fn custom_is_in_the_order_that_is_listed() {
    let bed = with_contents();
    let mut config = artifact(
        "a",
        "custom",
        json!([
            {"id": "one"}, {"id": "two"}, {"id": "absent", "required": false},
        ]),
    );
    config["content"]["custom"] = json!(["two", {"text": "---"}, "absent", "one"]);
    bed.put(&config);
    let made = bed.assemble("a").unwrap();
    assert_eq!(bed.read("OUT.md"), "# Two\n\nsecond\n\n---\n\n# One\n\nfirst \n");
    assert_eq!(made.warnings.len(), 1);
    config["content"]["custom"] = json!(["two", "nobody"]);
    bed.put(&config);
    assert_eq!(code(bed.assemble("a")), "CONFIG_INVALID");
}

#[test]
fn a_required_child_that_is_not_to_be_had_is_an_error_that_names_it() {
    let bed = with_contents();
    bed.template("broken", "{{ nothing_like_it + 1 }}");
    bed.put(&artifact("a", "concat", json!([{"id": "one"}, {"id": "broken"}])));
    let error = bed.assemble("a").unwrap_err();
    assert_eq!(error.code().as_str(), "CHILD_FAILED");
    assert!(error.to_string().contains("`broken`"), "{error}");
    assert_eq!(error.details()["cause"]["error"], "TEMPLATE_ERROR");
    assert!(!bed.exists("OUT.md"));
    bed.put(&artifact("a", "concat", json!([{"id": "one"}, {"id": "broken", "required": false}])));
    let made = bed.assemble("a").unwrap();
    assert_eq!(made.children[1].status, ChildStatus::LeftOut);
    assert!(made.warnings[0].contains("broken"));
}

#[test]
fn children_can_be_files_and_certain_versions() {
    let bed = with_contents();
    bed.file("docs/own.md", "written by hand\n");
    let first = bed.generate("one", json!({})).unwrap().version;
    bed.template("one", "later\n");
    bed.clock.pass_days(1);
    bed.generate("one", json!({})).unwrap();
    let pinned = json!([
        {"id": "own", "path": "docs/own.md"},
        {"id": "one", "retrievalStrategy": format!("version:{first}")},
    ]);
    bed.put(&artifact("a", "concat", pinned));
    bed.assemble("a").unwrap();
    assert_eq!(bed.read("OUT.md"), "written by hand\n\n# One\n\nfirst \n");
    bed.put(&artifact("a", "concat", json!([{"id": "one", "retrievalStrategy": "all"}])));
    bed.assemble("a").unwrap();
    assert_eq!(bed.read("OUT.md"), "# One\n\nfirst \n\nlater\n");
    let day = json!([{"id": "one", "retrievalStrategy": "timestamp:2025-12-28"}]);
    bed.put(&artifact("a", "concat", day));
    bed.assemble("a").unwrap();
    assert_eq!(bed.read("OUT.md"), "later\n");
    let never = json!([{"id": "one", "retrievalStrategy": "timestamp:1999"}]);
    bed.put(&artifact("a", "concat", never));
    assert_eq!(code(bed.assemble("a")), "CHILD_FAILED");
    bed.put(&artifact("a", "concat", json!([{"id": "one", "retrievalStrategy": "newest"}])));
    assert_eq!(code(bed.assemble("a")), "CONFIG_INVALID");
}

#[test]
fn a_child_keeps_the_context_it_was_generated_with() {
    let bed = bed();
    bed.template("greeting", "Hello {{ name|upper }}\n");
    bed.generate("greeting", json!({"name": "you"})).unwrap();
    bed.put(&artifact("a", "concat", json!([{"id": "greeting"}])));
    bed.assemble("a").unwrap();
    assert_eq!(bed.read("OUT.md"), "Hello YOU\n");
    let request = AssembleRequest {
        artifact_config_id: "a".to_owned(),
        context: Some(object(json!({"name": "all"}))),
        ..AssembleRequest::default()
    };
    bed.compose.assemble_artifact(&request).unwrap();
    assert_eq!(bed.read("OUT.md"), "Hello ALL\n");
}

#[test]
fn somebody_elses_file_is_not_overwritten_unless_asked() {
    let bed = with_contents();
    bed.file("OUT.md", "precious\n");
    bed.put(&artifact("a", "concat", json!([{"id": "one"}])));
    assert_eq!(code(bed.assemble("a")), "OUTPUT_CHANGED");
    assert_eq!(bed.read("OUT.md"), "precious\n");
    let made = forced(&bed, "a");
    let backup = made.outputs[0].backup.clone().unwrap();
    assert_eq!(std::fs::read_to_string(bed.state.path().join(backup)).unwrap(), "precious\n");
    // What we wrote we may write again; what was changed since, not.
    bed.template("one", "next\n");
    bed.assemble("a").unwrap();
    assert_eq!(bed.read("OUT.md"), "next\n");
    bed.file("OUT.md", "edited by hand\n");
    bed.template("one", "and next\n");
    assert_eq!(code(bed.assemble("a")), "OUTPUT_CHANGED");
}

#[test]
fn an_output_path_is_for_one_output() {
    let bed = with_contents();
    let mut config = artifact("a", "concat", json!([{"id": "one"}]));
    bed.put(&config);
    let to = |path: &str| {
        bed.compose.assemble_artifact(&AssembleRequest {
            artifact_config_id: "a".to_owned(),
            output_path: Some(path.to_owned()),
            ..AssembleRequest::default()
        })
    };
    to("else/where.md").unwrap();
    assert!(bed.exists("else/where.md") && !bed.exists("OUT.md"));
    for path in [
        "../out.md",
        "/tmp/out.md",
        ".git/config",
        "a/.GIT/hooks/x",
        ".kenning/compose/content/x.json",
        "a\\b",
    ] {
        assert_eq!(code(to(path)), "INVALID_PATH", "{path}");
    }
    config["metadata"]["outputs"] =
        json!([{"file": "a.md", "format": "markdown"}, {"file": "b.md", "format": "markdown"}]);
    bed.put(&config);
    assert_eq!(code(to("c.md")), "INVALID_ARGUMENT");
}

#[test]
fn dependencies_are_traced() {
    let bed = with_contents();
    bed.put(&content("code", json!({"type": "code_generation", "specification": "x"})));
    bed.put(&artifact("a", "concat", json!([{"id": "two", "order": 1}, {"id": "one"}])));
    let trace = |id: &str, check_status: bool| {
        let artifact_config_id = id.to_owned();
        bed.compose.trace_dependencies(&TraceRequest { artifact_config_id, check_status })
    };
    let before = trace("a", true).unwrap();
    assert_eq!(before.status, Some(Readiness::Incomplete));
    let ids: Vec<&str> = before.dependencies.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["one", "two"]);
    assert_eq!(before.dependencies[0].generators, ["jinja2"]);
    bed.assemble("a").unwrap();
    assert_eq!(trace("a", true).unwrap().status, Some(Readiness::Ready));
    assert_eq!(trace("a", false).unwrap().status, None);
    bed.put(&artifact("b", "concat", json!([{"id": "one"}, {"id": "nobody"}])));
    assert_eq!(trace("b", true).unwrap().status, Some(Readiness::MissingConfig));
    bed.put(&artifact("b", "concat", json!([{"id": "one"}, {"id": "nobody", "required": false}])));
    assert_eq!(trace("b", true).unwrap().status, Some(Readiness::Ready));
    bed.put(&artifact("c", "concat", json!([{"id": "code"}])));
    let code_needed = trace("c", true).unwrap();
    assert_eq!(code_needed.status, Some(Readiness::Incomplete));
    let problem = code_needed.dependencies[0].problem.clone().unwrap();
    assert!(
        problem.contains("ANTHROPIC_API_KEY") || problem.contains("not been generated"),
        "{problem}"
    );
    assert_eq!(code(trace("nobody", true)), "CONFIG_NOT_FOUND");
    bed.put(&content("one", json!({"template_file": "templates/one.txt"})));
    let without = trace("a", true).unwrap();
    assert_eq!(without.status, Some(Readiness::Incomplete), "its template is gone");
    assert!(without.dependencies[0].problem.as_ref().unwrap().contains("templates/one.txt"));
}

#[test]
fn rules_of_an_artifact_are_told_with_it() {
    let bed = with_contents();
    let mut config = artifact("a", "concat", json!([{"id": "one"}]));
    config["rules"] = json!([{"type": "length", "severity": "warning", "config": {"max": 3}}]);
    bed.put(&config);
    let made = bed.assemble("a").unwrap();
    assert_eq!(made.findings.len(), 1);
    assert!(made.findings[0].message.contains("more than 3"));
}
