//! One server for many clients on standard streams.
//!
//! A `serve --http` is also a [`host`]: it listens on a socket in a [`place`] that is the user's
//! alone. A `serve` on standard streams knocks there ([`attach`]), says what it is and wants
//! ([`hello`]), and if it is let in opens no room of its own: it carries lines ([`relay`]) and
//! remembers what it would have to say again ([`journal`]) to a server in its own process, if the
//! host goes away.

mod attach;
mod hello;
mod host;
mod journal;
mod place;
mod relay;

pub(super) use self::attach::attached;
pub(in crate::commands) use self::attach::{Seen, look};
pub(super) use self::host::Host;
