//! A server over HTTP that takes in clients on standard streams as well.

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
use super::hello::{self, Hello, Identity, Reply};
use super::place::Held;
use crate::commands::Context;

/// Clients at once.
const MAX_CLIENTS: usize = 100;
/// Those who have not said yet what they want, or are told that there is no room.
const MAX_AT_THE_DOOR: usize = 20;
/// How long somebody who knocks may take to say what they want.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the last answers may take when the host is asked to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// How long to wait when a connection could not be taken, such as for want of descriptors.
const BREATH: Duration = Duration::from_millis(100);

/// A host that listens, until it is told to stop.
#[derive(Debug)]
pub(in crate::commands::serve) struct Host {
    listening: JoinHandle<()>,
}

/// Is told what clients are offered.
pub(in crate::commands::serve) type Tell = Box<dyn Fn(&Inventory) + Send + Sync>;

/// What all clients share.
struct House {
    identity: Identity,
    server: Server,
    /// One for every choice, so that what is measured is not forgotten when a client goes.
    views: Mutex<BTreeMap<Selection, Server>>,
    tell: Tell,
    free: Arc<Semaphore>,
}

impl Host {
    /// Listens besides; `None`, with a word in the log, if that cannot be.
    pub(in crate::commands::serve) fn open(
        context: &Context,
        watch: bool,
        server: &Server,
        tell: Tell,
        stop: CancellationToken,
    ) -> Option<Self> {
        if !context.settings.server.attach {
            return None;
        }
        let alone = |why: &dyn std::fmt::Display| {
            tracing::warn!("clients on standard streams do not share this server: {why}");
        };
        let identity = Identity::of(&context.settings, &context.layers, watch);
        let identity = identity.inspect_err(|failure| alone(&failure.message)).ok().flatten()?;
        let held = identity.place.clone().hold();
        let (held, listener) = held.inspect_err(|error| alone(error)).ok()?;
        let listener =
            listener.set_nonblocking(true).and_then(|()| UnixListener::from_std(listener));
        let listener = listener.inspect_err(|error| alone(error)).ok()?;
        let house = House {
            identity,
            server: server.clone(),
            views: Mutex::default(),
            tell,
            free: Arc::new(Semaphore::new(MAX_CLIENTS)),
        };
        let listening = tokio::spawn(listen(listener, held, Arc::new(house), stop));
        Some(Self { listening })
    }

    /// Waits for the last answers, after `stop` was cancelled.
    pub(in crate::commands::serve) async fn finish(self) {
        if let Err(error) = self.listening.await {
            tracing::warn!(%error, "clients on standard streams were not told");
        }
    }
}

async fn listen(listener: UnixListener, held: Held, house: Arc<House>, stop: CancellationToken) {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if sessions.len() < MAX_CLIENTS + MAX_AT_THE_DOOR => {
                    sessions.spawn(session(stream, house.clone(), stop.clone()));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a client was not let in");
                    tokio::time::sleep(BREATH).await;
                }
            },
            Some(_) = sessions.join_next() => {}
        }
    }
    // Nobody knocks any more at a door that is gone.
    drop((listener, held));
    let last = async { while sessions.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_ANSWERS, last).await.is_err() {
        tracing::warn!("{} clients did not get their last answers", sessions.len());
    }
}

/// One client, from its greeting to its end.
async fn session(stream: UnixStream, house: Arc<House>, stop: CancellationToken) {
    let us = rustix::process::geteuid().as_raw();
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == us) {
        return;
    }
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let opened = async {
        let heard = tokio::time::timeout(PATIENCE, hello::hear::<Hello>(&mut reader)).await;
        let admitted = match heard.ok()? {
            Ok(hello) => house.admit(&hello),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                Err("it does not understand what was said".to_owned())
            }
            Err(_) => return None,
        };
        let reply = match &admitted {
            Ok(_) => Reply::Accepted { pid: std::process::id(), clients: house.clients() },
            Err(reason) => Reply::Refused(reason.clone()),
        };
        hello::say(&mut writer, &reply).await.ok()?;
        admitted.ok()
    };
    let Some(Some((server, _place))) = stop.run_until_cancelled(opened).await else { return };
    if let Err(error) = stdio::serve_over(&server, reader, writer, stop).await {
        tracing::info!(%error, "a client on standard streams is gone");
    }
}

impl House {
    /// The server for this client, and its place among those who are served.
    fn admit(&self, hello: &Hello) -> Result<(Server, OwnedSemaphorePermit), String> {
        let choice = self.identity.admit(hello)?;
        let place = self.free.clone().try_acquire_owned();
        let place = place.map_err(|_| format!("it serves {MAX_CLIENTS} clients already"))?;
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = views.get(&choice) {
            return Ok((server.clone(), place));
        }
        let inventory = choice.inventory();
        (self.tell)(&inventory);
        let server = self.server.offering(inventory, Transport::Stdio);
        views.insert(choice, server.clone());
        Ok((server, place))
    }

    /// Those who are served, without whoever asks.
    fn clients(&self) -> usize {
        (MAX_CLIENTS - self.free.available_permits()).saturating_sub(1)
    }
}
