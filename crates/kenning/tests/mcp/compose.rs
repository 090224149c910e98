//! Files made from what is known: by somebody at the keyboard, and by an agent that has never
//! heard of Kenning.

use std::path::Path;
use std::process::Command;

use rmcp::model::{ReadResourceRequestParams, ResourceContents};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::client::{Client, call, stdio_client_with};

fn kenning(root: &Path, home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
    command.args(["--log-level", "error"]).args(words).current_dir(root).env("HOME", home);
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    for key in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "KENNING_COMPOSE_ENDPOINT"]
    {
        command.env_remove(key);
    }
    command
}

fn done(root: &Path, home: &Path, words: &[&str]) -> String {
    let output = kenning(root, home, words).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {err}");
    String::from_utf8(output.stdout).unwrap()
}

/// A project with a little knowledge.
fn project() -> (TempDir, TempDir) {
    let (root, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::write(root.path().join("COFFEE.md"), "# Coffee\n\nCleaned on Fridays.\n").unwrap();
    std::fs::write(root.path().join("TEA.md"), "# Tea\n\nNobody drinks it.\n").unwrap();
    (root, home)
}

#[test]
fn what_is_built_in_makes_real_files() {
    let (root, home) = project();
    let (root, home) = (root.path(), home.path());
    let listed = done(root, home, &["compose", "list"]);
    let artifacts =
        ["agents-md", "claude-md", "client-config", "capability-comparison", "gap-report"];
    for artifact in artifacts {
        assert!(listed.contains(artifact), "{listed}");
        let built = done(root, home, &["compose", "build", artifact]);
        assert!(built.starts_with("wrote "), "{artifact}: {built}");
    }
    let agents = std::fs::read_to_string(root.join("AGENTS.md")).unwrap();
    assert!(agents.contains("## Coffee") && agents.contains("Cleaned on Fridays."), "{agents}");
    let again = done(root, home, &["compose", "build", "agents-md"]);
    assert!(again.starts_with("unchanged"), "{again}");
    let small = ["compose", "preview", "agents-md", "--set", "max_tokens=6"];
    let small = done(root, home, &small);
    assert!(small.contains("more sections are found with"), "what does not fit is told: {small}");
    let many: Vec<String> = (0..300).map(|n| format!("# Drink {n}\n\nIt is hot.\n")).collect();
    std::fs::write(root.join("MANY.md"), many.join("\n")).unwrap();
    for budget in [300, 1_000, 3_000] {
        let set = format!("max_tokens={budget}");
        let preview = ["compose", "preview", "agents-md", "--json", "--set", &set];
        let preview: Value = serde_json::from_str(&done(root, home, &preview)).unwrap();
        let tokens = preview["tokens"].as_u64().unwrap();
        assert!(tokens <= budget && tokens > budget * 2 / 3, "{tokens} of {budget}");
    }
    let elsewhere = ["compose", "build", "agents-md", "--output", "docs/COPY.md"];
    done(root, home, &elsewhere);
    let again = done(root, home, &elsewhere);
    assert!(again.starts_with("unchanged"), "what was made is not read back: {again}");
    let unknown = ["compose", "preview", "agents-md", "--set", "base=typo"];
    let unknown = kenning(root, home, &unknown).output().unwrap();
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no base `typo`"));
    let comparison = done(root, home, &["compose", "preview", "capability-comparison"]);
    assert!(comparison.contains("Claude Code") && comparison.contains("Hooks"), "{comparison}");
    let clients = std::fs::read_to_string(root.join("docs/mcp-clients.md")).unwrap();
    for client in kenning_catalog::clients::all() {
        assert!(clients.contains(&format!("## {}\n", client.name)), "{clients}");
    }
    let unknown = ["compose", "preview", "client-config", "--set", "client=emacs"];
    let unknown = kenning(root, home, &unknown).output().unwrap();
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(said.contains("no client `emacs`; there is claude-code"), "{said}");
    let wrong = kenning(root, home, &["compose", "build", "nothing"]).output().unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("nothing"));
}

/// A process that does not outlive the test.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_that_is_watched_follows_what_is_known() {
    let (root, home) = project();
    let (root, home) = (root.path(), home.path());
    let mut build = kenning(root, home, &["compose", "build", "agents-md", "--watch"]);
    build.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let _build = Running(build.spawn().unwrap());
    let wait_for = |words: &str| {
        let has = || std::fs::read_to_string(root.join("AGENTS.md")).unwrap_or_default();
        while !has().contains(words) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    wait_for("## Coffee");
    std::fs::write(root.join("JUICE.md"), "# Juice\n\nFrom apples.\n").unwrap();
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
fn a_model_writes_code_where_there_is_one() {
    let (root, home) = project();
    let (root, home) = (root.path(), home.path());
    let configs = root.join(".kenning/compose");
    let config = |kind: &str, config: Value| {
        std::fs::create_dir_all(configs.join(kind)).unwrap();
        std::fs::write(configs.join(kind).join("adder.json"), config.to_string()).unwrap();
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
    let without = kenning(root, home, &build).output().unwrap();
    let said = String::from_utf8_lossy(&without.stderr).into_owned();
    assert!(!without.status.success() && said.contains("ANTHROPIC_API_KEY"), "{said}");
    let endpoint = kenning_testkit::Scripted::start(write_code);
    let mut with = kenning(root, home, &build);
    with.env("KENNING_COMPOSE_ENDPOINT", endpoint.url()).env("KENNING_COMPOSE_MODEL", "scripted");
    let built = with.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let code = std::fs::read_to_string(root.join("adder.py")).unwrap();
    let settings = format!("[compose]\nendpoint = {:?}\nmodel = \"m\"\n", endpoint.url());
    std::fs::write(root.join("kenning.toml"), settings).unwrap();
    let theirs = kenning(root, home, &build).output().unwrap();
    let said = String::from_utf8_lossy(&theirs.stderr).into_owned();
    assert!(said.contains("a project's file cannot choose the endpoint"), "{said}");
    assert_eq!(code, "def add(a, b):\n    return a + b\n");
}

/// What an agent knows: how to read resources and call tools, and nothing of Kenning.
struct Agent {
    client: Client,
}

impl Agent {
    async fn read(&self, uri: &str) -> Value {
        let read = self.client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
        let ResourceContents::TextResourceContents { text, .. } = &read.contents[0] else {
            panic!("{uri} is text");
        };
        serde_json::from_str(text).unwrap()
    }

    /// A tool of a category whose name has this verb, as the server describes it.
    async fn tool(&self, category: &str, verb: &str) -> Value {
        let described = self.read("capabilities://tools").await;
        let tools = described["tools_by_category"][category].as_array().unwrap().clone();
        let with_verb = |tool: &Value| tool["name"].as_str().unwrap().starts_with(verb);
        tools.into_iter().find(with_verb).unwrap_or_else(|| panic!("{category} {verb}"))
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
async fn an_agent_that_knows_nothing_makes_an_artifact() {
    let (root, _home) = project();
    let client = stdio_client_with(root.path(), &["--toolsets", "all"]).await;
    let agent = Agent { client };
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
    let menu = std::fs::read_to_string(root.path().join("MENU.md")).unwrap();
    assert!(menu.starts_with("# Menu") && menu.contains("- tea"), "{menu}");
    agent.client.cancel().await.unwrap();
}
