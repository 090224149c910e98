//! What the binary says of itself, to a client that knows nothing else.

use kenning_app::Toolset;
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams, ResourceContents, object};
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use crate::server::support::{Client, Project, call_when_indexed, described_tools, within};

async fn describe(client: &Client, kind: &str) -> Value {
    let request = ReadResourceRequestParams::new(format!("capabilities://{kind}"));
    let read = within(client.read_resource(request)).await.unwrap();
    let [ResourceContents::TextResourceContents { text, mime_type, .. }] = &read.contents[..]
    else {
        panic!("a description is one text");
    };
    assert_eq!(mime_type.as_deref(), Some("application/json"));
    serde_json::from_str(text).unwrap()
}

/// Each toolset alone, and all of them. `crates/mcp/tests/mcp` tries every mixture, which
/// needs no process there.
#[tokio::test]
async fn flags_change_the_description_as_they_change_the_server() {
    for toolsets in Toolset::ALL.map(Toolset::name).into_iter().chain(["all"]) {
        for flags in [&["--toolsets", toolsets][..], &["--toolsets", toolsets, "--read-only"]] {
            let client = Project::handbook().client(flags).await;
            check_counts(&client).await;
            let features = &describe(&client, "server").await["features"];
            for toolset in Toolset::ALL.map(Toolset::name) {
                let has_no_tools = flags.contains(&"--read-only") && toolset == "gaps-write";
                let on = ["all", toolset].contains(&toolsets) && !has_no_tools;
                assert_eq!(features[toolset], on, "{flags:?}");
            }
            within(client.cancel()).await.unwrap();
        }
    }
}

async fn check_counts(client: &Client) {
    let server = describe(client, "server").await;
    let listed = within(client.list_all_tools()).await.unwrap();
    assert_eq!(server["tool_count"], listed.len());
    let described = described_tools(client).await;
    let mut described: Vec<&str> = described.iter().map(|t| t["name"].as_str().unwrap()).collect();
    let mut listed: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
    listed.sort_unstable();
    described.sort_unstable();
    assert_eq!(described, listed);
    let templates = within(client.list_all_resource_templates()).await.unwrap();
    assert_eq!(server["resource_count"], templates.len());
    let generators = describe(client, "generators").await;
    assert_eq!(server["generator_count"], generators["metadata"]["generator_count"]);
}

#[tokio::test]
async fn over_http_the_description_is_the_same_in_both_eras() {
    let server = Project::handbook().http(&[], &[]);
    let (old, new) = (server.client().await, server.modern_client().await);
    for kind in ["server", "tools", "resources", "generators"] {
        assert_eq!(describe(&old, kind).await, describe(&new, kind).await, "{kind}");
    }
    let version = &describe(&new, "server").await["mcp_version"];
    assert_eq!(*version, new.peer_info().unwrap().protocol_version.as_str());
    let request = || ReadResourceRequestParams::new("capabilities://everything");
    let ServiceError::McpError(error) = within(old.read_resource(request())).await.unwrap_err()
    else {
        panic!("the server answers with an error");
    };
    assert_eq!(error.code.0, -32002);
    for kind in ["server", "tools", "resources", "generators"] {
        assert!(error.message.contains(kind), "{}", error.message);
    }
    assert_eq!(error.data, Some(json!({"uri": "capabilities://everything"})));
    assert!(within(new.read_resource(request())).await.is_err());
    within(old.cancel()).await.unwrap();
    within(new.cancel()).await.unwrap();
}

#[tokio::test]
async fn the_examples_that_tools_show_work() {
    let project = Project::handbook();
    // The examples are about agent 11.
    project.run(&["agents", "add", "demo", "--id", "11"]).success();
    let client = project.client(&[]).await;
    for tool in described_tools(&client).await {
        let name = tool["name"].as_str().unwrap().to_owned();
        if name == kenning_gaps::contract::TOOL_NAME {
            let arguments = object(tool["examples"][0]["input"].clone());
            let request = CallToolRequestParams::new(name).with_arguments(arguments);
            let answer = within(client.call_tool(request)).await.unwrap();
            let said = &answer.content[0].as_text().unwrap().text;
            assert_eq!(*said, kenning_gaps::contract::ACKNOWLEDGEMENT);
            continue;
        }
        let fits = jsonschema::validator_for(&tool["output_schema"]).unwrap();
        for example in tool["examples"].as_array().unwrap() {
            let answer = call_when_indexed(&client, &name, &example["input"]).await;
            assert!(is_useful(&answer), "{name}: {example}: {answer}");
            let faults: Vec<String> =
                fits.iter_errors(&answer).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{name}: {faults:?}: {answer}");
        }
    }
    for tool in described_tools(&client).await {
        assert_ne!(tool["performance"]["typical_ms"], "not yet measured", "{}", tool["name"]);
    }
    within(client.cancel()).await.unwrap();
}

/// Whether an answer has something in it.
fn is_useful(answer: &Value) -> bool {
    let empty = |key: &str| answer[key].as_array().is_none_or(Vec::is_empty);
    let lists = [
        "recommendations",
        "nodes",
        "knowledge_bases",
        "results",
        "upstream",
        "comparison",
        "capabilities",
        "claims",
    ];
    let full = answer["capability"].is_object()
        || answer["success"] == true
        || lists.iter().any(|key| !empty(key));
    full && empty("not_found")
}
