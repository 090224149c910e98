//! Which connections there are, and which has to make room for a new one.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::ConnectionLimits;
use super::activity::Activity;
use crate::login_throttle::network;

/// How long to wait for the descriptor of a connection that has to make room.
const EVICTION: Duration = Duration::from_millis(200);
/// Between two log lines about too many connections.
const LOG_EVERY: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Regular,
    /// Only probes are answered.
    Reserve,
}

pub(super) struct Pool {
    limits: ConnectionLimits,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last_id: u64,
    connections: HashMap<u64, Entry>,
    logged: Option<Instant>,
}

struct Entry {
    address: Address,
    lane: Lane,
    activity: Arc<Activity>,
    evicted: CancellationToken,
    closed: CancellationToken,
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Address {
    network: IpAddr,
    is_here: bool,
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        Self { network: network(address), is_here: address.to_canonical().is_loopback() }
    }
}

/// A place in the pool, given back when it is dropped.
pub(super) struct Admitted {
    pub(super) lane: Lane,
    pub(super) activity: Arc<Activity>,
    /// Cancelled when the connection has to make room.
    pub(super) evicted: CancellationToken,
    closed: CancellationToken,
    id: u64,
    pool: Arc<Pool>,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.pool.open().connections.remove(&self.id);
        self.closed.cancel();
    }
}

/// What a new connection needs before it can be admitted.
enum Room {
    Free(Lane),
    /// The place of this connection.
    Of(u64, Lane),
    None,
}

