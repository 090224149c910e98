//! A client's side: knock, and carry on alone if there is nobody, or nobody any more.

use std::io;
use std::time::Duration;

use kenning_mcp::stdio;
use kenning_settings::{Layers, Settings};
use tokio::io::{BufReader, DuplexStream};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::super::stop_on_signal;
use super::hello::{self, Identity, Reply};
use super::relay::{Ended, Relay};
use crate::commands::Context;
use crate::failure::{Exit, Failure};

/// How long a host may take to say whether it takes us in.
const PATIENCE: Duration = Duration::from_secs(10);
/// What may be on its way to a server in this process.
const IN_PROCESS_BUFFER: usize = 64 * 1024;

/// A host that took us in.
#[derive(Debug)]
struct Hosted {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    pid: u32,
    clients: usize,
}

/// Why we are on our own.
#[derive(Debug)]
enum Alone {
    NoHost,
    Refused(String),
}

/// What is to be seen of a host of these knowledge bases.
#[derive(Debug)]
pub(in crate::commands) enum Seen {
    Nobody,
    Host { pid: u32, clients: usize, socket: String },
    Refused { reason: String, socket: String },
}

/// Looks whether a host would take us in, and leaves again.
pub(in crate::commands) fn look(settings: &Settings, layers: &Layers) -> Result<Seen, Failure> {
    let Some(identity) = Identity::of(settings, layers, true)? else { return Ok(Seen::Nobody) };
    let socket = identity.place.socket().display().to_string();
    let knocked = runtime()?.block_on(knock(&identity));
    Ok(match knocked {
        Ok(Hosted { pid, clients, .. }) => Seen::Host { pid, clients, socket },
        Err(Alone::NoHost) => Seen::Nobody,
        Err(Alone::Refused(reason)) => Seen::Refused { reason, socket },
    })
}

/// Serves through a host, and by `in_process` once it is gone; `None` if there is none that takes
/// us in.
pub(in crate::commands::serve) fn attached(
    context: &Context,
    watch: bool,
    in_process: impl FnOnce(DuplexStream) -> Result<Exit, Failure> + Send,
) -> Option<Result<Exit, Failure>> {
    // What is wrong with the settings is said by whoever opens the rooms.
    let identity = Identity::of(&context.settings, &context.layers, watch).ok()??;
    let runtime = runtime().ok()?;
    match runtime.block_on(knock(&identity)) {
        Ok(host) => Some(serve(runtime, host, in_process)),
        Err(Alone::NoHost) => None,
        Err(Alone::Refused(reason)) => {
            tracing::warn!("not shared with the server that runs already: {reason}");
            None
        }
    }
}

/// One thread: there is little to do, and a line that changes threads is late.
fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

async fn knock(identity: &Identity) -> Result<Hosted, Alone> {
    if !identity.place.socket().exists() {
        return Err(Alone::NoHost);
    }
    identity.place.check().map_err(|error| Alone::Refused(error.to_string()))?;
    let spoken = async {
        // A socket whose host died refuses connections.
        let stream = UnixStream::connect(identity.place.socket()).await;
        let stream = stream.map_err(|_| Alone::NoHost)?;
        greet(stream, identity).await
    };
    let silent = || Alone::Refused("it does not answer".to_owned());
    tokio::time::timeout(PATIENCE, spoken).await.unwrap_or_else(|_| Err(silent()))
}

async fn greet(stream: UnixStream, identity: &Identity) -> Result<Hosted, Alone> {
    let us = rustix::process::geteuid().as_raw();
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == us) {
        return Err(Alone::Refused("it is somebody else's".to_owned()));
    }
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let failed = |error: io::Error| Alone::Refused(format!("it does not answer: {error}"));
    hello::say(&mut writer, &identity.hello()).await.map_err(failed)?;
    match hello::hear(&mut reader).await.map_err(failed)? {
        Reply::Accepted { pid, clients } => Ok(Hosted { reader, writer, pid, clients }),
        Reply::Refused(reason) => Err(Alone::Refused(reason)),
    }
}

fn serve(
    runtime: Runtime,
    host: Hosted,
    in_process: impl FnOnce(DuplexStream) -> Result<Exit, Failure> + Send,
) -> Result<Exit, Failure> {
    std::thread::scope(|scope| {
        let relayed = runtime.block_on(async {
            let stop = CancellationToken::new();
            tokio::spawn(stop_on_signal(stop.clone()));
            // From here on, a signal ends it as it ends a server.
            tokio::task::yield_now().await;
            tracing::info!("served by process {}, which runs already", host.pid);
            let (input, output) = stdio::streams();
            let mut relay = Relay::new(input, output);
            let served = stop.run_until_cancelled(relay.carry(host.reader, host.writer)).await;
            if served != Some(Ended::Far) {
                return Ok(None);
            }
            tracing::warn!("the server that was shared is gone; going on without it");
            let (ours, theirs) = tokio::io::duplex(IN_PROCESS_BUFFER);
            let alone = std::thread::Builder::new().name("server".to_owned());
            // The rooms must not be opened on an async thread.
            let alone = alone.spawn_scoped(scope, move || in_process(theirs))?;
            let (reader, writer) = tokio::io::split(ours);
            stop.run_until_cancelled(relay.resume(reader, writer)).await;
            Ok::<_, Failure>(Some(alone))
        });
        // A thread may still wait for input that never comes.
        runtime.shutdown_background();
        let Some(alone) = relayed? else { return Ok(Exit::Success) };
        alone.join().unwrap_or_else(|_| Err(Failure::new("the server in this process failed")))
    })
}
