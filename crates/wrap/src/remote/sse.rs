//! Server-sent events, as far as MCP needs them.

use std::time::Duration;

use memchr::memchr2;

use crate::MAX_MESSAGE;

/// An event: its data, and the id to resume after it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) data: String,
    pub(super) id: Option<String>,
}

/// Parses a stream that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    after_return: bool,
    event: Event,
    has_data: bool,
    /// How long the server wants a client to wait before it reconnects.
    pub(super) retry: Option<Duration>,
}

impl Parser {
    /// Returns the events that a piece completes.
    pub(super) fn push(&mut self, mut piece: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        if self.after_return && !piece.is_empty() {
            self.after_return = false;
            piece = piece.strip_prefix(b"\n").unwrap_or(piece);
        }
        while let Some(end) = memchr2(b'\n', b'\r', piece) {
            self.line.extend_from_slice(&piece[..end]);
            events.extend(self.end_of_line());
            let rest = &piece[end + 1..];
            // The `\n` of a `\r\n` may be in the next piece.
            self.after_return = piece[end] == b'\r' && rest.is_empty();
            let is_pair = piece[end] == b'\r' && rest.starts_with(b"\n");
            piece = &rest[usize::from(is_pair)..];
        }
        self.line.extend_from_slice(piece);
        events
    }

    /// Whether the unfinished event is larger than a message may be.
    pub(super) fn overflows(&self) -> bool {
        self.line.len() + self.event.data.len() > MAX_MESSAGE
    }

    fn end_of_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_start_matches('\u{feff}');
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            // An id without data still marks where to resume.
            let is_event = std::mem::take(&mut self.has_data) || event.id.is_some();
            return is_event.then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stream: &str, expected: &[(&str, Option<&str>)]) {
        for size in 1..=stream.len() {
            let mut parser = Parser::default();
            let pieces = stream.as_bytes().chunks(size);
            let events: Vec<Event> = pieces.flat_map(|piece| parser.push(piece)).collect();
            let read: Vec<(&str, Option<&str>)> =
                events.iter().map(|event| (event.data.as_str(), event.id.as_deref())).collect();
            assert_eq!(read, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn empty_lines_end_events() {
        check("data: {}\n\n", &[("{}", None)]);
        check(
            "id: 7\r\ndata:a\r\ndata: b\r\n\r\ndata: c\r\n\r\n",
            &[("a\nb", Some("7")), ("c", None)],
        );
        check(": still here\n\nevent: message\ndata: é\n\n", &[("é", None)]);
        check("id: 1\ndata:\n\ndata: x", &[("", Some("1"))]);
        check("data: a\r\rdata: b\r\r", &[("a", None), ("b", None)]);
    }

    #[test]
    fn the_server_sets_the_retry_delay() {
        let mut parser = Parser::default();
        parser.push(b"retry: 250\nretry: soon\n\n");
        assert_eq!(parser.retry, Some(Duration::from_millis(250)));
    }
}
