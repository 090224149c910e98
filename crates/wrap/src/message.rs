//! A client's message as an HTTP request has it.

use std::borrow::Cow;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::raw::Object;

pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// One message from the client, as far as HTTP must know it.
pub(crate) struct Message {
    pub(crate) text: String,
    /// Of a request, as it was written.
    pub(crate) id: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) headers: HeaderMap,
}

impl Message {
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line).trim().to_owned();
        if text.is_empty() {
            return None;
        }
        let Some(fields) = Object::read(&text) else {
            // Not ours to judge: the server says what is wrong with it.
            return Some(Self { text, id: None, method: None, headers: HeaderMap::new() });
        };
        let method = fields.string("method").map(Cow::into_owned);
        let id = fields.get("id").filter(|_| method.is_some()).map(str::to_owned);
        let headers = newer_headers(&fields, method.as_deref()).unwrap_or_default();
        Some(Self { text, id, method, headers })
    }
}

/// From 2026-07-28 on a request says in its headers what it is.
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

/// Text that a header cannot hold as it is travels encoded.
fn header_text(text: &str) -> Option<HeaderValue> {
    let plain = text.trim() == text
        && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && !text.starts_with("=?base64?");
    if plain {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", base64(text.as_bytes()))).ok()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(padded);
        for digit in 0..4 {
            let six = usize::try_from(bits >> (18 - 6 * digit) & 63).unwrap_or_default();
            text.push(if digit <= group.len() { char::from(DIGITS[six]) } else { '=' });
        }
    }
    text
}
