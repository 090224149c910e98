//! `store`: exports and imports the registry, to move or back up a store.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use kenning_store::RegistryTransferred;
use serde_json::json;

use super::Context;
use crate::cli::StoreCommand;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, command: &StoreCommand) -> Result<Exit, Failure> {
    let store = context.require_store()?;
    let (verb, moved, file) = match command {
        StoreCommand::Export { file } => {
            ("exported", export(file, |to| Ok(store.export_registry(to)?))?, file)
        }
        StoreCommand::Import { file } => {
            let from = File::open(file).map_err(|error| {
                Failure::usage(format!("cannot read `{}`: {error}", file.display()))
                    .hint("`kenning store export` writes such a file")
            })?;
            ("imported", store.import_registry(&mut BufReader::new(from))?, file)
        }
    };
    let RegistryTransferred { agents, capabilities } = moved;
    let report = json!({"action": verb, "agents": agents, "capabilities": capabilities,
        "file": file, "store": store.place()});
    context.answer(&report, |_| {
        format!("{verb} {agents} agents and {capabilities} skills: {}", file.display())
    })
}

/// Writes a new file atomically: a failed export leaves none behind.
fn export(
    file: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<RegistryTransferred, Failure>,
) -> Result<RegistryTransferred, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("cannot write `{}`: {error}", file.display()))
            .hint("name a new file in an existing folder")
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let draft =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    let moved = write(&mut BufWriter::new(draft.as_file()))?;
    draft.as_file().sync_all()?;
    draft.persist_noclobber(file).map_err(|error| failed(error.error))?;
    Ok(moved)
}
