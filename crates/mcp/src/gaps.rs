//! What could not be done: the reserved tool and the parameter by which agents say so, proposals,
//! and who listens.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use kenning_gaps::contract;
use kenning_gaps::offers::{ProposalResponse, ProposeRequest};
use kenning_gaps::{Code, Error, Gaps};
use rmcp::model::{self, CallToolResult, ContentBlock, ErrorData, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::inventory::{Inventory, Toolset};
use crate::rooms::Rooms;
use crate::tool::{CommonError, Effect, Example, INVALID_ARGUMENT, Invocation, Tool, ToolError};

/// Hears every call of every tool. It must not keep anybody waiting.
pub trait Ear: Send + Sync {
    fn heard(&self, call: Called<'_>);

    /// How many calls it heard so far.
    fn tally(&self) -> Tally {
        Tally::default()
    }
}

/// What became of the calls that were heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub heard: u64,
    /// Those that could not be kept.
    pub dropped: u64,
}

/// A call, and what became of it.
#[derive(Debug, Clone)]
pub struct Called<'a> {
    pub tool: String,
    /// What the tool was given, without the intent.
    pub arguments: JsonObject,
    /// Why it was called, if the agent said so.
    pub intent: Option<String>,
    /// Name and version of the client, if it said so.
    pub client: Option<String>,
    pub duration: Duration,
    /// What the tool answered, or what was wrong.
    pub outcome: Result<Cow<'a, Value>, String>,
}

impl Called<'static> {
    /// A call that begins.
    pub(crate) fn begin(
        tool: &str,
        arguments: &JsonObject,
        intent: Option<String>,
        context: &RequestContext<RoleServer>,
    ) -> Self {
        let client = context.peer.peer_info().map(|info| {
            let client = &info.client_info;
            format!("{} {}", client.name, client.version)
        });
        Self {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            intent,
            client,
            duration: Duration::ZERO,
            outcome: Ok(Cow::Owned(Value::Null)),
        }
    }

    pub(crate) fn end(
        self,
        duration: Duration,
        outcome: &Result<CallToolResult, ErrorData>,
    ) -> Called<'_> {
        let outcome = match outcome {
            Ok(result) if result.is_error == Some(true) => Err(text(&result.content)),
            Ok(result) => Ok(match &result.structured_content {
                Some(answer) => Cow::Borrowed(answer),
                None => Cow::Owned(text(&result.content).into()),
            }),
            Err(error) => Err(error.message.to_string()),
        };
        Called { duration, outcome, ..self }
    }
}

fn text(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| Some(block.as_text()?.text.as_str()));
    texts.collect::<Vec<_>>().join("\n")
}

impl Inventory {
    /// Gives every tool but the reserved one the parameter by which agents say why they call it.
    #[must_use]
    pub fn with_intent(mut self) -> Self {
        for tool in self.tools.iter_mut().filter(|tool| tool.name != contract::TOOL_NAME) {
            let schema = Value::Object(JsonObject::clone(&tool.input_schema));
            if let Some(schema) = contract::inject_schema(Some(&schema)) {
                tool.input_schema = Arc::new(model::object(schema));
            }
        }
        self
    }
}

pub fn tools() -> Vec<Tool> {
    vec![request_capability(), propose_knowledge()]
}

/// Answered on the spot; whoever hears all calls hears this one.
fn request_capability() -> Tool {
    let run = |call: Invocation| {
        let wanted = call.arguments.get("capability").and_then(Value::as_str).unwrap_or_default();
        let result = if wanted.trim().is_empty() {
            let (error, message) = (INVALID_ARGUMENT.code, "capability: say what is missing");
            ToolError { error, message: message.to_owned(), ..ToolError::default() }.into_result()
        } else {
            CallToolResult::success(vec![ContentBlock::text(contract::ACKNOWLEDGEMENT)])
        };
        Box::pin(std::future::ready(Ok(result)))
            as std::pin::Pin<Box<dyn Future<Output = crate::tool::Outcome> + Send>>
    };
    Tool {
        title: "Request a capability",
        description: contract::TOOL_DESCRIPTION,
        input_schema: Arc::new(model::object(contract::tool_schema())),
        examples: vec![Example {
            description: "Something that no tool here can do",
            arguments: json!({
                "capability": "export the report as a PDF",
                "context": "the user wants to send it to a customer"
            }),
        }],
        errors: &[INVALID_ARGUMENT],
        ..Tool::with_handler(contract::TOOL_NAME, Toolset::Gaps, Arc::new(run))
    }
}

fn propose_knowledge() -> Tool {
    fn run(rooms: &Rooms, request: &ProposeRequest) -> Result<ProposalResponse, Error> {
        rooms.gaps()?.propose(request, Rooms::now())
    }
    const GAP_NOT_FOUND: CommonError =
        CommonError { code: Code::GapNotFound.as_str(), message: "There is no gap of this id" };
    const DATABASE_ERROR: CommonError = CommonError {
        code: Code::DatabaseError.as_str(),
        message: "The store failed; nothing was proposed",
    };
    Tool {
        title: "Propose knowledge",
        description: "Proposes a Markdown file for the knowledge base, such as one that answers \
                      what was missing. A person accepts or rejects it; no file is touched before.",
        effect: Effect::Writes,
        examples: vec![Example {
            description: "A guide that was missing",
            arguments: json!({
                "title": "Exporting reports",
                "markdown": "Reports are exported by `reports export --format pdf`.",
                "targetPath": "guides/EXPORTING.md"
            }),
        }],
        errors: &[INVALID_ARGUMENT, GAP_NOT_FOUND, DATABASE_ERROR],
        ..Tool::new("propose_knowledge", Toolset::GapsWrite, run)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("there is no store to keep proposals in")]
struct NoStore;

impl Rooms {
    fn gaps(&self) -> Result<&Gaps, Error> {
        self.gaps.as_ref().ok_or_else(|| kenning_gaps::ports::PortError::new(NoStore).into())
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        if error.code() == Code::DatabaseError {
            tracing::error!(%error, "the store of gaps failed");
        }
        Self {
            error: error.code().as_str(),
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
            ..Self::default()
        }
    }
}
