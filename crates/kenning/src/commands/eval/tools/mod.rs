//! `eval tools`: whether a model chooses the right tool with the right arguments, and what the
//! answers cost in tokens.

mod scenarios;
mod score;
mod server;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::score::{Outcome, Report};
use self::server::Server;
use crate::cli::EvalTools;
use crate::commands::Context;
use crate::commands::model::{Model, NoReply};
use crate::failure::{Exit, Failure};

const PROMPTS: &str = include_str!("../../../../../../data/eval/prompts.json");

#[derive(Debug, Deserialize)]
struct Prompts {
    prompts: Vec<Prompt>,
}

/// A user's request to an agent, and the call that answers it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prompt {
    input: String,
    expected_tool: String,
    /// The arguments that the request determines; others are free.
    expected_args: Map<String, Value>,
}

pub(super) fn run(context: &Context, args: &EvalTools) -> Result<Exit, Failure> {
    let prompts: Prompts = serde_json::from_str(PROMPTS).expect("the built-in prompts are tested");
    let mut prompts = prompts.prompts;
    prompts.truncate(args.limit.unwrap_or(usize::MAX));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(evaluate(context, args, prompts))?;
    context.answer(&report, Report::to_markdown)
}

fn no_reply(error: &NoReply) -> Failure {
    Failure::new(error.to_string())
        .hint("check the provider's key in the environment, and the endpoint")
}

async fn evaluate(
    context: &Context,
    args: &EvalTools,
    prompts: Vec<Prompt>,
) -> Result<Report, Failure> {
    let catalog = context.catalog()?;
    let server = Server::start().await?;
    let model = args.model.as_deref();
    let model = model.map(|name| Model::new(name, args.endpoint.as_deref())).transpose()?;
    let bar = context.printer.progress("evaluating");
    bar.set_total(prompts.len());
    let mut outcomes = Vec::new();
    for prompt in prompts {
        // Without a model only names can be checked: free text is what a model would write.
        let is_checkable = model.is_some() || scenarios::TOOLS.contains(&&*prompt.expected_tool);
        if !server.offers(&prompt.expected_tool) || !is_checkable {
            continue;
        }
        let outcome = match &model {
            Some(model) => {
                let reply =
                    model.ask(&prompt.input, server.tools()).await.map_err(|e| no_reply(&e))?;
                Outcome::of_choice(prompt, reply.call, &server, &catalog).await?
            }
            None => Outcome::of_expected(prompt, &server).await?,
        };
        outcomes.push(outcome);
        bar.advance();
    }
    drop(bar);
    let costs = scenarios::measure(&server, &catalog).await?;
    server.stop().await;
    Ok(Report::new(args.model.clone(), outcomes, costs))
}
