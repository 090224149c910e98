//! `discover`: recommends what to read before a task.

use std::sync::Arc;

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
    let library = Arc::new(context.open_library()?);
    let vectors = context.vectors(&library, store.as_ref())?;
    vectors.load(args.wait.into())?;
    let found = library.snapshot().discover(&request, &context.settings.discovery)?;
    context.printer.answer(&found, text)?;
    context.printer.note_if(found.message.as_deref());
    context.printer.note_if(vectors.leave_rest().as_deref());
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
