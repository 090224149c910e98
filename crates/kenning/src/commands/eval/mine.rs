//! `eval mine`: asks a team's own questions of its own bases, and fails if a section that should answer one
//! is no longer recommended, so that a change of the documentation can be checked before it is merged.

use std::path::Path;
use std::sync::Arc;

use kenning_knowledge::discover::{DiscoverRequest, Recommendation};
use kenning_knowledge::{Library, Snapshot};
use serde::Serialize;

use super::Context;
use super::set::{OwnQuestion, own_questions};
use crate::cli;
use crate::failure::{Exit, Failure};

#[derive(Debug, Serialize)]
struct Report {
    questions: usize,
    /// Those that are not answered, with the reason.
    failed: Vec<Failed>,
}

#[derive(Debug, Serialize)]
struct Failed {
    question: String,
    reason: String,
}

pub(super) fn run(context: &Context, options: &cli::EvalMine) -> Result<Exit, Failure> {
    let questions = own_questions(&options.file)?;
    let store = context.open_store()?;
    let library: Arc<Library> = Arc::new(context.open_library()?);
    context.embed(&library, Context::vector_cache(store.as_ref()))?;
    let snapshot = library.snapshot();
    let mut failed = Vec::new();
    for question in &questions {
        if let Some(reason) = unanswered(context, &snapshot, question, options.first)? {
            failed.push(Failed { question: question.text.clone(), reason });
        }
    }
    let report = Report { questions: questions.len(), failed };
    context.answer(&report, |report| text(report, &options.file))?;
    Ok(Exit::success_if(report.failed.is_empty()))
}

/// Why a question is not answered; `None` if it is.
fn unanswered(
    context: &Context,
    snapshot: &Snapshot,
    question: &OwnQuestion,
    first: usize,
) -> Result<Option<String>, Failure> {
    let request = DiscoverRequest {
        task_description: question.text.clone(),
        task_type: None,
        current_file: None,
        max_results: Some(first),
        token_budget: None,
    };
    let found = snapshot.discover(&request, &context.settings.discovery)?.recommendations;
    if question.answers.is_empty() {
        let sure = found.first().filter(|first| first.relevance_score >= 0.7);
        return Ok(sure.map(|first| {
            format!(
                "nothing should answer it, but `{}` scores {}",
                first.path, first.relevance_score
            )
        }));
    }
    let wanted: Vec<Option<String>> =
        question.answers.iter().map(|answer| answer.path_in(snapshot)).collect();
    let is_wanted = |path: &str| wanted.iter().flatten().any(|wanted| wanted == path);
    if found.iter().any(|one| is_wanted(&one.path) || has_wanted_section(snapshot, one, &is_wanted))
    {
        return Ok(None);
    }
    if let Some(missing) = wanted.iter().position(Option::is_none) {
        return Ok(Some(format!("its answer {} is gone", question.answers[missing])));
    }
    let instead = found.first().map_or_else(
        || "nothing is recommended".to_owned(),
        |first| format!("the first is `{}` ({})", first.path, first.relevance_score),
    );
    Ok(Some(format!("no answer is among the first {first}; {instead}")))
}

fn has_wanted_section(
    snapshot: &Snapshot,
    found: &Recommendation,
    is_wanted: &impl Fn(&str) -> bool,
) -> bool {
    let nodes = found.sections.iter().filter_map(|section| snapshot.resolve(&section.id).ok());
    nodes.into_iter().any(|node| is_wanted(&node.path()))
}

fn text(report: &Report, file: &Path) -> String {
    let answered = report.questions - report.failed.len();
    let mut out = format!(
        "{answered} of {} questions in {} are answered\n",
        report.questions,
        file.display()
    );
    for failed in &report.failed {
        out += &format!("  {}\n      {}\n", failed.question, failed.reason);
    }
    out
}
