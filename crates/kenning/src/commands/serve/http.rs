//! Serving over HTTP: where, and for whom.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kenning_knowledge::Library;
use kenning_mcp::{Server, http};
use kenning_store::Store;
use kenning_web::{Doors, Keys, Mount, Running, Site, Stopping};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::summary;
use super::vitals::Vitals;
use crate::commands::Context;
use crate::commands::token::StoredTokens;
use crate::failure::Failure;
use crate::telemetry;

/// An address to serve on, and how one gets in.
pub(super) struct Open {
    listener: TcpListener,
    address: SocketAddr,
    doors: Doors,
    read_only: bool,
    store: Option<Arc<Store>>,
    drain: Duration,
    grace: Duration,
}

pub(super) async fn open(context: &Context, store: Option<&Arc<Store>>) -> Result<Open, Failure> {
    let (host, port) = (&context.settings.server.host, context.settings.server.port);
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), port))
        .await
        .map_err(|error| context.layers.fault("server.host", &error.to_string()))?
        .collect();
    let local = addresses.iter().all(|address| address.ip().is_loopback());
    let open_to_all_here = local && !context.settings.server.require_token;
    let keys = if open_to_all_here {
        store.map(|store| Arc::new(StoredTokens(store.clone())) as Arc<dyn Keys>)
    } else {
        Some(keys(store)?)
    };
    let listener = TcpListener::bind(addresses.as_slice()).await.map_err(|error| {
        Failure::new(format!("{host}:{port} cannot be listened on: {error}"))
            .hint("choose another port with --http 127.0.0.1:PORT; port 0 takes any free one")
    })?;
    let address = listener.local_addr()?;
    let doors = match keys {
        Some(keys) if !open_to_all_here => Doors::Token(keys),
        keys => Doors::Loopback { port: address.port(), keys },
    };
    let server = &context.settings.server;
    Ok(Open {
        listener,
        address,
        doors,
        read_only: server.read_only,
        store: store.cloned(),
        drain: Duration::from_secs(server.drain_seconds),
        grace: Duration::from_secs(server.grace_seconds),
    })
}

/// Without a token nobody could come in.
fn keys(store: Option<&Arc<Store>>) -> Result<Arc<dyn Keys>, Failure> {
    let none = || {
        Failure::usage("other machines need a token, and there is none")
            .hint("make one with `kenning token create NAME --scope write`")
    };
    let store = store.ok_or_else(none)?.clone();
    // The store's own runtime must not be waited for on an async thread.
    let tokens = tokio::task::block_in_place(|| store.tokens())?;
    if tokens.is_empty() { Err(none()) } else { Ok(Arc::new(StoredTokens(store))) }
}

pub(super) fn announce(context: &Context, library: &Library, server: &Server, open: &Open) {
    let address = open.address;
    context.printer.note(&summary(context, library, server));
    context.printer.note(&format!("Page  http://{address}/"));
    context.printer.note(&format!("MCP   http://{address}{}", http::MCP_PATH));
    context.printer.note(&format!("API   http://{address}/api"));
    if matches!(open.doors, Doors::Token(_)) {
        context.printer.note("Every request needs a token; see `kenning token list`.");
    }
}

impl Open {
    pub(super) async fn serve(
        self,
        server: Server,
        rooms: kenning_web::Rooms,
        stop: CancellationToken,
    ) -> Result<(), Failure> {
        let reach = match &self.doors {
            Doors::Loopback { port, .. } => http::Reach::Loopback { port: *port },
            Doors::Token(_) => http::Reach::Guarded,
        };
        let stopping = Stopping::new(stop, self.drain, self.grace);
        // Cancelled, the SDK gives up what it works on; until then only streams have to end.
        let (closing, over) = (stopping.closing(), stopping.over());
        let changes = server.changes();
        tokio::spawn(async move {
            closing.cancelled().await;
            changes.close();
        });
        let vitals = Arc::new(Vitals::new(server.clone(), self.store));
        let running = Running { vitals, stopping, adopt: telemetry::adopt() };
        let mcp = Mount {
            path: http::MCP_PATH,
            read: http::router(server.reading(), reach, over.clone()),
            write: http::router(server, reach, over),
        };
        let (doors, read_only) = (self.doors, self.read_only);
        let site = Site { rooms, mounts: vec![mcp], doors, read_only, running };
        Ok(site.serve(self.listener).await?)
    }
}
