//! `cache`: moves computed vectors between machines.

use serde_json::json;

use super::Context;
use crate::cli::Cache;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, command: &Cache) -> Result<Exit, Failure> {
    let store = context.require_store()?;
    let (verb, moved, file) = match command {
        Cache::Export { file } if file.exists() => {
            return Err(Failure::usage(format!("`{}` already exists", file.display()))
                .hint("name a new file"));
        }
        Cache::Import { file } if !file.is_file() => {
            return Err(Failure::usage(format!("there is no file `{}`", file.display()))
                .hint("`kenning cache export` writes one"));
        }
        Cache::Export { file } => ("exported", store.export_embeddings(file)?, file),
        Cache::Import { file } => ("imported", store.import_embeddings(file)?, file),
    };
    let report = json!({"action": verb, "entries": moved.entries, "file": file});
    context.answer(&report, |_| {
        format!("{verb} the vectors of {} texts: {}\n", moved.entries, file.display())
    })
}
