//! Serving over HTTP: the address, and how access is checked.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kenning_app::AppState;
use kenning_knowledge::Library;
use kenning_mcp::{Server, http, render};
use kenning_store::{NotReady, Store};
use kenning_web::{AccessPolicy, ConnectionLimits, Monitoring, Mount, Shutdown, Site, TokenStore};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connections::connections;
use super::health::ServerHealth;
use super::summary;
use crate::commands::Context;
use crate::commands::token::StoredTokens;
use crate::failure::Failure;
use crate::telemetry;

/// A bound address, and how access to it is checked.
pub(super) struct Open {
    listener: TcpListener,
    address: SocketAddr,
    access: AccessPolicy,
    read_only: bool,
    store: Option<Arc<Store>>,
    connections: ConnectionLimits,
    store_failure: Option<NotReady>,
    drain: Duration,
    grace: Duration,
}

/// `store_failure` is why there is no store, if there should be one.
pub(super) async fn open(
    context: &Context,
    store: Option<&Arc<Store>>,
    store_failure: Option<NotReady>,
) -> Result<Open, Failure> {
    let (host, port) = (&context.settings.server.host, context.settings.server.port);
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), port))
        .await
        .map_err(|error| context.layers.fault("server.host", &error.to_string()))?
        .collect();
    let local = addresses.iter().all(|address| address.ip().is_loopback());
    let open_to_all_here = local && !context.settings.server.require_token;
    let tokens = if open_to_all_here {
        store.map(|store| Arc::new(StoredTokens(store.clone())) as Arc<dyn TokenStore>)
    } else {
        Some(tokens(store)?)
    };
    let listener = TcpListener::bind(addresses.as_slice()).await.map_err(|error| {
        Failure::new(format!("{host}:{port} cannot be listened on: {error}"))
            .hint("choose another port with --http 127.0.0.1:PORT; port 0 takes any free one")
    })?;
    let address = listener.local_addr()?;
    let access = match tokens {
        Some(tokens) if !open_to_all_here => AccessPolicy::Token(tokens),
        tokens => AccessPolicy::Loopback { port: address.port(), tokens },
    };
    let server = &context.settings.server;
    Ok(Open {
        listener,
        address,
        access,
        read_only: server.read_only,
        store: store.cloned(),
        connections: connections(server),
        store_failure,
        drain: Duration::from_secs(server.drain_seconds),
        grace: Duration::from_secs(server.grace_seconds),
    })
}

/// Without any token the server would reject every request.
fn tokens(store: Option<&Arc<Store>>) -> Result<Arc<dyn TokenStore>, Failure> {
    let none = || {
        Failure::usage("other machines need a token, and there is none")
            .hint("make one with `kenning token create NAME --scope write`")
    };
    let store = store.ok_or_else(none)?.clone();
    // The store blocks on a runtime of its own, which is not allowed on an async thread.
    let tokens = tokio::task::block_in_place(|| store.tokens())?;
    if tokens.is_empty() { Err(none()) } else { Ok(Arc::new(StoredTokens(store))) }
}

pub(super) fn announce(context: &Context, library: &Library, server: &Server, open: &Open) {
    let address = open.address;
    context.printer.note(&summary(context, library, server));
    let cost = render::token_cost(&server.app().inventory);
    context.printer.note(&format!("The list of tools costs a model {cost} tokens."));
    context.printer.note(&format!("Page  http://{address}/"));
    context.printer.note(&format!("MCP   http://{address}{}", http::MCP_PATH));
    context.printer.note(&format!("API   http://{address}/api"));
    if matches!(open.access, AccessPolicy::Token(_)) {
        context.printer.note("Every request needs a token; see `kenning token list`.");
    }
}

impl Open {
    pub(super) async fn serve(
        self,
        app: AppState,
        server: Server,
        stop: CancellationToken,
    ) -> Result<(), Failure> {
        let reach = match &self.access {
            AccessPolicy::Loopback { port, .. } => http::Reach::Loopback { port: *port },
            AccessPolicy::Token(_) => http::Reach::Authenticated,
        };
        let shutdown = Shutdown::new(stop, self.drain, self.grace);
        // Cancelling the SDK's token would give up requests under way; until the grace period is
        // over only the notification streams have to end.
        let (closing, over) = (shutdown.closing(), shutdown.over());
        let changes = server.changes();
        tokio::spawn(async move {
            closing.cancelled().await;
            changes.close();
        });
        let health = Arc::new(ServerHealth {
            changes: server.changes(),
            store: self.store,
            store_failure: self.store_failure,
        });
        let offered = server.app().clone();
        let monitoring = Monitoring { health, offered, shutdown, adopt_trace: telemetry::adopt() };
        let mcp = Mount {
            path: http::MCP_PATH,
            read: http::router(server.read_only(), reach, over.clone()),
            write: http::router(server, reach, over),
        };
        let (access, read_only) = (self.access, self.read_only);
        let connections = self.connections;
        let site = Site { app, mounts: vec![mcp], access, read_only, monitoring, connections };
        Ok(site.serve(self.listener).await?)
    }
}
