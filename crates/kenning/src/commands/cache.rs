use serde_json::json;

use super::Context;
use crate::cli::Cache;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, cache: &Cache) -> Result<Exit, Failure> {
    let store = context.need_store()?;
    let (verb, moved, file) = match cache {
        Cache::Export { file } if file.exists() => {
            return Err(Failure::usage(format!("`{}` exists already", file.display()))
                .hint("name a new file"));
        }
        Cache::Import { file } if !file.is_file() => {
            return Err(Failure::usage(format!("there is no file `{}`", file.display()))
                .hint("make one with `kenning cache export`"));
        }
        Cache::Export { file } => ("exported", store.export_embeddings(file)?, file),
        Cache::Import { file } => ("imported", store.import_embeddings(file)?, file),
    };
    let report = json!({"action": verb, "entries": moved.entries, "file": file});
    context.printer.answer(&report, |_| {
        format!("{verb} the vectors of {} texts: {}\n", moved.entries, file.display())
    })?;
    Ok(Exit::Success)
}
