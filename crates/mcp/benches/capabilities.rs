//! Each of the four descriptions, read as a client's request reads it: how long the middle one of
//! many reads takes, and the slowest of a hundred.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up must fail")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kenning_catalog::Catalog;
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::{Base, Library};
use kenning_mcp::{House, Inventory, Rooms};

const READS: usize = 10_000;

fn main() {
    let house = house();
    println!("{:<30} {:>10} {:>10} {:>10}", "", "p50", "p99", "slowest");
    for kind in ["server", "tools", "resources", "generators"] {
        let uri = format!("capabilities://{kind}");
        let mut times: Vec<Duration> = (0..READS).map(|_| read(&house, &uri)).collect();
        times.sort_unstable();
        let at = |share: usize| format!("{:.1?}", times[(READS - 1) * share / 100]);
        println!("{uri:<30} {:>10} {:>10} {:>10}", at(50), at(99), at(100));
    }
}

fn read(house: &House, uri: &str) -> Duration {
    let began = Instant::now();
    black_box(house.read(uri).unwrap());
    began.elapsed()
}

fn house() -> House {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge");
    let base = Base::new("knowledge", &root, &["**/*.md".to_owned()], &[]).unwrap();
    let discovery = Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.3,
        boost_active_status: 1.2,
        boost_recent_update_days: 30,
        boost_recent_update_factor: 1.1,
        boosts: BTreeMap::new(),
    };
    let library = Arc::new(Library::open(vec![base], &|_, _| {}).unwrap());
    let rooms = Rooms::new(library, Arc::new(discovery), Arc::new(Catalog::bundled()));
    House::new(Inventory::full(), rooms)
}
