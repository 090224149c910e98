//! Real MCP clients against the real binary.

mod installed;

use anyhow::{Result, ensure};

use crate::outside::Parts;
use crate::run::{patiently, read, root};

const TOOLS: [&str; 13] = [
    "discover_context",
    "retrieve_knowledge",
    "list_knowledge_bases",
    "search_knowledge",
    "get_dependencies",
    "lookup_capability",
    "compare_capability",
    "list_capabilities",
    "get_sources",
    "register_agent_capabilities",
    "get_agent_capabilities",
    "list_all_capabilities",
    "deactivate_capability",
];

pub(crate) fn check(parts: &Parts) -> Result<()> {
    for era in ["legacy", "modern"] {
        inspector(parts, era)?;
    }
    claude_code(parts)?;
    installed::check(parts)
}

/// The Inspector lists our tools over stdio, finds their schemas sound, and calls one.
fn inspector(parts: &Parts, era: &str) -> Result<()> {
    let listed = read(&mut inspect(parts, era, &["tools/list", "--strict"])?)?;
    for tool in TOOLS {
        ensure!(listed.contains(&format!("\"name\":\"{tool}\"")), "{tool} is not listed: {listed}");
    }
    let arguments = "{\"ids\":[\"guidelines.security\"]}";
    let call = ["tools/call", "--tool-name", "retrieve_knowledge", "--tool-args-json", arguments];
    let called = read(&mut inspect(parts, era, &call)?)?;
    ensure!(called.contains("\"id\":\"guidelines.security\""), "unexpected answer: {called}");
    let arguments = "{\"agent\":\"gemini\",\"capability\":\"undo what it did to my files\"}";
    let call = ["tools/call", "--tool-name", "lookup_capability", "--tool-args-json", arguments];
    patiently(|| {
        let found = read(&mut inspect(parts, era, &call)?)?;
        ensure!(found.contains("\"name\":\"Checkpoints\""), "unexpected answer: {found}");
        Ok(())
    })?;
    // A fault of ours would be an error of the client, or none.
    let nobody = "{\"agent\":\"emacs\",\"capability\":\"hooks\"}";
    let call = ["tools/call", "--tool-name", "lookup_capability", "--tool-args-json", nobody];
    let refused = inspect(parts, era, &call)?.output()?;
    let refused = String::from_utf8_lossy(&refused.stdout).into_owned();
    ensure!(refused.contains("AGENT_NOT_FOUND"), "the error is lost: {refused}");
    let resources = read(&mut inspect(parts, era, &["resources/list"])?)?;
    ensure!(resources.contains("knowledge://knowledge/README.md"), "unexpected list: {resources}");
    let prompts = read(&mut inspect(parts, era, &["prompts/list"])?)?;
    ensure!(prompts.contains("task_preparation"), "unexpected prompts: {prompts}");
    Ok(())
}

fn inspect(parts: &Parts, era: &str, method: &[&str]) -> Result<std::process::Command> {
    let mut inspector = parts.program("mcp-inspector")?;
    inspector.args(["--cli", "--protocol-era", era, "--format", "json", "--method"]).args(method);
    inspector.arg("--").args(server());
    Ok(inspector)
}

/// Claude Code registers the server, starts it and finds it healthy.
fn claude_code(parts: &Parts) -> Result<()> {
    let mut remove = parts.program("claude")?;
    // Whether an earlier run left an entry is of no interest.
    let _ = remove.args(["mcp", "remove", "kenning"]).output();
    read(parts.program("claude")?.args(["mcp", "add", "kenning", "--"]).args(server()))?;
    patiently(|| {
        let listed = read(parts.program("claude")?.args(["mcp", "list"]))?;
        ensure!(listed.contains("Connected"), "Claude Code is not connected: {listed}");
        Ok(())
    })
}

fn server() -> [String; 4] {
    let path = |relative: &str| root().join(relative).display().to_string();
    let binary = path("target/debug/kenning");
    [binary, "--root".to_owned(), path("examples/knowledge"), "serve".to_owned()]
}
