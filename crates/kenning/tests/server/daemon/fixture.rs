//! A home folder of its own, a server in it, and clients that share it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kenning_testkit::{finish, output};
use rmcp::service::{ClientLifecycleMode, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;
use tempfile::TempDir;

use crate::server::support::{DEADLINE, Server, eventually, handbook, modern, within};

pub(super) struct Fixture {
    home: TempDir,
    root: PathBuf,
    /// Removed with the fixture.
    _folder: Option<TempDir>,
}

/// A client, and the process that serves it.
pub(super) struct Attached<H: ClientHandler = ()> {
    pub(super) client: RunningService<RoleClient, H>,
    pub(super) pid: u32,
}

impl Fixture {
    pub(super) fn handbook() -> Self {
        Self { home: TempDir::new().unwrap(), root: handbook(), _folder: None }
    }

    /// A small knowledge base that may be changed.
    pub(super) fn with_files(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let root = folder.path().to_owned();
        Self { home: TempDir::new().unwrap(), root, _folder: Some(folder) }
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        kenning_testkit::write_at_once(&self.root.join(name), text);
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
        command.arg("--root").arg(&self.root).args(words).current_dir("/");
        // Clients pass on little more.
        command.env_clear().env("HOME", self.home.path());
        command
    }

    pub(super) fn server(&self, words: &[&str]) -> Server {
        Server::start(&mut self.command(&[&["serve", "--http", "127.0.0.1:0"], words].concat()))
    }

    /// A client of the older protocol.
    pub(super) async fn client(&self, words: &[&str]) -> Attached {
        self.client_of((), words, legacy()).await
    }

    pub(super) async fn modern_client(&self) -> Attached {
        self.client_of((), &[], modern()).await
    }

    pub(super) async fn client_of<H: ClientHandler>(
        &self,
        handler: H,
        words: &[&str],
        lifecycle: ClientLifecycleMode,
    ) -> Attached<H> {
        let command = self.command(&[&["--log-level", "error", "serve"], words].concat());
        let transport = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
        let pid = transport.id().unwrap();
        let client = rmcp::service::serve_client_with_lifecycle(handler, transport, lifecycle);
        Attached { client: within(client).await.unwrap(), pid }
    }

    /// A client's process, to speak to in lines.
    pub(super) fn raw_command(&self, words: &[&str]) -> Command {
        self.command(&[&["--log-level", "info", "serve"], words].concat())
    }

    /// The same, started, with all its streams.
    pub(super) fn raw(&self, words: &[&str]) -> Child {
        let mut command = self.raw_command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The log of a client that attaches and ends at once.
    pub(super) fn log(&self, words: &[&str]) -> String {
        let ended = finish(self.raw(words));
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stderr).unwrap()
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.home.path().join(".local/share/kenning/run")
    }

    pub(super) fn socket(&self) -> Option<PathBuf> {
        let files = std::fs::read_dir(self.folder()).ok()?;
        let mut paths = files.map(|file| file.unwrap().path());
        paths.find(|path| path.extension().is_some_and(|ending| ending == "sock"))
    }

    /// Clients of the server, as the kernel sees them.
    pub(super) fn connections(&self) -> usize {
        let Some(socket) = self.socket() else { return 0 };
        let socket = socket.to_str().unwrap();
        let all = std::fs::read_to_string("/proc/net/unix").unwrap();
        let fields = all.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        // The sixth says whether it is connected; the one that listens is not.
        fields.filter(|line| line.last() == Some(&socket) && line[5] == "03").count()
    }

    pub(super) async fn wait_for_connections(&self, wanted: usize) {
        eventually(DEADLINE, async || (self.connections() == wanted).then_some(())).await;
    }

    /// Processes that were started with this home folder.
    pub(super) fn processes(&self) -> Vec<u32> {
        let home = format!("HOME={}", self.home.path().display());
        let all = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|variable| variable == home.as_bytes())
        })
        .collect()
    }

    pub(super) fn doctor(&self) -> Value {
        let found = output(&mut self.command(&["doctor", "--json"]));
        let findings: Value = serde_json::from_slice(&found.stdout).unwrap();
        let checks = findings["checks"].as_array().unwrap().iter();
        checks.clone().find(|check| check["name"] == "shared server").unwrap().clone()
    }
}

/// The lifecycle of clients up to 2025-11-25.
pub(super) fn legacy() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

/// Memory of a process that is in use, in kilobytes.
pub(super) fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

pub(super) fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A bare connection to the socket.
pub(super) struct Connection(BufReader<UnixStream>);

impl Connection {
    pub(super) fn to(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(super) fn send(&mut self, line: &[u8]) {
        self.0.get_mut().write_all(line).unwrap();
        self.0.get_mut().write_all(b"\n").unwrap();
    }

    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    /// Closes the sending side and returns what still arrives.
    pub(super) fn close(self) -> String {
        self.0.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
        self.rest()
    }

    /// Everything until the other side closes the connection.
    pub(super) fn rest(mut self) -> String {
        let mut rest = String::new();
        if let Err(error) = self.0.read_to_string(&mut rest) {
            // The server may close while this side still sends.
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
        rest
    }
}
