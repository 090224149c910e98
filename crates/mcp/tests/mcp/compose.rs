//! The tools and resources of compose, as a client uses them.

use std::sync::{Arc, Mutex};

use kenning_app::{Inventory, Services, Toolset};
use rmcp::ClientHandler;
use rmcp::ServiceExt;
use rmcp::model::{
    ArgumentInfo, CallToolRequestParams, CompleteRequestParams, CompletionContext,
    ProgressNotificationParam, Reference, object,
};
use rmcp::service::{NotificationContext, RoleClient};
use serde_json::{Value, json};

use crate::fixture::{Fixture, answer, call, connect, describe, read, serve, within};

/// The id of the draft in the examples.
const DRAFT: &str = "draft-content-3f9a1c2b7d04";

#[tokio::test]
async fn the_examples_work_in_order() {
    let client = Fixture::handbook().client().await;
    let inventory = Inventory::full();
    let example = |tool: &str| inventory.tool(tool).unwrap().examples[0].arguments.clone();
    let drafted = call(&client, "draft_config", example("draft_config")).await;
    let draft_id = drafted["draft_id"].as_str().unwrap();
    let ours = inventory.tools().filter(|tool| tool.toolset == Toolset::Compose);
    let ours: Vec<_> = ours.filter(|tool| tool.name != "draft_config").collect();
    assert_eq!(ours.len(), 16);
    for tool in ours {
        let fits =
            jsonschema::validator_for(&json!(tool.output_schema.as_deref().unwrap())).unwrap();
        for example in &tool.examples {
            let arguments = example.arguments.to_string().replace(DRAFT, draft_id);
            let arguments: Value = serde_json::from_str(&arguments).unwrap();
            let answer = call(&client, tool.name, arguments).await;
            assert_eq!(answer["success"], true, "{}: {answer}", tool.name);
            let faults: Vec<String> =
                fits.iter_errors(&answer).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{}: {faults:?}: {answer}", tool.name);
        }
    }
}

#[tokio::test]
async fn tools_are_in_the_categories_of_the_contract() {
    let client = Fixture::handbook().client().await;
    let tools = describe(&client, "tools").await;
    for (category, expected) in [
        ("content", vec!["generate_content", "regenerate_content", "preview_generation"]),
        ("artifact", vec!["assemble_artifact", "trace_dependencies"]),
        ("config", vec!["draft_config", "test_config", "save_config", "modify_config"]),
        ("storage", vec!["query_ephemeral_storage", "cleanup_ephemeral", "delete_content"]),
        ("query", vec!["list_artifacts", "list_content", "list_generators"]),
        ("validation", vec!["validate_content"]),
        ("batch", vec!["batch_generate_content"]),
    ] {
        let listed = tools["tools_by_category"][category].as_array().unwrap();
        let names: Vec<&str> = listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, expected, "{category}");
    }
    let features = &describe(&client, "server").await["features"];
    for feature in ["content_generation", "config_lifecycle", "batch_operations", "compose"] {
        assert_eq!(features[feature], true, "{feature}");
    }
}

#[tokio::test]
async fn an_unavailable_generator_is_described_with_the_reason() {
    let client = Fixture::handbook().client().await;
    let generators = describe(&client, "generators").await;
    let absent = &generators["absent"][0];
    assert_eq!(absent["type"], "code_generation");
    assert!(absent["reason"].as_str().unwrap().contains(" set"), "{absent}");
    assert!(generators["generators"].get("code_generation").is_none());
}

