//! A realistic file of every client before and after `install`. `UPDATE_GOLDEN=1` rewrites the
//! latter.

use std::fs;
use std::path::{Path, PathBuf};

use kenning_catalog::clients::{Client, Format, Scope, all};

use crate::install::home::{Home, write};

fn golden(client: &Client, which: &str) -> PathBuf {
    let end = match client.format {
        Format::Json | Format::Jsonc => "json",
        Format::Toml => "toml",
        Format::Yaml => "yaml",
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install/golden");
    folder.join(&client.id).join(format!("{which}.{end}"))
}

/// Clients that configure servers in a file with other settings.
fn sharing() -> impl Iterator<Item = &'static Client> {
    all().iter().filter(|client| client.document.is_none())
}

fn backup(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.before-kenning", file.display()))
}

#[test]
fn installing_changes_only_the_entry() {
    for client in sharing() {
        let home = Home::new();
        let file = home.file(client, Scope::User);
        let before = fs::read_to_string(golden(client, "before")).unwrap();
        write(&file, &before);
        home.run(&["install", &client.id]).success();
        let after = home.normalized(&fs::read_to_string(&file).unwrap());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(golden(client, "after"), &after).unwrap();
        }
        let expected = fs::read_to_string(golden(client, "after")).unwrap_or_default();
        assert_eq!(after, expected, "{}", client.id);
        assert_eq!(fs::read_to_string(backup(&file)).unwrap(), before);
    }
}

#[test]
fn a_new_file_has_the_format_of_the_client() {
    for client in all().iter().filter(|client| client.document.is_some()) {
        let home = Home::new();
        home.run(&["install", &client.id]).success();
        let file = home.file(client, Scope::User);
        let made = home.normalized(&fs::read_to_string(&file).unwrap());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(golden(client, "after"), &made).unwrap();
        }
        let expected = fs::read_to_string(golden(client, "after")).unwrap_or_default();
        assert_eq!(made, expected, "{}", client.id);
    }
}

#[test]
fn installing_again_changes_nothing() {
    for client in all() {
        let home = Home::new();
        let file = home.file(client, Scope::User);
        home.run(&["install", &client.id]).success();
        let installed = fs::read(&file).unwrap();
        let again = home.run(&["install", &client.id, "--json"]).success().json();
        assert_eq!(again["action"], "already_installed", "{}", client.id);
        assert_eq!(fs::read(&file).unwrap(), installed);
        assert!(!backup(&file).exists(), "there was nothing to back up");
    }
}

#[test]
fn uninstalling_restores_the_original_file() {
    for client in sharing() {
        let before = fs::read_to_string(golden(client, "before")).unwrap();
        let crlf = before.replace('\n', "\r\n");
        let marked = format!("\u{feff}{before}");
        for text in [before.as_str(), &crlf, &marked, "", "\n"] {
            let home = Home::new();
            let file = home.file(client, Scope::User);
            write(&file, text);
            home.run(&["install", &client.id]).success();
            home.run(&["uninstall", &client.id]).success();
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{}", client.id);
            assert!(!backup(&file).exists(), "{} leaves a backup behind", client.id);
        }
    }
}

/// Without the backup, as after the user's own edits, the entry is removed from the text.
#[test]
fn uninstalling_without_a_backup_removes_only_the_entry() {
    for client in sharing() {
        let before = fs::read_to_string(golden(client, "before")).unwrap();
        for text in [before.clone(), before.replace('\n', "\r\n")] {
            let home = Home::new();
            let file = home.file(client, Scope::User);
            write(&file, &text);
            home.run(&["install", &client.id]).success();
            fs::remove_file(backup(&file)).unwrap();
            home.run(&["uninstall", &client.id]).success();
            let left = fs::read_to_string(&file).unwrap();
            match client.id.as_str() {
                // Files on one line or without servers keep the whitespace that `install` added.
                "copilot-cli" | "gemini-cli" | "windsurf" => {
                    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
                    let left = squeezed(&left).replace(",\"mcpServers\":{}", "");
                    assert_eq!(left, squeezed(&text), "{}", client.id);
                }
                _ => assert_eq!(left, text, "{}", client.id),
            }
            assert!(backup(&file).exists(), "the file was backed up before the removal");
        }
    }
}

#[test]
fn line_endings_and_byte_order_marks_are_kept() {
    for client in sharing() {
        let home = Home::new();
        let file = home.file(client, Scope::User);
        let before = fs::read_to_string(golden(client, "before")).unwrap();
        write(&file, &format!("\u{feff}{}", before.replace('\n', "\r\n")));
        home.run(&["install", &client.id]).success();
        let after = home.normalized(&fs::read_to_string(&file).unwrap());
        let expected = fs::read_to_string(golden(client, "after")).unwrap();
        assert_eq!(after, format!("\u{feff}{}", expected.replace('\n', "\r\n")), "{}", client.id);
    }
}

#[test]
fn a_created_file_is_removed_again() {
    for client in all() {
        for scope in client.scopes() {
            let home = Home::new();
            let file = home.file(client, scope);
            let scope = scope.name();
            home.run(&["install", &client.id, "--scope", scope]).success();
            assert!(file.exists(), "{}", file.display());
            home.run(&["uninstall", &client.id, "--scope", scope]).success();
            assert!(!file.exists(), "{}", file.display());
            let again = home.run(&["uninstall", &client.id, "--scope", scope, "--json"]).success();
            assert_eq!(again.json()["action"], "nothing_to_remove");
        }
    }
}
