//! What `install` writes, where, and what it prints.

use std::fs;
use std::path::Path;

use kenning_catalog::clients::{Scope, find};
use serde_json::{Value, json};

use crate::install::home::{Home, program, write};

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn install_reports_its_action_and_the_next_step() {
    let home = Home::new();
    insta::assert_snapshot!("installed", home.run(&["install", "claude-code"]));
    insta::assert_snapshot!("already_installed", home.run(&["install", "claude"]));
    let more = ["install", "claude-code", "--", "--read-only"];
    insta::assert_snapshot!("updated", home.run(&more));
    insta::assert_snapshot!("uninstalled", home.run(&["uninstall", "claude-code"]));
    insta::assert_snapshot!("uninstalled_again", home.run(&["uninstall", "claude-code"]));
    insta::assert_snapshot!("no_such_client", home.run(&["install", "emacs"]));
    let windsurf = ["install", "windsurf", "--scope", "project"];
    insta::assert_snapshot!("no_such_scope", home.run(&windsurf));
    insta::assert_snapshot!("no_name", home.run(&["install", "zed", "--name", "a b"]));
    let shared = ["install", "zed", "--store", "postgres://me:s3cret@db/team"];
    insta::assert_snapshot!("password", home.run(&shared));
}

#[test]
fn a_dry_run_and_print_change_nothing() {
    let home = Home::new();
    insta::assert_snapshot!("dry_run", home.run(&["install", "codex", "--dry-run"]));
    insta::assert_snapshot!("print_toml", home.run(&["install", "codex", "--print"]));
    insta::assert_snapshot!("print_yaml", home.run(&["install", "continue", "--print"]));
    insta::assert_snapshot!("print_json", home.run(&["install", "opencode", "--print"]));
    assert_eq!(fs::read_dir(home.home()).unwrap().count(), 0);
    home.run(&["install", "codex"]).success();
    let removal = home.run(&["uninstall", "codex", "--dry-run", "--json"]).success();
    assert_eq!(removal.json()["action"], "would_remove");
    assert!(home.home().join(".codex/config.toml").exists());
}

#[test]
fn json_reports_the_action() {
    let home = Home::new();
    let done = home.run(&["install", "gemini", "--json"]).success().json();
    assert_eq!(done["client"], "gemini-cli");
    assert_eq!(done["scope"], "user");
    assert_eq!(done["action"], "installed");
    assert_eq!(done["file"], "[HOME]/.gemini/settings.json");
    assert_eq!(done["entry"], json!({"command": "[KENNING]", "args": ["serve"]}));
    assert!(done["next"][0].as_str().unwrap().contains("gemini mcp list"), "{done}");
}

#[test]
fn the_list_marks_clients_found_on_this_machine() {
    let home = Home::new();
    fs::create_dir(home.home().join(".cursor")).unwrap();
    home.run(&["install", "zed"]).success();
    make_program(&home.bin().join("codex"));
    insta::assert_snapshot!("clients", home.run(&["install"]));
    let listed = home.run(&["install", "--json"]).success().json();
    let zed = listed["clients"].as_array().unwrap().iter().find(|c| c["id"] == "zed").unwrap();
    assert_eq!(zed["scopes"][0]["installed"], true);
    assert_eq!(zed["scopes"][1]["installed"], false);
}

#[test]
fn all_detected_continues_after_a_failure() {
    let home = Home::new();
    write(&home.home().join(".cursor/mcp.json"), "{");
    write(&home.home().join(".zed"), "");
    write(&home.home().join(".codex/config.toml"), "");
    make_program(&home.bin().join("gemini"));
    let outcome = home.run(&["install", "--all-detected", "--json"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(outcome.stderr.contains(".cursor/mcp.json` is left as it is"), "{outcome}");
    let done = outcome.json();
    let ids: Vec<&str> =
        done.as_array().unwrap().iter().map(|d| d["client"].as_str().unwrap()).collect();
    assert_eq!(ids, ["gemini-cli", "codex-cli"]);
}

#[test]
fn fields_that_the_user_added_to_the_entry_are_kept() {
    let home = Home::new();
    let file = home.home().join(".cursor/mcp.json");
    let own = "{\n  \"mcpServers\": {\n    \"kenning\": {\n      // mine\n      \"command\": \"/old/kenning\",\n      \"args\": [\"serve\"],\n      \"env\": { \"KENNING_SERVER_LOG_LEVEL\": \"debug\" }\n    }\n  }\n}\n";
    write(&file, own);
    let done = home.run(&["install", "cursor", "--root", "docs", "--json"]).success();
    assert_eq!(done.json()["action"], "updated");
    let text = home.normalized(&fs::read_to_string(&file).unwrap());
    let expected = own.replace("/old/kenning", "[KENNING]");
    let expected = expected.replace("[\"serve\"]", "[\"--root\", \"[PROJECT]/docs\", \"serve\"]");
    assert_eq!(text, expected);
    let codex = home.home().join(".codex/config.toml");
    let own = "[mcp_servers.kenning] # mine\ncommand = \"/old/kenning\"\nargs = [\"serve\"]\nstartup_timeout_sec = 20\n";
    write(&codex, own);
    home.run(&["install", "codex"]).success();
    let text = home.normalized(&fs::read_to_string(&codex).unwrap());
    assert_eq!(text, own.replace("/old/kenning", "[KENNING]"));
}

#[test]
fn an_update_keeps_the_first_backup() {
    let home = Home::new();
    let file = home.home().join(".gemini/settings.json");
    write(&file, "{\"ui\":{}}");
    home.run(&["install", "gemini"]).success();
    home.run(&["install", "gemini", "--", "--read-only"]).success();
    home.run(&["uninstall", "gemini"]).success();
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"ui\":{}}");
}

#[test]
fn several_entries_coexist() {
    let home = Home::new();
    let file = home.project().join(".mcp.json");
    let project = |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--scope", "project"]).collect();
        home.run(&args).success()
    };
    project(&["install", "claude-code", "--root", "docs", "--name", "docs"]);
    project(&["install", "claude-code"]);
    let servers = &read(&file)["mcpServers"];
    assert_eq!(servers["docs"]["args"], json!(["--root", "docs", "serve"]));
    assert_eq!(servers["kenning"]["args"], json!(["serve"]));
    project(&["uninstall", "claude-code", "--name", "docs"]);
    assert_eq!(read(&file)["mcpServers"].as_object().unwrap().len(), 1);
    let missed = home.run(&["uninstall", "claude-code"]).success();
    assert!(missed.stderr.contains("add --scope project"), "{missed}");
}

