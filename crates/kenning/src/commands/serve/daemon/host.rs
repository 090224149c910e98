//! A server over HTTP that serves clients on standard streams, too.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kenning_app::Inventory;
use kenning_mcp::{Server, Transport, stdio};
use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::super::toolsets::Selection;
use super::handshake::{self, Hello, Identity, Reply};
use super::socket::{SocketLock, is_same_user};
use crate::commands::Context;

const MAX_CLIENTS: usize = 100;
/// Connections beyond that, which are in the handshake or about to be refused.
const MAX_HANDSHAKES: usize = 20;
/// How long the last answers may take when the host is asked to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// How long to wait after a connection could not be accepted, such as for lack of descriptors.
const ACCEPT_DELAY: Duration = Duration::from_millis(100);

/// A host that listens until it is told to stop.
#[derive(Debug)]
pub(in crate::commands::serve) struct Host {
    listening: JoinHandle<()>,
}

/// Called with each inventory that a client is offered.
pub(in crate::commands::serve) type OnOffer = Box<dyn Fn(&Inventory) + Send + Sync>;

/// What all sessions share.
struct Shared {
    identity: Identity,
    server: Server,
    /// One for each selection, so that its inventory is built and recorded once.
    views: Mutex<BTreeMap<Selection, Server>>,
    on_offer: OnOffer,
    permits: Arc<Semaphore>,
}

impl Host {
    /// Listens on the socket; `None`, with a log line, if that is not possible.
    pub(in crate::commands::serve) fn open(
        context: &Context,
        watch: bool,
        server: &Server,
        on_offer: OnOffer,
        stop: CancellationToken,
    ) -> Option<Self> {
        if !context.settings.server.attach {
            return None;
        }
        let warn = |reason: &dyn std::fmt::Display| {
            tracing::warn!("clients on standard streams do not share this server: {reason}");
        };
        let identity = Identity::of(&context.settings, &context.layers, watch);
        let identity = identity.inspect_err(|failure| warn(&failure.message)).ok().flatten()?;
        let bound = identity.socket.clone().bind();
        let (lock, listener) = bound.inspect_err(|error| warn(error)).ok()?;
        let listener =
            listener.set_nonblocking(true).and_then(|()| UnixListener::from_std(listener));
        let listener = listener.inspect_err(|error| warn(error)).ok()?;
        let shared = Shared {
            identity,
            server: server.clone(),
            views: Mutex::default(),
            on_offer,
            permits: Arc::new(Semaphore::new(MAX_CLIENTS)),
        };
        let listening = tokio::spawn(listen(listener, lock, Arc::new(shared), stop));
        Some(Self { listening })
    }

    /// Waits for the last answers, after `stop` was cancelled.
    pub(in crate::commands::serve) async fn finish(self) {
        if let Err(error) = self.listening.await {
            tracing::warn!(%error, "the task for clients on standard streams failed");
        }
    }
}

async fn listen(
    listener: UnixListener,
    lock: SocketLock,
    shared: Arc<Shared>,
    stop: CancellationToken,
) {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if sessions.len() < MAX_CLIENTS + MAX_HANDSHAKES => {
                    sessions.spawn(session(stream, shared.clone(), stop.clone()));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection on the socket could not be accepted");
                    tokio::time::sleep(ACCEPT_DELAY).await;
                }
            },
            Some(_) = sessions.join_next() => {}
        }
    }
    // New clients must not find a host that is about to stop.
    drop((listener, lock));
    let last = async { while sessions.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_ANSWERS, last).await.is_err() {
        tracing::warn!(
            "{} clients on standard streams did not get their last answers in time",
            sessions.len()
        );
    }
}

/// One client, from its handshake to its end.
async fn session(stream: UnixStream, shared: Arc<Shared>, stop: CancellationToken) {
    if !is_same_user(&stream) {
        return;
    }
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let opened = async {
        let read = handshake::read::<Hello>(&mut reader);
        let read = tokio::time::timeout(handshake::TIMEOUT, read).await;
        let admitted = match read.ok()? {
            Ok(hello) => shared.admit(&hello),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                Err("it cannot read the handshake".to_owned())
            }
            Err(_) => return None,
        };
        let reply = match &admitted {
            Ok(_) => Reply::Accepted {
                pid: std::process::id(),
                clients: shared.clients(),
                problem: shared.problem(),
            },
            Err(reason) => Reply::Refused(reason.clone()),
        };
        handshake::write(&mut writer, &reply).await.ok()?;
        admitted.ok()
    };
    let Some(Some((server, _permit))) = stop.run_until_cancelled(opened).await else { return };
    if let Err(error) = stdio::serve_over(&server, reader, writer, stop).await {
        tracing::info!(%error, "a session with a client on standard streams failed");
    }
}

impl Shared {
    /// The server for this client, and its permit.
    fn admit(&self, hello: &Hello) -> Result<(Server, OwnedSemaphorePermit), String> {
        let selection = self.identity.admit(hello)?;
        let permit = self.permits.clone().try_acquire_owned();
        let permit = permit.map_err(|_| format!("it serves {MAX_CLIENTS} clients already"))?;
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = views.get(&selection) {
            return Ok((server.clone(), permit));
        }
        let inventory = selection.of_all(Inventory::full());
        (self.on_offer)(&inventory);
        let server = self.server.offering(inventory, Transport::Stdio);
        views.insert(selection, server.clone());
        Ok((server, permit))
    }

    /// Why answers may not be what the files say.
    fn problem(&self) -> Option<String> {
        let library = &self.server.app().services.library;
        if library.is_behind() {
            return Some("its index has not kept up with the files for a minute".to_owned());
        }
        library.snapshot().unavailable().first().map(|base| base.message.clone())
    }

    /// How many clients are served, without the one that asks.
    fn clients(&self) -> usize {
        (MAX_CLIENTS - self.permits.available_permits()).saturating_sub(1)
    }
}
