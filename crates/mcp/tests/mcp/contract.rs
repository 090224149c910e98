//! The shape that the contract gives to the four descriptions.

use std::sync::{Arc, Mutex};

use kenning_app::generator::{GeneratorList, Generators, SelectionStrategy};
use kenning_app::{Inventory, Services, Toolset};
use serde_json::{Value, json};

use crate::fixture::{Fixture, connect, describe, described_tools};

fn check(schema: &Value, instance: &Value) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let faults: Vec<String> = validator
        .iter_errors(instance)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}\n{instance:#}");
}

/// An object with all of these properties and no others.
fn exactly(properties: &Value) -> Value {
    let required: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false
    })
}

fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

fn texts() -> Value {
    json!({"type": "array", "items": text()})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn map_of(values: &Value) -> Value {
    json!({"type": "object", "additionalProperties": values})
}

#[tokio::test]
async fn the_server_description_has_the_contracts_shape() {
    let client = Fixture::handbook().client().await;
    let server = describe(&client, "server").await;
    let schema = exactly(&json!({
        "name": {"const": "kenning"},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
        "mcp_version": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        "features": map_of(&json!({"type": "boolean"})),
        "limits": map_of(&json!({"type": "integer", "minimum": 1})),
        "runtime": exactly(&json!({"rust": text(), "rmcp": text(), "platform": text()})),
        "tool_count": count(), "resource_count": count(), "generator_count": count(),
    }));
    check(&schema, &server);
    for flag in [
        "content_generation",
        "artifact_assembly",
        "config_lifecycle",
        "batch_operations",
        "ephemeral_storage",
        "resource_providers",
        "generator_plugins",
        "capability_discovery",
        "validation_suggestions",
    ] {
        assert!(server["features"][flag].is_boolean(), "the contract requires {flag}");
    }
    assert_eq!(server["features"]["capability_discovery"], true);
}

#[tokio::test]
async fn the_tools_description_has_the_contracts_shape() {
    let client = Fixture::handbook().client().await;
    let tool = exactly(&json!({
        "name": text(), "category": text(), "description": text(), "version": text(),
        "input_schema": {"type": "object", "required": ["type"]},
        "output_schema": {"type": "object", "required": ["type"]},
        "examples": {
            "type": "array", "minItems": 1,
            "items": exactly(&json!({"input": {"type": "object"}, "description": text()}))
        },
        "common_errors": {
            "type": "array", "minItems": 1,
            "items": exactly(&json!({
                "code": {"type": "string", "pattern": "^[A-Z_]+$"}, "message": text()
            }))
        },
        "performance": exactly(&json!({
            "typical_ms": text(), "timeout_ms": {"type": "string", "pattern": r"^\d+$"}
        })),
    }));
    let tools = describe(&client, "tools").await;
    let schema = exactly(&json!({
        "tools_by_category": map_of(&json!({"type": "array", "minItems": 1, "items": tool})),
        "metadata": exactly(&json!({"total_count": count(), "version": text()})),
    }));
    check(&schema, &tools);
    for (category, tools) in tools["tools_by_category"].as_object().unwrap() {
        assert!(tools.as_array().unwrap().iter().all(|tool| tool["category"] == **category));
    }
}

#[tokio::test]
async fn examples_fit_the_input_schemas() {
    let client = Fixture::handbook().client().await;
    for tool in described_tools(&client).await {
        for example in tool["examples"].as_array().unwrap() {
            check(&tool["input_schema"], &example["input"]);
        }
    }
}

#[tokio::test]
async fn the_resources_description_has_the_contracts_shape() {
    let client = Fixture::handbook().client().await;
    let parameter = json!({
        "type": "object", "required": ["type", "description"],
        "properties": {"type": text(), "description": text(), "enum": texts()},
        "additionalProperties": false
    });
    let family = exactly(&json!({
        "patterns": texts(), "mime_type": text(), "description": text(),
        "parameters": map_of(&parameter), "examples": texts(),
    }));
    let schema = exactly(&json!({
        "resources": map_of(&family),
        "metadata": exactly(&json!({"total_count": count(), "version": text()})),
    }));
    let resources = describe(&client, "resources").await;
    check(&schema, &resources);
    let types = &resources["resources"]["capabilities"]["parameters"]["capability_type"]["enum"];
    assert_eq!(*types, json!(["server", "tools", "resources", "generators"]));
}

fn generators_schema() -> Value {
    let upstream = exactly(&json!({
        "services": texts(), "credentials_required": texts(), "optional_services": texts(),
        "expected_latency_ms": {
            "type": "object", "additionalProperties": false,
            "properties": {"p50": {"type": "number"}, "p95": {"type": "number"}}
        },
        "stability": {"enum": ["stable", "beta", "experimental"]},
        "concurrency_safe": {"type": "boolean"},
    }));
    let mut generator = exactly(&json!({
        "type": text(), "name": text(), "version": text(),
        "source": {"enum": ["builtin", "plugin"]},
        "status": {"enum": ["stable", "experimental", "deprecated"]},
        "capabilities": texts(),
        "indicators": {
            "type": "object", "required": ["confidence"], "additionalProperties": false,
            "properties": {
                "config_field": text(), "config_values": texts(), "template_patterns": texts(),
                "confidence": {"enum": ["high", "medium", "low"]}
            }
        },
        "requirements": exactly(&json!({
            "fields": texts(), "dependencies": texts(), "env_vars": texts()
        })),
        "best_for": texts(), "docs_uri": text(),
        "upstream_dependencies": {"anyOf": [upstream, {"type": "null"}]},
    }));
    generator["properties"]["plugin_path"] = text();
    exactly(&json!({
        "generators": map_of(&generator),
        "absent": {
            "type": "array",
            "items": exactly(&json!({
                "type": text(), "reason": text(), "missing": texts(), "docs_uri": text()
            })),
        },
        "selection_strategy": exactly(&json!({
            "type": text(), "explanation": text(), "fallback": {"type": "string"}
        })),
        "metadata": exactly(&json!({
            "version": text(), "generator_count": count(), "builtin_count": count(),
            "plugin_count": count()
        })),
    }))
}

#[tokio::test]
async fn the_generators_description_has_the_contracts_shape() {
    let client = Fixture::handbook().client().await;
    let generators = describe(&client, "generators").await;
    check(&generators_schema(), &generators);
    let all = generators["generators"].as_object().unwrap();
    assert_eq!(generators["metadata"]["generator_count"], all.len());
    assert_eq!(describe(&client, "server").await["generator_count"], all.len());
}

/// Generators that a plugin can be added to.
struct Growing(Mutex<Vec<Value>>);

impl Generators for Growing {
    fn toolset(&self) -> Toolset {
        Toolset::Knowledge
    }

    fn list(&self, _: &Services) -> GeneratorList {
        GeneratorList {
            generators: self.0.lock().unwrap().clone(),
            absent: Vec::new(),
            selection_strategy: SelectionStrategy {
                kind: "first".to_owned(),
                explanation: "The first that fits".to_owned(),
                fallback: "plain".to_owned(),
            },
        }
    }

    fn takes_plugins(&self, _: &Services) -> bool {
        true
    }
}

fn generator(name: &str, source: &str) -> Value {
    json!({
        "type": name, "name": name, "version": "1.0.0", "source": source, "status": "stable",
        "capabilities": ["text"], "indicators": {"confidence": "low"},
        "requirements": {"fields": [], "dependencies": [], "env_vars": []},
        "best_for": [], "docs_uri": "docs/compose.md", "upstream_dependencies": null,
    })
}

#[tokio::test]
async fn a_generator_added_while_the_server_runs_is_described_at_once() {
    let growing = Arc::new(Growing(Mutex::new(vec![generator("plain", "builtin")])));
    let inventory = Inventory { generators: Some(growing.clone()), ..Inventory::full() };
    let client = connect(inventory, Fixture::handbook().services()).await;
    let before = describe(&client, "generators").await;
    check(&generators_schema(), &before);
    assert_eq!(before["metadata"]["plugin_count"], 0);
    growing.0.lock().unwrap().push(generator("shiny", "plugin"));
    let after = describe(&client, "generators").await;
    check(&generators_schema(), &after);
    assert_eq!(after["generators"]["shiny"]["source"], "plugin");
    let counts = &after["metadata"];
    assert_eq!((&counts["builtin_count"], &counts["plugin_count"]), (&json!(1), &json!(1)));
    let server = describe(&client, "server").await;
    assert_eq!(server["generator_count"], 2);
    assert_eq!(server["features"]["generator_plugins"], true);
}
