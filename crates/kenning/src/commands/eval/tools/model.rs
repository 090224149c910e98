//! A language model with our tools at hand.

use genai::adapter::AdapterKind;
use genai::chat::{ChatRequest, Tool as ModelTool};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};
use rmcp::model::Tool;
use serde_json::{Map, Value};

use super::super::super::use_ring;
use crate::failure::Failure;

/// The variable with the key of an OpenAI-compatible endpoint; many local ones need none.
const KEY: &str = "OPENAI_API_KEY";

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
        use_ring();
        let mut client = Client::builder();
        if let Some(endpoint) = endpoint {
            client = client.with_service_target_resolver(at(endpoint)?);
        }
        let client = client.build().map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self { client, name: name.to_owned() })
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

fn at(endpoint: &str) -> Result<ServiceTargetResolver, Failure> {
    let url = reqwest::Url::parse(endpoint).map_err(|error| {
        Failure::usage(format!("--endpoint {endpoint}: {error}"))
            .hint("it looks like http://127.0.0.1:8080/v1/")
    })?;
    let base = format!("{}/", url.as_str().trim_end_matches('/'));
    let resolve = move |target: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
        let auth = match std::env::var_os(KEY) {
            Some(_) => AuthData::from_env(KEY),
            None => AuthData::from_single("none"),
        };
        let model = ModelIden::new(AdapterKind::OpenAI, target.model.model_name);
        Ok(ServiceTarget { endpoint: Endpoint::from_owned(base.as_str()), auth, model })
    };
    Ok(ServiceTargetResolver::from_resolver_fn(resolve))
}
