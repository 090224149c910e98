//! Runs every target on its seeds, so that what fuzzing found once stays fixed.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::path::{Path, PathBuf};

use kenning_fuzz::TARGETS;

fn seeds(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let entries = std::fs::read_dir(&folder).expect("every target has seeds");
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn seeds_do_no_harm() {
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(seeds.len() >= 3, "{name} has {} seeds", seeds.len());
        for seed in seeds {
            let bytes = std::fs::read(&seed).unwrap();
            println!("{name} {}", seed.display());
            target(&bytes);
            // Cut off and turned around, as a mutation would.
            target(&bytes[..bytes.len() / 2]);
            target(&bytes.iter().rev().copied().collect::<Vec<u8>>());
        }
    }
}

#[test]
fn every_seed_folder_has_a_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut folders: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    folders.sort();
    assert_eq!(folders, TARGETS.map(|(name, _)| name));
}
