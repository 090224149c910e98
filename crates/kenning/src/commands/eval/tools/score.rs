//! Scores calls and reports the results.

use kenning_catalog::Catalog;
use kenning_catalog::resolve::Resolved;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Prompt;
use super::scenarios::Cost;
use super::server::Server;
use crate::commands::context::embed;
use crate::commands::model::Call;
use crate::failure::Failure;

/// The result of one request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    #[serde(flatten)]
    prompt: Prompt,
    /// The tool that the model called; absent without a model, or if it called none.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Map<String, Value>>,
    right_tool: bool,
    /// Whether tool and arguments were right and the call was answered.
    right_args: bool,
    /// Whether the call would have to be repeated: it returned an error, or several candidates
    /// instead of an answer.
    retry: bool,
}

impl Outcome {
    pub(super) async fn of_choice(
        prompt: Prompt,
        call: Option<Call>,
        server: &Server,
        catalog: &Catalog,
    ) -> Result<Self, Failure> {
        let Some(Call { tool, arguments }) = call else {
            return Ok(Self {
                prompt,
                tool: None,
                args: None,
                right_tool: false,
                right_args: false,
                retry: true,
            });
        };
        let answer = server.call(&tool, arguments.clone()).await?;
        let right_tool = tool == prompt.expected_tool;
        let retry = answer.is_error || is_ambiguous(&answer.content);
        let matches = args_match(&prompt.expected_args, &arguments, catalog);
        Ok(Self {
            right_args: right_tool && matches && !retry,
            prompt,
            tool: Some(tool),
            args: Some(arguments),
            right_tool,
            retry,
        })
    }

    /// Without a model: whether the server answers the expected call.
    pub(super) async fn of_expected(prompt: Prompt, server: &Server) -> Result<Self, Failure> {
        let answer = server.call(&prompt.expected_tool, prompt.expected_args.clone()).await?;
        let retry = answer.is_error || is_ambiguous(&answer.content);
        Ok(Self { prompt, tool: None, args: None, right_tool: true, right_args: !retry, retry })
    }
}

/// Whether the server returned several candidates instead of an answer.
fn is_ambiguous(answer: &Value) -> bool {
    let has_matches = answer["matches"].as_array().is_some_and(|matches| !matches.is_empty());
    has_matches && answer["capability"].is_null()
}

fn args_match(
    expected: &Map<String, Value>,
    given: &Map<String, Value>,
    catalog: &Catalog,
) -> bool {
    expected.iter().all(|(key, expected)| {
        given.get(key).is_some_and(|given| is_same(key, expected, given, catalog))
    })
}

/// Names are equal if they resolve to the same agent or capability; lists, in any order.
fn is_same(key: &str, expected: &Value, given: &Value, catalog: &Catalog) -> bool {
    match (expected, given) {
        (Value::String(expected), Value::String(given)) => {
            let (a, b) = match key {
                "agent" | "agents" => (agent(expected, catalog), agent(given, catalog)),
                "capability" => (capability(expected, catalog), capability(given, catalog)),
                _ => (None, None),
            };
            (a.is_some() && a == b) || expected.trim().eq_ignore_ascii_case(given.trim())
        }
        (Value::Array(expected), Value::Array(given)) => {
            let has = |value: &Value| given.iter().any(|other| is_same(key, value, other, catalog));
            expected.len() == given.len() && expected.iter().all(has)
        }
        (Value::Object(expected), Value::Object(given)) => args_match(expected, given, catalog),
        (Value::Number(expected), Value::Number(given)) => expected.as_f64() == given.as_f64(),
        (expected, given) => expected == given,
    }
}

fn agent(name: &str, catalog: &Catalog) -> Option<String> {
    catalog.resolve_agent(name).ok().map(|agent| agent.agent.clone())
}

fn capability(name: &str, catalog: &Catalog) -> Option<String> {
    match catalog.resolve(name, &embed) {
        Ok(Resolved::One(found, _)) => Some(found.name),
        _ => None,
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// Absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    prompts: usize,
    /// Measured only with a model, as are the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    invocation_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    argument_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_rate: Option<f64>,
    /// Without a model: the share of expected calls that the server answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolution_accuracy: Option<f64>,
    /// Tokens of tool definitions, calls and answers, compared with those of the raw data.
    token_costs: Vec<Cost>,
    token_share: f64,
    outcomes: Vec<Outcome>,
}

impl Report {
    pub(super) fn new(model: Option<String>, outcomes: Vec<Outcome>, costs: Vec<Cost>) -> Self {
        let share = |is: fn(&Outcome) -> bool| {
            outcomes.iter().filter(|outcome| is(outcome)).count() as f64
                / outcomes.len().max(1) as f64
        };
        let has_model = model.is_some();
        let ours: usize = costs.iter().map(|cost| cost.tokens).sum();
        let raw: usize = costs.iter().map(|cost| cost.raw_tokens).sum();
        Self {
            prompts: outcomes.len(),
            invocation_accuracy: has_model.then(|| share(|outcome| outcome.right_tool)),
            argument_accuracy: has_model.then(|| share(|outcome| outcome.right_args)),
            retry_rate: has_model.then(|| share(|outcome| outcome.retry)),
            resolution_accuracy: (!has_model).then(|| share(|outcome| outcome.right_args)),
            token_share: ours as f64 / raw.max(1) as f64,
            token_costs: costs,
            model,
            outcomes,
        }
    }

    pub(super) fn to_markdown(&self) -> String {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let mut out = match &self.model {
            Some(model) => {
                format!("# How {model} uses the tools\n\n{} requests.\n\n", self.prompts)
            }
            None => format!(
                "# Answers of the tools\n\n{} expected calls without a model: invocation accuracy was \
                 not measured.\n\n",
                self.prompts
            ),
        };
        out += "| | |\n|---|---|\n";
        for (name, share) in [
            ("invocation accuracy", self.invocation_accuracy),
            ("argument accuracy", self.argument_accuracy),
            ("retry rate", self.retry_rate),
            ("expected calls that are answered", self.resolution_accuracy),
            ("tokens compared with the raw JSON", Some(self.token_share)),
        ] {
            if let Some(share) = share {
                out += &format!("| {name} | {} |\n", percent(share));
            }
        }
        out += "\n| scenario | calls | tokens | raw JSON | share |\n|---|---|---|---|---|\n";
        for cost in &self.token_costs {
            let share = percent(cost.tokens as f64 / cost.raw_tokens.max(1) as f64);
            let Cost { scenario, calls, tokens, raw_tokens } = cost;
            out += &format!("| {scenario} | {calls} | {tokens} | {raw_tokens} | {share} |\n");
        }
        let wrong: Vec<&Outcome> = self.outcomes.iter().filter(|o| !o.right_args).collect();
        if !wrong.is_empty() {
            out += "\n## Wrong calls\n\n";
        }
        for outcome in wrong {
            let called = outcome.tool.as_deref().unwrap_or("nothing");
            let args = serde_json::to_string(&outcome.args).unwrap_or_default();
            let expected = serde_json::to_string(&outcome.prompt.expected_args).unwrap_or_default();
            out += &format!(
                "- \"{}\": expected `{}` {expected}",
                outcome.prompt.input, outcome.prompt.expected_tool
            );
            if self.model.is_some() {
                out += &format!(", called `{called}` {args}");
            }
            out.push('\n');
        }
        out
    }
}
