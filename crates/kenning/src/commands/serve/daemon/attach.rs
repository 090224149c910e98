//! The client's side: attach to a host, and serve in-process if there is none, or none any more.

use std::io;

use kenning_mcp::stdio;
use kenning_settings::{Layers, Settings};
use tokio::io::{BufReader, DuplexStream};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::super::stop_on_signal;
use super::handshake::{self, Identity, Reply};
use super::relay::{Ended, Relay};
use super::socket::is_same_user;
use crate::commands::Context;
use crate::failure::{Exit, Failure};

/// Bytes on their way to a server in this process.
const IN_PROCESS_BUFFER: usize = 64 * 1024;

/// A connection to a host that accepted us.
#[derive(Debug)]
struct Attached {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    pid: u32,
    clients: usize,
    problem: Option<String>,
}

/// Why there is no such connection.
#[derive(Debug)]
enum NotAttached {
    NoHost,
    Refused(String),
}

/// Whether a host of these knowledge bases runs, and would accept us.
#[derive(Debug)]
pub(in crate::commands) enum HostStatus {
    NoHost,
    Running { pid: u32, clients: usize, socket: String, problem: Option<String> },
    Refused { reason: String, socket: String },
}

/// Connects to the host, and disconnects after the handshake.
pub(in crate::commands) fn probe(
    settings: &Settings,
    layers: &Layers,
) -> Result<HostStatus, Failure> {
    let Some(identity) = Identity::of(settings, layers, true)? else {
        return Ok(HostStatus::NoHost);
    };
    let socket = identity.socket.path().display().to_string();
    Ok(match runtime()?.block_on(connect(&identity)) {
        Ok(Attached { pid, clients, problem, .. }) => {
            HostStatus::Running { pid, clients, socket, problem }
        }
        Err(NotAttached::NoHost) => HostStatus::NoHost,
        Err(NotAttached::Refused(reason)) => HostStatus::Refused { reason, socket },
    })
}

/// Serves through a host, and with `in_process` once that is gone; `None` if no host accepts us.
pub(in crate::commands::serve) fn attached(
    context: &Context,
    watch: bool,
    in_process: impl FnOnce(DuplexStream) -> Result<Exit, Failure> + Send,
) -> Option<Result<Exit, Failure>> {
    // Errors in the settings are reported when the server is opened in-process.
    let identity = Identity::of(&context.settings, &context.layers, watch).ok()??;
    let runtime = runtime().ok()?;
    match runtime.block_on(connect(&identity)) {
        Ok(host) => Some(serve(runtime, host, in_process)),
        Err(NotAttached::NoHost) => None,
        Err(NotAttached::Refused(reason)) => {
            tracing::warn!("not shared with the server that runs already: {reason}");
            None
        }
    }
}

/// One thread: there is little to do, and moving a line between threads takes time.
fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

async fn connect(identity: &Identity) -> Result<Attached, NotAttached> {
    if !identity.socket.path().exists() {
        return Err(NotAttached::NoHost);
    }
    identity.socket.check_private().map_err(|error| NotAttached::Refused(error.to_string()))?;
    let attached = async {
        // The socket of a killed host refuses connections.
        let stream = UnixStream::connect(identity.socket.path()).await;
        let stream = stream.map_err(|_| NotAttached::NoHost)?;
        shake_hands(stream, identity).await
    };
    let timed_out = || NotAttached::Refused("it does not answer".to_owned());
    tokio::time::timeout(handshake::TIMEOUT, attached).await.unwrap_or_else(|_| Err(timed_out()))
}

async fn shake_hands(stream: UnixStream, identity: &Identity) -> Result<Attached, NotAttached> {
    if !is_same_user(&stream) {
        return Err(NotAttached::Refused("it runs as another user".to_owned()));
    }
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let failed = |error: io::Error| NotAttached::Refused(format!("it does not answer: {error}"));
    handshake::write(&mut writer, &identity.hello()).await.map_err(failed)?;
    match handshake::read(&mut reader).await.map_err(failed)? {
        Reply::Accepted { pid, clients, problem } => {
            Ok(Attached { reader, writer, pid, clients, problem })
        }
        Reply::Refused(reason) => Err(NotAttached::Refused(reason)),
    }
}

fn serve(
    runtime: Runtime,
    host: Attached,
    in_process: impl FnOnce(DuplexStream) -> Result<Exit, Failure> + Send,
) -> Result<Exit, Failure> {
    std::thread::scope(|scope| {
        let relayed = runtime.block_on(async {
            let stop = CancellationToken::new();
            tokio::spawn(stop_on_signal(stop.clone()));
            // Lets the signal handler start before the first log line.
            tokio::task::yield_now().await;
            tracing::info!("served by process {}, which runs already", host.pid);
            let (input, output) = stdio::streams();
            let mut relay = Relay::new(input, output);
            let served = stop.run_until_cancelled(relay.run(host.reader, host.writer)).await;
            if served != Some(Ended::Server) {
                return Ok(None);
            }
            tracing::warn!("the shared server is gone; continuing with a server in this process");
            let (ours, theirs) = tokio::io::duplex(IN_PROCESS_BUFFER);
            let server = std::thread::Builder::new().name("server".to_owned());
            // Opening bases and stores blocks, which an async thread must not.
            let server = server.spawn_scoped(scope, move || in_process(theirs))?;
            let (reader, writer) = tokio::io::split(ours);
            stop.run_until_cancelled(relay.resume(reader, writer)).await;
            Ok::<_, Failure>(Some(server))
        });
        // A thread may still block on standard input.
        runtime.shutdown_background();
        let Some(server) = relayed? else { return Ok(Exit::Success) };
        server.join().unwrap_or_else(|_| Err(Failure::new("the server in this process failed")))
    })
}
