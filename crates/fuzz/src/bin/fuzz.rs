//! Runs the target that `FUZZ_TARGET` names under libFuzzer.

#![no_main]

use std::sync::LazyLock;

use kenning_fuzz::{TARGETS, Target};

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET is not set");
    let found = TARGETS.iter().find(|(target, _)| *target == name);
    found.expect("FUZZ_TARGET names one of the targets").1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| CHOSEN(bytes));
