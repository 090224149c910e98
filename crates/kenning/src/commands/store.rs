//! `store`: the registry as a file, from one store to another or to a safe place.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use kenning_store::{ImportError, RegistryTransferred};
use serde_json::json;

use super::Context;
use crate::cli::StoreCommand;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, command: &StoreCommand) -> Result<Exit, Failure> {
    let store = context.need_store()?;
    let (verb, moved, file) = match command {
        StoreCommand::Export { file } => {
            ("exported", export(file, |to| Ok(store.export_registry(to)?))?, file)
        }
        StoreCommand::Import { file } => {
            let from = File::open(file).map_err(|error| {
                Failure::usage(format!("`{}` cannot be read: {error}", file.display()))
                    .hint("make one with `kenning store export`")
            })?;
            ("imported", store.import_registry(&mut BufReader::new(from))?, file)
        }
    };
    let RegistryTransferred { agents, capabilities } = moved;
    let report = json!({"action": verb, "agents": agents, "capabilities": capabilities,
        "file": file, "store": store.place()});
    context.printer.answer(&report, |_| {
        format!("{verb} {agents} agents and {capabilities} skills: {}", file.display())
    })?;
    Ok(Exit::Success)
}

/// Writes a new file, which is there whole or not at all.
fn export(
    file: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<RegistryTransferred, Failure>,
) -> Result<RegistryTransferred, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("`{}` cannot be written: {error}", file.display()))
            .hint("name a new file in a folder that is there")
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let draft =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(cannot)?;
    let moved = write(&mut BufWriter::new(draft.as_file()))?;
    draft.as_file().sync_all()?;
    draft.persist_noclobber(file).map_err(|error| cannot(error.error))?;
    Ok(moved)
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        Self::new(error.to_string()).hint("nothing was imported")
    }
}
