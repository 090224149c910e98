//! Lines from one side to the other.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::MAX_MESSAGE;
use crate::interceptor::Interceptor;
use crate::lines::{Chunk, Lines};

/// Client to server, until the client closes its side or the server stops reading.
pub(crate) async fn to_server(
    client: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    interceptor: &Interceptor,
    answers: mpsc::Sender<Vec<u8>>,
) -> io::Result<()> {
    let mut lines = Lines::new(client, MAX_MESSAGE);
    while let Some(chunk) = lines.next_chunk().await? {
        match chunk {
            Chunk::Oversized(part) | Chunk::Unfinished(part) => server.write_all(&part).await?,
            Chunk::Lines(whole) => {
                let intercepted = interceptor.client_lines(&whole);
                server.write_all(&intercepted.forward).await?;
                if !intercepted.answers.is_empty() {
                    // Fails only when the other direction has ended.
                    let _ = answers.send(intercepted.answers).await;
                }
            }
        }
        server.flush().await?;
    }
    server.shutdown().await
}

/// Server to client, until the server closes its side. This is the only writer to the client, so
/// that lines cannot run into each other.
pub(crate) async fn to_client(
    server: impl AsyncRead + Unpin,
    client: &mut (impl AsyncWrite + Unpin),
    interceptor: &Interceptor,
    mut answers: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let mut lines = Lines::new(server, MAX_MESSAGE);
    loop {
        let between_lines = !lines.is_within_oversized();
        tokio::select! {
            chunk = lines.next_chunk() => {
                let Some(chunk) = chunk? else { break };
                interceptor.set_writing(true);
                forward(chunk, client, interceptor).await?;
                interceptor.set_writing(false);
            }
            Some(answer) = answers.recv(), if between_lines => {
                client.write_all(&answer).await?;
                client.flush().await?;
            }
        }
    }
    while let Ok(answer) = answers.try_recv() {
        client.write_all(&answer).await?;
    }
    client.flush().await
}

async fn forward(
    chunk: Chunk,
    client: &mut (impl AsyncWrite + Unpin),
    interceptor: &Interceptor,
) -> io::Result<()> {
    match chunk {
        Chunk::Oversized(part) | Chunk::Unfinished(part) => {
            client.write_all(&part).await?;
            client.flush().await
        }
        Chunk::Lines(whole) => {
            client.write_all(&interceptor.server_lines(&whole)).await?;
            client.flush().await?;
            // After the client has them: recording an answer must not delay it.
            interceptor.observe(&whole);
            Ok(())
        }
    }
}
