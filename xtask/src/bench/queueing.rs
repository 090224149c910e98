//! Closed and open networks of queues, solved exactly.
//!
//! Closed: so many customers go round, and wait at stations for one another (Gordon and Newell). Mean
//! values come by convolution (Buzen) rather than by recursion over the mean values (Reiser and
//! Lavenberg): both are exact and give the same numbers, but for stations with many servers the
//! recursion takes differences of numbers that are nearly alike, and the convolution only adds.
//!
//! Open: customers come at a rate, whatever is going on (Jackson), which is what very many who seldom
//! ask amount to.

/// Where customers spend time, each `demand` seconds of it in one round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Station {
    pub(super) demand: f64,
    /// How many it works on at once; `None` if nobody waits for another.
    pub(super) servers: Option<usize>,
}

impl Station {
    pub(super) fn queue(servers: usize, demand: f64) -> Self {
        Self { demand, servers: Some(servers) }
    }

    pub(super) fn delay(demand: f64) -> Self {
        Self { demand, servers: None }
    }

    /// How much more `here` customers get done than one would.
    fn speed(&self, here: usize) -> f64 {
        self.servers.map_or(here, |servers| here.min(servers)) as f64
    }
}

/// What goes on with so many customers.
#[derive(Debug, Clone)]
pub(super) struct Solved {
    /// Rounds in a second, of all customers together.
    pub(super) throughput: f64,
    /// Seconds that a round takes at each station, waiting included.
    pub(super) residence: Vec<f64>,
}

/// A closed network with `customers`, of whom there is at least one, and who do something. There may be
/// some 150 of them: beyond, the factorials of a delay leave what a float can hold.
pub(super) fn closed(stations: &[Station], customers: usize) -> Solved {
    // Sums of products of demands leave what a float can hold, unless the largest is 1.
    let unit = stations.iter().map(|station| station.demand).fold(f64::MIN_POSITIVE, f64::max);
    let weights: Vec<Vec<f64>> =
        stations.iter().map(|station| weights(*station, unit, customers)).collect();
    let all = weights.iter().fold(one(customers), |sum, station| convolved(&sum, station));
    let throughput = all[customers - 1] / all[customers] / unit;
    let residence = (0..stations.len()).map(|here| {
        let others = weights.iter().enumerate().filter(|(at, _)| *at != here);
        let others = others.fold(one(customers), |sum, (_, station)| convolved(&sum, station));
        let length = (1..=customers).map(|n| n as f64 * weights[here][n] * others[customers - n]);
        length.sum::<f64>() / all[customers] / throughput
    });
    Solved { throughput, residence: residence.collect() }
}

/// How likely each number of customers is to be at a station, but for a factor.
fn weights(station: Station, unit: f64, customers: usize) -> Vec<f64> {
    let mut weights = vec![1.0];
    for here in 1..=customers {
        weights.push(weights[here - 1] * station.demand / unit / station.speed(here));
    }
    weights
}

/// No station at all: nobody can be there.
fn one(customers: usize) -> Vec<f64> {
    let mut one = vec![0.0; customers + 1];
    one[0] = 1.0;
    one
}

fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    (0..a.len()).map(|n| (0..=n).map(|here| a[here] * b[n - here]).sum()).collect()
}

/// Seconds that a round takes if `rate` customers come in a second; `None` if a station cannot keep up.
pub(super) fn open(stations: &[Station], rate: f64) -> Option<f64> {
    stations.iter().map(|station| station.visited(rate)).sum()
}

impl Station {
    fn visited(&self, rate: f64) -> Option<f64> {
        let Some(servers) = self.servers else { return Some(self.demand) };
        let load = rate * self.demand;
        let free = servers as f64 - load;
        (free > 0.0).then(|| self.demand + waits(servers, load) * self.demand / free)
    }
}

