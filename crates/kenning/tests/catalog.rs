//! The catalog's commands, and the evaluation of tools with a scripted model.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use kenning_testkit::Scripted;
use serde_json::{Value, json};
use tempfile::TempDir;

fn kenning(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
    let handbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge");
    command.args(args).current_dir(handbook).env_remove("OPENAI_API_KEY");
    command
}

fn run(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = kenning(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn lookup_answers_as_text_and_json() {
    let (code, out, _) = run(&["lookup", "claude", "mcp"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("claude-code: MCP Support  yes\n"), "{out}");
    assert!(out.contains("setup") && out.contains("claude mcp add"), "{out}");
    let (_, out, _) = run(&["--json", "lookup", "claude", "take back what it changed"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["capability"]["name"], "Checkpoints", "{out}");
    assert!(answer["capability"]["matchConfidence"].as_f64().unwrap() >= 0.7, "{out}");
}

#[test]
fn unknown_names_exit_with_1_and_a_hint() {
    let (code, _, err) = run(&["lookup", "emacs", "mcp"]);
    assert_eq!(code, 1);
    assert!(err.contains("no agent `emacs`") && err.contains("hint: there is"), "{err}");
    let (code, _, err) = run(&["lookup", "zed", "keyboard backlight"]);
    assert_eq!(code, 1);
    assert!(err.contains("No capability like \"keyboard backlight\" is known"), "{err}");
    let (code, _, err) = run(&["capabilities"]);
    assert_eq!(code, 2, "a filter is needed: {err}");
    let (code, _, err) = run(&["--catalog", "nowhere", "lookup", "zed", "mcp"]);
    assert_eq!(code, 1);
    assert!(err.contains("nowhere"), "{err}");
}

#[test]
fn compare_prints_a_table() {
    let (code, out, _) = run(&["compare", "mcp", "claude", "aider"]);
    assert_eq!(code, 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "MCP Support");
    assert!(lines[1].starts_with("claude-code  yes "), "{out}");
    assert_eq!(lines[2], "aider        no");
    let (_, out, _) = run(&["capabilities", "--agent", "zed", "--category", "security"]);
    assert_eq!(out.lines().count(), 3, "{out}");
    let (_, out, _) = run(&["sources", "--agent", "gemini", "--capability", "hooks"]);
    assert!(out.starts_with("gemini-cli: Hooks\n  https://"), "{out}");
}

#[test]
fn catalog_check_reports_errors_in_a_user_folder() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("bot")).unwrap();
    std::fs::write(folder.path().join("bot/capabilities.json"), r#"{"agent": "bot"}"#).unwrap();
    let path = folder.path().display().to_string();
    let (code, out, err) = run(&["--catalog", &path, "catalog", "check"]);
    assert_eq!(code, 1);
    assert!(out.contains("bot/capabilities.json") && out.contains("vendor"), "{out}{err}");
}

#[test]
fn offline_evaluation_measures_resolution_and_cost_and_says_so() {
    let (code, out, err) = run(&["eval", "tools", "--offline"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("invocation accuracy was not measured"), "{out}");
    let (_, out, _) = run(&["--json", "eval", "tools", "--offline"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report.get("invocationAccuracy"), None);
    assert!(report["resolutionAccuracy"].as_f64().unwrap() >= 0.95, "{out}");
    assert_eq!(report["tokenCosts"].as_array().unwrap().len(), 5);
    assert!(report["tokenShare"].as_f64().unwrap() < 0.25, "{}", report["tokenCosts"]);
    let (code, _, err) = run(&["eval", "tools"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn a_scripted_model_is_scored() {
    let endpoint = Scripted::start(choose);
    let url = endpoint.url();
    let args = ["--json", "eval", "tools", "-n", "8", "--model", "scripted", "--endpoint", &url];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let share = |key: &str| report[key].as_f64().unwrap();
    // Of eight requests, the model answers one in text, calls the wrong tool for one, and names
    // an unknown agent in one.
    assert!((share("invocationAccuracy") - 6.0 / 8.0).abs() < 1e-9, "{out}");
    assert!((share("argumentAccuracy") - 5.0 / 8.0).abs() < 1e-9, "{out}");
    assert!((share("retryRate") - 2.0 / 8.0).abs() < 1e-9, "{out}");
}

#[test]
fn an_unreachable_model_is_an_error_with_a_hint() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}/v1/");
    let (code, _, err) = run(&["eval", "tools", "-n", "1", "--model", "m", "--endpoint", &url]);
    assert_eq!(code, 1);
    assert!(err.contains("m does not answer") && err.contains("hint:"), "{err}");
    let (code, _, err) = run(&["eval", "tools", "--model", "m", "--endpoint", "not a url"]);
    assert_eq!(code, 2, "{err}");
}

/// Gives the expected answers, except for three.
fn choose(request: &Value) -> Value {
    assert!(request["tools"].as_array().unwrap().len() >= 9, "all tools are offered");
    let prompt = request["messages"][0]["content"].as_str().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/eval/prompts.json");
    let prompts: Value = serde_json::from_slice(&std::fs::read(data).unwrap()).unwrap();
    let prompts = prompts["prompts"].as_array().unwrap();
    let at = prompts.iter().position(|known| known["input"] == prompt).unwrap();
    let (mut tool, mut arguments) =
        (prompts[at]["expectedTool"].clone(), prompts[at]["expectedArgs"].clone());
    match at {
        0 => return json!({"role": "assistant", "content": "Yes, it does."}),
        1 => (tool, arguments) = (json!("list_capabilities"), json!({"agent": "codex"})),
        2 => arguments["agent"] = json!("emacs"),
        // Synonyms are right, too.
        3 => arguments = json!({"agent": "Cursor", "capability": "checkpoint"}),
        _ => {}
    }
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let call = json!({"id": "1", "type": "function", "function": function});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}
