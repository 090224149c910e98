//! `kenning install`, believed only if the client itself finds the server.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::outside::{MOVE_FILES, Parts};
use crate::run::{patiently, read_both, root, run};

/// A client whose program runs without an account and without a network.
struct Client {
    id: &'static str,
    program: &'static str,
    /// What it prints, lower case, once it is connected; where it only reads its file, what shows
    /// that it did.
    sign: &'static str,
    /// What it must know before it looks at the servers of a project: a file in the home, whose
    /// text has the project's folder for `PROJECT`.
    trust: Option<(&'static str, &'static str)>,
}

const CLIENTS: [Client; 5] = [
    // Asks a person before it starts what a project names, so only the user's are tried.
    Client { id: "claude-code", program: "claude", sign: "connected", trust: None },
    Client {
        id: "gemini-cli",
        program: "gemini",
        sign: "- connected",
        trust: Some((".gemini/trustedFolders.json", "{\"PROJECT\": \"TRUST_FOLDER\"}\n")),
    },
    Client {
        id: "codex-cli",
        program: "codex",
        sign: "enabled",
        trust: Some((
            ".codex/config.toml",
            "# Mine.\n[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n",
        )),
    },
    Client {
        id: "copilot-cli",
        program: "copilot",
        sign: "kenning (local)",
        trust: Some((".copilot/config.json", "{\"trusted_folders\": [\"PROJECT\"]}\n")),
    },
    Client { id: "opencode", program: "opencode", sign: "connected", trust: None },
];

pub(crate) fn check(parts: &Parts) -> Result<()> {
    for client in CLIENTS {
        for scope in ["user", "project"] {
            if client.id == "claude-code" && scope == "project" {
                continue;
            }
            client.check(parts, scope)?;
        }
    }
    Ok(())
}

impl Client {
    /// Installed, the client sees it; uninstalled, it does not.
    fn check(&self, parts: &Parts, scope: &str) -> Result<()> {
        let home = parts.fresh_home(&format!("{}-{scope}", self.id))?;
        let project = home.join("project");
        fs::create_dir(&project)?;
        fs::write(project.join("a.md"), "# A\n")?;
        // A repository of its own, or clients look for one further up.
        run(Command::new("git").args(["init", "--quiet"]).current_dir(&project))?;
        if let Some((file, text)) = self.trust {
            let file = home.join(file);
            fs::create_dir_all(file.parent().context("it is in a folder")?)?;
            fs::write(file, text.replace("PROJECT", &project.display().to_string()))?;
        }
        run(kenning(&home, &project).args(["install", self.id, "--scope", scope]))?;
        patiently(|| {
            let listed = self.list(parts, &home, &project)?;
            let is_there = listed.contains("kenning") && listed.contains(self.sign);
            ensure!(is_there, "{} ({scope}) does not find the server: {listed}", self.id);
            Ok(())
        })?;
        if self.id == "codex-cli" && scope == "user" {
            patiently(|| codex_connects(parts, &home, &project))?;
        }
        run(kenning(&home, &project).args(["uninstall", self.id, "--scope", scope]))?;
        let listed = self.list(parts, &home, &project)?;
        ensure!(!listed.contains("kenning"), "{} ({scope}) still has it: {listed}", self.id);
        Ok(())
    }

    fn list(&self, parts: &Parts, home: &Path, project: &Path) -> Result<String> {
        let mut list = parts.program_at_home(self.program, home)?;
        // Not all of them answer on standard output.
        let (out, err) = read_both(list.args(["mcp", "list"]).current_dir(project))?;
        let listed = out + &err;
        // The folders that hold the homes have this name in them as well.
        let listed = listed.replace(&home.display().to_string(), "");
        Ok(listed.to_lowercase())
    }
}

/// `codex mcp list` only reads its file; its server for editors starts what is listed.
fn codex_connects(parts: &Parts, home: &Path, project: &Path) -> Result<()> {
    let mut codex = parts.program_at_home("codex", home)?;
    codex.arg("app-server").current_dir(project).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut codex = codex.stderr(Stdio::null()).spawn()?;
    let mut stdin = codex.stdin.take().context("its input is piped")?;
    let about = "{\"clientInfo\":{\"name\":\"xtask\",\"version\":\"1\"}}";
    writeln!(stdin, "{{\"id\":1,\"method\":\"initialize\",\"params\":{about}}}")?;
    writeln!(stdin, "{{\"method\":\"initialized\"}}")?;
    writeln!(stdin, "{{\"id\":2,\"method\":\"mcpServerStatus/list\",\"params\":{{}}}}")?;
    let stdout = codex.stdout.take().context("its output is piped")?;
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let answer = lines.find(|line| line.starts_with("{\"id\":2,"));
    // It ends when nobody speaks to it any more.
    drop(stdin);
    codex.wait()?;
    let answer = answer.unwrap_or_default();
    ensure!(answer.contains("search_knowledge"), "Codex is not connected: {answer}");
    Ok(())
}

fn kenning(home: &Path, project: &Path) -> Command {
    let mut kenning = Command::new(root().join("target/debug/kenning"));
    kenning.env("HOME", home).current_dir(project);
    for variable in MOVE_FILES {
        kenning.env_remove(variable);
    }
    kenning
}
