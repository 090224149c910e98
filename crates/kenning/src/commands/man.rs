//! `man`: manual pages, generated from the command line's definition.

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(folder: Option<&Path>) -> Result<Exit, Failure> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        Man::new(Cli::command()).render(&mut page)?;
        std::io::stdout().write_all(&page)?;
        return Ok(Exit::Success);
    };
    let failed = |error: std::io::Error| {
        Failure::new(format!("cannot write to `{}`: {error}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    Ok(Exit::Success)
}
