//! How the APIs write a question with tools, and a reply.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use super::{Call, Reply};

/// Anthropic requires a limit; every model since Claude 4 allows this one.
const MAX_TOKENS: u32 = 32_000;
/// Older models, which allow less, and what they allow.
const SMALL: [(&str, u32); 2] = [("claude-3-5-", 8_192), ("claude-3-", 4_096)];
const ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// `chat/completions` of `OpenAI`, which most providers and local servers understand.
    Completions,
    /// `responses` of `OpenAI`.
    Responses,
    /// `messages` of Anthropic.
    Messages,
    /// `generateContent` of Gemini.
    Contents,
}

impl Wire {
    /// Relative to the provider's address. Not a link, although a model's name may have a colon.
    pub(super) fn path(self, model: &str) -> String {
        match self {
            Self::Completions => "chat/completions".to_owned(),
            Self::Responses => "responses".to_owned(),
            Self::Messages => "messages".to_owned(),
            Self::Contents => format!("./models/{model}:generateContent"),
        }
    }

    pub(super) fn auth(self, key: &HeaderValue) -> HeaderMap {
        let mut headers = HeaderMap::new();
        match self {
            Self::Completions | Self::Responses => {
                if let Ok(mut bearer) =
                    HeaderValue::from_bytes(&[b"Bearer ".as_slice(), key.as_bytes()].concat())
                {
                    bearer.set_sensitive(true);
                    headers.insert(AUTHORIZATION, bearer);
                }
            }
            Self::Messages => {
                headers.insert(HeaderName::from_static("x-api-key"), key.clone());
                headers.insert(HeaderName::from_static("anthropic-version"), ANTHROPIC_VERSION);
            }
            Self::Contents => {
                headers.insert(HeaderName::from_static("x-goog-api-key"), key.clone());
            }
        }
        headers
    }

    pub(super) fn request(self, model: &str, prompt: &str, tools: &[Tool]) -> Value {
        let said = json!([{"role": "user", "content": prompt}]);
        let mut body = match self {
            Self::Completions => json!({"model": model, "messages": said}),
            Self::Responses => json!({"model": model, "input": said, "store": false}),
            Self::Messages => {
                json!({"model": model, "messages": said, "max_tokens": max_tokens(model)})
            }
            Self::Contents => json!({"contents": [{"role": "user", "parts": [{"text": prompt}]}]}),
        };
        if !tools.is_empty() {
            let tools: Vec<Value> = tools.iter().map(|tool| self.tool(tool)).collect();
            body["tools"] = match self {
                Self::Contents => json!([{"functionDeclarations": tools}]),
                _ => Value::Array(tools),
            };
        }
        body
    }

    fn tool(self, tool: &Tool) -> Value {
        let schema = match self {
            Self::Completions | Self::Responses => "parameters",
            Self::Messages => "input_schema",
            // `parameters` would allow a part of JSON Schema only.
            Self::Contents => "parametersJsonSchema",
        };
        let mut function = json!({"name": tool.name, schema: *tool.input_schema});
        if let Some(text) = &tool.description {
            function["description"] = json!(text);
        }
        match self {
            Self::Completions => json!({"type": "function", "function": function}),
            Self::Responses => {
                function["type"] = json!("function");
                // The default would require more of a schema than JSON Schema does.
                function["strict"] = json!(false);
                function
            }
            Self::Messages | Self::Contents => function,
        }
    }

    /// `None` if the body is no reply at all.
    pub(super) fn reply(self, body: &Value) -> Option<Reply> {
        match self {
            Self::Completions => completion(body.pointer("/choices/0/message")?),
            Self::Responses => Some(parts(list(body.get("output")?)?.flat_map(spoken), response)),
            Self::Messages => Some(parts(list(body.get("content")?)?, message)),
            Self::Contents => {
                let content = body.pointer("/candidates/0")?.pointer("/content/parts");
                Some(parts(content.and_then(list).into_iter().flatten(), content_part))
            }
        }
    }
}

fn max_tokens(model: &str) -> u32 {
    let small = SMALL.iter().find(|(start, _)| model.starts_with(start));
    small.map_or(MAX_TOKENS, |(_, tokens)| *tokens)
}

/// A part of a reply that matters here.
enum Part {
    Text(String),
    Call(Call),
}

fn parts<'a>(
    parts: impl Iterator<Item = &'a Value>,
    read: impl Fn(&'a Value) -> Option<Part>,
) -> Reply {
    let mut reply = Reply::default();
    for part in parts.filter_map(read) {
        match part {
            Part::Text(text) => reply.text.push_str(&text),
            Part::Call(call) => reply.call = reply.call.or(Some(call)),
        }
    }
    reply
}

fn completion(message: &Value) -> Option<Reply> {
    let message = message.as_object()?;
    let text = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().filter_map(text_of).collect(),
        content => content.and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    let call = message.get("tool_calls").and_then(|calls| calls.pointer("/0/function"));
    Some(Reply { text, call: call.and_then(|function| call_of(function, "arguments")) })
}

/// The blocks of a message, or the item itself.
fn spoken(item: &Value) -> Vec<&Value> {
    match item.get("content").and_then(list) {
        Some(blocks) if item["type"] == "message" => blocks.collect(),
        _ => vec![item],
    }
}

fn response(item: &Value) -> Option<Part> {
    match item["type"].as_str()? {
        "output_text" => text_of(item).map(Part::Text),
        "function_call" => call_of(item, "arguments").map(Part::Call),
        _ => None,
    }
}

fn message(block: &Value) -> Option<Part> {
    match block["type"].as_str()? {
        "text" => text_of(block).map(Part::Text),
        "tool_use" => call_of(block, "input").map(Part::Call),
        _ => None,
    }
}

fn content_part(part: &Value) -> Option<Part> {
    if let Some(call) = part.get("functionCall") {
        return call_of(call, "args").map(Part::Call);
    }
    // Gemini marks what it thinks, which is no reply.
    let is_thought = part["thought"] == Value::Bool(true);
    text_of(part).filter(|_| !is_thought).map(Part::Text)
}

fn text_of(block: &Value) -> Option<String> {
    block.get("text")?.as_str().map(str::to_owned)
}

/// `OpenAI` writes the arguments as a string that contains JSON, the others as JSON.
fn call_of(function: &Value, arguments: &str) -> Option<Call> {
    let tool = function.get("name")?.as_str()?.to_owned();
    let arguments = match function.get(arguments) {
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(Value::String(written)) => serde_json::from_str(written).unwrap_or_default(),
        _ => Map::new(),
    };
    Some(Call { tool, arguments })
}

fn list(value: &Value) -> Option<std::slice::Iter<'_, Value>> {
    value.as_array().map(|items| items.iter())
}
