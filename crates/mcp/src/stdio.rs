//! A client on standard input and output, or on streams that stand for them.

use rmcp::ServiceExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::lines::LineTransport;
use crate::server::Server;

#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("the client did not initialize the session correctly: {0}")]
    Opening(#[from] Box<rmcp::service::ServerInitializeError>),
    #[error("the server task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// The largest message in bytes; a longer line is skipped.
pub const MAX_LINE: usize = rmcp::transport::async_rw::DEFAULT_MAX_LINE_LENGTH;

/// The standard streams of this process. Must be called inside a runtime.
pub fn streams()
-> (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static) {
    rmcp::transport::io::stdio_pipes()
}

/// Serves until the client closes our standard input, or `stop` is cancelled. Standard output
/// carries protocol and nothing else.
pub async fn serve(server: &Server, stop: CancellationToken) -> Result<(), StdioError> {
    let (reader, writer) = streams();
    serve_over(server, reader, writer, stop).await
}

/// Serves a client on other streams, until it closes its side or `stop` is cancelled. Requests
/// that are under way are still answered, unless that takes seconds.
pub async fn serve_over(
    server: &Server,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), StdioError> {
    use rmcp::service::ServerInitializeError::{Cancelled, ConnectionClosed};
    let server = server.for_client();
    let _disconnect = server.disconnect_on_drop();
    // The session cancels its token when it ends; a child token keeps the other sessions alive.
    let transport = LineTransport::new(reader, writer, MAX_LINE);
    let opened = server.serve_with_ct(transport, stop.child_token()).await;
    let running = match opened {
        Ok(running) => running,
        // A client may disconnect before it says anything.
        Err(ConnectionClosed(_) | Cancelled) => return Ok(()),
        Err(error) => return Err(Box::new(error).into()),
    };
    running.waiting().await?;
    Ok(())
}
