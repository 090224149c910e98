//! Whether models choose the right tool with the right arguments, and what the answers cost.

mod model;
mod scenarios;
mod score;
mod server;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::model::Model;
use self::score::{Outcome, Report};
use self::server::Server;
use super::super::Context;
use crate::cli::EvalTools;
use crate::failure::{Exit, Failure};

const PROMPTS: &str = include_str!("../../../../../../data/eval/prompts.json");

#[derive(Debug, Deserialize)]
struct Prompts {
    prompts: Vec<Prompt>,
}

/// What somebody might ask an agent, and the call that answers it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prompt {
    input: String,
    expected_tool: String,
    /// Only what the request fixes; other arguments are free.
    expected_args: Map<String, Value>,
}

pub(super) fn run(context: &Context, eval: &EvalTools) -> Result<Exit, Failure> {
    let prompts: Prompts = serde_json::from_str(PROMPTS).expect("the built-in prompts are tested");
    let mut prompts = prompts.prompts;
    prompts.truncate(eval.limit.unwrap_or(usize::MAX));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(evaluate(context, eval, prompts))?;
    context.printer.answer(&report, Report::to_markdown)?;
    Ok(Exit::Success)
}

async fn evaluate(
    context: &Context,
    eval: &EvalTools,
    prompts: Vec<Prompt>,
) -> Result<Report, Failure> {
    let catalog = context.catalog()?;
    let server = Server::start().await?;
    let model = match &eval.model {
        Some(name) => Some(Model::new(name, eval.endpoint.as_deref())?),
        None => None,
    };
    let bar = context.printer.progress("asking");
    bar.set_length(prompts.len() as u64);
    let mut outcomes = Vec::new();
    for prompt in prompts {
        // Without a model, only names can be tried: free text is for the model to write.
        let can_be_tried = model.is_some() || scenarios::TOOLS.contains(&&*prompt.expected_tool);
        if !server.offers(&prompt.expected_tool) || !can_be_tried {
            continue;
        }
        let outcome = match &model {
            Some(model) => {
                let call = model.choose(&prompt.input, server.tools()).await?;
                Outcome::of_choice(prompt, call, &server, &catalog).await?
            }
            None => Outcome::of_expected(prompt, &server).await?,
        };
        outcomes.push(outcome);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let costs = scenarios::measure(&server, &catalog).await?;
    server.stop().await;
    Ok(Report::new(eval.model.clone(), outcomes, costs))
}
