//! The surface that clients see is a contract: a change of it shows up here.

use kenning_app::{Access, Effect, Inventory, Toolset};
use kenning_mcp::render;
use serde_json::Value;

#[test]
fn every_tool_keeps_its_definition() {
    for tool in Inventory::full().tools() {
        check_snapshot(tool.name, &render::tool(tool));
    }
}

#[test]
fn prompts_and_templates_keep_their_definitions() {
    let inventory = Inventory::full();
    let prompts: Vec<_> = inventory.prompts.iter().map(render::prompt).collect();
    check_snapshot("prompts", &prompts);
    check_snapshot("templates", &render::templates(&inventory));
}

fn check_snapshot(name: &str, definition: &impl serde::Serialize) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_json_snapshot!(format!("inventory__{name}"), definition));
}

#[test]
fn schemas_are_those_that_strict_clients_accept() {
    for tool in Inventory::full().tools() {
        let definition = serde_json::to_value(render::tool(tool)).unwrap();
        // What the reserved tool takes and answers is not ours to decide.
        if tool.name == kenning_gaps::contract::TOOL_NAME {
            assert_eq!(definition["inputSchema"], kenning_gaps::contract::tool_schema());
            continue;
        }
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(definition[schema]["type"], "object", "{} {schema}", tool.name);
            check_schema(tool.name, &definition[schema]);
        }
        assert_eq!(definition["inputSchema"]["additionalProperties"], false, "{}", tool.name);
    }
}

fn check_schema(tool: &str, schema: &Value) {
    match schema {
        Value::Object(object) => {
            assert!(!object.contains_key("$ref"), "{tool}: {schema}");
            assert!(!object.get("type").is_some_and(Value::is_array), "{tool}: {schema}");
            assert!(object.get("type").is_none_or(|kind| kind != "null"), "{tool}: {schema}");
            assert!(!object.get("enum").is_some_and(has_null), "{tool}: {schema}");
            object.values().for_each(|inner| check_schema(tool, inner));
        }
        Value::Array(items) => items.iter().for_each(|inner| check_schema(tool, inner)),
        _ => {}
    }
}

fn has_null(values: &Value) -> bool {
    values.as_array().is_some_and(|values| values.contains(&Value::Null))
}

#[test]
fn every_tool_is_described_and_says_what_it_does() {
    for tool in Inventory::full().tools() {
        assert!(tool.tool.is_some_and(|text| !text.description.is_empty()), "{}", tool.name);
        assert!(!tool.examples.is_empty(), "{} has no example", tool.name);
        let annotations = render::tool(tool).annotations.unwrap();
        assert_eq!(annotations.read_only_hint, Some(tool.effect == Effect::Reads));
        assert!(annotations.destructive_hint.is_some());
        assert!(annotations.idempotent_hint.is_some());
        assert!(annotations.open_world_hint.is_some());
    }
}

#[test]
fn toolsets_and_read_only_choose_tools() {
    let names = |inventory: Inventory| -> Vec<&str> { inventory.tools().map(|t| t.name).collect() };
    let all = names(Inventory::full().select(&Toolset::ALL, Access::ReadWrite));
    assert_eq!(all, names(Inventory::full()));
    assert!(names(Inventory::full().select(&[], Access::ReadWrite)).is_empty());
    let read_only = Inventory::full().select(&Toolset::ALL, Access::ReadOnly);
    assert!(read_only.tools().all(|tool| tool.effect == Effect::Reads));
    let gone: Vec<&str> =
        all.iter().copied().filter(|name| read_only.tool(name).is_none()).collect();
    assert_eq!(
        gone,
        [
            "register_agent_capabilities",
            "deactivate_capability",
            "propose_knowledge",
            "generate_content",
            "regenerate_content",
            "batch_generate_content",
            "assemble_artifact",
            "draft_config",
            "test_config",
            "save_config",
            "modify_config",
            "cleanup_ephemeral",
            "delete_content",
        ]
    );
    let catalog = Inventory::full().select(&[Toolset::Catalog], Access::ReadWrite);
    let schemes: Vec<&str> = catalog.resources.iter().map(|one| one.family().scheme).collect();
    assert_eq!(schemes, ["capabilities"], "files belong to the toolset of knowledge");
    assert!(catalog.prompts.is_empty(), "prompts speak of tools that are not there");
    let unknown = Toolset::parse_list(&["magic".to_owned()]).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "there is no toolset `magic`; there is `knowledge`, `catalog`, `registry`, `gaps`, `gaps-write`, `compose`, `default` and `all`"
    );
}
