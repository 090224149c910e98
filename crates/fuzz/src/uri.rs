//! URIs of resources.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use kenning_app::{AppState, Capacity, Inventory, Protocol, Services};
use kenning_catalog::Catalog;
use kenning_compose::{Compose, Parts};
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::{Base, Library};
use tempfile::TempDir;

use crate::SECRET;

/// No URI reads a file outside of the base and the workspace.
pub(crate) fn uri(bytes: &[u8]) {
    let uri = String::from_utf8_lossy(bytes);
    let Ok(read) = app().read(&uri) else { return };
    assert!(!read.text.contains(SECRET), "{uri}");
}

/// Shared by all inputs, because opening it takes longer than a read. The folder remains when the
/// process ends.
fn app() -> &'static AppState {
    static APP: OnceLock<(AppState, TempDir)> = OnceLock::new();
    let (app, _) = APP.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        (open(&folder), folder)
    });
    app
}

fn open(folder: &TempDir) -> AppState {
    let within = |name: &str| folder.path().join(name);
    for name in ["base/guides", "workspace/.kenning/compose/content", "state"] {
        fs::create_dir_all(within(name)).unwrap();
    }
    fs::write(within("secret.md"), SECRET).unwrap();
    fs::write(within("workspace/.kenning/secret.json"), format!("{{\"x\": \"{SECRET}\"}}"))
        .unwrap();
    fs::write(within("base/README.md"), "# Readme\n\n## Part {#part}\n\ntext\n").unwrap();
    fs::write(within("base/guides/SETUP %41.md"), "# Setup\n\n## Linux\n\ntext\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(within("secret.md"), within("base/link.md")).unwrap();
    let base = Base::new("base", &within("base"), &["**/*.md".to_owned()], &[]).unwrap();
    let library = Library::open(vec![base], &|_, _| {}).unwrap();
    let discovery = Discovery {
        default_max_results: 5,
        min_relevance_threshold: 0.07,
        boost_active_status: 1.2,
        boost_recent_update_days: 30,
        boost_recent_update_factor: 1.1,
        boosts: BTreeMap::new(),
    };
    let compose = Compose::open(Parts::new(within("workspace"), within("state"))).unwrap();
    let services = Services {
        compose: Some(compose),
        ..Services::new(library.into(), discovery.into(), Catalog::bundled().into())
    };
    let protocol = Protocol { mcp_version: String::new(), sdk_version: String::new() };
    AppState::new(Inventory::full(), services, Capacity::STDIO, protocol)
}
