//! Lines between a client on our standard streams and a server at the far end.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::pin;
use std::time::Duration;

use kenning_mcp::stdio::MAX_LINE;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::journal::{Journal, Resumption};

/// How long the last answers may take after the client has closed its side.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Who ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Client,
    Far,
}

/// A client, and what it said so far.
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

    /// Carries lines until one side ends.
    pub(super) async fn carry(
        &mut self,
        far_reader: impl AsyncRead + Unpin,
        far_writer: impl AsyncWrite + Unpin,
    ) -> Ended {
        // Answers have no limit here that the server would not have.
        let far = Lines::new(far_reader, usize::MAX);
        self.carry_on(far, far_writer, Vec::new()).await
    }

    /// The same with another server, which is told first what the client said to the last one.
    pub(super) async fn resume(
        &mut self,
        far_reader: impl AsyncRead + Unpin,
        mut far_writer: impl AsyncWrite + Unpin,
    ) -> Ended {
        let mut far = Lines::new(far_reader, usize::MAX);
        let Resumption { opening, lines, errors } = self.journal.resume();
        for error in errors {
            if write(&mut self.output, &error).await.is_err() {
                return Ended::Client;
            }
        }
        if let Some(opening) = opening {
            if write(&mut far_writer, &opening).await.is_err() {
                return Ended::Far;
            }
            // Nothing else comes before the answer.
            while let Ok(Some(line)) = far.next().await {
                if !self.journal.server_says(&line).is_new {
                    break;
                }
            }
        }
        self.carry_on(far, far_writer, lines).await
    }

    async fn carry_on(
        &mut self,
        far: Lines<impl AsyncRead + Unpin>,
        far_writer: impl AsyncWrite + Unpin,
        first: Vec<Vec<u8>>,
    ) -> Ended {
        let Self { input, output, journal } = self;
        let (journal, closed) = (RefCell::new(journal), Cell::new(false));
        let mut inward = pin!(inward(far, output, &journal, &closed));
        tokio::select! {
            ended = &mut inward => return ended,
            () = outward(input, far_writer, &journal, first) => {}
        }
        // Those who wait for answers get them, those who wait for changes do not.
        closed.set(true);
        if !journal.borrow().is_idle() {
            let _ = tokio::time::timeout(LAST_ANSWERS, inward).await;
        }
        Ended::Client
    }
}

