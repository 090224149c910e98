//! Whose turn it is on a connection, and since when.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::ConnectionLimits;

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The client is to finish the head of a request.
    Head,
    /// The client is to finish the body of a request.
    Body,
    /// The client may send another request.
    Idle,
    /// The server is to answer, or streams an answer.
    Server,
}

#[derive(Debug, Clone, Copy)]
struct State {
    turn: Turn,
    since: Instant,
    /// Since when the client has read nothing of an answer, though there is something to read.
    unread_since: Option<Instant>,
}

impl State {
    fn has_stale_head(&self, now: Instant) -> bool {
        self.turn == Turn::Head && now.saturating_duration_since(self.since) > STALE
    }
}

#[derive(Debug)]
pub(super) struct Activity(Mutex<State>);

/// How much a connection deserves to be closed in favour of another one: larger is more.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct Claim {
    /// A head comes in one piece or nearly so. One that does not is seldom a client of good will.
    is_stale_head: bool,
    /// How much of its deadline the client has used.
    used: f64,
}

/// A head that takes longer than this is stale.
pub(super) const STALE: Duration = Duration::from_secs(1);
/// A body of a client of good will may take so much of its deadline before it has to make room.
const BODY_SHARE: f64 = 0.2;

impl Activity {
    /// A new connection, on which the client is to send a head.
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(State { turn: Turn::Head, since: now, unread_since: None }))
    }

    pub(super) fn received_bytes(&self) {
        self.change(|state, now| {
            if state.turn == Turn::Idle {
                (state.turn, state.since) = (Turn::Head, now);
            }
        });
    }

    pub(super) fn received_head(&self) {
        self.set(Turn::Body);
    }

    /// The body was received, or the handler dropped it.
    pub(super) fn received_body(&self) {
        self.change(|state, now| {
            if state.turn == Turn::Body {
                (state.turn, state.since) = (Turn::Server, now);
            }
        });
    }

    pub(super) fn answered(&self) {
        self.set(Turn::Idle);
    }

    /// Whether the client took what it was sent.
    pub(super) fn wrote(&self, taken: bool) {
        self.change(|state, now| match (taken, state.unread_since) {
            (true, _) => state.unread_since = None,
            (false, None) => state.unread_since = Some(now),
            (false, Some(_)) => {}
        });
    }

    pub(super) fn is_overdue(&self, limits: &ConnectionLimits) -> bool {
        let (state, now) = (self.state(), Instant::now());
        let unread = state
            .unread_since
            .is_some_and(|since| now.saturating_duration_since(since) > limits.body);
        // A body that is late is answered first; this is for a handler that does not read it.
        let most = if state.turn == Turn::Body { 2.0 } else { 1.0 };
        unread || used(&state, limits, now).is_some_and(|used| used > most)
    }

    /// Whether the client has been sending a head for longer than one takes.
    pub(super) fn has_stale_head(&self) -> bool {
        self.state().has_stale_head(Instant::now())
    }

    /// `None` if it is the server's turn: such a connection does not have to make room.
    pub(super) fn claim(&self, limits: &ConnectionLimits, now: Instant) -> Option<Claim> {
        let state = self.state();
        let used = used(&state, limits, now)?;
        if state.turn == Turn::Body && used < BODY_SHARE {
            return None;
        }
        Some(Claim { is_stale_head: state.has_stale_head(now), used })
    }

    fn set(&self, turn: Turn) {
        self.change(|state, now| (state.turn, state.since) = (turn, now));
    }

    fn change(&self, change: impl FnOnce(&mut State, Instant)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
    }

    fn state(&self) -> State {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How much of its deadline the client has used; `None` if it is the server's turn.
fn used(state: &State, limits: &ConnectionLimits, now: Instant) -> Option<f64> {
    let deadline = match state.turn {
        Turn::Head => limits.head,
        Turn::Body => limits.body,
        // An answer is complete for us before the client has read it.
        Turn::Idle if state.unread_since.is_some() => return None,
        Turn::Idle => limits.idle,
        Turn::Server => return None,
    };
    Some(now.saturating_duration_since(state.since).as_secs_f64() / deadline.as_secs_f64())
}
