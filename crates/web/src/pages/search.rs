//! `/search`: the queries of agents, with the parts of each score.

use kenning_knowledge::discover::{DiscoverRequest, DiscoverResponse, TaskType};
use kenning_knowledge::search::{DEFAULT_RESULTS, SearchRequest, SearchResponse, SearchType};
use maud::{Markup, html};

use super::layout::Column::{Number, Text};
use super::layout::{Tab, badge, bar, empty, error_notice, node_link, scroll, select, table_head};
use super::text::{highlight, text};
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const SEARCH_TYPES: [(&str, &str); 3] =
    [("hybrid", "both"), ("keyword", "keywords"), ("semantic", "meaning")];

/// Reads the snapshot directly instead of calling the operations, so that a search here counts
/// neither as usage nor as a miss.
#[expect(clippy::unnecessary_wraps, reason = "other views can fail")]
pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let snapshot = services.library.snapshot();
    let found =
        visit.fields.get("query").map(|query| snapshot.search(&search_request(visit, query)));
    let task = visit.fields.get("task");
    let discovered =
        task.map(|task| snapshot.discover(&discover_request(visit, task), &services.discovery));
    let body = html! {
        h1 { "Search" }
        p class="lead" { "Run the queries that agents run, and see why each result is there. Searches \
            on this page do not count as usage." }
        div class="columns" {
            section class="panel" {
                h2 { "Search knowledge" }
                p class="hint" { "What " code { "search_knowledge" } " returns, with the parts of each score." }
                (search_form(visit))
            }
            section class="panel" {
                h2 { "Discover context" }
                p class="hint" { "What " code { "discover_context" } " tells an agent to read before a task." }
                (discover_form(visit))
            }
        }
        @match found {
            Some(Ok(found)) => (results(&found, visit.fields.text("query"))),
            Some(Err(error)) => (error_notice(&error.into())),
            None => {}
        }
        @match discovered {
            Some(Ok(discovered)) => (recommendations(&discovered)),
            Some(Err(error)) => (error_notice(&error.into())),
            None => {}
        }
    };
    Ok(Page::new("Search", Tab::Search, body))
}

fn search_request(visit: &Visit, query: &str) -> SearchRequest {
    let scope = visit.fields.text("scope").split([',', ' ']).filter(|name| !name.is_empty());
    SearchRequest {
        query: query.to_owned(),
        search_type: match visit.fields.text("type") {
            "keyword" => SearchType::Keyword,
            "semantic" => SearchType::Semantic,
            _ => SearchType::Hybrid,
        },
        scope: scope.map(str::to_owned).collect(),
        max_results: visit.fields.number("most").unwrap_or(DEFAULT_RESULTS),
    }
}

fn discover_request(visit: &Visit, task: &str) -> DiscoverRequest {
    let task_type = visit.fields.text("task_type");
    DiscoverRequest {
        task_description: task.to_owned(),
        task_type: TaskType::ALL.into_iter().find(|known| known.name() == task_type),
        current_file: visit.fields.owned("current_file"),
        max_results: None,
        token_budget: visit.fields.number("budget"),
    }
}

fn search_form(visit: &Visit) -> Markup {
    let fields = &visit.fields;
    html! {
        form action="/search" class="stack" role="search" {
            div class="field" {
                label for="query" { "Query" }
                input id="query" name="query" type="search" required data-slash
                    value=(fields.text("query"));
            }
            div class="row" {
                (select("type", "Search by", SEARCH_TYPES, fields.text("type")))
                div class="field" {
                    label for="scope" { "Scope (bases, files or sections)" }
                    input id="scope" name="scope" type="text" value=(fields.text("scope"));
                }
            }
            button { "Search" }
        }
    }
}

fn discover_form(visit: &Visit) -> Markup {
    let fields = &visit.fields;
    let types = TaskType::ALL.map(|known| (known.name(), known.name()));
    let types = std::iter::once(("", "any")).chain(types);
    html! {
        form action="/search" class="stack" {
            div class="field" {
                label for="task" { "Task" }
                input id="task" name="task" type="text" required value=(fields.text("task"));
            }
            div class="row" {
                (select("task_type", "Task type", types, fields.text("task_type")))
                div class="field" {
                    label for="current_file" { "Current file" }
                    input id="current_file" name="current_file" type="text" value=(fields.text("current_file"));
                }
                div class="field" {
                    label for="budget" { "Token budget" }
                    input id="budget" name="budget" type="number" min="1" value=(fields.text("budget"));
                }
            }
            button { "Discover" }
        }
    }
}

fn results(found: &SearchResponse, query: &str) -> Markup {
    if found.results.is_empty() {
        return no_results(found.message.as_deref());
    }
    html! {
        h2 id="results" { "Results" }
        (result_count(found.results.len(), found.total_available, "matching", found.message.as_deref()))
        (scroll("Results", html! {
            table class="results" {
                (table_head(&[Text("Node"), Text("Score"), Text("Keywords"), Text("Meaning"), Number("Tokens")]))
                tbody {
                    @for result in &found.results {
                        tr {
                            td class="wide" {
                                (node_link(&result.id, &result.title)) " " (badge(&result.kind)) " " (badge(&result.status))
                                div class="small" { code { (text(&result.path)) } }
                                div class="small snippet" { (highlight(&result.snippet, query)) }
                            }
                            td data-label="Score" { (bar(result.score.value)) }
                            td data-label="Keywords" { (bar(result.score.keyword.into())) }
                            td data-label="Meaning" { @match result.score.semantic {
                                Some(cosine) => (bar(cosine.into())),
                                None => "–",
                            } }
                            td class="n" data-label="Tokens" { (result.estimated_tokens) }
                        }
                    }
                }
            }
        }))
    }
}

fn recommendations(found: &DiscoverResponse) -> Markup {
    if found.recommendations.is_empty() {
        return no_results(found.message.as_deref());
    }
    html! {
        h2 id="results" { "Recommendations" }
        (result_count(found.recommendations.len(), found.total_available, "relevant", found.message.as_deref()))
        (scroll("Recommendations", html! {
            table class="results" {
                (table_head(&[Text("Node"), Text("Relevance"), Text("Reasons"), Number("Tokens")]))
                tbody {
                    @for result in &found.recommendations {
                        tr {
                            td {
                                (node_link(&result.id, &result.title)) " " (badge(&result.kind))
                                div class="small" { code { (text(&result.path)) } }
                            }
                            td data-label="Relevance" {
                                (bar(result.relevance_score))
                                div class="small" { (advice(result.relevance_score)) }
                            }
                            td class="wide" { ul class="plain small" {
                                @for reason in result.reason.split("; ") { li { (text(reason)) } }
                            } }
                            td class="n" data-label="Tokens" { (result.estimated_tokens) }
                        }
                    }
                }
            }
        }))
    }
}

/// The thresholds that `discover_context` documents for its scores.
fn advice(score: f64) -> &'static str {
    match score {
        score if score >= 0.9 => "must load",
        score if score >= 0.7 => "should load",
        score if score >= 0.5 => "consider",
        _ => "skip",
    }
}

fn result_count(listed: usize, total: usize, which: &str, message: Option<&str>) -> Markup {
    html! {
        p class="hint" { (listed) " of " (total) " " (which) " nodes."
            @if let Some(message) = message { " " (text(message)) "." } }
    }
}

fn no_results(message: Option<&str>) -> Markup {
    let next = html! {
        @if let Some(message) = message { (text(message)) ". " }
        "Try other words, or write it down: a new Markdown file in a knowledge base can be found \
         within seconds."
    };
    empty("No results.", next)
}