/// Client to server, until the client closes its side. A server that does not listen any more is
/// noticed by whoever reads what it said last.
async fn outward(
    input: &mut Lines<impl AsyncRead + Unpin>,
    mut far: impl AsyncWrite + Unpin,
    journal: &RefCell<&mut Journal>,
    first: Vec<Vec<u8>>,
) {
    for line in first {
        if write(&mut far, &line).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
    while let Ok(Some(line)) = input.next().await {
        journal.borrow_mut().client_says(&line);
        if write(&mut far, &line).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
    let _ = far.shutdown().await;
}

/// Server to client, until the server ends, or the client has closed its side and has all its
/// answers. Only whole lines are passed on: half an answer would spoil what another server says.
async fn inward(
    mut far: Lines<impl AsyncRead + Unpin>,
    output: &mut (impl AsyncWrite + Unpin),
    journal: &RefCell<&mut Journal>,
    closed: &Cell<bool>,
) -> Ended {
    while let Ok(Some(line)) = far.next().await {
        let heard = journal.borrow_mut().server_says(&line);
        if heard.is_new && write(output, &line).await.is_err() {
            return Ended::Client;
        }
        journal.borrow_mut().settle(heard);
        if closed.get() && journal.borrow().is_idle() {
            return Ended::Client;
        }
    }
    Ended::Far
}

async fn write(writer: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> io::Result<()> {
    writer.write_all(line).await?;
    writer.flush().await
}

/// Lines as they come. What was read of one is kept if nobody waits for the rest any more.
#[derive(Debug)]
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
    /// The rest of a line that is too long.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(reader: R, limit: usize) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), limit, skipping: false }
    }

    /// The next line with its end, or `None` at the end, where half a line is worth nothing. One
    /// that is too long is skipped, as a server on standard streams does.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let piece = self.reader.fill_buf().await?;
            if piece.is_empty() {
                return Ok(None);
            }
            let end = piece.iter().position(|&byte| byte == b'\n');
            let length = end.map_or(piece.len(), |end| end + 1);
            if !self.skipping && self.line.len() + length > self.limit {
                tracing::error!("a message of more than {} bytes is skipped", self.limit);
                (self.line, self.skipping) = (Vec::new(), true);
            }
            if !self.skipping {
                self.line.extend_from_slice(&piece[..length]);
            }
            self.reader.consume(length);
            if end.is_some() && !std::mem::take(&mut self.skipping) {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, DuplexStream, duplex, split};

    #[tokio::test]
    async fn lines_come_whole_or_not_at_all() {
        let mut lines = Lines::new(&b"one\n123456789\ntwo\nhalf"[..], 8);
        assert_eq!(lines.next().await.unwrap().unwrap(), b"one\n");
        assert_eq!(lines.next().await.unwrap().unwrap(), b"two\n");
        assert_eq!(lines.next().await.unwrap(), None);
    }

    /// A relay, the client's end and a server's end.
    fn fixture() -> (Relay<impl AsyncRead, impl AsyncWrite>, DuplexStream) {
        let (client, ours) = duplex(1024);
        let (reader, writer) = split(ours);
        (Relay::new(reader, writer), client)
    }

    async fn says(end: &mut DuplexStream, text: &str) {
        end.write_all(text.as_bytes()).await.unwrap();
    }

    async fn hears(end: &mut DuplexStream, text: &str) {
        let mut heard = vec![0; text.len()];
        end.read_exact(&mut heard).await.unwrap();
        assert_eq!(String::from_utf8(heard).unwrap(), text);
    }

    #[tokio::test]
    async fn a_second_server_goes_on_where_the_first_ended() {
        let (mut relay, mut client) = fixture();
        let (mut first, far) = duplex(1024);
        let (reader, writer) = split(far);
        let ask = "{\"id\":1,\"method\":\"ping\"}\n";
        let half = async {
            says(&mut client, "{\"id\":0,\"method\":\"initialize\"}\n").await;
            hears(&mut first, "{\"id\":0,\"method\":\"initialize\"}\n").await;
            says(&mut first, "{\"id\":0,\"result\":1}\n").await;
            hears(&mut client, "{\"id\":0,\"result\":1}\n").await;
            says(&mut client, ask).await;
            hears(&mut first, ask).await;
            says(&mut client, "{\"id\":2,").await;
            says(&mut first, "{\"id\":1,\"res").await;
            drop(first);
        };
        let (ended, ()) = tokio::join!(relay.carry(reader, writer), half);
        assert_eq!(ended, Ended::Far);

        let (mut second, far) = duplex(1024);
        let (reader, writer) = split(far);
        let rest = async {
            hears(&mut second, "{\"id\":0,\"method\":\"initialize\"}\n").await;
            says(&mut second, "{\"id\":0,\"result\":2}\n").await;
            hears(&mut second, ask).await;
            says(&mut client, "\"method\":\"ping\"}\n").await;
            hears(&mut second, "{\"id\":2,\"method\":\"ping\"}\n").await;
            says(&mut second, "{\"id\":1,\"result\":3}\n{\"id\":2,\"result\":4}\n").await;
            hears(&mut client, "{\"id\":1,\"result\":3}\n{\"id\":2,\"result\":4}\n").await;
            drop(client);
        };
        let (ended, ()) = tokio::join!(relay.resume(reader, writer), rest);
        assert_eq!(ended, Ended::Client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_closes_its_side_still_gets_its_answers() {
        let (mut relay, mut client) = fixture();
        let (mut server, far) = duplex(1024);
        let (reader, writer) = split(far);
        let talk = async {
            says(&mut client, "{\"id\":1,\"method\":\"ping\"}\n").await;
            client.shutdown().await.unwrap();
            hears(&mut server, "{\"id\":1,\"method\":\"ping\"}\n").await;
            let mut end = [0];
            assert_eq!(server.read(&mut end).await.unwrap(), 0, "the server knows");
            says(&mut server, "{\"id\":1,\"result\":1}\n").await;
            hears(&mut client, "{\"id\":1,\"result\":1}\n").await;
        };
        // The server stays open; nobody waits for it.
        let (ended, ()) = tokio::join!(relay.carry(reader, writer), talk);
        assert_eq!(ended, Ended::Client);
    }
}
