//! The session with a remote server, which is reopened when the server loses it.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::Remote;
use super::message::{Message, VERSION};
use super::reply::{Reply, describe, too_large};
use super::sse::Parser;
use crate::raw::Object;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// What the server assigned when the session was opened.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) id: Option<HeaderValue>,
    pub(super) version: Option<HeaderValue>,
    /// The client's `initialize`.
    pub(super) opening: Option<Message>,
}

impl Session {
    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.extend(self.id.clone().map(|id| (SESSION, id)));
        headers.extend(self.version.clone().map(|version| (VERSION, version)));
        headers
    }

    pub(super) fn note_version(&mut self, message: &str) {
        let version = Object::read(message.trim()).and_then(|message| {
            let version = message.object("result")?.string("protocolVersion")?.into_owned();
            HeaderValue::from_str(&version).ok()
        });
        if version.is_some() {
            self.version = version;
        }
    }
}

impl Remote {
    /// Sends a message. If the server has lost the session, it is reopened, once, and the message
    /// sent again: for the client, the session has not ended.
    pub(super) async fn send(&self, message: &Message) -> Result<Reply, String> {
        let session = self.session().headers();
        if message.opens_session() {
            self.session().opening = Some(message.clone());
            let response = self.post(message, HeaderMap::new()).await;
            let response = response.map_err(|error| describe(&error))?;
            if response.status().is_success() {
                self.session().id = response.headers().get(SESSION).cloned();
            }
            return Reply::read(response).await;
        }
        let used = session.get(SESSION).cloned();
        let response = self.post(message, session).await.map_err(|error| describe(&error))?;
        let reply = Reply::read(response).await?;
        match used {
            Some(lost) if reply.is_session_lost() && self.reopen(&lost).await => {
                let session = self.session().headers();
                let response = self.post(message, session).await;
                Reply::read(response.map_err(|error| describe(&error))?).await
            }
            _ => Ok(reply),
        }
    }

    /// Opens a session with the client's own `initialize`. The client does not see the answer: it
    /// had one already.
    async fn reopen(&self, lost: &HeaderValue) -> bool {
        let _alone = self.reopening.lock().await;
        let opening = {
            let session = self.session();
            if session.id.as_ref() != Some(lost) {
                return true; // Another request has reopened it.
            }
            session.opening.clone()
        };
        let Some(opening) = opening else { return false };
        tracing::info!("the server has lost the session; reopening it");
        let opened = self.open(&opening).await;
        if let Err(reason) = &opened {
            tracing::warn!(reason, "the session could not be reopened; the request fails");
        }
        opened.is_ok()
    }

    async fn open(&self, opening: &Message) -> Result<(), String> {
        let response = self.post(opening, HeaderMap::new()).await;
        let response = response.map_err(|error| describe(&error))?;
        let status = response.status();
        let id = response.headers().get(SESSION).cloned();
        let answer = answer(Reply::read(response).await?).await?;
        let message = Object::read(answer.trim());
        if message.is_none_or(|message| message.get("result").is_none()) {
            return Err(format!("the server answered {status}"));
        }
        {
            let mut session = self.session();
            session.id = id;
            session.note_version(&answer);
        }
        if let Some(initialized) = Message::read(INITIALIZED) {
            let session = self.session().headers();
            self.post(&initialized, session).await.map_err(|error| describe(&error))?;
        }
        self.reopened.send_modify(|count| *count += 1);
        Ok(())
    }
}

/// The first answer in a reply.
async fn answer(reply: Reply) -> Result<String, String> {
    let mut response = match reply {
        Reply::Body(_, body) => return Ok(body),
        Reply::Events(response) => response,
    };
    let mut parser = Parser::default();
    while let Some(piece) = response.chunk().await.map_err(|error| describe(&error))? {
        for event in parser.push(&piece) {
            let message = Object::read(event.data.trim());
            if message.is_some_and(|message| message.get("method").is_none()) {
                return Ok(event.data);
            }
        }
        if parser.overflows() {
            return Err(too_large());
        }
    }
    Err("the server closed the connection before it answered".to_owned())
}
