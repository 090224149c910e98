//! What the binary says of itself, to a client that knows nothing else.

use std::process::Command;

use kenning_mcp::Toolset;
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams, ResourceContents, object};
use rmcp::service::ServiceError;
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};

use crate::client::{
    Client, HttpServer, call, handbook, home, modern, stdio_client, stdio_client_with,
};

async fn describe(client: &Client, kind: &str) -> Value {
    let uri = format!("capabilities://{kind}");
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
    let [ResourceContents::TextResourceContents { text, mime_type, .. }] = &read.contents[..]
    else {
        panic!("a description is one text");
    };
    assert_eq!(mime_type.as_deref(), Some("application/json"));
    serde_json::from_str(text).unwrap()
}

async fn described_tools(client: &Client) -> Vec<Value> {
    let tools = describe(client, "tools").await;
    let categories = tools["tools_by_category"].as_object().unwrap().values();
    categories.flat_map(|tools| tools.as_array().unwrap().clone()).collect()
}

/// Each toolset alone, and all; every mixture is tried where no process has to be started for it.
#[tokio::test]
async fn flags_change_the_description_as_they_change_the_server() {
    for toolsets in Toolset::ALL.map(Toolset::name).into_iter().chain(["all"]) {
        for flags in [&["--toolsets", toolsets][..], &["--toolsets", toolsets, "--read-only"]] {
            let client = stdio_client_with(&handbook(), flags).await;
            counts_are_those_of_the_lists(&client).await;
            let features = &describe(&client, "server").await["features"];
            for toolset in Toolset::ALL.map(Toolset::name) {
                let all_gone = flags.contains(&"--read-only") && toolset == "gaps-write";
                let on = ["all", toolset].contains(&toolsets) && !all_gone;
                assert_eq!(features[toolset], on, "{flags:?}");
            }
            client.cancel().await.unwrap();
        }
    }
}

async fn counts_are_those_of_the_lists(client: &Client) {
    let server = describe(client, "server").await;
    let listed = client.list_all_tools().await.unwrap();
    assert_eq!(server["tool_count"], listed.len());
    let described = described_tools(client).await;
    let mut described: Vec<&str> = described.iter().map(|t| t["name"].as_str().unwrap()).collect();
    let mut listed: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
    listed.sort_unstable();
    described.sort_unstable();
    assert_eq!(described, listed);
    let templates = client.list_all_resource_templates().await.unwrap();
    assert_eq!(server["resource_count"], templates.len());
    let generators = describe(client, "generators").await;
    assert_eq!(server["generator_count"], generators["metadata"]["generator_count"]);
}

#[tokio::test]
async fn over_http_the_description_is_the_same_in_both_eras() {
    let server = HttpServer::start(&handbook());
    let old = server.client().await;
    let transport = StreamableHttpClientTransport::from_uri(server.url.as_str());
    let new = rmcp::service::serve_client_with_lifecycle((), transport, modern()).await.unwrap();
    for kind in ["server", "tools", "resources", "generators"] {
        assert_eq!(describe(&old, kind).await, describe(&new, kind).await, "{kind}");
    }
    let version = &describe(&new, "server").await["mcp_version"];
    assert_eq!(*version, new.peer_info().unwrap().protocol_version.as_str());
    let request = || ReadResourceRequestParams::new("capabilities://everything");
    let ServiceError::McpError(error) = old.read_resource(request()).await.unwrap_err() else {
        panic!("the server answers with an error");
    };
    assert_eq!(error.code.0, -32002);
    for kind in ["server", "tools", "resources", "generators"] {
        assert!(error.message.contains(kind), "{}", error.message);
    }
    assert_eq!(error.data, Some(json!({"uri": "capabilities://everything"})));
    assert!(new.read_resource(request()).await.is_err());
    old.cancel().await.unwrap();
    new.cancel().await.unwrap();
}

#[tokio::test]
async fn the_examples_that_tools_show_work() {
    let mut agents = Command::new(env!("CARGO_BIN_EXE_kenning"));
    agents.args(["agents", "add", "demo", "--id", "11"]).env("HOME", home());
    agents.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    assert!(agents.status().unwrap().success(), "the examples speak of agent 11");
    let client = stdio_client(&handbook()).await;
    for tool in described_tools(&client).await {
        let name = tool["name"].as_str().unwrap().to_owned();
        if name == kenning_gaps::contract::TOOL_NAME {
            let arguments = object(tool["examples"][0]["input"].clone());
            let request = CallToolRequestParams::new(name).with_arguments(arguments);
            let answer = client.call_tool(request).await.unwrap();
            let said = &answer.content[0].as_text().unwrap().text;
            assert_eq!(*said, kenning_gaps::contract::ACKNOWLEDGEMENT);
            continue;
        }
        let fits = jsonschema::validator_for(&tool["output_schema"]).unwrap();
        for example in tool["examples"].as_array().unwrap() {
            let answer = answered(&client, &name, &example["input"]).await;
            assert!(is_useful(&answer), "{name}: {example}: {answer}");
            let faults: Vec<String> =
                fits.iter_errors(&answer).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{name}: {faults:?}: {answer}");
        }
    }
    for tool in described_tools(&client).await {
        assert_ne!(tool["performance"]["typical_ms"], "not yet measured", "{}", tool["name"]);
    }
    client.cancel().await.unwrap();
}

/// Vectors are computed behind the scenes; until then answers say so, and are asked for again.
async fn answered(client: &Client, tool: &str, arguments: &Value) -> Value {
    loop {
        let answer = call(client, tool.to_owned(), arguments.clone()).await;
        if !answer["message"].as_str().is_some_and(|message| message.contains("vectors")) {
            return answer;
        }
    }
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
