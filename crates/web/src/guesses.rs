//! Tokens that were tried and are none.
//!
//! Nobody guesses 256 bits; but whoever tries costs a look into the store each time, and fills the
//! log. So after a few wrong tokens an address has to wait, longer each time. Tokens that have
//! opened the door before go on doing so: behind a proxy everybody has the same address.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hash;

/// Wrong tokens of one address within [`WINDOW`], after which it has to wait.
const ENOUGH: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);
const FIRST_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_mins(15);
/// Addresses that are remembered; the one that was quiet for longest is forgotten first.
const ADDRESSES: usize = 4_096;
/// Good tokens that are remembered.
const TOKENS: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct Guesses {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    addresses: HashMap<IpAddr, Tries>,
    /// Hashes of tokens that were good.
    good: HashSet<Hash>,
}

#[derive(Debug)]
struct Tries {
    wrong: u32,
    since: Instant,
    last: Instant,
    until: Option<Instant>,
    next_wait: Duration,
}

impl Guesses {
    /// How long this address has to wait before it may show this token.
    pub(crate) fn wait(&self, from: IpAddr, token: Option<&str>, now: Instant) -> Option<Duration> {
        let seen = self.seen();
        let until = seen.addresses.get(&network(from))?.until?;
        let wait = until.checked_duration_since(now).filter(|wait| !wait.is_zero())?;
        let was_good = token.is_some_and(|token| seen.good.contains(&hash(token)));
        (!was_good).then_some(wait)
    }

    pub(crate) fn right(&self, token: &str) {
        let mut seen = self.seen();
        if seen.good.len() >= TOKENS {
            seen.good.clear();
        }
        seen.good.insert(hash(token));
    }

    /// Notes a wrong token. Says whether the address has to wait from now on.
    pub(crate) fn wrong(&self, from: IpAddr, token: Option<&str>, now: Instant) -> bool {
        let mut seen = self.seen();
        if let Some(token) = token {
            seen.good.remove(&hash(token));
        }
        let from = network(from);
        if seen.addresses.len() >= ADDRESSES && !seen.addresses.contains_key(&from) {
            seen.forget_one();
        }
        seen.addresses.entry(from).or_insert_with(|| Tries::new(now)).wrong(now)
    }

    /// A panic elsewhere must not open the door, nor close it.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn forget_one(&mut self) {
        let quietest = self.addresses.iter().min_by_key(|(_, tries)| tries.last);
        if let Some(address) = quietest.map(|(address, _)| *address) {
            self.addresses.remove(&address);
        }
    }
}

impl Tries {
    fn new(now: Instant) -> Self {
        Self { wrong: 0, since: now, last: now, until: None, next_wait: FIRST_WAIT }
    }

    fn wrong(&mut self, now: Instant) -> bool {
        if now.duration_since(self.last) > LONGEST_WAIT {
            *self = Self::new(now);
        }
        if now.duration_since(self.since) > WINDOW {
            (self.wrong, self.since) = (0, now);
        }
        self.last = now;
        self.wrong += 1;
        if self.wrong < ENOUGH {
            return false;
        }
        self.until = Some(now + self.next_wait);
        self.next_wait = (2 * self.next_wait).min(LONGEST_WAIT);
        (self.wrong, self.since) = (0, now);
        true
    }
}

fn hash(token: &str) -> Hash {
    blake3::hash(token.trim().as_bytes())
}

/// Whoever has one address of IPv6 has the 2⁶⁴ around it.
fn network(address: IpAddr) -> IpAddr {
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

    fn guess_until_stopped(guesses: &Guesses, from: IpAddr, now: Instant) -> u32 {
        (1..=100).find(|_| guesses.wrong(from, Some("kng_x"), now)).expect("it is stopped")
    }

    #[test]
    fn who_guesses_has_to_wait_and_nobody_else() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        guesses.right("known");
        assert_eq!(guess_until_stopped(&guesses, HERE, now), ENOUGH);
        assert_eq!(guesses.wait(HERE, Some("another"), now), Some(FIRST_WAIT));
        assert_eq!(guesses.wait(HERE, None, now), Some(FIRST_WAIT));
        assert_eq!(guesses.wait(HERE, Some("known"), now), None, "it was good before");
        assert_eq!(guesses.wait(THERE, Some("another"), now), None);
        assert_eq!(guesses.wait(HERE, Some("another"), now + FIRST_WAIT), None, "it is over");
    }

    #[test]
    fn the_wait_grows_and_is_forgotten() {
        let (guesses, mut now) = (Guesses::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..7 {
            guess_until_stopped(&guesses, HERE, now);
            let wait = guesses.wait(HERE, None, now).expect("it has to wait");
            waits.push(wait.as_secs());
            now += wait;
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 900, 900]);
        now += LONGEST_WAIT + WINDOW;
        guess_until_stopped(&guesses, HERE, now);
        assert_eq!(guesses.wait(HERE, None, now), Some(FIRST_WAIT));
    }

    #[test]
    fn a_few_mistakes_are_nothing() {
        let (guesses, mut now) = (Guesses::default(), Instant::now());
        for _ in 0..50 {
            assert!(!guesses.wrong(HERE, None, now));
            now += WINDOW / 5;
        }
        assert_eq!(guesses.wait(HERE, None, now), None);
    }

    #[test]
    fn a_token_that_was_revoked_is_as_good_as_a_guess() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        guesses.right("revoked");
        guesses.wrong(HERE, Some("revoked"), now);
        guess_until_stopped(&guesses, HERE, now);
        assert!(guesses.wait(HERE, Some("revoked"), now).is_some());
    }

    #[test]
    fn many_addresses_take_no_more_memory() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        for n in 0..3 * u32::try_from(ADDRESSES).expect("it is small") {
            guesses.wrong(
                IpAddr::from(n.to_be_bytes()),
                None,
                now + Duration::from_millis(n.into()),
            );
            guesses.right(&n.to_string());
        }
        let seen = guesses.seen();
        assert!(seen.addresses.len() <= ADDRESSES && seen.good.len() <= TOKENS);
        let first = IpAddr::from(0_u32.to_be_bytes());
        assert!(!seen.addresses.contains_key(&first), "the quietest went first");
    }

    #[test]
    fn addresses_of_one_network_are_one() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(network(address("2001:db8::1")), network(address("2001:db8::ffff:1")));
        assert_ne!(network(address("2001:db8::1")), network(address("2001:db8:0:1::1")));
        assert_eq!(network(address("::ffff:192.0.2.1")), HERE);
    }
}
