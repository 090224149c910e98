//! Every error that a tool is said to answer with can be had.

use kenning_mcp::Inventory;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, Connection, Executor};

use crate::site::{Client, Hold, Site, call, connect, describe, described_tools};

/// Tool, code, and arguments that lead to it in the bases of [`site`].
fn provocations() -> Vec<(&'static str, &'static str, Value)> {
    let skill = |name: &str, version: &str| json!([{"skill_name": name, "version": version}]);
    vec![
        ("discover_context", "INVALID_ARGUMENT", json!({"task_description": " "})),
        ("retrieve_knowledge", "INVALID_ARGUMENT", json!({"ids": []})),
        ("list_knowledge_bases", "INVALID_ARGUMENT", json!({"max_results": 0})),
        ("list_knowledge_bases", "BASE_NOT_FOUND", json!({"base": "nowhere"})),
        ("search_knowledge", "INVALID_ARGUMENT", json!({"query": ""})),
        ("search_knowledge", "NODE_NOT_FOUND", json!({"query": "x", "scope": ["nowhere"]})),
        ("search_knowledge", "AMBIGUOUS_NODE", json!({"query": "x", "scope": ["both"]})),
        ("search_knowledge", "FILE_NOT_FOUND", json!({"query": "x", "scope": ["nowhere.md"]})),
        ("search_knowledge", "SECTION_NOT_FOUND", json!({"query": "x", "scope": ["only.md#no"]})),
        ("search_knowledge", "INVALID_PATH", json!({"query": "x", "scope": ["../only.md"]})),
        ("get_dependencies", "INVALID_ARGUMENT", json!({"node_id": "only", "depth": 0})),
        ("get_dependencies", "NODE_NOT_FOUND", json!({"node_id": "nowhere"})),
        ("get_dependencies", "AMBIGUOUS_NODE", json!({"node_id": "both"})),
        ("get_dependencies", "FILE_NOT_FOUND", json!({"node_id": "nowhere.md"})),
        ("get_dependencies", "SECTION_NOT_FOUND", json!({"node_id": "only.md#no"})),
        ("get_dependencies", "INVALID_PATH", json!({"node_id": "../only.md"})),
        ("lookup_capability", "INVALID_ARGUMENT", json!({"agent": "cursor"})),
        ("lookup_capability", "AGENT_NOT_FOUND", json!({"agent": "hal", "capability": "hooks"})),
        ("compare_capability", "INVALID_ARGUMENT", json!({"capability": ""})),
        (
            "compare_capability",
            "AGENT_NOT_FOUND",
            json!({"capability": "hooks", "agents": ["hal"]}),
        ),
        ("list_capabilities", "INVALID_ARGUMENT", json!({})),
        ("list_capabilities", "AGENT_NOT_FOUND", json!({"agent": "hal"})),
        ("list_capabilities", "CATEGORY_NOT_FOUND", json!({"category": "cookery"})),
        ("get_sources", "INVALID_ARGUMENT", json!({"agents": []})),
        ("get_sources", "AGENT_NOT_FOUND", json!({"agent": "hal"})),
        (
            "register_agent_capabilities",
            "AGENT_NOT_FOUND",
            json!({"agent_id": 12, "capabilities": skill("x", "1.0.0")}),
        ),
        (
            "register_agent_capabilities",
            "INVALID_SEMVER",
            json!({"agent_id": 11, "capabilities": skill("x", "1.0")}),
        ),
        (
            "register_agent_capabilities",
            "DUPLICATE_CAPABILITY",
            json!({"agent_id": 11, "upsert": false, "capabilities": skill("held", "1.0.0")}),
        ),
        (
            "register_agent_capabilities",
            "INVALID_ARGUMENT",
            json!({"agent_id": 11, "capabilities": []}),
        ),
        ("get_agent_capabilities", "AGENT_NOT_FOUND", json!({"agent_id": 12})),
        ("get_agent_capabilities", "INVALID_ARGUMENT", json!({"agent_id": 0})),
        ("list_all_capabilities", "INVALID_SEMVER", json!({"version": "1.0"})),
        ("list_all_capabilities", "INVALID_ARGUMENT", json!({"max_results": 0})),
        ("deactivate_capability", "AGENT_NOT_FOUND", json!({"agent_id": 12, "skill_name": "x"})),
        (
            "deactivate_capability",
            "CAPABILITY_NOT_FOUND",
            json!({"agent_id": 11, "skill_name": "x"}),
        ),
        ("deactivate_capability", "INVALID_ARGUMENT", json!({"agent_id": 11, "skill_name": ""})),
        ("mcpeye_request_capability", "INVALID_ARGUMENT", json!({"capability": " "})),
        (
            "propose_knowledge",
            "INVALID_ARGUMENT",
            json!({"title": "x", "markdown": "x", "targetPath": "../x.md"}),
        ),
        (
            "propose_knowledge",
            "GAP_NOT_FOUND",
            json!({"title": "x", "markdown": "x", "targetPath": "x.md", "gapId": "g-0"}),
        ),
    ]
}

