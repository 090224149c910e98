//! Relays lines between a client on our standard streams and a server.
//!
//! The server is a host's socket first and may then be a pipe to a server in this process. One
//! reader reads standard input throughout, so that no byte is lost in between.

use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Deref;
use std::pin::pin;
use std::time::Duration;

use kenning_mcp::stdio::MAX_LINE;
use kenning_wrap::lines::{Line, Lines};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::journal::{Journal, Resumption};

/// How long the last answers may take after the client has closed its side.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Which side ended the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Client,
    Server,
}

/// A client, and the journal of its session.
#[derive(Debug)]
pub(super) struct Relay<R, W> {
    input: Lines<R>,
    output: W,
    journal: Journal,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Relay<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self { input: Lines::new(input, MAX_LINE), output, journal: Journal::default() }
    }

    /// Relays lines until one side ends.
    pub(super) async fn run(
        &mut self,
        server_reader: impl AsyncRead + Unpin,
        server_writer: impl AsyncWrite + Unpin,
    ) -> Ended {
        // A server's answers have no limit.
        let server = Lines::new(server_reader, usize::MAX);
        self.relay(server, server_writer, Vec::new()).await
    }

    /// Relays to another server, after repeating to it what the journal holds.
    pub(super) async fn resume(
        &mut self,
        server_reader: impl AsyncRead + Unpin,
        mut server_writer: impl AsyncWrite + Unpin,
    ) -> Ended {
        let mut server = Lines::new(server_reader, usize::MAX);
        let Resumption { opening, lines, errors } = self.journal.resume();
        for error in errors {
            if write(&mut self.output, &error).await.is_err() {
                return Ended::Client;
            }
        }
        if let Some(opening) = opening {
            if write(&mut server_writer, &opening).await.is_err() {
                return Ended::Server;
            }
            // The rest is sent after the answer to it.
            while let Some(line) = next_line(&mut server).await {
                if !self.journal.server_line(&line).is_new {
                    break;
                }
            }
        }
        self.relay(server, server_writer, lines).await
    }

    async fn relay(
        &mut self,
        server: Lines<impl AsyncRead + Unpin>,
        server_writer: impl AsyncWrite + Unpin,
        first: Vec<Vec<u8>>,
    ) -> Ended {
        let Self { input, output, journal } = self;
        let (journal, closed) = (RefCell::new(journal), Cell::new(false));
        let mut to_client = pin!(to_client(server, output, &journal, &closed));
        tokio::select! {
            ended = &mut to_client => return ended,
            () = to_server(input, server_writer, &journal, first) => {}
        }
        // The client still gets its answers, but no more notifications.
        closed.set(true);
        if !journal.borrow().is_idle() {
            let _ = tokio::time::timeout(LAST_ANSWERS, to_client).await;
        }
        Ended::Client
    }
}

