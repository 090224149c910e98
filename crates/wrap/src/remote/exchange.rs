//! One message to a remote server, and all its answers.

use std::time::Duration;

use reqwest::{Response, StatusCode};
use serde_json::json;
use tokio::time::sleep;

use super::message::Message;
use super::reply::{Reply, describe, too_large};
use super::sse::Parser;
use super::unanswered::Unanswered;
use super::{RETRY, Remote};
use crate::raw::Object;

/// How often a broken stream is resumed before its request fails.
const MAX_RESUMES: usize = 5;
const MAX_REASON: usize = 500;
/// A server error of JSON-RPC's range for implementations.
const FAILED: i64 = -32_000;
/// JSON-RPC's code for a message that is no JSON.
const PARSE_ERROR: i64 = -32_700;

impl Remote {
    /// Sends a message and forwards its answers. Every request in it gets one, if only an error.
    pub(super) async fn exchange(&self, message: Message) {
        let mut unanswered = Unanswered::new(&message.ids);
        let opening = message.opens_session();
        let outcome = match self.send(&message).await {
            Ok(Reply::Events(response)) => self.stream(response, &mut unanswered, opening).await,
            Ok(Reply::Body(status, body)) => {
                self.answer(status, &body, &mut unanswered, opening).await
            }
            Err(reason) => Err(reason),
        };
        let Err(reason) = outcome else { return };
        for id in unanswered.ids() {
            self.fail(id, FAILED, &reason).await;
        }
        if message.is_unreadable {
            self.fail("null", PARSE_ERROR, &reason).await;
        }
    }

    async fn answer(
        &self,
        status: StatusCode,
        body: &str,
        unanswered: &mut Unanswered,
        opening: bool,
    ) -> Result<(), String> {
        let body = body.trim();
        let message = Object::read(body);
        let error = message.as_ref().and_then(|message| message.get("error"));
        let names = |message: &Object<'_>| message.get("id").is_some_and(|id| id != "null");
        if let Some(error) = error.filter(|_| !message.as_ref().is_some_and(names)) {
            // An error without an id is the answer to every request of the message.
            if unanswered.is_empty() {
                self.forward(body).await;
            }
            for id in unanswered.ids() {
                self.forward(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}"))
                    .await;
            }
            return Ok(());
        }
        let is_message = message.is_some_and(|message| message.get("jsonrpc").is_some());
        if is_message || (status.is_success() && body.starts_with('[')) {
            if opening {
                self.session().note_version(body);
            }
            unanswered.settle(body);
            self.forward(body).await;
        }
        if unanswered.is_empty() && (is_message || status.is_success()) {
            return Ok(());
        }
        let body: String = body.chars().take(MAX_REASON).collect();
        Err(format!("the server answered {status}: {body}"))
    }

    /// Forwards the events of a stream until all requests are answered. A stream that breaks off is
    /// resumed after its last event, if the server gave that an id.
    async fn stream(
        &self,
        response: Response,
        unanswered: &mut Unanswered,
        opening: bool,
    ) -> Result<(), String> {
        let mut response = response;
        let mut last_id: Option<String> = None;
        for _ in 0..=MAX_RESUMES {
            let mut parser = Parser::default();
            while let Ok(Some(piece)) = response.chunk().await {
                for event in parser.push(&piece) {
                    last_id = event.id.or(last_id);
                    unanswered.settle(&event.data);
                    if opening {
                        self.session().note_version(&event.data);
                    }
                    self.forward(&event.data).await;
                }
                if parser.overflows() {
                    return Err(too_large());
                }
            }
            if unanswered.is_empty() {
                return Ok(());
            }
            let Some(last) = &last_id else { break };
            sleep(parser.retry.unwrap_or(RETRY)).await;
            response = match self.get(Some(last)).await {
                Ok(resumed) if resumed.status().is_success() => resumed,
                Ok(refused) => return Err(format!("the answer is lost: {}", refused.status())),
                Err(error) => return Err(describe(&error)),
            };
        }
        Err("the server closed the connection before it answered".to_owned())
    }

    /// Forwards requests and notifications that the server sends on its own, for as long as there
    /// is a session.
    pub(super) async fn listen(&self) {
        let mut reopened = self.reopened.subscribe();
        let mut last_id: Option<String> = None;
        loop {
            reopened.borrow_and_update();
            let Ok(response) = self.get(last_id.as_ref()).await else {
                sleep(RETRY).await;
                continue;
            };
            if response.status().is_success() {
                let retry = self.forward_events(response, &mut last_id).await;
                sleep(retry.unwrap_or(RETRY)).await;
                continue;
            }
            // Most servers have no such stream. One that lost the session may have it again.
            last_id = None;
            if reopened.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns how long the server wants us to wait before we reconnect.
    async fn forward_events(
        &self,
        mut response: Response,
        last_id: &mut Option<String>,
    ) -> Option<Duration> {
        let mut parser = Parser::default();
        while let Ok(Some(piece)) = response.chunk().await {
            for event in parser.push(&piece) {
                *last_id = event.id.or(last_id.take());
                self.forward(&event.data).await;
            }
            if parser.overflows() {
                tracing::warn!("a message from the server is too large and is not forwarded");
                break;
            }
        }
        parser.retry
    }

    pub(super) async fn fail(&self, id: &str, code: i64, reason: &str) {
        let error = json!({ "code": code, "message": reason });
        self.forward(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")).await;
    }
}
