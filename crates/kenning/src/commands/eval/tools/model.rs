//! A language model that is offered our tools.

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

/// A call that a model makes.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

impl Model {
    pub(super) fn new(name: &str, endpoint: Option<&str>) -> Result<Self, Failure> {
        Ok(Self { client: model::client(endpoint)?, name: name.to_owned() })
    }

    /// The first call of the model; `None` if it answers in text.
    pub(super) async fn choose(
        &self,
        request: &str,
        tools: &[Tool],
    ) -> Result<Option<Call>, Failure> {
        let request = ChatRequest::from_user(request).with_tools(tools.iter().map(model_tool));
        let answer = self.client.exec_chat(&self.name, request, None).await.map_err(|error| {
            Failure::new(format!("{} does not answer: {error}", self.name))
                .hint("check the provider's key in the environment, and the endpoint")
        })?;
        let first = answer.into_tool_calls().into_iter().next();
        Ok(first.map(|call| Call {
            tool: call.fn_name,
            arguments: call.fn_arguments.as_object().cloned().unwrap_or_default(),
        }))
    }
}

fn model_tool(tool: &Tool) -> ModelTool {
    let converted = ModelTool::new(tool.name.to_string())
        .with_schema(Value::Object((*tool.input_schema).clone()));
    match &tool.description {
        Some(text) => converted.with_description(text.to_string()),
        None => converted,
    }
}