/// Client to server, until the client closes its side. If the server stops reading, this waits for
/// ever: `to_client` forwards what the server wrote last, and then notices its end.
async fn to_server(
    input: &mut Lines<impl AsyncRead + Unpin>,
    mut server: impl AsyncWrite + Unpin,
    journal: &RefCell<&mut Journal>,
    first: Vec<Vec<u8>>,
) {
    for line in first {
        if write(&mut server, &line).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
    while let Some(line) = next_line(input).await {
        journal.borrow_mut().client_line(&line);
        if write(&mut server, &line).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
    let _ = server.shutdown().await;
}

/// Server to client, until the server ends, or the client has closed its side and has all its
/// answers.
async fn to_client(
    mut server: Lines<impl AsyncRead + Unpin>,
    output: &mut (impl AsyncWrite + Unpin),
    journal: &RefCell<&mut Journal>,
    closed: &Cell<bool>,
) -> Ended {
    while let Some(line) = next_line(&mut server).await {
        let received = journal.borrow_mut().server_line(&line);
        if received.is_new && write(output, &line).await.is_err() {
            return Ended::Client;
        }
        journal.borrow_mut().delivered(received);
        if closed.get() && journal.borrow().is_idle() {
            return Ended::Client;
        }
    }
    Ended::Server
}

/// The next whole line; `None` at the end. An unfinished last line is dropped: half an answer would
/// corrupt what another server writes next. A line that is too long is skipped, as a server on
/// standard streams does.
async fn next_line(lines: &mut Lines<impl AsyncRead + Unpin>) -> Option<impl Deref<Target = [u8]>> {
    loop {
        match lines.next_line().await {
            Ok(Some(Line::Whole(line))) => return Some(line),
            Ok(Some(Line::TooLong)) => {
                tracing::error!("a message of more than {MAX_LINE} bytes is skipped");
            }
            Ok(Some(Line::Unfinished(_)) | None) | Err(_) => return None,
        }
    }
}

async fn write(writer: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> io::Result<()> {
    writer.write_all(line).await?;
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, DuplexStream, duplex, split};

    /// A relay, and the client's end of it.
    fn fixture() -> (Relay<impl AsyncRead, impl AsyncWrite>, DuplexStream) {
        let (client, ours) = duplex(1024);
        let (reader, writer) = split(ours);
        (Relay::new(reader, writer), client)
    }

    async fn send(end: &mut DuplexStream, text: &str) {
        end.write_all(text.as_bytes()).await.unwrap();
    }

    async fn expect(end: &mut DuplexStream, text: &str) {
        let mut received = vec![0; text.len()];
        end.read_exact(&mut received).await.unwrap();
        assert_eq!(String::from_utf8(received).unwrap(), text);
    }

    #[tokio::test]
    async fn a_second_server_continues_where_the_first_ended() {
        let (mut relay, mut client) = fixture();
        let (mut first, theirs) = duplex(1024);
        let (reader, writer) = split(theirs);
        let ask = "{\"id\":1,\"method\":\"ping\"}\n";
        let half = async {
            send(&mut client, "{\"id\":0,\"method\":\"initialize\"}\n").await;
            expect(&mut first, "{\"id\":0,\"method\":\"initialize\"}\n").await;
            send(&mut first, "{\"id\":0,\"result\":1}\n").await;
            expect(&mut client, "{\"id\":0,\"result\":1}\n").await;
            send(&mut client, ask).await;
            expect(&mut first, ask).await;
            send(&mut client, "{\"id\":2,").await;
            send(&mut first, "{\"id\":1,\"res").await;
            drop(first);
        };
        let (ended, ()) = tokio::join!(relay.run(reader, writer), half);
        assert_eq!(ended, Ended::Server);

        let (mut second, theirs) = duplex(1024);
        let (reader, writer) = split(theirs);
        let rest = async {
            expect(&mut second, "{\"id\":0,\"method\":\"initialize\"}\n").await;
            send(&mut second, "{\"id\":0,\"result\":2}\n").await;
            expect(&mut second, ask).await;
            send(&mut client, "\"method\":\"ping\"}\n").await;
            expect(&mut second, "{\"id\":2,\"method\":\"ping\"}\n").await;
            send(&mut second, "{\"id\":1,\"result\":3}\n{\"id\":2,\"result\":4}\n").await;
            expect(&mut client, "{\"id\":1,\"result\":3}\n{\"id\":2,\"result\":4}\n").await;
            drop(client);
        };
        let (ended, ()) = tokio::join!(relay.resume(reader, writer), rest);
        assert_eq!(ended, Ended::Client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_closes_its_side_still_gets_its_answers() {
        let (mut relay, mut client) = fixture();
        let (mut server, theirs) = duplex(1024);
        let (reader, writer) = split(theirs);
        let talk = async {
            send(&mut client, "{\"id\":1,\"method\":\"ping\"}\n").await;
            client.shutdown().await.unwrap();
            expect(&mut server, "{\"id\":1,\"method\":\"ping\"}\n").await;
            let mut end = [0];
            assert_eq!(
                server.read(&mut end).await.unwrap(),
                0,
                "the server sees the end of its input"
            );
            send(&mut server, "{\"id\":1,\"result\":1}\n").await;
            expect(&mut client, "{\"id\":1,\"result\":1}\n").await;
        };
        // The server stays open, and the relay ends all the same.
        let (ended, ()) = tokio::join!(relay.run(reader, writer), talk);
        assert_eq!(ended, Ended::Client);
    }
}