/// Two bases that share the name of a node.
fn site() -> Site {
    let text = |title: &str| format!("# {title}\nSome words.\n## More\nMore words.\n");
    Site::with_files(&[
        ("one", "both.md", text("Both")),
        ("two", "both.md", text("Both")),
        ("one", "only.md", text("Only")),
    ])
}

/// What all tools say they may answer with: tool, code.
async fn advertised(client: &Client) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let tools = described_tools(client).await;
    let codes = tools.iter().flat_map(|tool| {
        let errors = tool["common_errors"].as_array().unwrap().iter();
        errors.map(|error| (word(&tool["name"]), word(&error["code"])))
    });
    codes.collect()
}

#[tokio::test]
async fn every_advertised_code_can_be_provoked() {
    let client = site().client().await;
    let held = json!({
        "agent_id": 11, "capabilities": [{"skill_name": "held", "version": "1.0.0"}]
    });
    assert_eq!(call(&client, "register_agent_capabilities", held).await["success"], true);
    let provocations = provocations();
    for (tool, code) in advertised(&client).await {
        // Those two have tests of their own below.
        if ["UNAVAILABLE", "DATABASE_ERROR"].contains(&code.as_str()) {
            continue;
        }
        let known = provocations.iter().any(|(of, to, _)| (*of, *to) == (&*tool, &*code));
        assert!(known, "{tool} advertises {code}, and nothing here provokes it");
    }
    for (tool, code, arguments) in provocations {
        let answer = call(&client, tool, arguments.clone()).await;
        assert_eq!(answer["error"], code, "{tool} {arguments}: {answer}");
        assert!(!answer["message"].as_str().unwrap().is_empty());
    }
}

/// An agent that prepares for the errors it was told of must not meet others.
#[tokio::test]
async fn nothing_provoked_is_missing_from_the_description() {
    let client = site().client().await;
    let advertised = advertised(&client).await;
    for (tool, code, _) in provocations() {
        assert!(advertised.contains(&(tool.to_owned(), code.to_owned())), "{tool} {code}");
    }
}

#[tokio::test]
async fn a_store_that_breaks_is_a_database_error() {
    let site = site();
    let client = site.client().await;
    break_store(&site).await;
    let inventory = Inventory::full();
    let mut failing = 0;
    for (tool, _) in advertised(&client).await.iter().filter(|(_, code)| code == "DATABASE_ERROR") {
        let tool = inventory.tool(tool).unwrap();
        let answer = call(&client, tool.name, tool.examples[0].arguments.clone()).await;
        assert_eq!(answer["error"], "DATABASE_ERROR", "{}: {answer}", tool.name);
        let said = answer.to_string();
        assert!(!said.contains("agents") && !said.contains("kenning.db"), "{said}");
        failing += 1;
    }
    assert!(failing > 0);
}

/// Takes away the tables that things are kept in, as another program might.
async fn break_store(site: &Site) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(site.store_file());
    let mut connection = options.connect().await.unwrap();
    let drop = "PRAGMA foreign_keys = OFF; DROP TABLE agent_capabilities; DROP TABLE agents; \
                DROP TABLE proposals;";
    connection.execute(drop).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_server_without_room_is_unavailable_to_every_tool() {
    let hold = Hold::new();
    let client = connect(hold.among(Inventory::full()), site().rooms()).await;
    let limits = &describe(&client, "server").await["limits"];
    let number = |name: &str| usize::try_from(limits[name].as_u64().unwrap()).unwrap();
    let room = number("max_concurrent_requests") + number("max_waiting_requests");
    let held = hold.start(&client, room).await;
    for tool in Inventory::full().tools {
        let answer = call(&client, tool.name, tool.examples[0].arguments.clone()).await;
        assert_eq!(answer["error"], "UNAVAILABLE", "{}: {answer}", tool.name);
    }
    hold.release(room);
    for call in held {
        assert_ne!(call.await.unwrap().unwrap().is_error, Some(true));
    }
}
