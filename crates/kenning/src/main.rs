//! The `kenning` program.

use std::process::ExitCode;

use clap::Parser;
use kenning::cli::Cli;
use kenning::{commands, printer};

/// Servers run for weeks and allocate on many threads: this one is quicker there than the usual
/// allocator, and gives back what is no longer needed.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => printer::report(&failure).into(),
    }
}
