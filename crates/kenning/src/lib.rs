//! Kenning's command line.
//!
//! [`cli`] defines the grammar, `kenning_settings` merges the configuration, [`commands`] runs one
//! command per file, and [`telemetry`] writes the log and exports spans. Only this crate reads the
//! environment, prints, and sets exit codes.

pub mod cli;
pub mod commands;
pub mod failure;
pub mod printer;
mod progress;
mod telemetry;
