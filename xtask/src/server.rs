//! The built programs, and servers over HTTP that run as long as their value lives.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::client::HttpClient;
use crate::external::RELOCATING_VARIABLES;
use crate::process;
use crate::run::{cargo, root, target};

const START_LIMIT: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(50);

/// Which build of the programs a chore runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    Debug,
    Release,
}

impl Build {
    /// With `--workspace`, as the tests: another selection of packages means other features, and
    /// compiles every dependency a second time.
    pub(crate) fn compile(self) -> Result<()> {
        let mut arguments = vec!["build", "--workspace", "--bins", "--examples"];
        if self == Self::Release {
            arguments.push("--release");
        }
        cargo(&arguments)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }

    /// `kenning`, or `examples/NAME`.
    pub(crate) fn program(self, name: &str) -> PathBuf {
        target().join(self.name()).join(name)
    }

    /// `kenning` with a home of its own, so that it reads and writes nothing of the user's.
    pub(crate) fn kenning(self, home: &Path) -> Command {
        let mut command = Command::new(self.program("kenning"));
        command.env("HOME", home).env_remove("XDG_DATA_HOME").env_remove("KENNING_STORE_URL");
        for variable in RELOCATING_VARIABLES {
            command.env_remove(variable);
        }
        command
    }
}

/// Killed when it is dropped.
pub(crate) struct HttpServer {
    child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl HttpServer {
    /// The debug build, serving a folder. It writes composed files into that folder.
    pub(crate) fn kenning(
        knowledge: &Path,
        home: &Path,
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let mut command = Build::Debug.kenning(home);
        command.arg("--root").arg(knowledge).args(["serve", "--http", "127.0.0.1:0"]);
        Self::start(command.current_dir(knowledge).envs(variables.iter().copied()), None)
    }

    /// Starts a server that prints its URL on standard error. Later lines go to `log` or are dropped;
    /// they are read in any case, because a full pipe would block the server.
    pub(crate) fn start(command: &mut Command, log: Option<&Path>) -> Result<Self> {
        let mut log = log.map(File::create).transpose()?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("the server did not start")?;
        let stderr = child.stderr.take().context("its standard error is piped")?;
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let mut printed = String::new();
        let address = lines.find_map(|line| {
            printed += &format!("{line}\n");
            let url = line.split_once("http://")?.1;
            url.split(['/', '"', ' ']).next().map(str::to_owned)
        });
        std::thread::spawn(move || {
            for line in lines {
                if let Some(log) = &mut log {
                    let _ = writeln!(log, "{line}");
                }
            }
        });
        let address = address.with_context(|| format!("the server printed no URL: {printed}"))?;
        Ok(Self { child, address })
    }

    /// Starts a server that was told which port to listen on, and waits until it does.
    pub(crate) fn start_on(port: u16, command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context("the server did not start")?;
        let mut server = Self { child, address: format!("127.0.0.1:{port}") };
        let began = Instant::now();
        while TcpStream::connect(&server.address).is_err() {
            ensure!(server.child.try_wait()?.is_none(), "the server ended before it listened");
            ensure!(began.elapsed() < START_LIMIT, "no server listens on port {port}");
            std::thread::sleep(POLL);
        }
        Ok(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn mcp_url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has ended by itself.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        process::wait_for_exit(&mut self.child, limit)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        process::kill_tree(self.child.id());
        let _ = self.child.wait();
    }
}

/// `HAProxy` with a configuration like `deploy/haproxy.cfg`, in front of some replicas.
pub(crate) fn start_balancer(
    program: &str,
    configuration: &Path,
    variables: &BTreeMap<&str, String>,
) -> Result<HttpServer> {
    let port = free_port()?;
    let mut command = Command::new(program);
    command.arg("-db").arg("-f").arg(configuration).current_dir(root());
    command.env("KENNING_BIND", format!("127.0.0.1:{port}")).envs(variables);
    let balancer = HttpServer::start_on(port, &mut command)?;
    let began = Instant::now();
    let ready = || HttpClient::open(&balancer.address, None)?.request("GET", "/readyz", None);
    while !matches!(ready(), Ok((200, _))) {
        ensure!(began.elapsed() < START_LIMIT, "no replica behind the balancer is ready");
        std::thread::sleep(POLL);
    }
    Ok(balancer)
}

/// A port that no process listens on now.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
