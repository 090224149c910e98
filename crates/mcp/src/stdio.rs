//! A client at the other end of standard input and output.

use rmcp::ServiceExt;
use tokio_util::sync::CancellationToken;

use crate::server::Server;

#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("the client did not open the session properly: {0}")]
    Opening(#[from] Box<rmcp::service::ServerInitializeError>),
    #[error("the server task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// Serves until the client closes our standard input, or `stop` is cancelled. Standard output
/// carries protocol and nothing else.
pub async fn serve(server: Server, stop: CancellationToken) -> Result<(), StdioError> {
    let opened = server.serve_with_ct(rmcp::transport::io::stdio_pipes(), stop).await;
    let running = match opened {
        Ok(running) => running,
        // A client that goes away before it said anything did nothing wrong.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Box::new(error).into()),
    };
    running.waiting().await?;
    Ok(())
}
