//! Throttling of addresses that present invalid tokens.
//!
//! Guessing 256 bits is hopeless, but every attempt costs a query and a line in the log. So after a
//! few invalid tokens an address has to wait, longer each time. Tokens that were valid before are
//! accepted all the same, because behind a proxy all clients share one address.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hash;

/// Invalid tokens from one address within [`WINDOW`], after which it has to wait.
const MAX_FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);
const FIRST_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_mins(15);
/// Addresses in memory; the one that was quiet for longest is evicted first.
const ADDRESSES: usize = 4_096;
/// Valid tokens in memory.
const TOKENS: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct LoginThrottle {
    history: Mutex<History>,
}

#[derive(Debug, Default)]
struct History {
    addresses: HashMap<IpAddr, Attempts>,
    /// Hashes of tokens that were valid.
    valid: HashSet<Hash>,
}

#[derive(Debug)]
struct Attempts {
    failures: u32,
    since: Instant,
    last: Instant,
    until: Option<Instant>,
    next_wait: Duration,
}

impl LoginThrottle {
    /// How long this address has to wait before it may present this token.
    pub(crate) fn wait(&self, from: IpAddr, token: Option<&str>, now: Instant) -> Option<Duration> {
        let history = self.history();
        let until = history.addresses.get(&network(from))?.until?;
        let wait = until.checked_duration_since(now).filter(|wait| !wait.is_zero())?;
        let was_valid = token.is_some_and(|token| history.valid.contains(&hash(token)));
        (!was_valid).then_some(wait)
    }

    pub(crate) fn succeeded(&self, token: &str) {
        let mut history = self.history();
        if history.valid.len() >= TOKENS {
            history.valid.clear();
        }
        history.valid.insert(hash(token));
    }

    /// Counts an invalid token. Returns whether the address has to wait from now on.
    pub(crate) fn failed(&self, from: IpAddr, token: Option<&str>, now: Instant) -> bool {
        let mut history = self.history();
        if let Some(token) = token {
            history.valid.remove(&hash(token));
        }
        let from = network(from);
        if history.addresses.len() >= ADDRESSES && !history.addresses.contains_key(&from) {
            history.evict();
        }
        history.addresses.entry(from).or_insert_with(|| Attempts::new(now)).failed(now)
    }

    /// A panic elsewhere must neither grant nor block access.
    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn evict(&mut self) {
        let quietest = self.addresses.iter().min_by_key(|(_, attempts)| attempts.last);
        if let Some(address) = quietest.map(|(address, _)| *address) {
            self.addresses.remove(&address);
        }
    }
}

impl Attempts {
    fn new(now: Instant) -> Self {
        Self { failures: 0, since: now, last: now, until: None, next_wait: FIRST_WAIT }
    }

    fn failed(&mut self, now: Instant) -> bool {
        if now.duration_since(self.last) > LONGEST_WAIT {
            *self = Self::new(now);
        }
        if now.duration_since(self.since) > WINDOW {
            (self.failures, self.since) = (0, now);
        }
        self.last = now;
        self.failures += 1;
        if self.failures < MAX_FAILURES {
            return false;
        }
        self.until = Some(now + self.next_wait);
        self.next_wait = (2 * self.next_wait).min(LONGEST_WAIT);
        (self.failures, self.since) = (0, now);
        true
    }
}

fn hash(token: &str) -> Hash {
    blake3::hash(token.trim().as_bytes())
}

/// An IPv6 client usually has a whole /64, so that counts as one address.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        IpAddr::V4(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn guess_until_throttled(throttle: &LoginThrottle, from: IpAddr, now: Instant) -> u32 {
        (1..=100)
            .find(|_| throttle.failed(from, Some("kng_x"), now))
            .expect("the address is throttled")
    }

    #[test]
    fn throttles_only_the_address_that_guesses_tokens() {
        let (throttle, now) = (LoginThrottle::default(), Instant::now());
        throttle.succeeded("known");
        assert_eq!(guess_until_throttled(&throttle, HERE, now), MAX_FAILURES);
        assert_eq!(throttle.wait(HERE, Some("another"), now), Some(FIRST_WAIT));
        assert_eq!(throttle.wait(HERE, None, now), Some(FIRST_WAIT));
        assert_eq!(throttle.wait(HERE, Some("known"), now), None, "it was valid before");
        assert_eq!(throttle.wait(THERE, Some("another"), now), None);
        assert_eq!(throttle.wait(HERE, Some("another"), now + FIRST_WAIT), None, "it is over");
    }

    #[test]
    fn the_wait_doubles_up_to_a_limit_and_is_reset_after_a_quiet_time() {
        let (throttle, mut now) = (LoginThrottle::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..7 {
            guess_until_throttled(&throttle, HERE, now);
            let wait = throttle.wait(HERE, None, now).expect("it has to wait");
            waits.push(wait.as_secs());
            now += wait;
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 900, 900]);
        now += LONGEST_WAIT + WINDOW;
        guess_until_throttled(&throttle, HERE, now);
        assert_eq!(throttle.wait(HERE, None, now), Some(FIRST_WAIT));
    }

    #[test]
    fn occasional_mistakes_are_not_throttled() {
        let (throttle, mut now) = (LoginThrottle::default(), Instant::now());
        for _ in 0..50 {
            assert!(!throttle.failed(HERE, None, now));
            now += WINDOW / 5;
        }
        assert_eq!(throttle.wait(HERE, None, now), None);
    }

    #[test]
    fn a_revoked_token_is_throttled_like_a_guess() {
        let (throttle, now) = (LoginThrottle::default(), Instant::now());
        throttle.succeeded("revoked");
        throttle.failed(HERE, Some("revoked"), now);
        guess_until_throttled(&throttle, HERE, now);
        assert!(throttle.wait(HERE, Some("revoked"), now).is_some());
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_addresses() {
        let (throttle, now) = (LoginThrottle::default(), Instant::now());
        for n in 0..3 * u32::try_from(ADDRESSES).expect("it is small") {
            throttle.failed(
                IpAddr::from(n.to_be_bytes()),
                None,
                now + Duration::from_millis(n.into()),
            );
            throttle.succeeded(&n.to_string());
        }
        let history = throttle.history();
        assert!(history.addresses.len() <= ADDRESSES && history.valid.len() <= TOKENS);
        let first = IpAddr::from(0_u32.to_be_bytes());
        assert!(!history.addresses.contains_key(&first), "the quietest is evicted first");
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(network(address("2001:db8::1")), network(address("2001:db8::ffff:1")));
        assert_ne!(network(address("2001:db8::1")), network(address("2001:db8:0:1::1")));
        assert_eq!(network(address("::ffff:192.0.2.1")), HERE);
    }
}
