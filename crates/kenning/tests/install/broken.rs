//! Files that cannot be parsed or written safely are left unchanged.

use std::fs;

use kenning_catalog::clients::{Format, Scope, all, find};

use crate::install::home::{Home, write};

/// Asserts that neither command changes the file, and returns the output of `install`.
fn leaves(id: &str, text: &str) -> String {
    let client = find(id).unwrap();
    let home = Home::new();
    let file = home.file(client, Scope::User);
    write(&file, text);
    for verb in ["uninstall", "install"] {
        let outcome = home.run(&[verb, id]);
        if outcome.code == 0 {
            assert_eq!(verb, "uninstall", "{outcome}");
            assert!(outcome.stdout.contains("not in"), "{outcome}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{id}");
        let folder = fs::read_dir(file.parent().unwrap()).unwrap();
        assert_eq!(folder.count(), 1, "another file was left behind");
        if verb == "install" {
            return outcome.to_string();
        }
    }
    unreachable!("the second verb returns")
}

#[test]
fn broken_files_are_refused_and_unchanged() {
    for client in all() {
        let broken = match client.format {
            Format::Json | Format::Jsonc => ["{\"a\": 1", "{\"a\" 1}", "[]", "{'a': 1}", "{} {}"],
            Format::Toml => ["[a", "a = ", "a = 1\na = 2", "mcp_servers = 1", "= 1"],
            Format::Yaml => ["a: [", "mcpServers: 1", "- b", "a: 1", "mcpServers: [{name: x}]"],
        };
        for text in broken {
            let output = leaves(&client.id, text);
            assert!(output.starts_with("exit 1"), "{}: {text}: {output}", client.id);
            assert!(output.contains("is left as it is"), "{}: {text}: {output}", client.id);
        }
    }
}

#[test]
fn refusals_name_the_position_and_a_hint() {
    insta::assert_snapshot!("broken_json", leaves("cursor", "{\n  \"mcpServers\": {\n"));
    insta::assert_snapshot!("broken_toml", leaves("codex", "model = \n"));
    insta::assert_snapshot!("broken_yaml", leaves("continue", "name: [\n"));
    insta::assert_snapshot!("wrong_kind", leaves("zed", "{\"context_servers\": []}"));
    let foreign = "{\"mcpServers\": {\"kenning\": {\"command\": \"other\", \"args\": []}}}";
    insta::assert_snapshot!("foreign", leaves("cursor", foreign));
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    let home = Home::new();
    let file = home.file(find("cursor").unwrap(), Scope::User);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
    let outcome = home.run(&["install", "cursor"]);
    assert!(outcome.code == 1 && outcome.stderr.contains("is not UTF-8 text"), "{outcome}");
    assert_eq!(fs::read(&file).unwrap(), b"{\"a\": \"\xff\"}");
}

#[cfg(unix)]
#[test]
fn an_unwritable_folder_is_reported() {
    let home = Home::new();
    let file = home.file(find("cursor").unwrap(), Scope::User);
    // A file in the folder's place stops even root.
    fs::write(file.parent().unwrap(), "").unwrap();
    let outcome = home.run(&["install", "cursor"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(outcome.stderr.contains("[HOME]/.cursor/mcp.json"), "{outcome}");
}

#[cfg(unix)]
#[test]
fn links_are_followed_but_not_out_of_a_project() {
    let home = Home::new();
    let client = find("cursor").unwrap();
    let dotfiles = home.home().join("dotfiles.json");
    write(&dotfiles, "{}\n");
    for scope in [Scope::User, Scope::Project] {
        let file = home.file(client, scope);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&dotfiles, &file).unwrap();
        let outcome = home.run(&["install", "cursor", "--scope", scope.name()]);
        assert!(file.is_symlink(), "the link was replaced");
        match scope {
            Scope::User => {
                outcome.success();
                assert!(fs::read_to_string(&dotfiles).unwrap().contains("kenning"));
                home.run(&["uninstall", "cursor"]).success();
            }
            Scope::Project => {
                assert!(outcome.stderr.contains("leads out of the project"), "{outcome}");
            }
        }
        assert_eq!(fs::read_to_string(&dotfiles).unwrap(), "{}\n");
    }
}

/// A cloned project may have links in the place of our files and folders.
#[cfg(unix)]
#[test]
fn no_link_of_a_project_makes_us_write_elsewhere() {
    use std::os::unix::fs::symlink;
    let home = Home::new();
    let client = find("cursor").unwrap();
    let file = home.file(client, Scope::Project);
    let folder = file.parent().unwrap();
    let elsewhere = home.home().join("elsewhere");
    let precious = elsewhere.join("mcp.json");
    write(&precious, "{}\n");
    let install = ["install", "cursor", "--scope", "project"];

    symlink(&elsewhere, folder).unwrap();
    let outcome = home.run(&install);
    assert!(outcome.stderr.contains("leads out of the project"), "{outcome}");
    fs::remove_file(&precious).unwrap();
    let outcome = home.run(&install);
    assert!(outcome.stderr.contains("leads out of the project"), "{outcome}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);

    fs::remove_file(folder).unwrap();
    write(&precious, "{}\n");
    write(&file, "{\"mcpServers\": {}}\n");
    symlink(&precious, folder.join("mcp.json.before-kenning")).unwrap();
    home.run(&install).success();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "{}\n");
    home.run(&["uninstall", "cursor", "--scope", "project"]).success();
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"mcpServers\": {}}\n");
}

#[test]
fn edits_to_a_generated_file_are_not_lost() {
    let home = Home::new();
    let file = home.file(find("continue").unwrap(), Scope::User);
    home.run(&["install", "continue"]).success();
    let ours = fs::read_to_string(&file).unwrap();
    let edited = format!("# mine\n{ours}");
    fs::write(&file, &edited).unwrap();
    for args in [&["install", "continue", "--", "--read-only"][..], &["uninstall", "continue"]] {
        let outcome = home.run(args);
        assert!(outcome.stderr.contains("is left as it is"), "{outcome}");
        assert_eq!(fs::read_to_string(&file).unwrap(), edited);
    }
    fs::write(&file, &ours).unwrap();
    home.run(&["install", "continue", "--", "--read-only"]).success();
    home.run(&["uninstall", "continue"]).success();
    assert!(!file.exists());
}

#[cfg(unix)]
#[test]
fn file_and_backup_keep_the_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let file = home.file(find("claude-code").unwrap(), Scope::User);
    write(&file, "{\"oauthAccount\": {}}\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let done = home.run(&["install", "claude-code", "--json"]).success();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(done.json()["backup"], "[HOME]/.claude.json.before-kenning");
    assert_eq!(mode(&home.home().join(".claude.json.before-kenning")), 0o600);
}
