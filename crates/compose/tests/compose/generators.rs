//! The built-in generators.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use kenning_compose::generator::{Model, ModelError};
use kenning_compose::list::GeneratorsRequest;
use kenning_compose::{Error, Parts};
use serde_json::{Value, json};

use crate::fixture::{code, content, fixture, fixture_with};

#[test]
fn template_fill_replaces_dotted_names() {
    let fixture = fixture();
    let fill = |template: &str, undefined: &str| {
        let pattern = json!({
            "type": "template_fill", "template": template,
            "generation_config": {"undefined": undefined},
        });
        fixture.pattern(pattern, json!({"a": {"b": "c", "list": [1, {"x": true}]}, "n": 1.5}))
    };
    let filled = fill("{{a.b}} {{ n }} {{a.list.1.x}} {{a.list}}", "error").unwrap();
    assert_eq!(filled, "c 1.5 true [1,{\"x\":true}]");
    assert_eq!(fill("<{{a.z}}>", "keep").unwrap(), "<{{a.z}}>");
    assert_eq!(fill("<{{a.z}}>", "empty").unwrap(), "<>");
    match fill("<{{a.z}}>", "error") {
        Err(Error::MissingVariables { names, .. }) => assert_eq!(names, ["a.z"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(code(fill("{{ a|upper }}", "empty")), "TEMPLATE_ERROR");
    assert_eq!(code(fill("{{ a", "empty")), "TEMPLATE_ERROR");
    assert_eq!(code(fill("{{ a.b }}", "whatever")), "INVALID_ARGUMENT");
    // Values are not filled again.
    let pattern = json!({"type": "template_fill", "template": "{{x}}"});
    assert_eq!(fixture.pattern(pattern, json!({"x": "{{x}}"})).unwrap(), "{{x}}");
}

#[test]
fn demonstration_fills_in_example_outputs() {
    let fixture = fixture();
    let mut config =
        content("d", json!({"type": "demonstration", "template": "# {{title}}\n\n{{body}}\n"}));
    config["elements"] = json!([
        {"name": "title", "example_output": "A title"},
        {"name": "body", "example_output": "Some text with {{title}} in it."},
        {"name": "empty"},
    ]);
    fixture.put(&config);
    let filled = "# A title\n\nSome text with {{title}} in it.\n";
    assert_eq!(fixture.text("d", json!({})), filled);
    config["generation"]["patterns"][0] = json!({"id": "p", "type": "demonstration"});
    fixture.put(&config);
    assert_eq!(fixture.text("d", json!({})), "A title\n\nSome text with {{title}} in it.");
    config["generation"]["patterns"][0] =
        json!({"id": "p", "type": "demonstration", "template": "{{empty}}"});
    fixture.put(&config);
    assert_eq!(code(fixture.generate("d", json!({}))), "MISSING_VARIABLE");
}

#[expect(clippy::needless_pass_by_value, reason = "cases read better with the value in them")]
fn gherkin(data: Value) -> Result<String, Error> {
    fixture()
        .pattern(json!({"type": "bdd_scenario_assembly", "generation_config": data}), json!({}))
}

#[test]
fn writes_gherkin_that_parses() {
    let text = gherkin(json!({
        "feature": {"name": "Login", "description": "As a user\nI want in", "tags": ["web", "@slow"]},
        "background": {"steps": ["Given a server"]},
        "scenarios": [
            {
                "name": "It works", "tags": ["happy"],
                "given": ["a user", "a password"], "when": "they log in", "then": ["they are in"],
            },
            {
                "name": "With data",
                "steps": [
                    {"keyword": "Given", "text": "users", "table": [["name", "age"], ["a|b", 3]]},
                    {"keyword": "When", "text": "asked", "doc_string": "one\n\"\"\"\ntwo"},
                    "Then nothing | happens",
                    "* a star",
                ],
            },
        ],
        "outlines": [{
            "name": "Many",
            "steps": ["Given <count> apples", "Then <left> are left"],
            "examples": [{"count": 3, "left": "two"}, {"count": 1, "left": 0}],
        }],
    }))
    .unwrap();
    let feature = gherkin::Feature::parse(&text, gherkin::GherkinEnv::default()).unwrap();
    assert_eq!(feature.name, "Login");
    assert_eq!(feature.tags, ["web", "slow"]);
    assert_eq!(feature.background.unwrap().steps.len(), 1);
    let scenarios: Vec<(&str, usize)> =
        feature.scenarios.iter().map(|one| (one.name.as_str(), one.steps.len())).collect();
    assert_eq!(scenarios, [("It works", 4), ("With data", 4), ("Many", 2)]);
    let table = feature.scenarios[1].steps[0].table.as_ref().unwrap();
    assert_eq!(table.rows.len(), 2);
    let examples = feature.scenarios[2].examples[0].table.as_ref().unwrap();
    assert_eq!(examples.rows, [["count", "left"], ["3", "two"], ["1", "0"]]);
}

#[test]
fn rejects_data_that_would_not_be_gherkin() {
    let scenario = |name: &str, steps: Value| json!({"feature": "F", "scenarios": [{"name": name, "steps": steps}]});
    let outline = |step: &str, examples: Value| {
        let outlines = json!([{"name": "O", "steps": [step], "examples": examples}]);
        json!({"feature": "F", "outlines": outlines})
    };
    let uneven = json!({"keyword": "Given", "text": "x", "table": [["a"], ["b", "c"]]});
    for data in [
        json!({}),
        json!({"feature": "two\nlines"}),
        json!({"feature": {"name": "F", "tags": ["two words"]}}),
        json!({"feature": {"name": "F", "description": "Scenario: smuggled"}}),
        scenario("", json!([])),
        scenario("S", json!(["Perhaps it works"])),
        scenario("S", json!(["Given a\nScenario: b"])),
        scenario("S", json!([uneven])),
        outline("Given <x>", json!([{"y": 1}])),
        outline("Given x", json!([])),
    ] {
        assert_eq!(code(gherkin(data.clone())), "TEMPLATE_ERROR", "{data}");
    }
}

/// Records prompts.
struct Recorder(Mutex<Vec<String>>);

impl Model for Recorder {
    fn complete(&self, prompt: &str) -> Result<String, ModelError> {
        self.0.lock().unwrap().push(prompt.to_owned());
        if prompt.contains("fail") {
            return Err(ModelError("overloaded".to_owned()));
        }
        Ok("```rust\nfn main() {}\n```".to_owned())
    }
}

#[test]
fn code_generation_calls_the_model() {
    let recorder = Arc::new(Recorder(Mutex::default()));
    let model: Arc<dyn Model> = recorder.clone();
    let set: BTreeSet<String> = ["ANTHROPIC_API_KEY".to_owned()].into();
    let fixture =
        fixture_with(|parts| Parts { model: Some(model), credentials: Arc::new(set), ..parts });
    let write = |what: &str| {
        let pattern = json!({
            "type": "code_generation", "specification": "A program that does {{what}}",
            "generation_config": {"language": "Rust"},
        });
        fixture.pattern(pattern, json!({"what": what}))
    };
    assert_eq!(write("nothing").unwrap(), "fn main() {}\n");
    let prompt = recorder.0.lock().unwrap()[0].clone();
    assert!(prompt.contains("A program that does nothing") && prompt.contains("Rust"), "{prompt}");
    let error = write("fail").unwrap_err();
    assert_eq!(error.code().as_str(), "MODEL_FAILED");
    assert!(error.to_string().contains("overloaded"));
    assert!(fixture.generators().absent.is_empty());
}

#[test]
fn code_generation_without_its_key_is_absent_and_runs_nothing() {
    let recorder = Arc::new(Recorder(Mutex::default()));
    let model: Arc<dyn Model> = recorder.clone();
    let fixture = fixture_with(|parts| Parts { model: Some(model), ..parts });
    let listing = fixture.generators();
    assert!(!listing.generators.contains_key("code_generation"));
    assert_eq!(listing.absent[0].missing, ["ANTHROPIC_API_KEY"]);
    let mut config = content("c", json!({}));
    // The first pattern would fail if it ran.
    config["generation"]["patterns"] = json!([
        {"id": "a", "template": "{{ missing }}"},
        {"id": "b", "type": "code_generation", "specification": "x"},
    ]);
    fixture.put(&config);
    let error = fixture.generate("c", json!({})).unwrap_err();
    assert_eq!(error.code().as_str(), "GENERATOR_UNAVAILABLE");
    assert!(error.to_string().contains("ANTHROPIC_API_KEY"), "{error}");
    assert!(recorder.0.lock().unwrap().is_empty());
}

#[test]
fn code_generation_without_a_model_is_absent() {
    let set: BTreeSet<String> = ["ANTHROPIC_API_KEY".to_owned()].into();
    let fixture = fixture_with(|parts| Parts { credentials: Arc::new(set), ..parts });
    let listing = fixture.generators();
    assert_eq!(listing.absent[0].reason, "no model is set up");
}

#[test]
fn generators_publish_all_fields_of_the_contract() {
    let fixture = fixture();
    let response = fixture.compose.list_generators(&GeneratorsRequest::default());
    let listed = serde_json::to_value(&response).unwrap();
    let counts = &listed["metadata"];
    let generators = listed["generators"].as_object().unwrap();
    assert_eq!(counts["generator_count"], generators.len());
    assert_eq!(counts["builtin_count"], 4);
    assert_eq!(listed["selection_strategy"]["fallback"], "jinja2");
    for (name, generator) in generators {
        assert_eq!(generator["type"], **name);
        for field in ["name", "version", "source", "status", "docs_uri"] {
            assert!(!generator[field].as_str().unwrap().is_empty(), "{name} {field}");
        }
        for field in ["capabilities", "best_for"] {
            assert!(!generator[field].as_array().unwrap().is_empty(), "{name} {field}");
        }
        assert!(generator["indicators"]["confidence"].is_string(), "{name}");
        for field in ["fields", "dependencies", "env_vars"] {
            assert!(generator["requirements"][field].is_array(), "{name} {field}");
        }
        assert!(generator["upstream_dependencies"].is_null(), "{name}");
    }
    assert_eq!(listed["absent"][0]["docs_uri"], "generator://code_generation");
    let absent =
        serde_json::to_value(fixture.compose.generator("code_generation").unwrap()).unwrap();
    let latency = &absent["upstream_dependencies"]["expected_latency_ms"];
    assert_eq!(*latency, json!({"p50": 1500, "p95": 5000}));
    assert_eq!(fixture.compose.generator("jinja2").unwrap().docs_uri, "generator://jinja2");
    assert_eq!(code(fixture.compose.generator("nope")), "GENERATOR_NOT_FOUND");
}
