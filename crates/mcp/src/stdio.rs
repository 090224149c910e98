//! A client at the other end of standard input and output, or of what stands for them.

use rmcp::ServiceExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::server::Server;

#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("the client did not open the session properly: {0}")]
    Opening(#[from] Box<rmcp::service::ServerInitializeError>),
    #[error("the server task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// What a message may weigh; a longer line is skipped.
pub const MAX_LINE: usize = rmcp::transport::async_rw::DEFAULT_MAX_LINE_LENGTH;

/// Our own standard input and output, to be used inside of a runtime.
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

/// Serves a client that is reached in another way, until it closes its side, or `stop` is
/// cancelled. What was asked before is still answered, unless that takes seconds.
pub async fn serve_over(
    server: &Server,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), StdioError> {
    use rmcp::service::ServerInitializeError::{Cancelled, ConnectionClosed};
    let server = server.for_client();
    let _gone = server.until_gone();
    // The session cancels its token when it ends, which must not end the others.
    let opened = server.serve_with_ct((reader, writer), stop.child_token()).await;
    let running = match opened {
        Ok(running) => running,
        // A client that goes away before it said anything did nothing wrong.
        Err(ConnectionClosed(_) | Cancelled) => return Ok(()),
        Err(error) => return Err(Box::new(error).into()),
    };
    running.waiting().await?;
    Ok(())
}
