//! Kenning's command line.
//!
//! [`cli`] is what can be typed, `kenning_settings` what is wanted, [`commands`] what is done, one file
//! a command, [`telemetry`] what is told of it. Environment, printing and exit codes are touched in this crate and in no other.

pub mod cli;
pub mod commands;
pub mod failure;
pub mod printer;
mod telemetry;
