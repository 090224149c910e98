//! Messages as lines, each answered even if it cannot be read.
//!
//! The SDK's own transport drops a line that it cannot parse, and the client waits for an answer that
//! never comes.

use std::io;
use std::pin::Pin;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader, Empty};

use crate::unreadable;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub(crate) struct LineTransport<R, W: AsyncWrite> {
    input: BufReader<R>,
    max_line: usize,
    /// What has been read of the next line. Kept here because reading may be cancelled at any time.
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is skipped.
    is_skipping: bool,
    /// The answer to a line that could not be read, while it is sent.
    reply: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
    /// The SDK's transport, for what it sends.
    output: AsyncRwTransport<RoleServer, Empty, W>,
}

/// What is done with a line.
enum Parsed {
    Message(Box<ClientJsonRpcMessage>),
    /// Not to be answered.
    Ignored,
    Refused(Box<ServerJsonRpcMessage>),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    pub(crate) fn new(reader: R, writer: W, max_line: usize) -> Self {
        Self {
            input: BufReader::new(reader),
            max_line,
            line: Vec::new(),
            is_skipping: false,
            reply: None,
            output: AsyncRwTransport::new_server(tokio::io::empty(), writer),
        }
    }

    /// Reads until `line` holds a whole one; `false` at the end of the input. An unfinished last line
    /// is dropped, and one that is too long skipped.
    async fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(false);
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |at| at + 1);
            if !self.is_skipping && self.line.len() + taken <= self.max_line {
                self.line.extend_from_slice(&available[..taken]);
            } else if !self.is_skipping {
                tracing::error!("a message of more than {} bytes is skipped", self.max_line);
                self.line.clear();
                self.is_skipping = true;
            }
            self.input.consume(taken);
            if newline.is_some() && !std::mem::take(&mut self.is_skipping) {
                return Ok(true);
            }
        }
    }
}

fn parse(line: &[u8]) -> Parsed {
    let line = line.trim_ascii();
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    if line.is_empty() {
        return Parsed::Ignored;
    }
    match serde_json::from_slice(line) {
        Ok(message) => Parsed::Message(Box::new(message)),
        Err(error) if unreadable::is_notification(line) => {
            tracing::debug!(%error, "a notification cannot be read and is ignored");
            Parsed::Ignored
        }
        Err(error) => Parsed::Refused(Box::new(unreadable::answer(line, &error))),
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.output.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(reply) = &mut self.reply {
                reply.await.ok()?;
                self.reply = None;
            }
            match self.read_line().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    tracing::error!(%error, "the client's messages cannot be read any more");
                    return None;
                }
            }
            let parsed = parse(&self.line);
            self.line.clear();
            match parsed {
                Parsed::Message(message) => return Some(*message),
                Parsed::Ignored => {}
                Parsed::Refused(answer) => self.reply = Some(Box::pin(self.output.send(*answer))),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.close().await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};

    use super::*;

    /// Sends lines, and returns the methods that arrived and all that was answered.
    async fn exchange(lines: &[&str], max_line: usize) -> (Vec<Value>, String) {
        let (mut client, ours) = duplex(1_000_000);
        for line in lines {
            client.write_all(line.as_bytes()).await.unwrap();
            client.write_all(b"\n").await.unwrap();
        }
        client.shutdown().await.unwrap();
        let (reader, writer) = split(ours);
        let mut transport = LineTransport::new(reader, writer, max_line);
        let mut methods = Vec::new();
        while let Some(message) = transport.receive().await {
            methods.push(serde_json::to_value(message).unwrap()["method"].clone());
        }
        drop(transport);
        let mut answered = String::new();
        client.read_to_string(&mut answered).await.unwrap();
        (methods, answered)
    }

    #[tokio::test]
    async fn a_line_that_cannot_be_read_is_answered_and_the_next_one_is_read() {
        let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
        let nested =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{open}{close}}}"#);
        let ping = r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#;
        let note = r#"{"jsonrpc":"2.0","method":7}"#;
        let (methods, answered) =
            exchange(&[&nested, "not JSON", "", note, &format!("\u{feff}{ping}\r")], 300_000).await;
        assert_eq!(methods, ["ping"]);
        let answered: Vec<Value> =
            answered.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let codes: Vec<Value> =
            answered.iter().map(|one| json!([one["error"]["code"], one["id"]])).collect();
        assert_eq!(codes, [json!([-32700, 7]), json!([-32700, null])], "{answered:?}");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped() {
        let ping = r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#;
        let (methods, answered) = exchange(&[&"x".repeat(50_000), ping], 1_000).await;
        assert_eq!((methods, answered.as_str()), (vec![json!("ping")], ""));
    }
}
