//! The binary and a client that speaks to it.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ProtocolVersion, object};
use rmcp::service::{ClientLifecycleMode, RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn handbook() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge")
}

pub(crate) fn kenning(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
    command.arg("--root").arg(root).args(["--log-level", "error", "serve"]).args(words);
    command.env("HOME", home()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    // Tests that share a home do not share a server, unless that is what they are about.
    command.env("KENNING_SERVER_ATTACH", "false").current_dir(root);
    command
}

/// A home that all tests share, so that vectors are computed once.
pub(crate) fn home() -> &'static Path {
    static HOME: std::sync::OnceLock<TempDir> = std::sync::OnceLock::new();
    HOME.get_or_init(|| TempDir::new().unwrap()).path()
}

pub(crate) type Client = RunningService<RoleClient, ()>;

pub(crate) async fn stdio_client(root: &Path) -> Client {
    stdio_client_with(root, &[]).await
}

/// A client of a server that is started with these flags.
pub(crate) async fn stdio_client_with(root: &Path, flags: &[&str]) -> Client {
    let transport =
        TokioChildProcess::new(tokio::process::Command::from(kenning(root, flags))).unwrap();
    ().serve(transport).await.unwrap()
}

/// The lifecycle of clients that know 2026-07-28.
pub(crate) fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    }
}

/// A server on a free port, which ends with this value.
pub(crate) struct HttpServer {
    pub(crate) child: Child,
    pub(crate) url: String,
    log: Option<std::thread::JoinHandle<String>>,
}

impl HttpServer {
    pub(crate) fn start(root: &Path) -> Self {
        Self::run(kenning(root, &["--http", "127.0.0.1:0"]))
    }

    /// A server that remembers in a place of its own.
    pub(crate) fn with_home(root: &Path, home: &Path) -> Self {
        let mut command = kenning(root, &["--http", "127.0.0.1:0"]);
        command.env("HOME", home);
        Self::run(command)
    }

    pub(crate) fn run(mut command: Command) -> Self {
        // The client wants to know whose cryptography it would use for TLS.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| Some(mcp_address(&line)?.to_owned()));
        let log = std::thread::spawn(move || lines.collect::<Vec<_>>().join("\n"));
        Self { child, url: url.unwrap(), log: Some(log) }
    }

    /// Ends the server and returns what it logged.
    pub(crate) fn log(mut self) -> String {
        self.child.kill().unwrap();
        self.log.take().unwrap().join().unwrap()
    }

    pub(crate) fn terminate(&self) {
        let mut kill = Command::new("kill");
        assert!(kill.arg("-TERM").arg(self.child.id().to_string()).status().unwrap().success());
    }

    /// Waits until the server has ended by itself, and returns how, and what it logged.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        (status, self.log.take().unwrap().join().unwrap())
    }

    /// Where it listens, as in `127.0.0.1:8765`.
    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// The address of a page of this server.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}{path}", self.url.strip_suffix("/mcp").unwrap())
    }

    pub(crate) async fn client(&self) -> Client {
        ().serve(StreamableHttpClientTransport::from_uri(self.url.as_str())).await.unwrap()
    }

    /// A bare HTTP request, as no client library would send it.
    pub(crate) fn raw(&self, head: &str, body: &str) -> String {
        let mut stream = std::net::TcpStream::connect(self.address()).unwrap();
        let length = body.len();
        write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

/// The address, if this line says it, in text or in JSON.
fn mcp_address(line: &str) -> Option<&str> {
    line.split_once("MCP   ")?.1.split('"').next()
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) async fn call(
    client: &Client,
    tool: impl Into<Cow<'static, str>>,
    arguments: Value,
) -> Value {
    let result =
        client.call_tool(CallToolRequestParams::new(tool).with_arguments(object(arguments))).await;
    let result = result.unwrap();
    let text = serde_json::from_str::<Value>(&result.content[0].as_text().unwrap().text).unwrap();
    if result.is_error == Some(true) {
        assert_eq!(result.structured_content, None, "it would not fit the output schema");
        return text;
    }
    assert_eq!(result.structured_content, Some(text.clone()), "text and data agree");
    text
}
