//! How long reading each of the four self-descriptions takes: the median of many reads, the 99th
//! percentile and the slowest.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up must fail")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kenning_app::{AppState, Capacity, Inventory, Services};
use kenning_catalog::Catalog;
use kenning_compose::{Compose, Parts};
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::{Base, Library};
use kenning_mcp::protocol;

const READS: usize = 10_000;

/// A plugin.
const PLUGIN: &str = r#"
type = "letter"
name = "Letter"
version = "1.0.0"
description = "A letter"
template = "Dear {{ name }}"
"#;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(folder.path());
    println!("{:<30} {:>10} {:>10} {:>10}", "", "p50", "p99", "slowest");
    for kind in ["server", "tools", "resources", "generators"] {
        let uri = format!("capabilities://{kind}");
        let mut times: Vec<Duration> = (0..READS).map(|_| read(&state, &uri)).collect();
        times.sort_unstable();
        let at = |share: usize| format!("{:.1?}", times[(READS - 1) * share / 100]);
        println!("{uri:<30} {:>10} {:>10} {:>10}", at(50), at(99), at(100));
    }
}

fn read(state: &AppState, uri: &str) -> Duration {
    let began = Instant::now();
    black_box(state.read(uri).unwrap());
    began.elapsed()
}

fn state(folder: &Path) -> AppState {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge");
    let base = Base::new("knowledge", &root, &["**/*.md".to_owned()], &[]).unwrap();
    let discovery = Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.07,
        boost_active_status: 1.2,
        boost_recent_update_days: 30,
        boost_recent_update_factor: 1.1,
        boosts: BTreeMap::new(),
    };
    let library = Arc::new(Library::open(vec![base], &|_, _| {}).unwrap());
    let (workspace, plugins) = (folder.join("workspace"), folder.join("generators"));
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::create_dir_all(&plugins).unwrap();
    std::fs::write(plugins.join("letter.toml"), PLUGIN).unwrap();
    let parts = Parts { plugins: Some(plugins), ..Parts::new(workspace, folder.join("state")) };
    let services = Services {
        compose: Some(Compose::open(parts).unwrap()),
        ..Services::new(library, Arc::new(discovery), Arc::new(Catalog::bundled()))
    };
    let state = AppState::new(Inventory::full(), services, Capacity::STDIO, protocol());
    let generators = format!("{:?}", state.read("capabilities://generators").unwrap());
    assert!(generators.contains("letter"), "{generators}");
    state
}
