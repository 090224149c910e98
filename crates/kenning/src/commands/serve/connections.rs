//! How many connections the server takes, by the settings and by what the system allows.

use std::time::Duration;

use kenning_settings::Server;
use kenning_web::ConnectionLimits;

/// What is kept for files, the store, other programs' servers and clients on standard streams: at
/// least so many descriptors, and at least this share of all.
const MIN_OTHER_FILES: usize = 64;
const OTHER_FILES_SHARE: usize = 4;
/// However few descriptors there are: with fewer connections a browser cannot load a page.
const MIN_TOTAL: usize = 16;
/// Unless the settings ask for more: a connection takes some memory.
const DEFAULT_MAX: usize = 4_096;
/// Where the system does not say: the limit of most of them.
#[cfg(not(unix))]
const OPEN_FILES: usize = 1_024;

pub(super) fn connections(server: &Server) -> ConnectionLimits {
    let possible = possible(open_files());
    let total = match server.max_connections {
        0 => possible.min(DEFAULT_MAX),
        wanted if wanted > possible => {
            tracing::warn!(
                wanted,
                possible,
                "server.max_connections is more than the limit on open files allows; raise it \
                 with `ulimit -n`"
            );
            possible
        }
        wanted => wanted,
    };
    let per_address = match server.max_connections_per_address {
        0 => (total / 2).max(1),
        wanted => wanted,
    };
    ConnectionLimits {
        total,
        per_address,
        head: Duration::from_secs(server.head_timeout_seconds),
        body: Duration::from_secs(server.body_timeout_seconds),
        idle: Duration::from_secs(server.idle_timeout_seconds),
    }
}

/// How many connections so many descriptors are enough for.
fn possible(open_files: usize) -> usize {
    let others = MIN_OTHER_FILES.max(open_files / OTHER_FILES_SHARE);
    open_files.saturating_sub(others + ConnectionLimits::RESERVE).max(MIN_TOTAL)
}

#[cfg(unix)]
fn open_files() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

#[cfg(not(unix))]
fn open_files() -> usize {
    OPEN_FILES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_the_rest() {
        assert_eq!(possible(128), 48);
        assert_eq!(possible(1_024), 752);
        assert_eq!(possible(20), MIN_TOTAL);
        assert_eq!(possible(usize::MAX).min(DEFAULT_MAX), DEFAULT_MAX);
    }
}
