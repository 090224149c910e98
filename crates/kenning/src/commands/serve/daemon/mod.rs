//! One server for many clients on standard streams.
//!
//! A `serve --http` is also a [`host`]: it listens on a [`socket`] in a folder that only its user can
//! reach. A `serve` on standard streams connects to it ([`attach`]) and, if the [`handshake`] shows
//! that it would get the answers of a server of its own, opens no knowledge base and no store: it
//! [`relay`]s lines. A [`journal`] holds what it would have to repeat to a server in its own process
//! if the host goes away.

mod attach;
mod handshake;
mod host;
mod journal;
mod relay;
mod socket;

pub(super) use self::attach::attached;
pub(in crate::commands) use self::attach::{HostStatus, probe};
pub(super) use self::host::Host;