#[tokio::test]
async fn configs_schemas_contents_and_generators_can_be_read() {
    let client = Fixture::handbook().client().await;
    let config: Value =
        serde_json::from_str(&read(&client, "config://content/agents-md").await.unwrap()).unwrap();
    let schema: Value =
        serde_json::from_str(&read(&client, "schema://content").await.unwrap()).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&config));
    assert!(read(&client, "config://artifact/agents-md").await.unwrap().contains("AGENTS.md"));
    let latest = read(&client, "content://client-config").await.unwrap();
    assert!(latest.starts_with("# Connecting a client"));
    let found = call(&client, "query_ephemeral_storage", json!({"content_id": "client-config"}));
    let uri = found.await["versions"][0]["uri"].as_str().unwrap().to_owned();
    assert_eq!(read(&client, &uri).await.unwrap(), latest);
    let generator: Value =
        serde_json::from_str(&read(&client, "generator://jinja2").await.unwrap()).unwrap();
    assert_eq!(generator["type"], "jinja2");
    for uri in [
        "config://content/nowhere",
        "config://other/agents-md",
        "config://content/../../etc/passwd",
        "schema://nothing",
        "content://nowhere",
        "content://client-config/nothing",
        "content://../state",
        "generator://decision_tree",
    ] {
        assert!(read(&client, uri).await.is_err(), "{uri}");
    }
    // Every listed resource can be read.
    for resource in within(client.list_all_resources()).await.unwrap() {
        assert!(!read(&client, &resource.uri).await.unwrap().is_empty(), "{}", resource.uri);
    }
}

#[tokio::test]
async fn names_are_completed() {
    let client = Fixture::handbook().client().await;
    let complete = async |uri: &str, argument: &str, typed: &str, chosen: Option<&str>| {
        let reference = Reference::for_resource(uri);
        let mut request = CompleteRequestParams::new(reference, ArgumentInfo::new(argument, typed));
        request.context = chosen.map(|id| {
            CompletionContext::with_arguments([("content_id".to_owned(), id.to_owned())].into())
        });
        within(client.complete(request)).await.unwrap().completion.values
    };
    let content = "config://content/{content_id}";
    assert_eq!(complete(content, "content_id", "agents", None).await, ["agents-md"]);
    assert_eq!(complete("schema://{schema_name}", "schema_name", "plug", None).await, ["plugin"]);
    let generator = "generator://{generator_type}";
    assert_eq!(complete(generator, "generator_type", "jin", None).await, ["jinja2"]);
    let version = "content://{content_id}/{version_id}";
    assert_eq!(complete(version, "version_id", "", Some("client-config")).await.len(), 1);
}

/// Progress, and its total.
type Report = (f64, Option<f64>);

/// A client that collects progress notifications.
#[derive(Clone, Default)]
struct ProgressLog(Arc<Mutex<Vec<Report>>>);

impl ClientHandler for ProgressLog {
    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.lock().unwrap().push((progress.progress, progress.total));
    }
}

#[tokio::test]
async fn a_batch_reports_its_progress() {
    let log = ProgressLog::default();
    let server = serve(Inventory::full(), Fixture::handbook().services());
    let client = within(log.clone().serve(server)).await.unwrap();
    let arguments = json!({"content_ids": ["client-config", "referenced", "needs-name"]});
    let request = CallToolRequestParams::new("batch_generate_content");
    let result = within(client.call_tool(request.with_arguments(object(arguments)))).await.unwrap();
    let answer = answer(&result);
    assert_eq!((&answer["skipped"], &answer["failed"]), (&json!(2), &json!(1)), "{answer}");
    assert_eq!(answer["results"][2]["error"]["error"], "MISSING_VARIABLE");
    // Notifications are sent before the answer, but their handlers may run after it.
    let batch = || -> Vec<f64> {
        let reports = log.0.lock().unwrap();
        reports.iter().filter(|(_, total)| *total == Some(3.0)).map(|(done, _)| *done).collect()
    };
    within(async {
        while batch().len() < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(batch(), [1.0, 2.0, 3.0]);
}

#[tokio::test]
async fn without_a_workspace_every_tool_says_so() {
    let services = Services { compose: None, ..Fixture::handbook().services() };
    let client = connect(Inventory::full(), services).await;
    let inventory = Inventory::full();
    let advertising = inventory
        .tools()
        .filter(|tool| tool.errors.iter().any(|error| error.code == "STORAGE_ERROR"));
    let mut calls = 0;
    for tool in advertising {
        let answer = call(&client, tool.name, tool.examples[0].arguments.clone()).await;
        assert_eq!(answer["error"], "STORAGE_ERROR", "{}: {answer}", tool.name);
        calls += 1;
    }
    assert_eq!(calls, 17);
    assert_eq!(describe(&client, "generators").await["metadata"]["generator_count"], 0);
    assert!(read(&client, "config://content/agents-md").await.is_err());
}
