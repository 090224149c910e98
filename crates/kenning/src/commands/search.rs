//! `search`: finds nodes by keywords and by meaning.

use std::sync::Arc;

use kenning_knowledge::search::{Score, SearchRequest, SearchResponse, SearchType};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, args: cli::Search) -> Result<Exit, Failure> {
    let request = SearchRequest {
        query: args.query,
        search_type: args.search_type,
        scope: args.scope,
        max_results: args.max_results,
    };
    let library = Arc::new(context.open_library()?);
    let vectors = match request.search_type {
        // Needs neither model nor store.
        SearchType::Keyword => None,
        SearchType::Semantic | SearchType::Hybrid => {
            let store = context.open_store()?;
            Some(context.vectors(&library, store.as_ref())?)
        }
    };
    if let Some(vectors) = &vectors {
        vectors.load(args.wait.into())?;
    }
    let found = library.snapshot().search(&request)?;
    context.printer.answer(&found, text)?;
    context.printer.note_if(found.message.as_deref());
    context.printer.note_if(vectors.and_then(|vectors| vectors.leave_rest()).as_deref());
    Ok(Exit::success_if(!found.results.is_empty()))
}

fn text(found: &SearchResponse) -> String {
    let entries = found.results.iter().map(|hit| {
        let Score { value, keyword, semantic } = hit.score;
        let semantic = semantic.map(|cosine| format!(", semantic {cosine:.2}")).unwrap_or_default();
        format!(
            "{value:.2}  {}  {}\n      keyword {keyword:.2}{semantic}\n      {}\n",
            hit.id, hit.path, hit.snippet
        )
    });
    entries.collect()
}