/// How likely it is that all servers are busy when somebody comes (Erlang's C, by way of his B).
fn waits(servers: usize, load: f64) -> f64 {
    let refused = (1..=servers).fold(1.0, |b, n| load * b / (n as f64 + load * b));
    let busy = load / servers as f64;
    refused / (1.0 - busy * (1.0 - refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }

    /// One repairer of N machines, each of which works for `think` seconds: by hand, from the
    /// probabilities of so many being broken.
    fn repaired(think: f64, service: f64, servers: usize, machines: usize) -> f64 {
        let mut p = vec![1.0];
        for broken in 1..=machines {
            let rate = (machines - broken + 1) as f64 / think;
            p.push(p[broken - 1] * rate * service / broken.min(servers) as f64);
        }
        let busy = |n: usize| n.min(servers) as f64 * p[n];
        (0..=machines).map(busy).sum::<f64>() / p.iter().sum::<f64>() / service
    }

    #[test]
    fn one_station_and_those_who_think_is_the_repairer_of_machines() {
        for (servers, machines) in [(1, 1), (1, 5), (1, 64), (2, 3), (2, 64), (16, 40), (16, 128)] {
            let stations = [Station::delay(3.0), Station::queue(servers, 0.7)];
            let solved = closed(&stations, machines);
            check(solved.throughput, repaired(3.0, 0.7, servers, machines));
            check(solved.residence.iter().sum(), machines as f64 / solved.throughput);
            check(solved.residence[0], 3.0);
        }
    }

    /// N / (K + N - 1) of what one station gets done.
    #[test]
    fn stations_that_are_all_alike() {
        for (stations, customers) in [(1, 1), (2, 7), (5, 20)] {
            let solved = closed(&vec![Station::queue(1, 0.01); stations], customers);
            let expected = customers as f64 / (stations + customers - 1) as f64 / 0.01;
            check(solved.throughput, expected);
        }
    }

    /// By the recursion over mean values.
    #[test]
    fn it_gives_what_mean_value_analysis_gives() {
        let demands = [0.004, 0.009, 0.001];
        let stations: Vec<Station> = demands.map(|demand| Station::queue(1, demand)).to_vec();
        let mut lengths = [0.0; 3];
        for customers in 1..=50 {
            let times: [f64; 3] = std::array::from_fn(|at| demands[at] * (1.0 + lengths[at]));
            let throughput = f64::from(customers) / (times.iter().sum::<f64>() + 0.02);
            lengths = times.map(|time| time * throughput);
            let mut with_delay = stations.clone();
            with_delay.push(Station::delay(0.02));
            let solved = closed(&with_delay, usize::try_from(customers).unwrap());
            check(solved.throughput, throughput);
            for (found, expected) in solved.residence.iter().zip(times) {
                check(*found, expected);
            }
        }
    }

    #[test]
    fn no_more_gets_done_than_the_slowest_allows_nor_less_than_one_by_one() {
        let stations = [Station::queue(2, 0.006), Station::queue(1, 0.002), Station::delay(0.01)];
        for customers in 1..=128 {
            let found = closed(&stations, customers).throughput;
            let all_wait = customers as f64 / (0.01 + 0.008 * customers as f64);
            let nobody_waits = (customers as f64 / 0.018).min(2.0 / 0.006);
            assert!(found <= nobody_waits * (1.0 + 1e-9), "{customers}: {found}");
            assert!(found >= all_wait * (1.0 - 1e-9), "{customers}: {found}");
        }
        check(
            (closed(&stations, 128).throughput * 1e6).round() / 1e6,
            (2e6 / 0.006_f64).round() / 1e6,
        );
    }

    #[test]
    fn nobody_waits_alone() {
        let stations = [Station::queue(2, 0.5), Station::queue(1, 0.25), Station::delay(0.25)];
        check(closed(&stations, 1).throughput, 1.0);
    }

    #[test]
    fn who_comes_to_one_server_waits_as_long_as_the_formula_says() {
        let one = [Station::queue(1, 0.5)];
        check(open(&one, 1.0).unwrap(), 1.0);
        check(open(&[Station::queue(2, 0.5), Station::delay(1.0)], 1.0).unwrap(), 1.0 + 8.0 / 15.0);
        assert!(open(&one, 2.0).is_none());
    }

    /// Many who seldom ask are as good as a stream from outside.
    #[test]
    fn closed_becomes_open() {
        let stations = [Station::queue(4, 0.01), Station::queue(1, 0.002)];
        let mut thinking = stations.to_vec();
        thinking.push(Station::delay(0.5));
        let solved = closed(&thinking, 100);
        let served = solved.residence[0] + solved.residence[1];
        let expected = open(&stations, solved.throughput).unwrap();
        assert!((served / expected - 1.0).abs() < 0.02, "{served} is not {expected}");
    }
}
