//! What agents could not do: recorded, listed, answered, closed.

use std::path::Path;

use rmcp::model::{CallToolRequestParams, object};
use serde_json::{Value, json};

use crate::server::support::{
    Client, DEADLINE, Project, Server, batch, call, capability_request, connect, event, eventually,
    within,
};

const REQUEST: &str = "mcpeye_request_capability";

fn coffee() -> Project {
    Project::with(&[("COFFEE.md", "# Coffee\n\nThe machine is cleaned on Fridays.\n")])
}

/// The first gap that fits. Calls are recorded in the background, a little after they were made.
async fn find_gap(project: &Project, fits: impl Fn(&Value) -> bool) -> Value {
    eventually(DEADLINE, async || {
        let listed = project.json(&["gaps", "--status", "all"]);
        listed["gaps"].as_array().unwrap().iter().find(|gap| fits(gap)).cloned()
    })
    .await
}

async fn request(client: &Client, capability: &str) -> String {
    let arguments = object(json!({ "capability": capability }));
    let asked = CallToolRequestParams::new(REQUEST).with_arguments(arguments);
    let answer = within(client.call_tool(asked)).await.unwrap();
    answer.content[0].as_text().unwrap().text.clone()
}

#[tokio::test]
async fn agents_can_request_a_capability_and_state_their_intent() {
    let project = coffee();
    let client = project.client(&[]).await;
    let tools = within(client.list_all_tools()).await.unwrap();
    let reserved = tools.iter().find(|tool| tool.name == REQUEST).unwrap();
    assert_eq!(
        Value::Object((*reserved.input_schema).clone()),
        kenning_gaps::contract::tool_schema()
    );
    assert_eq!(reserved.description.as_deref(), Some(kenning_gaps::contract::TOOL_DESCRIPTION));
    for tool in tools.iter().filter(|tool| tool.name != REQUEST) {
        let intent = &tool.input_schema["properties"]["mcpeyeIntent"];
        assert_eq!(*intent, kenning_gaps::contract::intent_schema(), "{}", tool.name);
    }
    let arguments = json!({"query": "coffee", "mcpeyeIntent": "The user wants espresso."});
    let found = call(&client, "search_knowledge", arguments).await;
    assert_eq!(found["results"][0]["path"], "COFFEE.md", "the tool does not see the parameter");
    let acknowledged = request(&client, "export the report as a PDF").await;
    assert_eq!(acknowledged, kenning_gaps::contract::ACKNOWLEDGEMENT);
    let gap = find_gap(&project, |gap| gap["requests"] == 1).await;
    within(client.cancel()).await.unwrap();
    assert_eq!(gap["label"], "export the report as a PDF");
    let shown = project.json(&["gaps", "show", gap["id"].as_str().unwrap()]);
    let calls = shown["sessions"][0]["events"].as_array().unwrap();
    assert!(calls.iter().any(|call| call["intent"] == "The user wants espresso."), "{shown}");
    let report = project.json(&["gaps", "report"]);
    assert_eq!(report["topMissingCapabilities"][0]["capability"], gap["label"]);
    assert_eq!(report["topMissingCapabilities"][0]["confidence"], "high");
}

#[tokio::test]
async fn capture_and_the_parameter_can_be_switched_off() {
    let project = coffee();
    project.write("kenning.toml", "[gaps]\ncapture = false\nintent = false\n");
    let client = project.client(&["--toolsets", "knowledge"]).await;
    let tools = within(client.list_all_tools()).await.unwrap();
    assert!(tools.iter().all(|tool| tool.name != REQUEST));
    assert!(tools.iter().all(|tool| tool.input_schema["properties"].get("mcpeyeIntent").is_none()));
    call(&client, "search_knowledge", json!({"query": "coffee"})).await;
    within(client.cancel()).await.unwrap();
    assert_eq!(project.json(&["gaps", "report"])["calls"], 0);
}

