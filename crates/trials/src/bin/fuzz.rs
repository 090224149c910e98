//! Any trial under libFuzzer; `TRIAL` says which.

#![no_main]

use std::sync::LazyLock;

use kenning_trials::{TRIALS, Trial};

static CHOSEN: LazyLock<Trial> = LazyLock::new(|| {
    let name = std::env::var("TRIAL").expect("TRIAL names what is tried");
    let found = TRIALS.iter().find(|(trial, _)| *trial == name);
    found.expect("TRIAL names one of the trials").1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| CHOSEN(bytes));
