//! Inputs that are known, tried without fuzzing: what was found once is not found again.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::path::{Path, PathBuf};

use kenning_trials::TRIALS;

fn seeds(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let entries = std::fs::read_dir(&folder).expect("every target has seeds");
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn known_inputs_do_no_harm() {
    for (target, trial) in TRIALS {
        let seeds = seeds(target);
        assert!(seeds.len() >= 3, "{target} has {} seeds", seeds.len());
        for seed in seeds {
            let bytes = std::fs::read(&seed).unwrap();
            println!("{target} {}", seed.display());
            trial(&bytes);
            // Cut off and turned around, as a mutation would.
            trial(&bytes[..bytes.len() / 2]);
            trial(&bytes.iter().rev().copied().collect::<Vec<u8>>());
        }
    }
}

#[test]
fn every_folder_of_seeds_has_a_trial() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut folders: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    folders.sort();
    assert_eq!(folders, TRIALS.map(|(name, _)| name));
}
