//! For every client a file as people have it, and the same file with Kenning in it.
//! `UPDATE_GOLDEN=1` writes the latter anew.

use std::fs;
use std::path::{Path, PathBuf};

use kenning_catalog::clients::{Client, Format, Scope, all};

use crate::home::{Home, write};

fn golden(client: &Client, which: &str) -> PathBuf {
    let end = match client.format {
        Format::Json | Format::Jsonc => "json",
        Format::Toml => "toml",
        Format::Yaml => "yaml",
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install/golden");
    folder.join(&client.id).join(format!("{which}.{end}"))
}

/// Clients that list servers in a file with other things in it.
fn sharing() -> impl Iterator<Item = &'static Client> {
    all().iter().filter(|client| client.document.is_none())
}

fn backup(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.before-kenning", file.display()))
}

#[test]
fn everything_else_in_the_file_stays_as_it_was() {
    for client in sharing() {
        let home = Home::new();
        let file = home.file(client, Scope::User);
        let before = fs::read_to_string(golden(client, "before")).unwrap();
        write(&file, &before);
        home.run(&["install", &client.id]).good();
        let after = home.shown(&fs::read_to_string(&file).unwrap());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(golden(client, "after"), &after).unwrap();
        }
        let expected = fs::read_to_string(golden(client, "after")).unwrap_or_default();
        assert_eq!(after, expected, "{}", client.id);
        assert_eq!(fs::read_to_string(backup(&file)).unwrap(), before);
    }
}

#[test]
fn a_file_of_our_own_is_as_the_client_wants_it() {
    for client in all().iter().filter(|client| client.document.is_some()) {
        let home = Home::new();
        home.run(&["install", &client.id]).good();
        let file = home.file(client, Scope::User);
        let made = home.shown(&fs::read_to_string(&file).unwrap());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(golden(client, "after"), &made).unwrap();
        }
        let expected = fs::read_to_string(golden(client, "after")).unwrap_or_default();
        assert_eq!(made, expected, "{}", client.id);
    }
}

#[test]
fn a_second_time_changes_nothing_and_says_so() {
    for client in all() {
        let home = Home::new();
        let file = home.file(client, Scope::User);
        home.run(&["install", &client.id]).good();
        let installed = fs::read(&file).unwrap();
        let again = home.run(&["install", &client.id, "--json"]).good().json();
        assert_eq!(again["action"], "already_installed", "{}", client.id);
        assert_eq!(fs::read(&file).unwrap(), installed);
        assert!(!backup(&file).exists(), "there was nothing to keep");
    }
}

#[test]
fn uninstalling_gives_the_file_back_to_the_letter() {
    for client in sharing() {
        let before = fs::read_to_string(golden(client, "before")).unwrap();
        let crlf = before.replace('\n', "\r\n");
        let marked = format!("\u{feff}{before}");
        for text in [before.as_str(), &crlf, &marked, "", "\n"] {
            let home = Home::new();
            let file = home.file(client, Scope::User);
            write(&file, text);
            home.run(&["install", &client.id]).good();
            home.run(&["uninstall", &client.id]).good();
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{}", client.id);
            assert!(!backup(&file).exists(), "{} leaves a copy behind", client.id);
        }
    }
}

/// Without the copy from before, or with changes that somebody made since, the entry is taken out
/// of the text.
#[test]
fn uninstalling_takes_the_entry_out_and_nothing_else() {
    for client in sharing() {
        let before = fs::read_to_string(golden(client, "before")).unwrap();
        for text in [before.clone(), before.replace('\n', "\r\n")] {
            let home = Home::new();
            let file = home.file(client, Scope::User);
            write(&file, &text);
            home.run(&["install", &client.id]).good();
            fs::remove_file(backup(&file)).unwrap();
            home.run(&["uninstall", &client.id]).good();
            let left = fs::read_to_string(&file).unwrap();
            match client.id.as_str() {
                // What was on one line, or had no servers at all, keeps the room that was made.
                "copilot-cli" | "gemini-cli" | "windsurf" => {
                    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
                    let left = squeezed(&left).replace(",\"mcpServers\":{}", "");
                    assert_eq!(left, squeezed(&text), "{}", client.id);
                }
                _ => assert_eq!(left, text, "{}", client.id),
            }
            assert!(backup(&file).exists(), "there is a copy from before the removal");
        }
    }
}

#[test]
fn line_ends_and_byte_order_marks_stay() {
    for client in sharing() {
        let home = Home::new();
        let file = home.file(client, Scope::User);
        let before = fs::read_to_string(golden(client, "before")).unwrap();
        write(&file, &format!("\u{feff}{}", before.replace('\n', "\r\n")));
        home.run(&["install", &client.id]).good();
        let after = home.shown(&fs::read_to_string(&file).unwrap());
        let expected = fs::read_to_string(golden(client, "after")).unwrap();
        assert_eq!(after, format!("\u{feff}{}", expected.replace('\n', "\r\n")), "{}", client.id);
    }
}

#[test]
fn a_file_that_was_made_is_removed_again() {
    for client in all() {
        for scope in client.scopes() {
            let home = Home::new();
            let file = home.file(client, scope);
            let scope = scope.name();
            home.run(&["install", &client.id, "--scope", scope]).good();
            assert!(file.exists(), "{}", file.display());
            home.run(&["uninstall", &client.id, "--scope", scope]).good();
            assert!(!file.exists(), "{}", file.display());
            let again = home.run(&["uninstall", &client.id, "--scope", scope, "--json"]).good();
            assert_eq!(again.json()["action"], "nothing_to_remove");
        }
    }
}
