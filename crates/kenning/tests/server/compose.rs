//! Files generated from knowledge: by a person on the command line, and by an agent that knows
//! nothing of Kenning.

use std::fs;
use std::process::Stdio;

use kenning_testkit::{DEADLINE, LineProcess, Scripted, eventually};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::unbounded_channel;

use crate::server::support::{
    Client, Project, ResourceUpdates, call, connect, connect_as, described_tools, finished,
    read_json, within,
};

/// A project with a little knowledge.
fn project() -> Project {
    Project::with(&[
        ("COFFEE.md", "# Coffee\n\nCleaned on Fridays.\n"),
        ("TEA.md", "# Tea\n\nGreen.\n"),
    ])
}

/// What a successful command prints.
#[track_caller]
fn done(project: &Project, args: &[&str]) -> String {
    project.run(args).success().out
}

#[test]
fn built_in_artifacts_become_files() {
    let project = project();
    let listed = done(&project, &["compose", "list"]);
    let artifacts =
        ["agents-md", "claude-md", "client-config", "capability-comparison", "gap-report"];
    for artifact in artifacts {
        assert!(listed.contains(artifact), "{listed}");
        let built = done(&project, &["compose", "build", artifact]);
        assert!(built.starts_with("wrote "), "{artifact}: {built}");
    }
    let agents = project.read("AGENTS.md");
    assert!(agents.contains("## Coffee") && agents.contains("Cleaned on Fridays."), "{agents}");
    let again = done(&project, &["compose", "build", "agents-md"]);
    assert!(again.starts_with("unchanged"), "{again}");
    let small = ["compose", "preview", "agents-md", "--set", "max_tokens=6"];
    let small = done(&project, &small);
    assert!(
        small.contains("more sections are found with"),
        "what does not fit is reported: {small}"
    );
    let many: Vec<String> = (0..300).map(|n| format!("# Drink {n}\n\nIt is hot.\n")).collect();
    project.write("MANY.md", &many.join("\n"));
    for budget in [300, 1_000, 3_000] {
        let set = format!("max_tokens={budget}");
        let preview = ["compose", "preview", "agents-md", "--json", "--set", &set];
        let preview: Value = serde_json::from_str(&done(&project, &preview)).unwrap();
        let tokens = preview["tokens"].as_u64().unwrap();
        assert!(tokens <= budget && tokens > budget * 2 / 3, "{tokens} of {budget}");
    }
    let elsewhere = ["compose", "build", "agents-md", "--output", "docs/COPY.md"];
    done(&project, &elsewhere);
    let again = done(&project, &elsewhere);
    assert!(again.starts_with("unchanged"), "its own output is not read as knowledge: {again}");
    let unknown = ["compose", "preview", "agents-md", "--set", "base=typo"];
    let unknown = project.run(&unknown);
    assert!(unknown.err.contains("no base `typo`"), "{unknown:?}");
    let comparison = done(&project, &["compose", "preview", "capability-comparison"]);
    assert!(comparison.contains("Claude Code") && comparison.contains("Hooks"), "{comparison}");
    let clients = project.read("docs/mcp-clients.md");
    for client in kenning_catalog::clients::all() {
        assert!(clients.contains(&format!("## {}\n", client.name)), "{clients}");
    }
    let unknown = ["compose", "preview", "client-config", "--set", "client=emacs"];
    let unknown = project.run(&unknown);
    assert!(unknown.err.contains("no client `emacs`; there is claude-code"), "{unknown:?}");
    let wrong = project.run(&["compose", "build", "nothing"]);
    assert!(wrong.err.contains("nothing"), "{wrong:?}");
}

#[test]
fn a_watched_build_follows_the_knowledge_base() {
    let project = project();
    let mut build = project.kenning(&["compose", "build", "agents-md", "--watch"]);
    let _build = LineProcess::start(build.stderr(Stdio::null()));
    let wait_for = |words: &str| {
        eventually(DEADLINE, || {
            let text = fs::read_to_string(project.root().join("AGENTS.md")).unwrap_or_default();
            text.contains(words).then_some(())
        });
    };
    wait_for("## Coffee");
    project.write("JUICE.md", "# Juice\n\nFrom apples.\n");
    wait_for("From apples.");
}

/// Repeats the specification in a fence, as models do although they are asked not to.
fn write_code(request: &Value) -> Value {
    let prompt = request["messages"].to_string();
    let asked = if prompt.contains("Adds 2 numbers") { "add" } else { "nothing" };
    let code = format!("```python\ndef {asked}(a, b):\n    return a + b\n```");
    json!({"role": "assistant", "content": code})
}

