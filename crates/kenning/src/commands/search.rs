use kenning_knowledge::search::{SearchRequest, SearchResponse, SearchType};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, search: cli::Search) -> Result<Exit, Failure> {
    let request = SearchRequest {
        query: search.query,
        search_type: match search.search_type {
            cli::SearchType::Semantic => SearchType::Semantic,
            cli::SearchType::Keyword => SearchType::Keyword,
            cli::SearchType::Hybrid => SearchType::Hybrid,
        },
        scope: search.scope,
        max_results: search.max_results,
    };
    let found = context.open_library()?.snapshot().search(&request)?;
    context.printer.answer(&found, text)?;
    if let Some(message) = &found.message {
        context.printer.note(message);
        return Ok(Exit::Failure);
    }
    Ok(Exit::Success)
}

fn text(found: &SearchResponse) -> String {
    let entries = found.results.iter().map(|hit| {
        format!("{:6.2}  {}  ({})\n        {}\n", hit.score, hit.id, hit.path, hit.snippet)
    });
    entries.collect()
}