impl Pool {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self { limits, open: Mutex::default() }
    }

    /// A place for a new connection; `None` if it has to be closed.
    pub(super) async fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Admitted> {
        let (admitted, evicted) = self.place(address);
        if let Some(closed) = evicted {
            // Descriptors are what is scarce, so the other connection has to be closed first.
            let _ = tokio::time::timeout(EVICTION, closed.cancelled()).await;
        }
        admitted
    }

    fn place(self: &Arc<Self>, address: IpAddr) -> (Option<Admitted>, Option<CancellationToken>) {
        let mut open = self.open();
        let address = Address::from(address);
        let room = open.room_for(address, &self.limits);
        if !matches!(room, Room::Free(Lane::Regular)) {
            open.log(address);
        }
        let (lane, evicted) = match room {
            Room::Free(lane) => (lane, None),
            Room::Of(id, lane) => (lane, open.evict(id)),
            Room::None => return (None, None),
        };
        (Some(self.add(&mut open, address, lane)), evicted)
    }

    fn add(self: &Arc<Self>, open: &mut Open, address: Address, lane: Lane) -> Admitted {
        open.last_id += 1;
        let id = open.last_id;
        let activity = Arc::new(Activity::new(Instant::now()));
        let (evicted, closed) = (CancellationToken::new(), CancellationToken::new());
        let entry = Entry {
            address,
            lane,
            activity: activity.clone(),
            evicted: evicted.clone(),
            closed: closed.clone(),
        };
        open.connections.insert(id, entry);
        Admitted { lane, activity, evicted, closed, id, pool: self.clone() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn room_for(&self, address: Address, limits: &ConnectionLimits) -> Room {
        let regular = |entry: &Entry| entry.lane == Lane::Regular;
        let of_address = |entry: &Entry| regular(entry) && entry.address == address;
        let crowded = !address.is_here && self.count(of_address) >= limits.per_address;
        if !crowded && self.count(regular) < limits.total {
            return Room::Free(Lane::Regular);
        }
        let place =
            if crowded { self.slowest(limits, of_address) } else { self.slowest(limits, regular) };
        if let Some(id) = place {
            return Room::Of(id, Lane::Regular);
        }
        let reserve = |entry: &Entry| entry.lane == Lane::Reserve;
        if self.count(reserve) < ConnectionLimits::RESERVE {
            return Room::Free(Lane::Reserve);
        }
        self.slowest(limits, reserve).map_or(Room::None, |id| Room::Of(id, Lane::Reserve))
    }

    fn count(&self, which: impl Fn(&Entry) -> bool) -> usize {
        self.connections.values().filter(|entry| which(entry)).count()
    }

    /// The one of these whose client has kept the server waiting for longest, if any does.
    fn slowest(&self, limits: &ConnectionLimits, which: impl Fn(&Entry) -> bool) -> Option<u64> {
        let now = Instant::now();
        let these = self.connections.iter().filter(|(_, entry)| which(entry));
        let claims =
            these.filter_map(|(id, entry)| Some((*id, entry.activity.claim(limits, now)?)));
        let slowest =
            claims.max_by(|(_, one), (_, other)| one.partial_cmp(other).unwrap_or(Ordering::Equal));
        slowest.map(|(id, _)| id)
    }

    /// Returns what is cancelled once the connection is closed.
    fn evict(&mut self, id: u64) -> Option<CancellationToken> {
        let entry = self.connections.remove(&id)?;
        entry.evicted.cancel();
        Some(entry.closed)
    }

    fn log(&mut self, address: Address) {
        if self.logged.is_some_and(|at| at.elapsed() < LOG_EVERY) {
            return;
        }
        self.logged = Some(Instant::now());
        tracing::warn!(
            connections = self.connections.len(),
            newest = %address.network,
            "too many connections: those whose clients send nothing make room for new ones; \
             server.max_connections and server.max_connections_per_address allow more"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits {
        total: 4,
        per_address: 2,
        head: Duration::from_secs(10),
        body: Duration::from_secs(30),
        idle: Duration::from_mins(1),
    };
    const HERE: [u8; 4] = [127, 0, 0, 1];

    fn pool() -> Arc<Pool> {
        Arc::new(Pool::new(LIMITS))
    }

    fn admit(pool: &Arc<Pool>, address: [u8; 4]) -> Option<Admitted> {
        pool.place(IpAddr::from(address)).0
    }

    /// A connection for which the server is at work.
    fn busy(pool: &Arc<Pool>, address: [u8; 4]) -> Admitted {
        let admitted = admit(pool, address).expect("room");
        admitted.activity.received_head();
        admitted.activity.received_body();
        admitted
    }

    #[test]
    fn a_client_that_keeps_the_server_waiting_makes_room() {
        let pool = pool();
        let waiting = admit(&pool, HERE).expect("room");
        let working: Vec<_> = (0..3).map(|_| busy(&pool, HERE)).collect();
        let next = busy(&pool, HERE);
        assert_eq!(next.lane, Lane::Regular);
        assert!(waiting.evicted.is_cancelled());
        assert!(working.iter().all(|working| !working.evicted.is_cancelled()));
    }

    #[test]
    fn the_reserve_is_for_when_the_server_works_for_all() {
        let pool = pool();
        let mut working: Vec<_> = (0..4).map(|_| busy(&pool, HERE)).collect();
        let reserve: Vec<_> = (0..100).filter_map(|_| admit(&pool, HERE)).collect();
        assert!(reserve.iter().all(|one| one.lane == Lane::Reserve));
        let kept = reserve.iter().filter(|one| !one.evicted.is_cancelled()).count();
        assert_eq!(kept, ConnectionLimits::RESERVE);
        working.pop();
        assert_eq!(busy(&pool, HERE).lane, Lane::Regular, "a place was given back");
    }

    #[test]
    fn one_address_cannot_take_the_places_of_others() {
        let (pool, greedy) = (pool(), [192, 0, 2, 1]);
        let working: Vec<_> = (0..2).map(|_| busy(&pool, greedy)).collect();
        assert_eq!(busy(&pool, greedy).lane, Lane::Reserve);
        assert_eq!(busy(&pool, [192, 0, 2, 2]).lane, Lane::Regular);
        drop(working);
        let silent = admit(&pool, greedy).expect("room");
        let _working = busy(&pool, greedy);
        assert_eq!(busy(&pool, greedy).lane, Lane::Regular);
        assert!(silent.evicted.is_cancelled(), "it makes room for its own address");
    }
}