#[test]
fn a_model_writes_code_if_one_is_configured() {
    let project = project();
    let config = |kind: &str, config: Value| {
        project.write(&format!(".kenning/compose/{kind}/adder.json"), &config.to_string());
    };
    config(
        "content",
        json!({
            "type": "content", "id": "adder", "schemaRef": {"id": "content", "version": "1.0"},
            "metadata": {"description": "Adds", "version": "1.0.0", "output_format": "text"},
            "elements": [{"name": "code"}],
            "generation": {"patterns": [{
                "id": "main", "type": "code_generation", "specification": "Adds {{count}} numbers",
                "variables": [{"name": "count", "default": 2}],
            }]},
        }),
    );
    config(
        "artifact",
        json!({
            "type": "artifact", "id": "adder", "schemaRef": {"id": "artifact", "version": "1.0"},
            "metadata": {
                "title": "Adder", "purpose": "To add",
                "outputs": [{"file": "adder.py", "format": "text"}],
            },
            "content": {"children": [{"id": "adder"}]},
        }),
    );
    let build = ["compose", "build", "adder"];
    project.run(&build).fails_with(&["ANTHROPIC_API_KEY"]);
    let endpoint = Scripted::start(write_code);
    let mut with_model = project.kenning(&build);
    with_model.env("KENNING_COMPOSE_ENDPOINT", endpoint.url());
    finished(with_model.env("KENNING_COMPOSE_MODEL", "scripted")).success();
    assert_eq!(project.read("adder.py"), "def add(a, b):\n    return a + b\n");
    let settings = format!("[compose]\nendpoint = {:?}\nmodel = \"m\"\n", endpoint.url());
    project.write("kenning.toml", &settings);
    // The endpoint receives knowledge and a key, so a project's file must not choose it.
    let reason = "a project's file cannot choose the endpoint";
    project.run(&build).fails_with(&["compose.endpoint", reason]);
}

/// The URIs of contents that a client is offered.
async fn listed_contents<H: rmcp::ClientHandler>(client: &Client<H>) -> Vec<String> {
    let listed = within(client.list_all_resources()).await.unwrap();
    let uris = listed.into_iter().map(|resource| resource.uri.clone());
    uris.filter(|uri| uri.starts_with("content://")).collect()
}

