//! What agents could not do: heard, listed, answered, closed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, object};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Client, HttpServer, call, kenning};

const REQUEST: &str = "mcpeye_request_capability";

/// A project with a home of its own.
struct Project {
    root: TempDir,
    home: TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { root: TempDir::new().unwrap(), home: TempDir::new().unwrap() };
        project.write("COFFEE.md", "# Coffee\n\nThe machine is cleaned on Fridays.\n");
        project
    }

    fn write(&self, name: &str, text: &str) {
        kenning_testkit::write_at_once(&self.root.path().join(name), text);
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
        command.args(["--log-level", "error"]).args(words).current_dir(self.root.path());
        command.env("HOME", self.home.path()).env("USER", "ada");
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        command
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.command(&[&["--json"], words].concat()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words:?}: {err}"))
    }

    async fn client(&self, words: &[&str]) -> Client {
        let command = tokio::process::Command::from(self.command(words));
        ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap()
    }

    fn http(&self) -> HttpServer {
        let mut command = kenning(self.root.path(), &["--http", "127.0.0.1:0"]);
        command.env("HOME", self.home.path());
        HttpServer::run(command)
    }

    /// The first gap, when there is one that fits; calls are written down a little after they
    /// were made.
    async fn gap(&self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let listed = self.json(&["gaps", "--status", "all"]);
            if let Some(gap) = listed["gaps"].as_array().unwrap().iter().find(|gap| fits(gap)) {
                return gap.clone();
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

async fn request(client: &Client, capability: &str) -> String {
    let arguments = object(json!({ "capability": capability }));
    let asked = CallToolRequestParams::new(REQUEST).with_arguments(arguments);
    let answer = client.call_tool(asked).await.unwrap();
    answer.content[0].as_text().unwrap().text.clone()
}

#[tokio::test]
async fn agents_can_say_what_is_missing_and_why_they_call() {
    let project = Project::new();
    let client = project.client(&["serve"]).await;
    let tools = client.list_all_tools().await.unwrap();
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
    let gap = project.gap(|gap| gap["requests"] == 1).await;
    client.cancel().await.unwrap();
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
    let project = Project::new();
    project.write("kenning.toml", "[gaps]\ncapture = false\nintent = false\n");
    let client = project.client(&["serve", "--toolsets", "knowledge"]).await;
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().all(|tool| tool.name != REQUEST));
    assert!(tools.iter().all(|tool| tool.input_schema["properties"].get("mcpeyeIntent").is_none()));
    call(&client, "search_knowledge", json!({"query": "coffee"})).await;
    client.cancel().await.unwrap();
    assert_eq!(project.json(&["gaps", "report"])["calls"], 0);
}

#[tokio::test]
async fn a_miss_closes_when_somebody_writes_the_answer() {
    let project = Project::new();
    let client = project.client(&["serve"]).await;
    let task = json!({"task_description": "rotate the signing keys of the payment gateway"});
    let found = call(&client, "discover_context", task).await;
    assert_eq!(found["total_available"], 0);
    let gap = project.gap(|gap| gap["kind"] == "miss").await;
    assert_eq!(gap["status"]["state"], "open");
    project.write(
        "KEYS.md",
        "# Rotating the signing keys of the payment gateway\n\nKeys of the payment gateway are \
         rotated with `gateway keys rotate`; the signing key changes at once.\n",
    );
    let closed = project.gap(|gap| gap["status"]["state"] == "closed").await;
    assert_eq!(closed["id"], gap["id"]);
    assert_eq!(closed["status"]["evidence"]["id"], "KEYS", "{closed}");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_registered_skill_closes_a_request() {
    let project = Project::new();
    let client = project.client(&["serve"]).await;
    request(&client, "deploy a service to kubernetes").await;
    let gap = project.gap(|gap| gap["requests"] == 1).await;
    project.json(&["agents", "add", "deploy-bot", "--id", "11"]);
    let metadata = r#"{"description": "Deploy a service to a Kubernetes cluster"}"#;
    let register = ["skills", "register", "--agent", "11", "kubernetes-deploy", "1.0.0"];
    project.json(&[&register[..], &["--metadata", metadata]].concat());
    let closed = project.gap(|gap| gap["status"]["state"] == "closed").await;
    assert_eq!(
        (&closed["id"], &closed["status"]["evidence"]["source"]),
        (&gap["id"], &json!("skill"))
    );
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_wrapped_server_is_heard() {
    let project = Project::new();
    let binary = env!("CARGO_BIN_EXE_kenning");
    let wrapped = ["wrap", "--project", "demo", "--user", "ada", "--", binary, "serve"];
    let inner = ["--toolsets", "knowledge"];
    let client = project.client(&[&wrapped[..], &inner[..]].concat()).await;
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == REQUEST));
    let arguments = json!({"query": "coffee", "mcpeyeIntent": "Looking for the machine."});
    let found = call(&client, "search_knowledge", arguments).await;
    assert_eq!(found["results"][0]["path"], "COFFEE.md");
    request(&client, "brew an espresso").await;
    let gap = project.gap(|gap| gap["projectId"] == "demo").await;
    client.cancel().await.unwrap();
    assert_eq!(gap["label"], "brew an espresso");
    let forgotten = project.json(&["gaps", "forget", "--user", "ada"]);
    assert_eq!((&forgotten["events"], &forgotten["gaps"]), (&json!(2), &json!(1)));
}

fn batch(project: &str, id: u32) -> Value {
    json!({
        "projectId": project,
        "identity": {"userId": "u1", "client": "some-client"},
        "events": [{
            "callId": format!("00000000-0000-4000-8000-{id:012}"),
            "toolName": REQUEST,
            "arguments": {"capability": "translate the page into French", "token": "hush-hush"},
            "isError": false, "timestamp": 1_790_000_000_000_u64, "durationMs": 1.5
        }]
    })
}

async fn ingest(server: &HttpServer, body: &Value, secret: Option<&str>) -> (u16, Value) {
    let mut request = reqwest::Client::new().post(server.page("/ingest"));
    if let Some(secret) = secret {
        request = request.header("x-mcpeye-secret", secret);
    }
    let answer = request.body(body.to_string()).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap())
}

