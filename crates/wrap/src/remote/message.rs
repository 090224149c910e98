//! A client's line as the body and headers of an HTTP request.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::raw::{Object, items};

pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Where a request of the newer protocol names its version.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// One line of a client: a message or a batch.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) text: String,
    /// The ids of the requests in it, as they were written.
    pub(crate) ids: Vec<String>,
    /// `None` for a batch.
    pub(crate) method: Option<String>,
    pub(crate) headers: HeaderMap,
    /// It is sent all the same: the server says what is wrong with it.
    pub(crate) is_unreadable: bool,
}

impl Message {
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line).trim().to_owned();
        if text.is_empty() {
            return None;
        }
        let Some(fields) = Object::read(&text) else { return Some(Self::batch(text)) };
        let method = fields.string("method").map(Cow::into_owned);
        let ids = id(&fields).into_iter().collect();
        let headers = newer_headers(&fields, method.as_deref()).unwrap_or_default();
        Some(Self { text, ids, method, headers, is_unreadable: false })
    }

    /// A batch of messages, as protocol version 2025-03-26 allows, or no message at all.
    fn batch(text: String) -> Self {
        let messages = items(&text).unwrap_or_default();
        let messages: Option<Vec<Object<'_>>> = messages.into_iter().map(Object::read).collect();
        let messages = messages.unwrap_or_default();
        let is_unreadable = messages.is_empty();
        let ids = messages.iter().filter_map(id).collect();
        Self { text, ids, method: None, headers: HeaderMap::new(), is_unreadable }
    }

    pub(crate) fn opens_session(&self) -> bool {
        self.method.as_deref() == Some("initialize") && !self.ids.is_empty()
    }

    /// Whether the server answers it.
    pub(crate) fn is_answered(&self) -> bool {
        self.is_unreadable || !self.ids.is_empty()
    }
}

/// The id of a request.
fn id(message: &Object<'_>) -> Option<String> {
    message.get("method")?;
    message.get("id").filter(|id| *id != "null").map(str::to_owned)
}

/// From 2026-07-28 on, headers repeat a request's version, method and name.
fn newer_headers(message: &Object<'_>, method: Option<&str>) -> Option<HeaderMap> {
    let params = message.object("params")?;
    let version = params.object("_meta")?.string(VERSION_KEY)?;
    let method = method?;
    let mut headers = HeaderMap::new();
    headers.insert(VERSION, HeaderValue::from_str(&version).ok()?);
    headers.insert(METHOD, HeaderValue::from_str(method).ok()?);
    let name = match method {
        "tools/call" | "prompts/get" => params.string("name"),
        "resources/read" => params.string("uri"),
        _ => None,
    };
    if let Some(name) = name {
        headers.insert(NAME, header_text(&name)?);
    }
    Some(headers)
}

/// Text that a header cannot hold as it is gets encoded.
fn header_text(text: &str) -> Option<HeaderValue> {
    let plain = text.trim() == text
        && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && !text.starts_with("=?base64?");
    if plain {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", BASE64.encode(text))).ok()
}