#[tokio::test]
async fn deleted_contents_are_no_longer_listed_and_clients_are_told() {
    let project = project();
    let (sender, mut updates) = unbounded_channel();
    let command = project.serve(&["--toolsets", "all"]);
    let client = connect_as(ResourceUpdates(sender), command).await;
    for preserve_metadata in [true, false] {
        let generate = json!({"content_config_id": "client-config"});
        let generated = call(&client, "generate_content", generate).await;
        assert_eq!(generated["success"], true, "{generated}");
        assert_eq!(within(updates.recv()).await.unwrap(), "list");
        assert_eq!(listed_contents(&client).await, ["content://client-config"]);
        let delete = json!({"content_id": "client-config", "force": true,
            "preserve_metadata": preserve_metadata});
        let deleted = call(&client, "delete_content", delete).await;
        assert_eq!(deleted["success"], true, "{deleted}");
        assert_eq!(within(updates.recv()).await.unwrap(), "list");
        assert_eq!(listed_contents(&client).await, [""; 0], "{deleted}");
    }
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn the_latency_of_a_model_is_told_with_and_without_its_key() {
    let project = project();
    for key in [None, Some("sk-ant-of-this-test")] {
        let mut command = project.serve(&["--toolsets", "all"]);
        command.envs(key.map(|key| ("ANTHROPIC_API_KEY", key)));
        let client = connect(command).await;
        let about = read_json(&client, "generator://code_generation").await;
        let expected = &about["upstream_dependencies"]["expected_latency_ms"];
        assert!(expected["p50"].is_u64() && expected["p95"].is_u64(), "{key:?}: {about}");
        within(client.cancel()).await.unwrap();
    }
}

/// An agent that can read resources and call tools, and knows nothing of Kenning.
struct Agent {
    client: Client,
}

impl Agent {
    async fn read(&self, uri: &str) -> Value {
        read_json(&self.client, uri).await
    }

    /// A tool of a category whose name has this verb, as the server describes it.
    async fn tool(&self, category: &str, verb: &str) -> Value {
        let fits = |tool: &Value| {
            tool["category"] == category && tool["name"].as_str().unwrap().starts_with(verb)
        };
        let tools = described_tools(&self.client).await;
        tools.into_iter().find(fits).unwrap_or_else(|| panic!("{category} {verb}"))
    }

    /// Calls a tool with what its own schema requires, taken from what the agent has by the name
    /// of the argument.
    async fn use_tool(&self, category: &str, verb: &str, has: &Value) -> Value {
        let tool = self.tool(category, verb).await;
        let properties = tool["input_schema"]["properties"].as_object().unwrap();
        let given =
            properties.keys().filter_map(|name| Some((name.clone(), has.get(name)?.clone())));
        let given: Map<String, Value> = given.collect();
        for required in tool["input_schema"]["required"].as_array().into_iter().flatten() {
            assert!(given.contains_key(required.as_str().unwrap()), "{required} of {tool}");
        }
        let name = tool["name"].as_str().unwrap().to_owned();
        let answer = call(&self.client, name, Value::Object(given)).await;
        assert_eq!(answer["success"], true, "{category} {verb}: {answer}");
        answer
    }
}

#[tokio::test]
async fn an_agent_makes_an_artifact_from_the_self_description_alone() {
    let project = project();
    let agent = Agent { client: project.client(&["--toolsets", "all"]).await };
    let server = agent.read("capabilities://server").await;
    for feature in ["config_lifecycle", "content_generation", "artifact_assembly"] {
        assert_eq!(server["features"][feature], true, "{feature}");
    }
    let generators = agent.read("capabilities://generators").await;
    let (kind, _) = generators["generators"]
        .as_object()
        .unwrap()
        .iter()
        .find(|(_, about)| about["capabilities"].to_string().contains("loops"))
        .unwrap();
    let resources = agent.read("capabilities://resources").await;
    assert!(resources["resources"]["schema"]["patterns"][0].is_string());
    let schema = agent.read("schema://content").await;
    for needed in ["id", "metadata", "elements", "generation"] {
        assert!(schema["properties"][needed].is_object(), "{needed}");
    }
    let content = json!({
        "type": "content", "id": "menu", "schemaRef": {"id": "content", "version": "1.0"},
        "metadata": {
            "description": "What there is to drink", "version": "1.0.0",
            "generation_frequency": "on_demand", "output_format": "markdown"
        },
        "elements": [{"name": "drinks", "format": "markdown"}],
        "generation": {"patterns": [{
            "id": "main", "type": kind,
            "template": "# Menu\n{% for drink in drinks %}\n- {{ drink }}\n{% endfor %}",
            "variables": [{"name": "drinks", "description": "What there is"}]
        }]}
    });
    let drinks = json!({"drinks": ["coffee", "tea"]});
    let draft = json!({"config_type": "content", "config_data": content});
    let drafted = agent.use_tool("config", "draft", &draft).await;
    let tested = json!({"draft_id": drafted["draft_id"], "context": drinks});
    agent.use_tool("config", "test", &tested).await;
    let saved = json!({"draft_id": drafted["draft_id"], "config_id": "menu"});
    agent.use_tool("config", "save", &saved).await;
    let artifact = json!({
        "type": "artifact", "id": "card", "schemaRef": {"id": "artifact", "version": "1.0"},
        "metadata": {"title": "Menu", "purpose": "To choose from", "compositionStrategy": "concat",
            "outputs": [{"file": "MENU.md", "format": "markdown"}]},
        "content": {"children": [{"id": "menu"}]}
    });
    let draft = json!({"config_type": "artifact", "config_data": artifact});
    let drafted = agent.use_tool("config", "draft", &draft).await;
    let saved = json!({"draft_id": drafted["draft_id"], "config_id": "card"});
    agent.use_tool("config", "save", &saved).await;
    let generate = json!({"content_config_id": "menu", "context": drinks});
    agent.use_tool("content", "generate", &generate).await;
    agent.use_tool("artifact", "assemble", &json!({"artifact_config_id": "card"})).await;
    for (id, kind) in [("menu", "content"), ("card", "artifact")] {
        let validate = json!({"content_or_config_id": id});
        let validated = agent.use_tool("validation", "validate", &validate).await;
        assert_eq!((&validated["config_type"], &validated["valid"]), (&json!(kind), &json!(true)));
    }
    let menu = project.read("MENU.md");
    assert!(menu.starts_with("# Menu") && menu.contains("- tea"), "{menu}");
    within(agent.client.cancel()).await.unwrap();
}
