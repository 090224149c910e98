//! `/search`: questions as agents ask them, with the reasons for the answers.

use kenning_knowledge::discover::{DiscoverRequest, DiscoverResponse, TaskType};
use kenning_knowledge::search::{DEFAULT_RESULTS, SearchRequest, SearchResponse, SearchType};
use maud::{Markup, html};

use super::layout::{Tab, badge, bar, choice, empty, line, node, table};
use super::text::{marked, text};
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const TYPES: [(&str, &str); 3] =
    [("hybrid", "both"), ("keyword", "matching words"), ("semantic", "meaning")];
const TASKS: [(&str, &str); 8] = [
    ("", "any"),
    ("implement", "implement"),
    ("debug", "debug"),
    ("refactor", "refactor"),
    ("document", "document"),
    ("review", "review"),
    ("design", "design"),
    ("test", "test"),
];

/// Nothing that is tried here counts as used or as missed.
#[expect(clippy::unnecessary_wraps, reason = "other views can fail")]
pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let snapshot = services.library.snapshot();
    let found = visit.fields.get("query").map(|query| snapshot.search(&search(visit, query)));
    let task = visit.fields.get("task");
    let advised = task.map(|task| snapshot.discover(&discover(visit, task), &services.discovery));
    let body = html! {
        h1 { "Search" }
        p class="lead" { "Ask as an agent does, and see why it gets what it gets. Nothing here counts as used." }
        div class="columns" {
            section class="panel" {
                h2 { "Find" }
                p class="hint" { "What " code { "search_knowledge" } " finds, and how the score comes about." }
                (search_form(visit))
            }
            section class="panel" {
                h2 { "Discover" }
                p class="hint" { "What " code { "discover_context" } " would tell an agent to read before a task." }
                (discover_form(visit))
            }
        }
        @match found {
            Some(Ok(found)) => (results(&found, visit.fields.text("query"))),
            Some(Err(error)) => (refused(&error.into())),
            None => {}
        }
        @match advised {
            Some(Ok(advised)) => (recommendations(&advised)),
            Some(Err(error)) => (refused(&error.into())),
            None => {}
        }
    };
    Ok(Page { title: "Search".to_owned(), tab: Some(Tab::Search), body })
}

fn search(visit: &Visit, query: &str) -> SearchRequest {
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

fn discover(visit: &Visit, task: &str) -> DiscoverRequest {
    let kind = visit.fields.text("task_type");
    let all = [
        TaskType::Implement,
        TaskType::Debug,
        TaskType::Refactor,
        TaskType::Document,
        TaskType::Review,
        TaskType::Design,
        TaskType::Test,
    ];
    DiscoverRequest {
        task_description: task.to_owned(),
        task_type: all.into_iter().find(|one| one.name() == kind),
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
                label for="query" { "Question" }
                input id="query" name="query" type="search" required data-slash
                    value=(fields.text("query"));
            }
            div class="row" {
                (choice("type", "By", &TYPES, fields.text("type")))
                (line("scope", "Only in (bases, files, sections)", fields.text("scope"), "text"))
            }
            button { "Search" }
        }
    }
}

fn discover_form(visit: &Visit) -> Markup {
    let fields = &visit.fields;
    html! {
        form action="/search" class="stack" {
            div class="field" {
                label for="task" { "Task" }
                input id="task" name="task" type="text" required value=(fields.text("task"));
            }
            div class="row" {
                (choice("task_type", "Kind of task", &TASKS, fields.text("task_type")))
                (line("current_file", "File at hand", fields.text("current_file"), "text"))
                div class="field" {
                    label for="budget" { "Tokens at most" }
                    input id="budget" name="budget" type="number" min="1" value=(fields.text("budget"));
                }
            }
            button { "Discover" }
        }
    }
}

fn refused(error: &PageError) -> Markup {
    super::layout::error_notice(&error.message, error.hint.as_deref())
}

fn results(found: &SearchResponse, query: &str) -> Markup {
    if found.results.is_empty() {
        return nothing(found.message.as_deref());
    }
    html! {
        h2 id="results" { "Found" }
        p class="hint" { (found.results.len()) " of " (found.total_available) " nodes that match."
            @if let Some(message) = &found.message { " " (text(message)) "." } }
        (table("Found", html! {
            table class="results" {
                thead { tr {
                    th { "Node" } th { "Score" } th { "Words" } th { "Meaning" }
                    th class="n" { "Tokens" }
                } }
                tbody {
                    @for one in &found.results {
                        tr {
                            td class="wide" {
                                (node(&one.id, &one.title)) " " (badge(&one.kind)) " " (badge(&one.status))
                                div class="small" { code { (text(&one.path)) } }
                                div class="small snippet" { (marked(&one.snippet, query)) }
                            }
                            td data-label="Score" { (bar(one.score.value)) }
                            td data-label="Words" { (bar(one.score.keyword.into())) }
                            td data-label="Meaning" { @match one.score.semantic {
                                Some(cosine) => (bar(cosine.into())),
                                None => "–",
                            } }
                            td class="n" data-label="Tokens" { (one.estimated_tokens) }
                        }
                    }
                }
            }
        }))
    }
}

fn recommendations(advised: &DiscoverResponse) -> Markup {
    if advised.recommendations.is_empty() {
        return nothing(advised.message.as_deref());
    }
    html! {
        h2 id="results" { "Recommended" }
        p class="hint" { (advised.recommendations.len()) " of " (advised.total_available)
            " nodes that matter."
            @if let Some(message) = &advised.message { " " (text(message)) "." } }
        (table("Recommended", html! {
            table class="results" {
                thead { tr { th { "Node" } th { "Relevance" } th { "Why" } th class="n" { "Tokens" } } }
                tbody {
                    @for one in &advised.recommendations {
                        tr {
                            td {
                                (node(&one.id, &one.title)) " " (badge(&one.kind))
                                div class="small" { code { (text(&one.path)) } }
                            }
                            td data-label="Relevance" { (bar(one.relevance_score)) div class="small" { (advice(one.relevance_score)) } }
                            td class="wide" { ul class="plain small" {
                                @for reason in one.reason.split("; ") { li { (text(reason)) } }
                            } }
                            td class="n" data-label="Tokens" { (one.estimated_tokens) }
                        }
                    }
                }
            }
        }))
    }
}

fn advice(score: f64) -> &'static str {
    match score {
        score if score >= 0.9 => "must load",
        score if score >= 0.7 => "should load",
        score if score >= 0.5 => "consider",
        _ => "skip",
    }
}

fn nothing(message: Option<&str>) -> Markup {
    let next = html! {
        @if let Some(message) = message { (text(message)) ". " }
        "Try other words, or write it down: any Markdown file in a base is found within seconds."
    };
    empty("Nothing is known about this.", next)
}
