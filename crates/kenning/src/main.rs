//! The `kenning` program.

use std::process::ExitCode;

use clap::Parser;
use kenning::cli::Cli;
use kenning::{commands, printer};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => printer::report(&failure).into(),
    }
}
