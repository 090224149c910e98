//! Connections: how many there may be, and how long a client may take.
//!
//! A connection costs a descriptor and memory before anything is known about its client, so this is
//! the part of the server that works without a token. [`activity`] knows whose turn it is on a
//! connection and since when, [`stream`] and [`body`] tell it, and [`pool`] decides who is admitted.
//!
//! A client that does not take its turn in time is disconnected. If there is no room for a new
//! connection, the one that has kept the server waiting for longest makes room for it; if the server
//! is at work for all of them, the new one is admitted to a reserve, in which only probes are answered.
//! While the server works on a request or streams an answer, no deadline of this module applies.

mod activity;
mod body;
mod pool;
mod stream;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use self::activity::{Activity, STALE};
pub(crate) use self::body::came_too_late;
use self::body::{Answer, Arriving};
use self::pool::{Admitted, Lane, Pool};
use self::stream::Watched;
use crate::problem::Problem;

/// Paths that are answered on connections of the reserve.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];
/// How long to wait after a connection could not be accepted, as when descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How many connections there may be, and how long a client may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// All connections, without the reserve.
    pub total: usize,
    /// Those of one address that is not a loopback address: behind one of these is a proxy, or any
    /// program of this machine.
    pub per_address: usize,
    /// From the connection, or from the first byte of a later request, to the end of the head.
    pub head: Duration,
    /// From the end of the head to the end of the body. A client may take as long to read a part of
    /// an answer.
    pub body: Duration,
    /// From an answer to the next request.
    pub idle: Duration,
}

impl ConnectionLimits {
    /// Connections beyond [`Self::total`] on which only probes are answered.
    pub const RESERVE: usize = 16;
}

/// Serves until `closing` is cancelled, and then finishes the requests under way.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    closing: CancellationToken,
) {
    let pool = Arc::new(Pool::new(limits));
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            () = closing.cancelled() => break,
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    let Some(admitted) = pool.admit(from.ip()).await else { continue };
                    let connection = Connection { router: router.clone(), from, limits, admitted };
                    tasks.spawn(connection.serve(stream, closing.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

struct Connection {
    router: Router,
    from: SocketAddr,
    limits: ConnectionLimits,
    admitted: Admitted,
}

impl Connection {
    async fn serve(self, stream: TcpStream, closing: CancellationToken) {
        // Without this every streamed answer waits some 40 ms for the client's delayed ACK.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let (limits, activity) = (self.limits, self.admitted.activity.clone());
        let evicted = self.admitted.evicted.clone();
        let watched = TokioIo::new(Watched::new(stream, activity.clone()));
        let service = service_fn(|request| self.respond(request));
        // hyper's deadline for heads would also end connections that are idle.
        let mut builder = http1::Builder::new();
        let serving = builder.header_read_timeout(None).serve_connection(watched, service);
        let mut serving = pin!(serving);
        let mut is_closing = false;
        loop {
            // A turn changes without notice, so this looks more often than deadlines pass.
            let look_after = if is_closing { STALE } else { limits.head / 4 };
            tokio::select! {
                served = serving.as_mut() => {
                    if let Err(error) = served {
                        tracing::trace!(%error, "a connection failed");
                    }
                    break;
                }
                () = evicted.cancelled() => break,
                () = closing.cancelled(), if !is_closing => {
                    is_closing = true;
                    serving.as_mut().graceful_shutdown();
                }
                () = tokio::time::sleep(look_after) => {
                    if activity.is_overdue(&limits) || is_closing && activity.has_stale_head() {
                        tracing::debug!("a client was too slow; closing its connection");
                        break;
                    }
                }
            }
        }
    }

    async fn respond(&self, request: Request<Incoming>) -> Result<Response, Infallible> {
        let activity = self.admitted.activity.clone();
        let is_reserve = self.admitted.lane == Lane::Reserve;
        let response = if is_reserve && !PROBES.contains(&request.uri().path()) {
            let detail = "all connections of this server are in use; try again soon";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).into_response()
        } else {
            let request = self.arriving(request, activity.clone());
            match self.router.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        };
        let mut response = response.map(|body| Body::new(Answer::new(body, activity)));
        if is_reserve {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        Ok(response)
    }

    fn arriving(&self, request: Request<Incoming>, activity: Arc<Activity>) -> Request {
        let within = self.limits.body;
        let mut request = request.map(|body| Body::new(Arriving::new(body, within, activity)));
        request.extensions_mut().insert(ConnectInfo(self.from));
        request
    }
}
