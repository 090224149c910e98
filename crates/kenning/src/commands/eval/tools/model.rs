//! A language model with our tools at hand.

use genai::Client;
use genai::chat::{ChatRequest, Tool as ModelTool};
use rmcp::model::Tool;
use serde_json::{Map, Value};

use crate::commands::model;
use crate::failure::Failure;

pub(super) struct Model {
    client: Client,
    name: String,
}

/// What a model chose to call.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

impl Model {
    pub(super) fn new(name: &str, endpoint: Option<&str>) -> Result<Self, Failure> {
        Ok(Self { client: model::client(endpoint)?, name: name.to_owned() })
    }

    /// The first tool the model calls; `None` if it only talks.
    pub(super) async fn choose(
        &self,
        request: &str,
        tools: &[Tool],
    ) -> Result<Option<Call>, Failure> {
        let request = ChatRequest::from_user(request).with_tools(tools.iter().map(described));
        let answer = self.client.exec_chat(&self.name, request, None).await.map_err(|error| {
            Failure::new(format!("{} does not answer: {error}", self.name))
                .hint("is the provider's key in the environment, and the endpoint right?")
        })?;
        let first = answer.into_tool_calls().into_iter().next();
        Ok(first.map(|call| Call {
            tool: call.fn_name,
            arguments: call.fn_arguments.as_object().cloned().unwrap_or_default(),
        }))
    }
}

fn described(tool: &Tool) -> ModelTool {
    let described = ModelTool::new(tool.name.to_string())
        .with_schema(Value::Object((*tool.input_schema).clone()));
    match &tool.description {
        Some(text) => described.with_description(text.to_string()),
        None => described,
    }
}
