//! Lines of a byte stream, up to a limit, with every byte as it was read.
//!
//! The codecs of `tokio-util` strip line ends and discard the start of a line that is too long. A
//! proxy must pass both on, so this reader keeps them.

use std::io;

use bytes::BytesMut;
use memchr::{memchr, memrchr};
use tokio::io::{AsyncRead, AsyncReadExt};

const BUFFER: usize = 64 * 1024;

/// Reads lines. All methods are cancel safe: what was read and not returned stays in here.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    limit: usize,
    buffer: BytesMut,
    /// Bytes at the start of the buffer that are known to hold no line end.
    searched: usize,
    in_oversized: bool,
}

/// What [`Lines::next_chunk`] returns. All chunks of a stream, in order, are its bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunk {
    /// One or more lines with their ends.
    Lines(BytesMut),
    /// A part of a line that is longer than the limit. Its last part has the line's end.
    Oversized(BytesMut),
    /// What the stream ended with, without a line end.
    Unfinished(BytesMut),
}

/// What [`Lines::next_line`] returns.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line with its end.
    Whole(BytesMut),
    /// A line that is longer than the limit was skipped.
    TooLong,
    /// What the stream ended with, without a line end.
    Unfinished(BytesMut),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// A line may have `limit` bytes, its end included.
    pub fn new(reader: R, limit: usize) -> Self {
        let buffer = BytesMut::with_capacity(BUFFER);
        Self { reader, limit, buffer, searched: 0, in_oversized: false }
    }

    /// All lines that have arrived, at least one; `None` at the end. A line is reported as
    /// oversized once more than the limit is in memory, so it may exceed the limit by one read.
    pub async fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        self.next(memrchr).await
    }

    /// The next line; `None` at the end.
    pub async fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            return Ok(match self.next(memchr).await? {
                Some(Chunk::Oversized(part)) if !part.ends_with(b"\n") => continue,
                Some(Chunk::Oversized(_)) => Some(Line::TooLong),
                Some(Chunk::Lines(line)) if line.len() > self.limit => Some(Line::TooLong),
                Some(Chunk::Lines(line)) => Some(Line::Whole(line)),
                Some(Chunk::Unfinished(line)) => Some(Line::Unfinished(line)),
                None => std::mem::take(&mut self.in_oversized).then_some(Line::TooLong),
            });
        }
    }

    /// Whether the last chunk left a line unfinished, so that nothing else may be written now.
    pub fn is_within_oversized(&self) -> bool {
        self.in_oversized
    }

    async fn next(
        &mut self,
        find_end: fn(u8, &[u8]) -> Option<usize>,
    ) -> io::Result<Option<Chunk>> {
        loop {
            if let Some(chunk) = self.buffered(find_end) {
                return Ok(Some(chunk));
            }
            if self.fill().await? == 0 {
                let rest = std::mem::take(&mut self.buffer);
                self.searched = 0;
                return Ok((!rest.is_empty()).then_some(Chunk::Unfinished(rest)));
            }
        }
    }

    fn buffered(&mut self, find_end: fn(u8, &[u8]) -> Option<usize>) -> Option<Chunk> {
        if self.in_oversized {
            let end = memchr(b'\n', &self.buffer);
            self.in_oversized = end.is_none();
            let length = end.map_or(self.buffer.len(), |end| end + 1);
            return (length > 0).then(|| Chunk::Oversized(self.buffer.split_to(length)));
        }
        if let Some(end) = find_end(b'\n', &self.buffer[self.searched..]) {
            let length = self.searched + end + 1;
            self.searched = 0;
            return Some(Chunk::Lines(self.buffer.split_to(length)));
        }
        self.searched = self.buffer.len();
        if self.buffer.len() > self.limit {
            (self.searched, self.in_oversized) = (0, true);
            return Some(Chunk::Oversized(self.buffer.split()));
        }
        None
    }

    async fn fill(&mut self) -> io::Result<usize> {
        // Gives back what a big message took.
        if self.buffer.is_empty() && self.buffer.capacity() > 4 * BUFFER {
            self.buffer = BytesMut::with_capacity(BUFFER);
        }
        self.buffer.reserve(BUFFER);
        self.reader.read_buf(&mut self.buffer).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::Pieces;

    const STREAM: &[u8] = b"12345\n\r\n123456\n\n1\n12345678901234\n12\nrest";

    fn bytes(text: &str) -> BytesMut {
        BytesMut::from(text)
    }

    #[tokio::test]
    async fn chunks_are_the_bytes_of_the_stream_however_they_arrive() {
        for size in 1..=STREAM.len() {
            let mut lines = Lines::new(Pieces::new(STREAM, size), 6);
            let (mut all, mut last) = (BytesMut::new(), None);
            while let Some(chunk) = lines.next_chunk().await.unwrap() {
                let (Chunk::Lines(part) | Chunk::Oversized(part) | Chunk::Unfinished(part)) =
                    &chunk;
                all.extend_from_slice(part);
                assert!(!matches!(&chunk, Chunk::Lines(part) if !part.ends_with(b"\n")));
                last = Some(chunk);
            }
            assert_eq!(all, STREAM, "in pieces of {size}");
            assert_eq!(last, Some(Chunk::Unfinished(bytes("rest"))), "in pieces of {size}");
        }
    }

    #[tokio::test]
    async fn a_chunk_holds_all_lines_that_have_arrived() {
        let mut lines = Lines::new(&b"one\ntwo\nthr"[..], 100);
        assert_eq!(lines.next_chunk().await.unwrap(), Some(Chunk::Lines(bytes("one\ntwo\n"))));
    }

    #[tokio::test]
    async fn an_oversized_line_comes_in_parts_and_the_next_one_whole() {
        let mut lines = Lines::new(Pieces::new(b"1234567890\nnext\n", 4), 6);
        let mut read = Vec::new();
        while let Some(chunk) = lines.next_chunk().await.unwrap() {
            read.push((chunk, lines.is_within_oversized()));
        }
        let oversized = |text, within| (Chunk::Oversized(bytes(text)), within);
        let next = (Chunk::Lines(bytes("next\n")), false);
        assert_eq!(read, [oversized("12345678", true), oversized("90\n", false), next]);
    }

    #[tokio::test]
    async fn lines_that_are_too_long_are_skipped() {
        for size in 1..=STREAM.len() {
            let mut lines = Lines::new(Pieces::new(STREAM, size), 6);
            let mut read = Vec::new();
            while let Some(line) = lines.next_line().await.unwrap() {
                read.push(line);
            }
            let whole = |text| Line::Whole(bytes(text));
            let expected = [
                whole("12345\n"),
                whole("\r\n"),
                Line::TooLong,
                whole("\n"),
                whole("1\n"),
                Line::TooLong,
                whole("12\n"),
                Line::Unfinished(bytes("rest")),
            ];
            assert_eq!(read, expected, "in pieces of {size}");
        }
        let mut endless = Lines::new(&b"1234567"[..], 6);
        assert_eq!(endless.next_line().await.unwrap(), Some(Line::TooLong));
        assert_eq!(endless.next_line().await.unwrap(), None);
    }
}
