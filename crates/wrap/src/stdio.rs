//! This process's standard streams, without a thread in between where the kind of stream allows it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
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

/// Clients use pipes and sockets, which can be polled. Anything else (a file, a terminal) is read
/// by a thread.
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

/// The same pipe, opened again: other processes share the inherited descriptor, and must not find
/// it set to non-blocking.
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

/// Whether the other end of standard output is closed.
pub(crate) fn reader_is_gone() -> bool {
    let stdout = io::stdout();
    let mut streams = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut streams, Some(&at_once)) {
        Ok(_) => streams[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
        Err(_) => false,
    }
}