#[tokio::test]
async fn a_miss_closes_when_its_answer_is_written() {
    let project = coffee();
    let client = project.client(&[]).await;
    let task = json!({"task_description": "rotate the signing keys of the payment gateway"});
    let found = call(&client, "discover_context", task).await;
    assert_eq!(found["total_available"], 0);
    let gap = find_gap(&project, |gap| gap["kind"] == "miss").await;
    assert_eq!(gap["status"]["state"], "open");
    project.write(
        "KEYS.md",
        "# Rotating the signing keys of the payment gateway\n\nKeys of the payment gateway are \
         rotated with `gateway keys rotate`; the signing key changes at once.\n",
    );
    let closed = find_gap(&project, |gap| gap["status"]["state"] == "closed").await;
    assert_eq!(closed["id"], gap["id"]);
    assert_eq!(closed["status"]["evidence"]["id"], "KEYS", "{closed}");
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn a_registered_skill_closes_a_request() {
    let project = coffee();
    let client = project.client(&[]).await;
    request(&client, "deploy a service to kubernetes").await;
    let gap = find_gap(&project, |gap| gap["requests"] == 1).await;
    project.json(&["agents", "add", "deploy-bot", "--id", "11"]);
    let metadata = r#"{"description": "Deploy a service to a Kubernetes cluster"}"#;
    let register = ["skills", "register", "--agent", "11", "kubernetes-deploy", "1.0.0"];
    project.json(&[&register[..], &["--metadata", metadata]].concat());
    let closed = find_gap(&project, |gap| gap["status"]["state"] == "closed").await;
    assert_eq!(
        (&closed["id"], &closed["status"]["evidence"]["source"]),
        (&gap["id"], &json!("skill"))
    );
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn calls_of_a_wrapped_server_are_recorded() {
    let project = coffee();
    let binary = env!("CARGO_BIN_EXE_kenning");
    let wrapped = ["wrap", "--project", "demo", "--user", "ada", "--", binary, "serve"];
    let inner = ["--toolsets", "knowledge"];
    let client = connect(project.kenning(&[&wrapped[..], &inner[..]].concat())).await;
    let tools = within(client.list_all_tools()).await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == REQUEST));
    let arguments = json!({"query": "coffee", "mcpeyeIntent": "Looking for the machine."});
    let found = call(&client, "search_knowledge", arguments).await;
    assert_eq!(found["results"][0]["path"], "COFFEE.md");
    request(&client, "brew an espresso").await;
    let gap = find_gap(&project, |gap| gap["projectId"] == "demo").await;
    within(client.cancel()).await.unwrap();
    assert_eq!(gap["label"], "brew an espresso");
    let forgotten = project.json(&["gaps", "forget", "--user", "ada"]);
    assert_eq!((&forgotten["events"], &forgotten["gaps"]), (&json!(2), &json!(1)));
}

async fn ingest(server: &Server, body: &Value, secret: Option<&str>) -> (u16, Value) {
    let mut request = server.http.post(server.url("/ingest")).body(body.to_string());
    if let Some(secret) = secret {
        request = request.header("x-mcpeye-secret", secret);
    }
    let answer = crate::server::support::Answer::to(request).await;
    (answer.status.as_u16(), answer.json())
}

