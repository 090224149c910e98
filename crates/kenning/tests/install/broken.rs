//! What cannot be understood is left alone.

use std::fs;

use kenning_catalog::clients::{Format, Scope, all, find};

use crate::home::{Home, write};

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
        assert_eq!(folder.count(), 1, "a file was left besides");
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
            let shown = leaves(&client.id, text);
            assert!(shown.starts_with("exit 1"), "{}: {text}: {shown}", client.id);
            assert!(shown.contains("is left as it is"), "{}: {text}: {shown}", client.id);
        }
    }
}

#[test]
fn refusals_name_the_place_and_the_way_out() {
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
fn a_folder_that_cannot_be_written_to_is_named() {
    let home = Home::new();
    let file = home.file(find("cursor").unwrap(), Scope::User);
    // Where a folder should be there is a file, which stops even those who may write anywhere.
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
                outcome.good();
                assert!(fs::read_to_string(&dotfiles).unwrap().contains("kenning"));
                home.run(&["uninstall", "cursor"]).good();
            }
            Scope::Project => {
                assert!(outcome.stderr.contains("leads out of the project"), "{outcome}");
            }
        }
        assert_eq!(fs::read_to_string(&dotfiles).unwrap(), "{}\n");
    }
}

/// A project that was cloned may have links where our files and folders would be.
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
    home.run(&install).good();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "{}\n");
    home.run(&["uninstall", "cursor", "--scope", "project"]).good();
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"mcpServers\": {}}\n");
}

#[test]
fn what_somebody_added_to_a_file_of_ours_is_not_lost() {
    let home = Home::new();
    let file = home.file(find("continue").unwrap(), Scope::User);
    home.run(&["install", "continue"]).good();
    let ours = fs::read_to_string(&file).unwrap();
    let edited = format!("# mine\n{ours}");
    fs::write(&file, &edited).unwrap();
    for words in [&["install", "continue", "--", "--read-only"][..], &["uninstall", "continue"]] {
        let outcome = home.run(words);
        assert!(outcome.stderr.contains("is left as it is"), "{outcome}");
        assert_eq!(fs::read_to_string(&file).unwrap(), edited);
    }
    fs::write(&file, &ours).unwrap();
    home.run(&["install", "continue", "--", "--read-only"]).good();
    home.run(&["uninstall", "continue"]).good();
    assert!(!file.exists());
}

#[cfg(unix)]
#[test]
fn permissions_stay_and_the_copy_has_them_too() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let file = home.file(find("claude-code").unwrap(), Scope::User);
    write(&file, "{\"oauthAccount\": {}}\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let done = home.run(&["install", "claude-code", "--json"]).good();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(done.json()["backup"], "[HOME]/.claude.json.before-kenning");
    assert_eq!(mode(&home.home().join(".claude.json.before-kenning")), 0o600);
}
