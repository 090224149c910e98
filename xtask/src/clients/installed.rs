//! `kenning install` for each client: the client itself must find the server afterwards, and must not
//! find it after `kenning uninstall`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::external::NpmPackages;
use crate::run::{read_both, retry, run};
use crate::server::Build;

/// A client whose program runs without an account and without a network.
struct Client {
    id: &'static str,
    program: &'static str,
    /// What `mcp list` prints, in lower case, once it is connected, or for clients that do not connect,
    /// once it has read the entry.
    expected: &'static str,
    /// A file in the home, and its text, that makes the client trust the project; `PROJECT` stands for
    /// the project's folder.
    trust: Option<(&'static str, &'static str)>,
}

const CLIENTS: [Client; 5] = [
    // It asks before it starts a server of a project, so only the user's scope is checked.
    Client { id: "claude-code", program: "claude", expected: "connected", trust: None },
    Client {
        id: "gemini-cli",
        program: "gemini",
        expected: "- connected",
        trust: Some((".gemini/trustedFolders.json", "{\"PROJECT\": \"TRUST_FOLDER\"}\n")),
    },
    Client {
        id: "codex-cli",
        program: "codex",
        expected: "enabled",
        trust: Some((
            ".codex/config.toml",
            "# Mine.\n[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n",
        )),
    },
    Client {
        id: "copilot-cli",
        program: "copilot",
        expected: "kenning (local)",
        trust: Some((".copilot/config.json", "{\"trusted_folders\": [\"PROJECT\"]}\n")),
    },
    Client { id: "opencode", program: "opencode", expected: "connected", trust: None },
];

pub(crate) fn check(packages: &NpmPackages) -> Result<()> {
    for client in CLIENTS {
        for scope in ["user", "project"] {
            if client.id == "claude-code" && scope == "project" {
                continue;
            }
            client.check(packages, scope)?;
        }
    }
    Ok(())
}

impl Client {
    fn check(&self, packages: &NpmPackages, scope: &str) -> Result<()> {
        let home = packages.fresh_home(&format!("{}-{scope}", self.id))?;
        let project = home.join("project");
        fs::create_dir(&project)?;
        fs::write(project.join("a.md"), "# A\n")?;
        // Without a repository here, clients would find the one further up.
        run(Command::new("git").args(["init", "--quiet"]).current_dir(&project))?;
        if let Some((file, text)) = self.trust {
            let file = home.join(file);
            fs::create_dir_all(file.parent().context("it has a folder")?)?;
            fs::write(file, text.replace("PROJECT", &project.display().to_string()))?;
        }
        run(kenning(&home, &project).args(["install", self.id, "--scope", scope]))?;
        retry(|| {
            let listed = self.list(packages, &home, &project)?;
            let is_there = listed.contains("kenning") && listed.contains(self.expected);
            ensure!(is_there, "{} ({scope}) does not find the server: {listed}", self.id);
            Ok(())
        })?;
        if self.id == "codex-cli" && scope == "user" {
            retry(|| codex_connects(packages, &home, &project))?;
        }
        run(kenning(&home, &project).args(["uninstall", self.id, "--scope", scope]))?;
        let listed = self.list(packages, &home, &project)?;
        ensure!(!listed.contains("kenning"), "{} ({scope}) still has it: {listed}", self.id);
        Ok(())
    }

    fn list(&self, packages: &NpmPackages, home: &Path, project: &Path) -> Result<String> {
        let mut list = packages.program_in_home(self.program, home)?;
        // Some clients print the list on standard error.
        let (out, err) = read_both(list.args(["mcp", "list"]).current_dir(project))?;
        let listed = out + &err;
        // The path of the home may contain the name that is looked for.
        let listed = listed.replace(&home.display().to_string(), "");
        Ok(listed.to_lowercase())
    }
}

/// `codex mcp list` only reads its file; its server for editors starts what is listed.
fn codex_connects(packages: &NpmPackages, home: &Path, project: &Path) -> Result<()> {
    let mut codex = packages.program_in_home("codex", home)?;
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
    // It ends at the end of its input.
    drop(stdin);
    codex.wait()?;
    let answer = answer.unwrap_or_default();
    ensure!(answer.contains("search_knowledge"), "Codex is not connected: {answer}");
    Ok(())
}

fn kenning(home: &Path, project: &Path) -> Command {
    let mut kenning = Build::Debug.kenning(home);
    kenning.current_dir(project);
    kenning
}