#[tokio::test]
async fn events_of_other_servers_are_stored_once_and_redacted() {
    let project = coffee();
    let server = project.http(&[], &[]);
    let wanted = "translate the page into French";
    let asked = event(1, REQUEST, &json!({"capability": wanted, "token": "hush-hush"}));
    let mut first = batch("shop", &[asked]);
    first["identity"] = json!({"userId": "u1", "client": "some-client"});
    let (status, answer) = ingest(&server, &first, None).await;
    assert_eq!((status, &answer["accepted"]), (200, &json!(1)));
    let (_, again) = ingest(&server, &first, None).await;
    assert_eq!((&again["accepted"], &again["known"]), (&json!(1), &json!(1)));
    let gap = find_gap(&project, |gap| gap["projectId"] == "shop").await;
    assert_eq!((&gap["asks"], &gap["label"]), (&json!(1), &json!(wanted)));
    assert!(
        !holds(&project.data(), b"hush-hush"),
        "secrets are redacted before anything is stored"
    );

    let create = ["token", "create", "ci", "--scope", "ingest", "--project", "till"];
    let secret = project.run(&create).success().out.trim().to_owned();
    let [till, shop] =
        ["till", "shop"].map(|project| batch(project, &[capability_request(2, wanted)]));
    assert_eq!(ingest(&server, &till, None).await.0, 401);
    assert_eq!(ingest(&server, &till, Some("wrong")).await.0, 401);
    assert_eq!(ingest(&server, &shop, Some(&secret)).await.0, 403);
    assert_eq!(ingest(&server, &till, Some(&secret)).await.0, 200);
    for bad in [json!([]), json!({"projectId": "", "events": []}), json!({"events": []})] {
        let (status, problem) = ingest(&server, &bad, None).await;
        assert_eq!((status, &problem["status"]), (400, &json!(400)), "{problem}");
    }
}

fn holds(folder: &Path, wanted: &[u8]) -> bool {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).any(|path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(wanted.len()).any(|part| part == wanted)
    })
}

#[tokio::test]
async fn proposals_become_files_only_when_a_person_accepts() {
    let project = coffee();
    let client = project.client(&["--toolsets", "all"]).await;
    let propose =
        |path: &str| json!({"title": "Espresso", "markdown": "Press twice.", "targetPath": path});
    let made = call(&client, "propose_knowledge", propose("guides/ESPRESSO.md")).await;
    let id = made["proposal"]["id"].as_str().unwrap().to_owned();
    let file = project.root().join("guides/ESPRESSO.md");
    assert!(!file.exists(), "no file is touched");
    let escape = call(&client, "propose_knowledge", propose("../ESPRESSO.md")).await;
    assert_eq!(escape["error"], "INVALID_ARGUMENT");
    assert_eq!(project.json(&["proposals"])["proposals"][0]["id"], id);
    project.json(&["proposals", "accept", &id]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "# Espresso\n\nPress twice.\n");
    let twice = project.run(&["proposals", "reject", &id]);
    assert!(twice.err.contains("accepted already"), "{twice:?}");
    let other = call(&client, "propose_knowledge", propose("COFFEE.md")).await;
    let id = other["proposal"]["id"].as_str().unwrap();
    let taken = project.run(&["proposals", "accept", id]);
    assert!(taken.err.contains("`COFFEE.md` already exists"), "{taken:?}");
    project.json(&["proposals", "reject", id, "--reason", "we have it"]);
    assert_eq!(project.json(&["proposals"])["proposals"], json!([]));
    let turned_down = call(&client, "propose_knowledge", propose("guides/DECAF.md")).await;
    let id = turned_down["proposal"]["id"].as_str().unwrap();
    project.json(&["proposals", "reject", id]);
    let late = project.run(&["proposals", "accept", id]);
    assert!(late.err.contains("rejected already"), "{late:?}");
    assert!(!project.root().join("guides/DECAF.md").exists());
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn used_and_unused_knowledge_is_counted() {
    let project = coffee();
    project.write("TEA.md", "# Tea\n\nGreen.\n");
    let client = project.client(&[]).await;
    call(&client, "retrieve_knowledge", json!({"ids": ["COFFEE"]})).await;
    call(
        &client,
        "search_knowledge",
        json!({"query": "machine cleaned", "search_type": "keyword"}),
    )
    .await;
    within(client.cancel()).await.unwrap();
    let usage = eventually(DEADLINE, async || {
        let usage = project.json(&["usage"]);
        (usage["most_used"][0]["searched"] == 1).then_some(usage)
    })
    .await;
    assert_eq!(
        (&usage["most_used"][0]["id"], &usage["most_used"][0]["retrieved"]),
        (&json!("COFFEE"), &json!(1))
    );
    assert_eq!(usage["never_found"][0]["id"], "TEA");
}
