//! Lines from one side to the other.

use std::io;

use bytes::{Buf, BytesMut};
use memchr::{memchr, memrchr};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::front::Front;

const BUFFER: usize = 64 * 1024;
/// A line longer than this goes by unread.
const MAX_LINE: usize = crate::MAX_MESSAGE;

/// What was read, cut at the ends of lines.
#[derive(Debug)]
struct Lines {
    buffer: BytesMut,
    /// The rest of a line that is too long to be looked at.
    passing: bool,
}

/// A piece that can go on.
enum Piece {
    /// One or more lines.
    Whole(BytesMut),
    /// Part of a line that is passed on as it comes.
    Passing(BytesMut),
}

impl Lines {
    fn new() -> Self {
        Self { buffer: BytesMut::with_capacity(BUFFER), passing: false }
    }

    /// Makes room, and gives back what a big message took.
    fn room(&mut self) -> &mut BytesMut {
        if self.buffer.is_empty() && self.buffer.capacity() > 4 * BUFFER {
            self.buffer = BytesMut::with_capacity(BUFFER);
        }
        self.buffer.reserve(BUFFER);
        &mut self.buffer
    }

    /// What is complete. `fresh` bytes at the end have not been looked at yet.
    fn next(&mut self, fresh: usize) -> Option<Piece> {
        if self.passing {
            let end = memchr(b'\n', &self.buffer);
            self.passing = end.is_none();
            let length = end.map_or(self.buffer.len(), |end| end + 1);
            return (length > 0).then(|| Piece::Passing(self.buffer.split_to(length)));
        }
        let unseen = self.buffer.len() - fresh.min(self.buffer.len());
        if let Some(end) = memrchr(b'\n', &self.buffer[unseen..]) {
            return Some(Piece::Whole(self.buffer.split_to(unseen + end + 1)));
        }
        if self.buffer.len() > MAX_LINE {
            self.passing = true;
            return Some(Piece::Passing(self.buffer.split()));
        }
        None
    }
}

/// Client to server, until the client closes its side or the server does not listen any more.
pub(crate) async fn to_server(
    mut client: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    front: &Front,
    answers: mpsc::Sender<Vec<u8>>,
) -> io::Result<()> {
    let mut lines = Lines::new();
    loop {
        let mut fresh = client.read_buf(lines.room()).await?;
        if fresh == 0 {
            server.write_all(&lines.buffer).await?;
            return server.shutdown().await;
        }
        while let Some(piece) = lines.next(fresh) {
            match piece {
                Piece::Passing(part) => server.write_all(&part).await?,
                Piece::Whole(whole) => {
                    let onward = front.client_says(&whole);
                    server.write_all(&onward.forward).await?;
                    if !onward.answers.is_empty() {
                        // Fails only when the other direction has ended.
                        let _ = answers.send(onward.answers).await;
                    }
                }
            }
            fresh = lines.buffer.len();
        }
        server.flush().await?;
    }
}

/// Server to client, until the server closes its side. Only this writes to the client, so that
/// lines cannot run into each other.
pub(crate) async fn to_client(
    mut server: impl AsyncRead + Unpin,
    client: &mut (impl AsyncWrite + Unpin),
    front: &Front,
    mut answers: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let mut lines = Lines::new();
    loop {
        let passing = lines.passing;
        tokio::select! {
            read = server.read_buf(lines.room()) => match read? {
                0 => break,
                fresh => {
                    front.set_writing(true);
                    pass_on(&mut lines, fresh, client, front).await?;
                    front.set_writing(false);
                }
            },
            Some(answer) = answers.recv(), if !passing => {
                client.write_all(&answer).await?;
                client.flush().await?;
            }
        }
    }
    // What the server said last may have no end of line; what we said must not be lost.
    client.write_all(&lines.buffer).await?;
    lines.buffer.advance(lines.buffer.len());
    while let Ok(answer) = answers.try_recv() {
        client.write_all(&answer).await?;
    }
    client.flush().await
}

async fn pass_on(
    lines: &mut Lines,
    mut fresh: usize,
    client: &mut (impl AsyncWrite + Unpin),
    front: &Front,
) -> io::Result<()> {
    while let Some(piece) = lines.next(fresh) {
        match piece {
            Piece::Passing(part) => client.write_all(&part).await?,
            Piece::Whole(whole) => {
                client.write_all(&front.server_says(&whole)).await?;
                client.flush().await?;
                front.observe(&whole);
            }
        }
        fresh = lines.buffer.len();
    }
    client.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_their_ends() {
        let mut lines = Lines::new();
        lines.buffer.extend_from_slice(b"one\ntwo\nthr");
        let Some(Piece::Whole(whole)) = lines.next(11) else { panic!("two lines are complete") };
        assert_eq!(&whole[..], b"one\ntwo\n");
        assert!(lines.next(3).is_none());
        lines.buffer.extend_from_slice(b"ee\n");
        let Some(Piece::Whole(whole)) = lines.next(3) else { panic!("the third is complete") };
        assert_eq!(&whole[..], b"three\n");
    }

    #[test]
    fn a_line_that_is_too_long_goes_by() {
        let mut lines = Lines::new();
        lines.buffer.resize(MAX_LINE + 1, b'x');
        assert!(matches!(lines.next(1), Some(Piece::Passing(_))));
        lines.buffer.extend_from_slice(b"yy\nnext\n");
        let Some(Piece::Passing(rest)) = lines.next(8) else { panic!("the rest goes by too") };
        assert_eq!(&rest[..], b"yy\n");
        assert!(matches!(lines.next(5), Some(Piece::Whole(_))));
    }
}
