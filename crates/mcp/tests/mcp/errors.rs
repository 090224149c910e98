//! Every error code that a tool advertises can be provoked.

use kenning_app::Inventory;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, Connection, Executor};

use crate::fixture::{Client, Fixture, Hold, call, connect, describe, described_tools, within};
use crate::workspace::{self, BROKEN_DRAFT, DRAFT, ENDLESS_DRAFT};

/// Tool, code, and arguments that lead to it in the bases of [`fixture`].
fn provocations() -> Vec<(&'static str, &'static str, Value)> {
    let skill = |name: &str, version: &str| json!([{"skill_name": name, "version": version}]);
    let mut provocations = vec![
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
    ];
    let tools = ["generate_content", "regenerate_content", "preview_generation"];
    provocations.extend(tools.into_iter().flat_map(generating));
    provocations.extend(composing());
    provocations
}

/// The three tools that generate content fail in the same ways.
fn generating(tool: &'static str) -> Vec<(&'static str, &'static str, Value)> {
    let of = |code, id: &str| (tool, code, json!({"content_config_id": id}));
    vec![
        of("CONFIG_NOT_FOUND", "nowhere"),
        of("INVALID_ID", "../nowhere"),
        of("CONFIG_INVALID", "invalid"),
        of("MISSING_VARIABLE", "needs-name"),
        of("TEMPLATE_ERROR", "broken"),
        of("LIMIT_EXCEEDED", "endless"),
        of("GENERATOR_UNAVAILABLE", "needs-model"),
        of("SOURCE_FAILED", "agents-md"),
        (tool, "INVALID_ARGUMENT", json!({})),
    ]
}

fn composing() -> Vec<(&'static str, &'static str, Value)> {
    let many: Vec<String> = (0..51).map(|n| format!("c{n}")).collect();
    let assemble = |code, id: &str| ("assemble_artifact", code, json!({"artifact_config_id": id}));
    let trace = |code, id: &str| ("trace_dependencies", code, json!({"artifact_config_id": id}));
    let test = |code, id: &str| ("test_config", code, json!({"draft_id": id}));
    let save = |code, draft: &str, id: &str| {
        ("save_config", code, json!({"draft_id": draft, "config_id": id}))
    };
    let modify = |code, id: &str, updates: Value| {
        ("modify_config", code, json!({"config_id": id, "updates": updates}))
    };
    let of = |tool, code, id: &str| (tool, code, json!({"content_id": id}));
    let validate = |code, id: &str| ("validate_content", code, json!({"content_or_config_id": id}));
    let draft = |kind: &str, data: Value| json!({"config_type": kind, "config_data": data});
    let (query, delete) = ("query_ephemeral_storage", "delete_content");
    vec![
        ("batch_generate_content", "INVALID_ID", json!({"content_ids": ["../x"]})),
        ("batch_generate_content", "LIMIT_EXCEEDED", json!({"content_ids": many})),
        ("batch_generate_content", "INVALID_ARGUMENT", json!({"content_ids": []})),
        validate("CONFIG_NOT_FOUND", "nowhere"),
        validate("INVALID_ID", "../nowhere"),
        validate("CONFIG_INVALID", "invalid"),
        ("validate_content", "INVALID_ARGUMENT", json!({})),
        assemble("CONFIG_NOT_FOUND", "nowhere"),
        assemble("INVALID_ID", "../nowhere"),
        assemble("CONFIG_INVALID", "invalid"),
        assemble("CHILD_FAILED", "agents-md"),
        assemble("MERGE_FAILED", "merged"),
        assemble("OUTPUT_CHANGED", "occupied"),
        assemble("TEMPLATE_ERROR", "broken"),
        assemble("LIMIT_EXCEEDED", "too-many"),
        (
            "assemble_artifact",
            "INVALID_PATH",
            json!({"artifact_config_id": "client-config", "output_path": "../x.md"}),
        ),
        ("assemble_artifact", "INVALID_ARGUMENT", json!({})),
        trace("CONFIG_NOT_FOUND", "nowhere"),
        trace("INVALID_ID", "../nowhere"),
        trace("CONFIG_INVALID", "invalid"),
        ("trace_dependencies", "INVALID_ARGUMENT", json!({})),
        ("list_artifacts", "INVALID_ARGUMENT", json!({"limit": 0})),
        ("list_content", "INVALID_ARGUMENT", json!({"limit": 0})),
        ("list_generators", "INVALID_ARGUMENT", json!({"source": "elsewhere"})),
        ("draft_config", "CONFIG_INVALID", draft("content", json!({}))),
        ("draft_config", "LIMIT_EXCEEDED", draft("artifact", workspace::artifact("many", 101))),
        ("draft_config", "INVALID_ARGUMENT", json!({})),
        test("DRAFT_NOT_FOUND", "draft-content-nowhere"),
        test("INVALID_ID", "../nowhere"),
        test("MISSING_VARIABLE", DRAFT),
        test("TEMPLATE_ERROR", BROKEN_DRAFT),
        test("LIMIT_EXCEEDED", ENDLESS_DRAFT),
        ("test_config", "INVALID_ARGUMENT", json!({})),
        save("DRAFT_NOT_FOUND", "draft-content-nowhere", "x"),
        save("INVALID_ID", DRAFT, "../x"),
        save("CONFIG_EXISTS", DRAFT, "needs-name"),
        ("save_config", "INVALID_ARGUMENT", json!({})),
        modify("CONFIG_NOT_FOUND", "nowhere", json!({})),
        modify("INVALID_ID", "../nowhere", json!({})),
        modify("CONFIG_INVALID", "needs-name", json!({"elements": null})),
        ("modify_config", "INVALID_ARGUMENT", json!({})),
        of(query, "CONFIG_NOT_FOUND", "nowhere"),
        of(query, "INVALID_ID", "../nowhere"),
        (
            query,
            "CONTENT_NOT_FOUND",
            json!({"content_id": "client-config", "retrieval": "version:none"}),
        ),
        (query, "INVALID_ARGUMENT", json!({"limit": 0})),
        ("cleanup_ephemeral", "INVALID_ID", json!({"filter": {"content_id": "../x"}})),
        ("cleanup_ephemeral", "INVALID_ARGUMENT", json!({"retention": 3})),
        of(delete, "CONFIG_NOT_FOUND", "nowhere"),
        of(delete, "CONTENT_NOT_FOUND", "needs-name"),
        of(delete, "CONTENT_REFERENCED", "referenced"),
        of(delete, "INVALID_ID", "../nowhere"),
        (delete, "INVALID_ARGUMENT", json!({})),
    ]
}

