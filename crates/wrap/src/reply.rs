//! What a server at an address answers to one request.

use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode, Url};

use crate::MAX_MESSAGE;
use crate::raw::Object;

pub(crate) const EVENTS: &str = "text/event-stream";

/// JSON-RPC's word for a method that is not there.
const NO_SUCH_METHOD: &str = "-32601";

pub(crate) enum Reply {
    /// Messages as they come.
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

    /// Whether the server does not know the session that it was asked in. A method that it does
    /// not know may have the same status.
    pub(crate) fn knows_no_session(&self) -> bool {
        let Self::Body(StatusCode::NOT_FOUND, body) = self else { return false };
        let message = Object::read(body.trim());
        let error = message.as_ref().and_then(|message| message.object("error"));
        error.is_none_or(|error| error.get("code") != Some(NO_SUCH_METHOD))
    }
}

async fn body(mut response: Response) -> Result<String, String> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| describe(&error))? {
        if body.len() + piece.len() > MAX_MESSAGE {
            return Err(too_big());
        }
        body.extend_from_slice(&piece);
    }
    Ok(String::from_utf8(body)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

pub(crate) fn too_big() -> String {
    format!("the server's answer is larger than {} MiB", MAX_MESSAGE / (1024 * 1024))
}

/// An error with its causes; the topmost says little.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    if let Some(url) = error.url() {
        text = text.replace(url.as_str(), &public(url.as_str()));
    }
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text += &format!(": {next}");
        cause = next.source();
    }
    text
}

/// An address without what may be a secret in it: who one is, and what is asked for.
pub(crate) fn public(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else {
        return address.rsplit('@').next().unwrap_or_default().to_owned();
    };
    // They fail for addresses that can have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}
