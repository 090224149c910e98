//! What an attacker would try, on the real server. SECURITY.md says what each of these holds up.

mod guesses;
mod hidden;
mod origins;
mod paths;
mod secrets;

use std::path::Path;
use std::process::Command;

use crate::client::{HttpServer, handbook, kenning};

/// Makes a token, and returns what its bearer shows.
fn token(home: &Path, name: &str, scope: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
    command.args(["token", "create", name, "--scope", scope]).env("HOME", home);
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    let made = command.output().unwrap();
    assert!(made.status.success());
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// A server that asks everybody for a token.
fn guarded(home: &Path) -> HttpServer {
    let mut command = kenning(&handbook(), &["--http", "127.0.0.1:0"]);
    command.env("HOME", home).env("KENNING_SERVER_REQUIRE_TOKEN", "true");
    HttpServer::run(command)
}
