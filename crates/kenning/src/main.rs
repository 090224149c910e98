//! The `kenning` program.

use std::process::ExitCode;

use clap::Parser;
use kenning::cli::Cli;
use kenning::{commands, printer};

/// Servers run for weeks and allocate on many threads: jemalloc is faster there than the system
/// allocator, and returns unused memory.
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
