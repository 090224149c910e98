//! Bytes between a client and a wrapped server.

use kenning_gaps::contract::Offer;
use kenning_wrap::fuzz::{Passed, pass};

use crate::SEPARATOR;

const NOTHING: Offer = Offer { tool: false, intent: false };

/// An input has three parts: its first part's length is the size of the pieces that the server's
/// bytes arrive in, then come the client's bytes and the server's.
///
/// Without the contract every byte passes unchanged. With it no line is lost or added except answers
/// of the one tool that the proxy serves, and a line that was changed is still JSON.
pub(crate) fn proxy(bytes: &[u8]) {
    let mut sides = bytes.splitn(3, |&byte| byte == SEPARATOR);
    let (size, client) = (sides.next().unwrap_or_default(), sides.next().unwrap_or_default());
    let server = sides.next().unwrap_or_default();
    let size = size.len().max(1);

    let bare = pass(client, server, size, NOTHING);
    assert_eq!(bare.to_server, client, "client to server");
    if !hides(server) {
        assert_eq!(bare.to_client, server, "server to client");
    }

    let whole = pass(client, server, usize::MAX, Offer::default());
    let pieces = pass(client, server, size, Offer::default());
    assert_eq!(pieces.to_server, whole.to_server, "pieces must make no difference");
    check_lines(client, server, &whole);
}

/// Whether tool descriptions may contain hidden characters, which the proxy escapes.
fn hides(server: &[u8]) -> bool {
    !server.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r'))
        || server.contains(&b'\\')
}

fn check_lines(client: &[u8], server: &[u8], passed: &Passed) {
    let lines = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').count() - 1;
    assert!(lines(&passed.to_server) <= lines(client), "lines were added");
    assert_eq!(lines(&passed.to_client), lines(server) + passed.answered, "lines were lost");
    let known: Vec<&[u8]> = client.split(|&byte| byte == b'\n').collect();
    for line in passed.to_server.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let is_json = || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
        assert!(known.contains(&line) || is_json(), "{}", String::from_utf8_lossy(line));
    }
}
