use kenning_knowledge::search::{Score, SearchRequest, SearchResponse, SearchType};

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
    let found = match request.search_type {
        SearchType::Keyword => context.open_library()?.snapshot().search(&request)?,
        SearchType::Semantic | SearchType::Hybrid => {
            let store = context.open_store()?;
            context.open_embedded_library(store.as_ref())?.snapshot().search(&request)?
        }
    };
    context.printer.answer(&found, text)?;
    if let Some(message) = &found.message {
        context.printer.note(message);
    }
    Ok(if found.results.is_empty() { Exit::Failure } else { Exit::Success })
}

fn text(found: &SearchResponse) -> String {
    let entries = found.results.iter().map(|hit| {
        let Score { value, keyword, semantic } = hit.score;
        let meaning = semantic.map(|cosine| format!(", meaning {cosine:.2}")).unwrap_or_default();
        format!(
            "{value:.2}  {}  {}\n      words {keyword:.2}{meaning}\n      {}\n",
            hit.id, hit.path, hit.snippet
        )
    });
    entries.collect()
}
