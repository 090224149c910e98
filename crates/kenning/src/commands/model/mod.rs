//! Language models, at their providers or at an endpoint of the user: one question, one reply, which
//! may call a tool.

mod provider;
#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

use kenning_gaps::Redactor;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use rmcp::model::Tool;
use serde_json::{Map, Value};

use self::wire::Wire;
use super::install_tls_provider;
use crate::failure::Failure;

/// Variable with the key of an OpenAI-compatible endpoint; many local ones need none.
const ENDPOINT_KEY: &str = "OPENAI_API_KEY";

/// There is no limit for the reply: a model may think for minutes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Of what a provider says about an error, so much is shown.
const MAX_PROBLEM_CHARS: usize = 500;

/// A model, and where and how to reach it.
pub(super) struct Model {
    client: Client,
    name: String,
    wire: Wire,
    base: Url,
    key: Key,
}

enum Key {
    NotNeeded,
    Set(HeaderValue),
    /// The variable that should have it.
    Missing(&'static str),
}

/// What a model replies.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reply {
    pub(super) text: String,
    /// The first call, if it makes any.
    pub(super) call: Option<Call>,
}

/// A call that a model makes.
#[derive(Debug, PartialEq)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
#[error("{model} does not answer: {problem}")]
pub(super) struct NoReply {
    model: String,
    problem: String,
}

impl Model {
    /// The model at `endpoint`, or else at the provider that its name implies.
    pub(super) fn new(name: &str, endpoint: Option<&str>) -> Result<Self, Failure> {
        if let Some(endpoint) = endpoint {
            let key = Key::read(ENDPOINT_KEY)?.unwrap_or(Key::NotNeeded);
            return Self::at(name, Wire::Completions, parse_endpoint(endpoint)?, key);
        }
        let (provider, name) = provider::of(name)?;
        let key = match provider.key {
            Some(variable) => Key::read(variable)?.unwrap_or(Key::Missing(variable)),
            None => Key::NotNeeded,
        };
        let base = Url::parse(provider.base).expect("a provider's address is a URL");
        Self::at(name, provider::wire(provider.base, name), base, key)
    }

    fn at(name: &str, wire: Wire, base: Url, key: Key) -> Result<Self, Failure> {
        install_tls_provider();
        // A redirect would take the key along to another host.
        let client = Client::builder().redirect(Policy::none()).connect_timeout(CONNECT_TIMEOUT);
        let client = client.build().map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self { client, name: name.to_owned(), wire, base, key })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Asks once, with nothing before it.
    pub(super) async fn ask(&self, prompt: &str, tools: &[Tool]) -> Result<Reply, NoReply> {
        let reply = async {
            let response = self.send(&self.wire.request(&self.name, prompt, tools)).await?;
            self.wire.reply(&read(response).await?).ok_or_else(|| "it is no reply".to_owned())
        };
        reply.await.map_err(|problem| NoReply {
            model: self.name.clone(),
            problem: self.key.removed_from(&problem),
        })
    }

    async fn send(&self, body: &Value) -> Result<Response, String> {
        let url = self.base.join(&self.wire.path(&self.name)).map_err(|error| error.to_string())?;
        let mut request = self.client.post(url).header(CONTENT_TYPE, "application/json");
        match &self.key {
            Key::Set(key) => request = request.headers(self.wire.auth(key)),
            Key::Missing(variable) => return Err(format!("`{variable}` is not set")),
            Key::NotNeeded => {}
        }
        request.body(body.to_string()).send().await.map_err(|error| chain(&error))
    }
}

impl Key {
    fn read(variable: &'static str) -> Result<Option<Self>, Failure> {
        let Some(key) = std::env::var_os(variable) else { return Ok(None) };
        let key = key.to_str().and_then(|key| HeaderValue::from_str(key.trim()).ok());
        let mut key = key.ok_or_else(|| {
            Failure::usage(format!("`{variable}` has characters that no key can have"))
        })?;
        key.set_sensitive(true);
        Ok(Some(Self::Set(key)))
    }

    /// A problem in the provider's words, which may repeat the key, without it and cut to what is
    /// shown.
    fn removed_from(&self, problem: &str) -> String {
        let key = match self {
            Self::Set(key) => key.to_str().unwrap_or_default(),
            Self::NotNeeded | Self::Missing(_) => "",
        };
        let known = if key.is_empty() { problem.to_owned() } else { problem.replace(key, "[key]") };
        Redactor::default().text(&known).chars().take(MAX_PROBLEM_CHARS).collect()
    }
}

/// With a slash at the end, so that paths are appended to it.
fn parse_endpoint(endpoint: &str) -> Result<Url, Failure> {
    let wrong = |problem: String| {
        Failure::usage(format!("the endpoint `{endpoint}` is not a URL: {problem}"))
            .hint("an example: http://127.0.0.1:8080/v1/")
    };
    let url = Url::parse(endpoint).map_err(|error| wrong(error.to_string()))?;
    let base = format!("{}/", url.as_str().trim_end_matches('/'));
    Url::parse(&base).map_err(|error| wrong(error.to_string()))
}

async fn read(response: Response) -> Result<Value, String> {
    let status = response.status();
    let body = response.bytes().await.map_err(|error| chain(&error))?;
    let parsed: Result<Value, _> = serde_json::from_slice(&body);
    if status.is_success() {
        return parsed.map_err(|error| format!("its reply is not JSON: {error}"));
    }
    let problem = match parsed.as_ref().ok().and_then(|body| body.pointer("/error/message")) {
        Some(Value::String(message)) => message.clone(),
        _ => String::from_utf8_lossy(&body).into_owned(),
    };
    Err(format!("{status}: {problem}"))
}

/// An error with its causes: the outermost says only that a request failed.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
