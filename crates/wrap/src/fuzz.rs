//! The proxy on byte slices instead of pipes, for fuzzing.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use kenning_gaps::contract::Offer;
use kenning_gaps::native::NativeIntent;
use kenning_gaps::{Identity, Redactor};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

use crate::NullSink;
use crate::capture::Capture;
use crate::interceptor::Interceptor;
use crate::relay;

/// What arrived at each end.
#[derive(Debug, PartialEq, Eq)]
pub struct Passed {
    pub to_server: Vec<u8>,
    pub to_client: Vec<u8>,
    /// How many lines for the client are our own answers.
    pub answered: usize,
}

/// Relays all of a client's bytes, in pieces of `size`, and then all of a server's.
pub fn pass(client: &[u8], server: &[u8], size: usize, offer: Offer) -> Passed {
    static CAPTURE: OnceLock<Arc<Capture>> = OnceLock::new();
    let capture = CAPTURE.get_or_init(|| {
        Capture::start("fuzz".into(), Identity::default(), Redactor::default(), Arc::new(NullSink))
    });
    let interceptor = Interceptor::new(offer, NativeIntent::default(), capture.clone());
    let (answers, mut answered) = mpsc::channel(1 + client.len());
    let mut passed = Passed { to_server: Vec::new(), to_client: Vec::new(), answered: 0 };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime without drivers can be made");
    let outcome = runtime.block_on(async {
        let reader = Pieces::new(client, size);
        relay::to_server(reader, &mut passed.to_server, &interceptor, answers).await?;
        let (ours, waiting) = mpsc::channel(1 + client.len());
        while let Some(answer) = answered.recv().await {
            passed.answered += memchr::memchr_iter(b'\n', &answer).count();
            let _ = ours.try_send(answer);
        }
        let reader = Pieces::new(server, size);
        relay::to_client(reader, &mut passed.to_client, &interceptor, waiting).await
    });
    outcome.expect("memory can be read and written");
    interceptor.server_ended();
    passed
}

/// Bytes that arrive in pieces of a size.
pub(crate) struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(bytes: &'a [u8], size: usize) -> Self {
        Self { rest: bytes, size }
    }
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
