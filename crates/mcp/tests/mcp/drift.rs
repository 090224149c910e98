//! The description matches the enabled toolsets, for every selection of them.

use std::collections::BTreeSet;

use kenning_app::{Access, Capacity, Inventory, Toolset};
use rmcp::model::{ArgumentInfo, CompleteRequestParams, ErrorCode, Reference};
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use crate::fixture::{Client, Fixture, call, connect, describe, described_tools, read, within};

/// Every selection of toolsets, with and without write access.
fn selections() -> Vec<(Vec<Toolset>, Access)> {
    let subset = |bits: usize| -> Vec<Toolset> {
        let numbered = Toolset::ALL.into_iter().enumerate();
        numbered.filter(|(i, _)| bits & (1 << i) != 0).map(|(_, toolset)| toolset).collect()
    };
    let subsets = (0..1 << Toolset::ALL.len()).map(subset);
    subsets.flat_map(|all| [(all.clone(), Access::ReadWrite), (all, Access::ReadOnly)]).collect()
}

#[tokio::test]
async fn the_description_matches_every_selection() {
    let fixture = Fixture::handbook();
    let services = fixture.services();
    for (toolsets, access) in selections() {
        let inventory = Inventory::full().select(&toolsets, access);
        let client = connect(inventory, services.clone()).await;
        check_tools(&client).await;
        check_patterns(&client).await;
        check_features_and_limits(&client, &toolsets, access).await;
        check_instructions(&client).await;
        within(client.cancel()).await.unwrap();
    }
}

async fn check_tools(client: &Client) {
    let listed = within(client.list_all_tools()).await.unwrap();
    let described = described_tools(client).await;
    assert_eq!(described.len(), listed.len());
    for tool in listed {
        let tool = serde_json::to_value(tool).unwrap();
        let found = described.iter().find(|one| one["name"] == tool["name"]).unwrap();
        assert_eq!(found["description"], tool["description"]);
        assert_eq!(found["input_schema"], tool["inputSchema"]);
        let text_alone = json!({"type": "object"});
        let output = tool.get("outputSchema").unwrap_or(&text_alone);
        assert_eq!(found["output_schema"], *output);
    }
    let (tools, server) = (describe(client, "tools").await, describe(client, "server").await);
    assert_eq!(tools["metadata"]["total_count"], described.len());
    assert_eq!(server["tool_count"], described.len());
}

async fn check_patterns(client: &Client) {
    let templates = within(client.list_all_resource_templates()).await.unwrap();
    let listed: Vec<String> = templates.into_iter().map(|one| one.uri_template).collect();
    let described = describe(client, "resources").await;
    let families = described["resources"].as_object().unwrap();
    let patterns: BTreeSet<&str> = families
        .values()
        .flat_map(|family| family["patterns"].as_array().unwrap())
        .map(|pattern| pattern.as_str().unwrap())
        .collect();
    assert_eq!(patterns, listed.iter().map(String::as_str).collect());
    assert_eq!(described["metadata"]["total_count"], listed.len());
    assert_eq!(describe(client, "server").await["resource_count"], listed.len());
    for resource in within(client.list_all_resources()).await.unwrap() {
        let (scheme, _) = resource.uri.split_once("://").unwrap();
        assert!(families.contains_key(scheme), "{} is of no family", resource.uri);
    }
    for family in families.values() {
        check_examples(client, family).await;
        check_parameters(family);
    }
}

async fn check_examples(client: &Client, family: &Value) {
    let examples = family["examples"].as_array().unwrap();
    assert!(!examples.is_empty(), "{family}");
    for uri in examples {
        assert!(!read(client, uri.as_str().unwrap()).await.unwrap().is_empty());
    }
}