#[tokio::test]
async fn events_of_other_servers_come_in_once() {
    let project = Project::new();
    let server = project.http();
    let (status, answer) = ingest(&server, &batch("shop", 1), None).await;
    assert_eq!((status, &answer["accepted"]), (200, &json!(1)));
    let (_, again) = ingest(&server, &batch("shop", 1), None).await;
    assert_eq!((&again["accepted"], &again["known"]), (&json!(1), &json!(1)));
    let gap = project.gap(|gap| gap["projectId"] == "shop").await;
    assert_eq!(
        (&gap["asks"], &gap["label"]),
        (&json!(1), &json!("translate the page into French"))
    );
    let store = project.home.path().join(".local/share/kenning");
    assert!(!holds(&store, b"hush-hush"), "secrets are taken out before anything is kept");

    let made =
        project.command(&["token", "create", "ci", "--scope", "ingest", "--project", "till"]);
    let made = {
        let mut made = made;
        made.output().unwrap().stdout
    };
    let secret = String::from_utf8(made).unwrap().trim().to_owned();
    assert_eq!(ingest(&server, &batch("till", 2), None).await.0, 401);
    assert_eq!(ingest(&server, &batch("till", 2), Some("wrong")).await.0, 401);
    assert_eq!(ingest(&server, &batch("shop", 2), Some(&secret)).await.0, 403);
    assert_eq!(ingest(&server, &batch("till", 2), Some(&secret)).await.0, 200);
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
async fn proposals_wait_for_a_person() {
    let project = Project::new();
    let client = project.client(&["serve", "--toolsets", "all"]).await;
    let propose =
        |path: &str| json!({"title": "Espresso", "markdown": "Press twice.", "targetPath": path});
    let made = call(&client, "propose_knowledge", propose("guides/ESPRESSO.md")).await;
    let id = made["proposal"]["id"].as_str().unwrap().to_owned();
    let file = project.root.path().join("guides/ESPRESSO.md");
    assert!(!file.exists(), "no file is touched");
    let escape = call(&client, "propose_knowledge", propose("../ESPRESSO.md")).await;
    assert_eq!(escape["error"], "INVALID_ARGUMENT");
    assert_eq!(project.json(&["proposals"])["proposals"][0]["id"], id);
    project.json(&["proposals", "accept", &id]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "# Espresso\n\nPress twice.\n");
    let twice = project.command(&["proposals", "reject", &id]).output().unwrap();
    assert!(String::from_utf8_lossy(&twice.stderr).contains("accepted already"));
    let other = call(&client, "propose_knowledge", propose("COFFEE.md")).await;
    let taken = project
        .command(&["proposals", "accept", other["proposal"]["id"].as_str().unwrap()])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&taken.stderr).contains("is there already"));
    project.json(&[
        "proposals",
        "reject",
        other["proposal"]["id"].as_str().unwrap(),
        "--reason",
        "we have it",
    ]);
    assert_eq!(project.json(&["proposals"])["proposals"], json!([]));
    let turned_down = call(&client, "propose_knowledge", propose("guides/DECAF.md")).await;
    let id = turned_down["proposal"]["id"].as_str().unwrap();
    project.json(&["proposals", "reject", id]);
    let late = project.command(&["proposals", "accept", id]).output().unwrap();
    assert!(String::from_utf8_lossy(&late.stderr).contains("rejected already"));
    assert!(!project.root.path().join("guides/DECAF.md").exists(), "no is no");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn what_is_used_is_counted() {
    let project = Project::new();
    project.write("TEA.md", "# Tea\n\nNobody drinks it.\n");
    let client = project.client(&["serve"]).await;
    call(&client, "retrieve_knowledge", json!({"ids": ["COFFEE"]})).await;
    call(
        &client,
        "search_knowledge",
        json!({"query": "machine cleaned", "search_type": "keyword"}),
    )
    .await;
    client.cancel().await.unwrap();
    let usage = loop {
        let usage = project.json(&["usage"]);
        if usage["most_used"][0]["searched"] == 1 {
            break usage;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert_eq!(
        (&usage["most_used"][0]["id"], &usage["most_used"][0]["retrieved"]),
        (&json!("COFFEE"), &json!(1))
    );
    assert_eq!(usage["never_found"][0]["id"], "TEA");
}
