//! Wrapped servers to talk to, and real servers to wrap. The benchmark uses it, too.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;

use axum::Router;
pub(crate) use kenning_testkit::jsonrpc::call_tool as call;
use kenning_testkit::{DEADLINE, LineProcess, eventually, jsonrpc};
use serde_json::{Value, json};

/// The proxy as a program, which cargo builds for the tests.
pub(crate) fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_wrap-alone").into()
}

/// The proxy around a command.
pub(crate) fn wrapped(command: &[&str]) -> Command {
    let mut wrapper = Command::new(program());
    wrapper.arg("--").args(command);
    wrapper
}

/// The proxy to a URL.
pub(crate) fn remote(url: &str) -> Process {
    Process::start(Command::new(program()).args(["url", url]))
}

/// Serves on a thread for as long as the tests run, and returns the address.
pub(crate) fn serve(app: impl FnOnce(u16) -> Router) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let app = app(address.port());
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
    });
    format!("http://{address}")
}

/// A process that speaks the protocol in lines.
pub(crate) struct Process(LineProcess);

impl Deref for Process {
    type Target = LineProcess;

    fn deref(&self) -> &LineProcess {
        &self.0
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut LineProcess {
        &mut self.0
    }
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(LineProcess::start(command))
    }

    /// Sends a request and returns its answer; skips everything else.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.send(&request.to_string());
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "no answer to {request}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == request["id"] && message.get("method").is_none() {
                return message;
            }
        }
    }

    pub(crate) fn initialize(&mut self) -> Value {
        let answer = self.ask(&jsonrpc::initialize(0));
        self.send(&jsonrpc::notification("notifications/initialized").to_string());
        answer
    }

    /// Closes the input and waits for the exit.
    pub(crate) fn close(self) -> ExitStatus {
        self.0.close()
    }

    /// The next answer; skips notifications.
    pub(crate) fn answer(&mut self) -> String {
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "the server has exited");
            if is_answer(&line) {
                return line;
            }
        }
    }

    /// Sends all lines at once and returns as many answers, in the order of arrival.
    pub(crate) fn pipeline(&mut self, lines: &[String]) -> Vec<String> {
        let mut input = self.input.take().unwrap();
        let all = lines.join("\n") + "\n";
        let sender = thread::spawn(move || {
            input.write_all(all.as_bytes()).unwrap();
            input
        });
        let received = (0..lines.len()).map(|_| self.answer()).collect();
        self.input = Some(sender.join().unwrap());
        received
    }
}

pub(crate) fn is_answer(line: &str) -> bool {
    !line.contains("\"method\":")
}

pub(crate) fn list(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
}

/// Whether a process exists and has not ended.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !"ZX".contains(state))
}

/// Waits until a process has ended.
#[track_caller]
pub(crate) fn wait_until_gone(pid: u32) {
    eventually(DEADLINE, || (!is_alive(pid)).then_some(()));
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

const PACKAGES: [&str; 3] = [
    "node@24.21.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
];

/// Real servers, installed once below `target/outside/wrap`.
pub(crate) struct Servers {
    modules: PathBuf,
}

pub(crate) fn servers() -> &'static Servers {
    static SERVERS: OnceLock<Servers> = OnceLock::new();
    SERVERS.get_or_init(install)
}

fn install() -> Servers {
    let folder = root().join("target/outside/wrap");
    fs::create_dir_all(&folder).unwrap();
    // Of several processes, one installs and the others wait.
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let (stamp, wanted) = (folder.join("installed"), PACKAGES.join("\n"));
    if !fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        fs::write(folder.join("package.json"), "{\"private\": true}\n").unwrap();
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel", "error"]).args(PACKAGES);
        let status = npm.current_dir(&folder).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "npm could not install the servers");
        fs::write(stamp, wanted).unwrap();
    }
    Servers { modules: folder.join("node_modules") }
}

impl Servers {
    fn node(&self) -> PathBuf {
        self.modules.join("node/bin/node")
    }

    fn script(&self, package: &str) -> PathBuf {
        self.modules.join("@modelcontextprotocol").join(package).join("dist/index.js")
    }

    pub(crate) fn everything(&self) -> Vec<OsString> {
        vec![self.node().into(), self.script("server-everything").into()]
    }

    pub(crate) fn filesystem(&self, folder: &Path) -> Vec<OsString> {
        vec![self.node().into(), self.script("server-filesystem").into(), folder.into()]
    }
}

/// The command itself.
pub(crate) fn direct(command: &[OsString]) -> Command {
    let mut direct = Command::new(&command[0]);
    direct.args(&command[1..]).stderr(Stdio::null());
    direct
}

/// The command with the proxy around it.
pub(crate) fn around(command: &[OsString]) -> Command {
    let mut wrapper = Command::new(program());
    wrapper.arg("--").args(command).stderr(Stdio::null());
    wrapper
}
