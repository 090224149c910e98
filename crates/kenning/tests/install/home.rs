//! An empty home folder and a project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kenning_catalog::clients::{Client, Environment, Os, Scope};
use tempfile::TempDir;

pub(crate) struct Home {
    parent: TempDir,
}

/// The result of a command.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let parent = TempDir::new().unwrap();
        for folder in ["home", "project", "bin"] {
            fs::create_dir(parent.path().join(folder)).unwrap();
        }
        Self { parent }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.parent.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder("project")
    }

    /// The only folder on the `PATH`.
    pub(crate) fn bin(&self) -> PathBuf {
        self.folder("bin")
    }

    /// The first of the files in which a client configures servers.
    pub(crate) fn file(&self, client: &Client, scope: Scope) -> PathBuf {
        let (home, project) = (self.home(), self.project());
        let here =
            Environment { os: Os::Linux, home: &home, project: &project, variable: &|_| None };
        client.files(scope, "kenning", here).remove(0)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.project()).stdin(Stdio::null());
        command.env_clear().env("HOME", self.home()).env("PATH", self.bin());
        // No process outlives the test.
        command.env("KENNING_INDEX_BACKGROUND", "false");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Outcome {
        self.outcome(&mut self.command(args))
    }

    /// With the paths of this machine replaced.
    pub(crate) fn outcome(&self, command: &mut Command) -> Outcome {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| self.normalized(&String::from_utf8_lossy(bytes));
        Outcome {
            code: output.status.code().unwrap(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    pub(crate) fn normalized(&self, text: &str) -> String {
        text.replace(program(), "[KENNING]")
            .replace(self.home().to_str().unwrap(), "[HOME]")
            .replace(self.project().to_str().unwrap(), "[PROJECT]")
    }
}

impl Outcome {
    /// Asserts that the command succeeded.
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr } = self;
        write!(f, "exit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_kenning")
}
