//! The table of clients, and the entries, snippets and paths derived from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kenning_catalog::Catalog;
use kenning_catalog::clients::{
    Client, Environment, Format, Os, Scope, ServerEntry, all, entry, find, snippet,
};
use serde_json::{Value, json};

fn server() -> ServerEntry {
    ServerEntry {
        name: "kenning".to_owned(),
        command: "/opt/ken ning".to_owned(),
        args: vec!["serve".to_owned(), "--root".to_owned(), "a \"b\"\\c".to_owned()],
        env: BTreeMap::new(),
    }
}

#[test]
fn the_table_is_valid() {
    let catalog = Catalog::bundled();
    assert_eq!(all().len(), 11);
    for client in all() {
        assert_eq!(find(&client.id).unwrap().id, client.id);
        assert_eq!(find(&client.name.to_uppercase()).unwrap().id, client.id);
        for alias in &client.aliases {
            assert_eq!(find(alias).unwrap().id, client.id, "`{alias}` means two clients");
        }
        if let Some(agent) = &client.agent {
            assert!(catalog.agent(agent).is_some(), "{} is the agent `{agent}`", client.id);
        }
        assert!(client.documentation.starts_with("https://"), "{}", client.id);
        let text = Value::Object(client.entry.clone()).to_string();
        assert!(text.contains("$command") && text.contains("$args") || text.contains("$argv"));
    }
}

#[test]
fn every_agent_with_mcp_support_is_a_client() {
    let catalog = Catalog::bundled();
    for agent in catalog.agents() {
        let takes = agent.claim("MCP Support").is_some_and(|claim| claim.available);
        let listed = all().iter().any(|client| client.agent.as_ref() == Some(&agent.agent));
        assert_eq!(takes, listed, "{}", agent.agent);
    }
}

#[test]
fn finds_clients_only_by_their_own_names() {
    let error = find("emacs").unwrap_err();
    assert_eq!(error.to_string(), "there is no client `emacs`");
    assert!(error.hint().contains("claude-code, claude-desktop, cursor"), "{}", error.hint());
    assert_eq!(find("Claude_Code").unwrap().id, "claude-code");
    assert_eq!(find("vscode-copilot").unwrap().id, "vscode");
}

#[test]
fn entries_have_the_form_of_each_client() {
    let written = |id: &str| entry(find(id).unwrap(), &server());
    let (command, args) = ("/opt/ken ning", ["serve", "--root", "a \"b\"\\c"]);
    assert_eq!(written("cursor"), json!({"command": command, "args": args}));
    let typed = json!({"type": "stdio", "command": command, "args": args});
    assert_eq!(written("claude-code"), typed);
    assert_eq!(
        written("opencode"),
        json!({"type": "local", "command": [command, args[0], args[1], args[2]], "enabled": true})
    );
    let with_env = ServerEntry { env: [("A".to_owned(), "b".to_owned())].into(), ..server() };
    assert_eq!(entry(find("zed").unwrap(), &with_env)["env"], json!({"A": "b"}));
    assert_eq!(entry(find("opencode").unwrap(), &with_env)["environment"], json!({"A": "b"}));
}

/// A snippet, read by an independent parser, has the same content as the entry.
#[test]
fn snippets_parse_back_to_the_entry() {
    for client in all() {
        let text = snippet(client, &server());
        let read: Value = match client.format {
            Format::Json | Format::Jsonc => serde_json::from_str(&text).unwrap(),
            Format::Toml => toml::from_str(&text).unwrap(),
            Format::Yaml => serde_saphyr::from_str(&text).unwrap(),
        };
        let servers = client.servers.iter().fold(&read, |value, key| &value[key.as_str()]);
        let listed = if client.document.is_some() { &servers[0] } else { &servers["kenning"] };
        assert_eq!(*listed, entry(client, &server()), "{}:\n{text}", client.id);
    }
}

#[test]
fn snippets_are_readable() {
    let plain = ServerEntry { args: vec!["serve".to_owned()], ..server() };
    let shown = |id: &str| snippet(find(id).unwrap(), &plain);
    assert_eq!(
        shown("codex"),
        "[mcp_servers.kenning]\ncommand = \"/opt/ken ning\"\nargs = [\"serve\"]\n"
    );
    assert_eq!(
        shown("continue"),
        "name: \"kenning\"\nversion: \"0.0.1\"\nschema: \"v1\"\nmcpServers:\n  \
         - name: \"kenning\"\n    command: \"/opt/ken ning\"\n    args:\n      - \"serve\"\n    \
         cwd: \"./\"\n"
    );
}

fn files(client: &Client, scope: Scope, os: Os, variables: &[(&str, &str)]) -> Vec<String> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let here = Environment {
        os,
        home: Path::new("/home/me"),
        project: Path::new("/project"),
        variable: &variable,
    };
    let shown = |path: PathBuf| path.display().to_string();
    client.files(scope, "kenning", here).into_iter().map(shown).collect()
}

#[test]
fn files_have_the_paths_of_each_system() {
    let user = |id: &str, os, variables: &[(&str, &str)]| {
        files(find(id).unwrap(), Scope::User, os, variables).remove(0)
    };
    assert_eq!(user("claude-code", Os::Linux, &[]), "/home/me/.claude.json");
    assert_eq!(user("claude-code", Os::Linux, &[("CLAUDE_CONFIG_DIR", "/c")]), "/c/.claude.json");
    assert_eq!(user("codex", Os::Macos, &[]), "/home/me/.codex/config.toml");
    assert_eq!(user("codex", Os::Macos, &[("CODEX_HOME", "/c")]), "/c/config.toml");
    assert_eq!(user("codex", Os::Macos, &[("CODEX_HOME", "c")]), "/home/me/.codex/config.toml");
    assert_eq!(user("vscode", Os::Linux, &[]), "/home/me/.config/Code/User/mcp.json");
    assert_eq!(user("vscode", Os::Linux, &[("XDG_CONFIG_HOME", "/x")]), "/x/Code/User/mcp.json");
    assert_eq!(
        user("vscode", Os::Macos, &[("XDG_CONFIG_HOME", "/x")]),
        "/home/me/Library/Application Support/Code/User/mcp.json"
    );
    assert_eq!(
        user("claude-desktop", Os::Windows, &[("APPDATA", "/a")]),
        "/a/Claude/claude_desktop_config.json"
    );
    assert_eq!(user("continue", Os::Linux, &[]), "/home/me/.continue/mcpServers/kenning.yaml");
    let project = |id: &str| files(find(id).unwrap(), Scope::Project, Os::Linux, &[]);
    assert_eq!(project("cursor"), ["/project/.cursor/mcp.json"]);
    assert_eq!(project("opencode"), ["/project/opencode.json", "/project/opencode.jsonc"]);
    assert_eq!(project("windsurf"), [""; 0]);
}
