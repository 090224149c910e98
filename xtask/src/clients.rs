//! Real MCP clients against the debug build: the Inspector, Claude Code, and every client that `kenning
//! install` can configure and that runs without an account.

mod installed;

use anyhow::{Result, ensure};

use crate::external::NpmPackages;
use crate::run::{read, retry, root};
use crate::server::Build;

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

pub(crate) fn check(packages: &NpmPackages) -> Result<()> {
    for era in ["legacy", "modern"] {
        inspector(packages, era)?;
    }
    claude_code(packages)?;
    installed::check(packages)
}

/// The Inspector lists our tools over stdio, accepts their schemas, and calls some.
fn inspector(packages: &NpmPackages, era: &str) -> Result<()> {
    let listed = read(&mut inspect(packages, era, &["tools/list", "--strict"])?)?;
    for tool in TOOLS {
        ensure!(listed.contains(&format!("\"name\":\"{tool}\"")), "{tool} is not listed: {listed}");
    }
    let arguments = "{\"ids\":[\"guidelines.security\"]}";
    let call = ["tools/call", "--tool-name", "retrieve_knowledge", "--tool-args-json", arguments];
    let called = read(&mut inspect(packages, era, &call)?)?;
    ensure!(called.contains("\"id\":\"guidelines.security\""), "unexpected answer: {called}");
    let arguments = "{\"agent\":\"gemini\",\"capability\":\"undo what it did to my files\"}";
    let call = ["tools/call", "--tool-name", "lookup_capability", "--tool-args-json", arguments];
    retry(|| {
        let found = read(&mut inspect(packages, era, &call)?)?;
        ensure!(found.contains("\"name\":\"Checkpoints\""), "unexpected answer: {found}");
        Ok(())
    })?;
    // The tool's error must reach the client as such, not as a protocol error.
    let unknown = "{\"agent\":\"emacs\",\"capability\":\"hooks\"}";
    let call = ["tools/call", "--tool-name", "lookup_capability", "--tool-args-json", unknown];
    let refused = inspect(packages, era, &call)?.output()?;
    let refused = String::from_utf8_lossy(&refused.stdout).into_owned();
    ensure!(refused.contains("AGENT_NOT_FOUND"), "the error code is missing: {refused}");
    let resources = read(&mut inspect(packages, era, &["resources/list"])?)?;
    ensure!(resources.contains("knowledge://knowledge/README.md"), "unexpected list: {resources}");
    let prompts = read(&mut inspect(packages, era, &["prompts/list"])?)?;
    ensure!(prompts.contains("task_preparation"), "unexpected prompts: {prompts}");
    Ok(())
}

fn inspect(packages: &NpmPackages, era: &str, method: &[&str]) -> Result<std::process::Command> {
    let mut inspector = packages.program("mcp-inspector")?;
    inspector.args(["--cli", "--protocol-era", era, "--format", "json", "--method"]).args(method);
    inspector.arg("--").args(server());
    Ok(inspector)
}

/// Claude Code registers the server, starts it and finds it healthy.
fn claude_code(packages: &NpmPackages) -> Result<()> {
    let mut remove = packages.program("claude")?;
    // Fails if no earlier run left an entry, which does not matter.
    let _ = remove.args(["mcp", "remove", "kenning"]).output();
    read(packages.program("claude")?.args(["mcp", "add", "kenning", "--"]).args(server()))?;
    retry(|| {
        let listed = read(packages.program("claude")?.args(["mcp", "list"]))?;
        ensure!(listed.contains("Connected"), "Claude Code is not connected: {listed}");
        Ok(())
    })
}

fn server() -> [String; 4] {
    let path = |relative: &str| root().join(relative).display().to_string();
    let binary = Build::Debug.program("kenning").display().to_string();
    [binary, "--root".to_owned(), path("examples/knowledge"), "serve".to_owned()]
}
