//! A knowledge base with a home directory, and the program in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use super::{Client, Server, connect};

/// A knowledge base (`root`) and the home directory of the user who runs the program there.
pub(crate) struct Project {
    root: PathBuf,
    home: PathBuf,
    /// Removed with this value.
    folder: Option<TempDir>,
}

impl Project {
    pub(crate) fn empty() -> Self {
        let folder = TempDir::new().unwrap();
        let (root, home) = (folder.path().join("root"), folder.path().join("home"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&home).unwrap();
        Self { root, home, folder: Some(folder) }
    }

    /// A knowledge base with these files: path and text.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::empty();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    /// The example base, in a home that tests share so that its vectors are computed once.
    pub(crate) fn handbook() -> Self {
        static HOME: OnceLock<TempDir> = OnceLock::new();
        let home = HOME.get_or_init(|| TempDir::new().unwrap()).path().to_owned();
        Self { root: handbook(), home, folder: None }
    }

    /// The example base with a home of its own, for tests that look at what is stored.
    pub(crate) fn private_handbook() -> Self {
        Self { root: handbook(), ..Self::empty() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// The folder that holds root and home, and nothing else until a test puts it there.
    pub(crate) fn outside(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    /// Where the program stores data.
    pub(crate) fn data(&self) -> PathBuf {
        self.home.join(".local/share/kenning")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        kenning_testkit::write_at_once(&path, text);
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Makes a command run in this project, without the settings and keys in the environment of the tests.
    pub(crate) fn isolate(&self, command: &mut Command) {
        command.current_dir(&self.root).env_clear().env("HOME", &self.home).env("USER", "ada");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // No process outlives the test.
        command.env("KENNING_INDEX_BACKGROUND", "false");
    }

    /// The program as a person starts it in the project's folder.
    pub(crate) fn kenning(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
        self.isolate(&mut command);
        command.args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        finished(&mut self.kenning(args))
    }

    /// What a command answers with `--json`.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let finished = self.run(&[&["--json"], args].concat()).success();
        serde_json::from_str(&finished.out).unwrap()
    }

    /// A new token for the server.
    pub(crate) fn token(&self, name: &str, scope: &str) -> String {
        let made = self.run(&["token", "create", name, "--scope", scope]).success();
        made.out.trim().to_owned()
    }

    /// A server on standard input and output. It serves one client: tests that share a home must
    /// not share a server.
    pub(crate) fn serve(&self, args: &[&str]) -> Command {
        let mut command = self.kenning(&["--log-level", "error", "serve", "--root"]);
        command.arg(&self.root).args(args).env("KENNING_SERVER_ATTACH", "false");
        command
    }

    /// A client of [`Self::serve`].
    pub(crate) async fn client(&self, args: &[&str]) -> Client {
        connect(self.serve(args)).await
    }

    /// A server on a free port.
    pub(crate) fn http(&self, args: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut command = self.serve(&["--http", "127.0.0.1:0"]);
        Server::start(command.args(args).envs(variables.iter().copied()))
    }

    /// A server that requires tokens.
    pub(crate) fn http_with_tokens(&self, args: &[&str]) -> Server {
        self.http(args, &[("KENNING_SERVER_REQUIRE_TOKEN", "true")])
    }
}

/// The knowledge base that comes with the project.
pub(crate) fn handbook() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge")
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

#[track_caller]
pub(crate) fn finished(command: &mut Command) -> Finished {
    let output = kenning_testkit::output(command);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Finished { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

impl Finished {
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// It failed with one `error:` line that has all of these words, and without a panic.
    #[track_caller]
    pub(crate) fn fails_with(self, words: &[&str]) {
        assert!(matches!(self.code, Some(1 | 2)), "{self:?}");
        assert!(!self.err.contains("panicked"), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in: {}", self.err);
        }
        let errors = self.err.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(errors, 1, "{}", self.err);
    }

    /// All that it printed.
    pub(crate) fn printed(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}
