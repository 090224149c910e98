//! `completions`: completion scripts, generated from the command line's definition.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Exit;

pub(super) fn run(shell: Shell) -> Exit {
    clap_complete::generate(shell, &mut Cli::command(), "kenning", &mut std::io::stdout());
    Exit::Success
}