fn check_parameters(family: &Value) {
    let patterns = family["patterns"].as_array().unwrap();
    let in_patterns: BTreeSet<&str> = patterns
        .iter()
        .flat_map(|pattern| pattern.as_str().unwrap().split('{').skip(1))
        .map(|rest| rest.split('}').next().unwrap().trim_start_matches('+'))
        .collect();
    let described: BTreeSet<&str> =
        family["parameters"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(described, in_patterns);
}

async fn check_features_and_limits(client: &Client, toolsets: &[Toolset], access: Access) {
    let server = describe(client, "server").await;
    for toolset in Toolset::ALL {
        let has_no_tools = access == Access::ReadOnly && toolset == Toolset::GapsWrite;
        let on = toolsets.contains(&toolset) && !has_no_tools;
        assert_eq!(server["features"][toolset.name()], on, "{server}");
    }
    let writing = within(client.list_all_tools()).await.unwrap().into_iter().filter(|tool| {
        tool.annotations.as_ref().is_none_or(|hints| hints.read_only_hint != Some(true))
    });
    let read_only = writing.count() == 0;
    assert!(read_only || access == Access::ReadWrite);
    assert_eq!(server["features"]["read_only"], read_only);
    let prompts = within(client.list_all_prompts()).await.unwrap();
    assert_eq!(server["features"]["prompts"], !prompts.is_empty());
    for limit in Inventory::full().limits {
        let on = limit.toolset.is_none_or(|toolset| toolsets.contains(&toolset));
        assert_eq!(server["limits"].get(limit.name).is_some(), on, "{}", limit.name);
    }
    for limit in Capacity::STDIO.limits() {
        assert_eq!(server["limits"][limit.name], limit.value, "{}", limit.name);
    }
}

async fn check_instructions(client: &Client) {
    let server = client.peer_info().unwrap();
    let instructions = server.instructions.clone().unwrap();
    let quoted = instructions.split('`').skip(1).step_by(2);
    let tools = within(client.list_all_tools()).await.unwrap();
    for word in quoted {
        let exists = tools.iter().any(|tool| tool.name == word)
            || (word.contains("://") && read(client, word).await.is_ok());
        assert!(exists, "`{word}` in {instructions}");
    }
}

#[tokio::test]
async fn the_server_description_matches_the_connection() {
    let client = Fixture::handbook().client().await;
    let info = client.peer_info().unwrap().server_info.clone().unwrap();
    let server = describe(&client, "server").await;
    assert_eq!(server["name"], info.name);
    assert_eq!(server["version"], info.version);
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
    for tool in described_tools(&client).await {
        assert_eq!(tool["version"], server["version"]);
    }
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"));
    let locked = format!("name = \"rmcp\"\nversion = {}\n", server["runtime"]["rmcp"]);
    assert!(lock.unwrap().contains(&locked), "{locked}");
    assert_eq!(server["runtime"]["platform"], std::env::consts::OS);
    assert!(server["runtime"]["rust"].as_str().unwrap().starts_with("1."), "{server}");
}

#[tokio::test]
async fn the_four_descriptions_are_listed_and_completed_and_others_are_not_found() {
    let client = Fixture::handbook().client().await;
    let all = ["server", "tools", "resources", "generators"];
    let listed = within(client.list_all_resources()).await.unwrap();
    let ours = listed.iter().filter(|one| one.uri.starts_with("capabilities://"));
    let ours: Vec<&str> = ours.map(|resource| resource.uri.as_str()).collect();
    assert_eq!(ours, all.map(|name| format!("capabilities://{name}")));

    let complete = |typed: &str| {
        let reference = Reference::for_resource("capabilities://{capability_type}");
        client.complete(CompleteRequestParams::new(
            reference,
            ArgumentInfo::new("capability_type", typed),
        ))
    };
    assert_eq!(complete("").await.unwrap().completion.values, all);
    assert_eq!(complete("gen").await.unwrap().completion.values, ["generators"]);

    for uri in ["capabilities://", "capabilities://tool", "capabilities://server/x"] {
        let ServiceError::McpError(error) = read(&client, uri).await.unwrap_err() else {
            panic!("{uri} is answered with a protocol error");
        };
        assert_eq!(error.code, ErrorCode::RESOURCE_NOT_FOUND, "{uri}");
        assert!(all.iter().all(|name| error.message.contains(name)), "{}", error.message);
        assert_eq!(error.data, Some(json!({ "uri": uri })));
    }
}

#[tokio::test]
async fn typical_durations_are_described_once_there_were_calls() {
    let client = Fixture::handbook().client().await;
    let typical = async |name: &str| -> String {
        let tools = described_tools(&client).await;
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["performance"]["typical_ms"].as_str().unwrap().to_owned()
    };
    assert_eq!(typical("list_knowledge_bases").await, "not yet measured");
    call(&client, "list_knowledge_bases", json!({"max_results": 0})).await;
    assert_eq!(typical("list_knowledge_bases").await, "not yet measured", "errors do not count");
    call(&client, "list_knowledge_bases", json!({})).await;
    let measured = typical("list_knowledge_bases").await;
    let (fast, slow) = measured.split_once('-').unwrap();
    assert!(fast.parse::<f64>().unwrap() <= slow.parse::<f64>().unwrap(), "{measured}");
    assert_eq!(typical("search_knowledge").await, "not yet measured");
}
