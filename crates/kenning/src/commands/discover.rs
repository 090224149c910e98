//! `discover`: recommends what to read before a task.

use kenning_knowledge::discover::{DiscoverRequest, DiscoverResponse};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, args: cli::Discover) -> Result<Exit, Failure> {
    let request = DiscoverRequest {
        task_description: args.task,
        task_type: args.task_type,
        current_file: args.current_file,
        max_results: args.max_results,
        token_budget: args.token_budget,
    };
    let store = context.open_store()?;
    let library = context.open_embedded_library(store.as_ref())?;
    let found = library.snapshot().discover(&request, &context.settings.discovery)?;
    context.printer.answer(&found, text)?;
    context.printer.note_if(found.message.as_deref());
    Ok(Exit::success_if(!found.recommendations.is_empty()))
}

fn text(found: &DiscoverResponse) -> String {
    let entries = found.recommendations.iter().map(|node| {
        format!(
            "{:.2}  {}  {} [{}, {} tokens]\n      {}\n",
            node.relevance_score, node.id, node.path, node.kind, node.estimated_tokens, node.reason
        )
    });
    entries.collect()
}
