//! A remote server's HTTP response to one message.

use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode, Url};

use crate::MAX_MESSAGE;
use crate::raw::Object;

pub(crate) const EVENTS: &str = "text/event-stream";

/// JSON-RPC's code for an unknown method.
const METHOD_NOT_FOUND: &str = "-32601";

pub(crate) enum Reply {
    /// A stream of server-sent events.
    Events(Response),
    Body(StatusCode, String),
}

impl Reply {
    pub(crate) async fn read(response: Response) -> Result<Self, String> {
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_stream = kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(EVENTS));
        if is_stream && status.is_success() {
            return Ok(Self::Events(response));
        }
        Ok(Self::Body(status, body(response).await?))
    }

    /// Whether the server does not know the session of the request. An unknown method may have the
    /// same status.
    pub(crate) fn is_session_lost(&self) -> bool {
        let Self::Body(StatusCode::NOT_FOUND, body) = self else { return false };
        let message = Object::read(body.trim());
        let error = message.as_ref().and_then(|message| message.object("error"));
        error.is_none_or(|error| error.get("code") != Some(METHOD_NOT_FOUND))
    }
}

async fn body(mut response: Response) -> Result<String, String> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| describe(&error))? {
        if body.len() + piece.len() > MAX_MESSAGE {
            return Err(too_large());
        }
        body.extend_from_slice(&piece);
    }
    Ok(String::from_utf8(body)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

pub(crate) fn too_large() -> String {
    format!("the server's answer is larger than {} MiB", MAX_MESSAGE / (1024 * 1024))
}

/// An error with its causes, which say more than its own text, and without secrets of its URL.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    if let Some(url) = error.url() {
        text = text.replace(url.as_str(), &without_secrets(url.as_str()));
    }
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text += &format!(": {next}");
        cause = next.source();
    }
    text
}

/// A URL without the parts that may be secret: credentials, query and fragment.
pub(crate) fn without_secrets(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else {
        return address.rsplit('@').next().unwrap_or_default().to_owned();
    };
    // These fail only for URLs that have no credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}
