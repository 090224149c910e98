//! Tests of compose on real folders.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod assembly;
mod batch;
mod builtin;
#[cfg(unix)]
mod containment;
mod crash;
mod fixture;
mod generation;
mod generators;
mod lifecycle;
mod limits;
mod plugins;
mod sandbox;
mod selection;
mod storage;
mod validation;