#[test]
fn clients_that_start_servers_elsewhere_get_the_project_folder() {
    let home = Home::new();
    let args = |id: &str, scope: Scope| {
        home.run(&["install", id, "--scope", scope.name()]).success();
        let client = find(id).unwrap();
        let text = home.normalized(&fs::read_to_string(home.file(client, scope)).unwrap());
        let file: Value = serde_json::from_str(&text).unwrap();
        file["mcpServers"]["kenning"]["args"].clone()
    };
    assert_eq!(args("claude-desktop", Scope::User), json!(["--root", "[PROJECT]", "serve"]));
    let project = args("cursor", Scope::Project);
    assert_eq!(project, json!(["--root", "${workspaceFolder}", "serve"]));
    assert_eq!(args("claude-code", Scope::Project), json!(["serve"]));
    let named =
        ["install", "cursor", "--scope", "project", "--root", "docs", "--dry-run", "--json"];
    let named = home.run(&named).success().json();
    assert_eq!(named["entry"]["args"], json!(["--root", "${workspaceFolder}/docs", "serve"]));
    write(&home.project().join("kenning.toml"), "");
    let desktop = args("claude-desktop", Scope::User);
    assert_eq!(desktop, json!(["--config", "[PROJECT]/kenning.toml", "serve"]));
    let project = args("cursor", Scope::Project);
    assert_eq!(project, json!(["--config", "${workspaceFolder}/kenning.toml", "serve"]));
}

/// A name works on every machine of a team, but desktop applications lack the shell's `PATH`.
#[cfg(unix)]
#[test]
fn the_command_is_a_name_if_it_is_on_the_path() {
    let home = Home::new();
    std::os::unix::fs::symlink(program(), home.bin().join("kenning")).unwrap();
    let command = |id: &str, scope: &str| {
        let done = home.run(&["install", id, "--scope", scope, "--dry-run", "--json"]).success();
        done.json()["entry"]["command"].clone()
    };
    assert_eq!(command("claude-code", "user"), "kenning");
    assert_eq!(command("claude-code", "project"), "kenning");
    assert_eq!(command("cursor", "user"), "[KENNING]");
    assert_eq!(command("cursor", "project"), "kenning");
    fs::remove_file(home.bin().join("kenning")).unwrap();
    make_program(&home.bin().join("kenning"));
    assert_eq!(command("claude-code", "user"), "[KENNING]", "that is another program");
}

#[test]
fn an_existing_file_is_preferred() {
    let home = Home::new();
    let jsonc = home.home().join(".config/opencode/opencode.jsonc");
    write(&jsonc, "{\n  // mine\n}\n");
    home.run(&["install", "opencode"]).success();
    assert!(fs::read_to_string(&jsonc).unwrap().contains("kenning"));
    assert!(!home.home().join(".config/opencode/opencode.json").exists());
}

#[test]
fn variables_that_move_client_files_are_respected() {
    let home = Home::new();
    let elsewhere = home.home().join("elsewhere");
    for (id, variable, file) in [
        ("codex", "CODEX_HOME", "config.toml"),
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
    ] {
        home.outcome(home.command(&["install", id]).env(variable, &elsewhere)).success();
        assert!(elsewhere.join(file).exists(), "{id}");
    }
}

pub(crate) fn make_program(path: &Path) {
    fs::write(path, "#!/bin/sh\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
