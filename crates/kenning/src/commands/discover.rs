use kenning_knowledge::discover::{DiscoverRequest, DiscoverResponse, TaskType};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, discover: cli::Discover) -> Result<Exit, Failure> {
    let request = DiscoverRequest {
        task_description: discover.task,
        task_type: discover.task_type.map(|kind| match kind {
            cli::TaskType::Implement => TaskType::Implement,
            cli::TaskType::Debug => TaskType::Debug,
            cli::TaskType::Refactor => TaskType::Refactor,
            cli::TaskType::Document => TaskType::Document,
            cli::TaskType::Review => TaskType::Review,
            cli::TaskType::Design => TaskType::Design,
            cli::TaskType::Test => TaskType::Test,
        }),
        current_file: discover.current_file,
        max_results: discover.max_results,
        token_budget: discover.token_budget,
    };
    let store = context.open_store()?;
    let library = context.open_embedded_library(store.as_ref())?;
    let found = library.snapshot().discover(&request, &context.settings.discovery)?;
    context.printer.answer(&found, text)?;
    if let Some(message) = &found.message {
        context.printer.note(message);
    }
    Ok(if found.recommendations.is_empty() { Exit::Failure } else { Exit::Success })
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
