//! Each of the four descriptions, read as a client's request reads it.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up must fail")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use divan::Bencher;
use kenning_catalog::Catalog;
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::{Base, Library};
use kenning_mcp::{House, Inventory, Rooms};

fn main() {
    divan::main();
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

#[divan::bench(args = ["server", "tools", "resources", "generators"], sample_count = 1_000)]
fn read(bencher: Bencher<'_, '_>, kind: &str) {
    let (house, uri) = (house(), format!("capabilities://{kind}"));
    bencher.bench_local(|| house.read(&uri).unwrap());
}
