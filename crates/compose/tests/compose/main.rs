//! Compose, on real folders.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod assembly;
mod batch;
mod builtin;
mod crash;
mod fixture;
mod generation;
mod generators;
#[cfg(unix)]
mod jail;
mod lifecycle;
mod limits;
mod plugins;
mod sandbox;
mod selection;
mod storage;
mod validation;

/// Not a test of its own: the process that `crash` kills.
#[test]
fn child() {
    crash::child();
}