/// Two bases that share a node id.
fn fixture() -> Fixture {
    let text = |title: &str| format!("# {title}\nSome words.\n## More\nMore words.\n");
    Fixture::with_files(&[
        ("one", "both.md", text("Both")),
        ("two", "both.md", text("Both")),
        ("one", "only.md", text("Only")),
    ])
}

/// The error codes of all descriptions: tool, code.
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
    let client = fixture().client().await;
    let held = json!({
        "agent_id": 11, "capabilities": [{"skill_name": "held", "version": "1.0.0"}]
    });
    assert_eq!(call(&client, "register_agent_capabilities", held).await["success"], true);
    let provocations = provocations();
    for (tool, code) in advertised(&client).await {
        // These have tests of their own.
        if ["UNAVAILABLE", "DATABASE_ERROR", "STORAGE_ERROR"].contains(&code.as_str()) {
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

/// Arguments that are wrong by themselves, in ways that a caller could know from the schema.
fn malformed() -> Vec<(&'static str, Value)> {
    let codes = ["INVALID_ARGUMENT", "INVALID_ID", "INVALID_SEMVER"];
    let provoked = provocations().into_iter().filter(|(_, code, _)| codes.contains(code));
    let mut malformed: Vec<_> = provoked.map(|(tool, _, arguments)| (tool, arguments)).collect();
    // Without a filter: a schema of single arguments cannot ask for one of two. Blank: the definition of
    // this tool is fixed by the clients that know it.
    let fixed = ["list_capabilities", "mcpeye_request_capability"];
    malformed.retain(|(tool, _)| !fixed.contains(tool));
    malformed.extend([
        ("list_knowledge_bases", json!({"filter_type": "bogus"})),
        ("list_knowledge_bases", json!({"filter_status": "bogus"})),
        ("search_knowledge", json!({"query": " "})),
        ("search_knowledge", json!({"query": "x", "scope": [""]})),
        ("get_dependencies", json!({"node_id": " "})),
        ("lookup_capability", json!({"agent": " ", "capability": "hooks"})),
        ("compare_capability", json!({"capability": "hooks", "agents": [""]})),
        ("list_capabilities", json!({"agent": ""})),
        ("get_sources", json!({"capability": " "})),
        ("list_all_capabilities", json!({"query": " "})),
        ("list_all_capabilities", json!({"cursor": ""})),
        ("propose_knowledge", json!({"title": " ", "markdown": "x", "targetPath": "x.md"})),
        ("propose_knowledge", json!({"title": "x", "markdown": " ", "targetPath": "x.md"})),
        ("propose_knowledge", json!({"title": "x", "markdown": "x", "targetPath": "x.txt"})),
        ("query_ephemeral_storage", json!({"retrieval": "version:a b"})),
    ]);
    malformed
}

#[tokio::test]
async fn what_is_malformed_fits_neither_the_schema_nor_the_server() {
    let client = fixture().client().await;
    let inventory = Inventory::full();
    for (tool, arguments) in malformed() {
        let operation = inventory.operations.iter().find(|operation| operation.name == tool);
        let schema = jsonschema::validator_for(&operation.unwrap().request_schema()).unwrap();
        assert!(!schema.is_valid(&arguments), "{tool} {arguments} fits the schema");
        let answer = call(&client, tool, arguments.clone()).await;
        let code = answer["error"].as_str().unwrap_or_default();
        assert!(code.starts_with("INVALID_"), "{tool} {arguments}: {answer}");
    }
}

#[tokio::test]
async fn a_filter_with_an_unknown_value_names_the_values() {
    let client = fixture().client().await;
    let answer = call(&client, "list_knowledge_bases", json!({"filter_type": "bogus"})).await;
    let message = answer["message"].as_str().unwrap();
    assert!(message.starts_with("`filter_type` is `bogus`; it can be guideline, "), "{answer}");
}

/// An agent that handles the advertised errors must not meet others.
#[tokio::test]
async fn every_provoked_code_is_advertised() {
    let client = fixture().client().await;
    let advertised = advertised(&client).await;
    for (tool, code, _) in provocations() {
        assert!(advertised.contains(&(tool.to_owned(), code.to_owned())), "{tool} {code}");
    }
}

#[tokio::test]
async fn a_store_that_breaks_is_a_database_error() {
    let fixture = fixture();
    let client = fixture.client().await;
    break_store(&fixture).await;
    let inventory = Inventory::full();
    let mut failing = 0;
    for (tool, _) in advertised(&client).await.iter().filter(|(_, code)| code == "DATABASE_ERROR") {
        let tool = inventory.tool(tool).unwrap();
        let answer = call(&client, tool.name, tool.examples[0].arguments.clone()).await;
        assert_eq!(answer["error"], "DATABASE_ERROR", "{}: {answer}", tool.name);
        let text = answer.to_string();
        assert!(!text.contains("agents") && !text.contains("kenning.db"), "{text}");
        failing += 1;
    }
    assert!(failing > 0);
}

/// Drops the tables of the store, as another program might.
async fn break_store(fixture: &Fixture) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(fixture.store_file());
    let mut connection = options.connect().await.unwrap();
    let drop = "PRAGMA foreign_keys = OFF; DROP TABLE agent_capabilities; DROP TABLE agents; \
                DROP TABLE proposals;";
    connection.execute(drop).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_server_without_permits_is_unavailable_to_every_tool() {
    let hold = Hold::default();
    let client = connect(hold.added_to(Inventory::full()), fixture().services()).await;
    let limits = &describe(&client, "server").await["limits"];
    let number = |name: &str| usize::try_from(limits[name].as_u64().unwrap()).unwrap();
    let concurrent = number("max_concurrent_requests");
    let permits = concurrent + number("max_waiting_requests");
    let held = hold.start(&client, permits, concurrent).await;
    for tool in Inventory::full().tools() {
        let answer = call(&client, tool.name, tool.examples[0].arguments.clone()).await;
        assert_eq!(answer["error"], "UNAVAILABLE", "{}: {answer}", tool.name);
    }
    hold.release(permits);
    for call in held {
        assert_ne!(within(call).await.unwrap().unwrap().is_error, Some(true));
    }
}
