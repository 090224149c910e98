//! What goes through the wrapper.

use kenning_gaps::contract::Offer;
use kenning_wrap::fuzz::{Passed, pass};

/// What parts the client's bytes from the server's in an input.
const PARTING: u8 = 0;
const NOTHING: Offer = Offer { tool: false, intent: false };

/// Without a contract every byte goes by as it was. With it no line is lost or made up but for the
/// one tool we answer, and what is changed is JSON still.
pub fn proxy(bytes: &[u8]) {
    let mut sides = bytes.splitn(3, |&byte| byte == PARTING);
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
    assert_eq!(pieces.to_server, whole.to_server, "pieces make no difference");
    check_lines(client, server, &whole);
}

/// Whether something hidden may be in what the server says of its tools, which is then shown.
fn hides(server: &[u8]) -> bool {
    !server.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r'))
        || server.contains(&b'\\')
}

fn check_lines(client: &[u8], server: &[u8], passed: &Passed) {
    let lines = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').count() - 1;
    assert!(lines(&passed.to_server) <= lines(client), "lines are made up");
    assert_eq!(lines(&passed.to_client), lines(server) + passed.answered, "lines are lost");
    let known: Vec<&[u8]> = client.split(|&byte| byte == b'\n').collect();
    for line in passed.to_server.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let is_json = || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
        assert!(known.contains(&line) || is_json(), "{}", String::from_utf8_lossy(line));
    }
}
