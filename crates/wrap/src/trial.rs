//! The proxy without its pipes, for those who try to break it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use kenning_gaps::contract::Offer;
use kenning_gaps::native::NativeIntent;
use kenning_gaps::{Identity, Redactor};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

use crate::Nowhere;
use crate::capture::Capture;
use crate::front::Front;
use crate::relay;

/// What came out at either end.
#[derive(Debug, PartialEq, Eq)]
pub struct Passed {
    pub to_server: Vec<u8>,
    pub to_client: Vec<u8>,
    /// Lines among those for the client that are ours.
    pub answered: usize,
}

/// Everything a client says goes by, in pieces of a size, and then everything a server says.
pub fn pass(client: &[u8], server: &[u8], size: usize, offer: Offer) -> Passed {
    static CAPTURE: OnceLock<Arc<Capture>> = OnceLock::new();
    let capture = CAPTURE.get_or_init(|| {
        Capture::start("trial".into(), Identity::default(), Redactor::default(), Arc::new(Nowhere))
    });
    let front = Front::new(offer, NativeIntent::default(), capture.clone());
    let (answers, mut answered) = mpsc::channel(1 + client.len());
    let mut passed = Passed { to_server: Vec::new(), to_client: Vec::new(), answered: 0 };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime without drivers can be made");
    let outcome = runtime.block_on(async {
        let reader = Pieces { rest: client, size };
        relay::to_server(reader, &mut passed.to_server, &front, answers).await?;
        let (ours, waiting) = mpsc::channel(1 + client.len());
        while let Some(answer) = answered.recv().await {
            passed.answered += memchr::memchr_iter(b'\n', &answer).count();
            let _ = ours.try_send(answer);
        }
        let reader = Pieces { rest: server, size };
        relay::to_client(reader, &mut passed.to_client, &front, waiting).await
    });
    outcome.expect("memory can be read and written");
    front.server_ended();
    passed
}

/// Bytes that come a piece at a time.
struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let length = self.rest.len().min(self.size).min(buffer.remaining());
        let (piece, rest) = self.rest.split_at(length);
        buffer.put_slice(piece);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}
