//! Our own standard streams, without a thread in between where that can be had.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;

use memchr::memchr;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// The client's side of the traffic.
pub(crate) struct Streams {
    pub(crate) reader: Pin<Box<dyn AsyncRead + Send>>,
    pub(crate) writer: Pin<Box<dyn AsyncWrite + Send>>,
}

pub(crate) fn open() -> io::Result<Streams> {
    Ok(Streams { reader: reader()?, writer: writer()? })
}

/// Pipes and sockets are what clients use; they can be waited for. Anything else (a file, a
/// terminal) is read by a thread.
fn reader() -> io::Result<Pin<Box<dyn AsyncRead + Send>>> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    match kind(&stdin)? {
        FileType::Fifo => {
            if let Some(own) = reopened(0, OFlags::RDONLY) {
                return Ok(Box::pin(pipe::Receiver::from_file(own)?));
            }
        }
        FileType::Socket => return Ok(Box::pin(socket(stdin)?)),
        _ => {}
    }
    Ok(Box::pin(tokio::io::stdin()))
}

fn writer() -> io::Result<Pin<Box<dyn AsyncWrite + Send>>> {
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    match kind(&stdout)? {
        FileType::Fifo => {
            if let Some(own) = reopened(1, OFlags::WRONLY) {
                return Ok(Box::pin(pipe::Sender::from_file(own)?));
            }
        }
        FileType::Socket => return Ok(Box::pin(socket(stdout)?)),
        _ => {}
    }
    Ok(Box::pin(tokio::io::stdout()))
}

fn kind(stream: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(stream)?.st_mode))
}

/// A pipe of ours to the same end: that it does not block must not be seen by others who have it.
fn reopened(number: u8, mode: OFlags) -> Option<File> {
    let path = format!("/proc/self/fd/{number}");
    let flags = mode | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok().map(File::from)
}

fn socket(stream: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdUnixStream::from(stream);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// What was read of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole,
    /// It was skipped.
    TooLong,
    End,
}

/// Reads a line with its end, unless it is longer than `limit`.
pub(crate) async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    limit: usize,
) -> io::Result<Line> {
    line.clear();
    let mut is_too_long = false;
    loop {
        let piece = reader.fill_buf().await?;
        if piece.is_empty() && line.is_empty() && !is_too_long {
            return Ok(Line::End);
        }
        let end = memchr(b'\n', piece);
        let length = end.map_or(piece.len(), |end| end + 1);
        is_too_long |= line.len() + length > limit;
        if is_too_long {
            *line = Vec::new();
        } else {
            line.extend_from_slice(&piece[..length]);
        }
        let ended = end.is_some() || piece.is_empty();
        reader.consume(length);
        if ended {
            return Ok(if is_too_long { Line::TooLong } else { Line::Whole });
        }
    }
}

/// Whether nobody can read what we write any more.
pub(crate) fn reader_is_gone() -> bool {
    let stdout = io::stdout();
    let mut streams = [PollFd::new(&stdout, PollFlags::empty())];
    let nothing = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut streams, Some(&nothing)) {
        Ok(_) => streams[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_that_are_too_long_are_skipped() {
        let mut reader =
            tokio::io::BufReader::with_capacity(3, &b"12345\n123456\n\n1\n1234567"[..]);
        let mut line = Vec::new();
        let mut seen = Vec::new();
        loop {
            let read = read_line(&mut reader, &mut line, 6).await.unwrap();
            if read == Line::End {
                break;
            }
            seen.push((read, String::from_utf8(line.clone()).unwrap()));
        }
        let whole = |text: &str| (Line::Whole, text.to_owned());
        let skipped = || (Line::TooLong, String::new());
        assert_eq!(seen, [whole("12345\n"), skipped(), whole("\n"), whole("1\n"), skipped()]);
    }
}
