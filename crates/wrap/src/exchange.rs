//! One message to a server at an address, and all that it says to it.

use std::time::Duration;

use reqwest::{Response, StatusCode};
use serde_json::json;
use tokio::time::sleep;

use crate::awaited::Awaited;
use crate::message::Message;
use crate::raw::Object;
use crate::remote::{RETRY, Remote};
use crate::reply::{Reply, describe, too_big};
use crate::sse::Parser;

/// How often a stream that broke is taken up again before its request fails.
const RESUMES: usize = 5;
const MAX_REASON: usize = 500;
const FAILED: i64 = -32_000;
const UNREADABLE: i64 = -32_700;

impl Remote {
    /// A message and its answers. Every request in it gets one, if only an error.
    pub(crate) async fn exchange(&self, message: Message) {
        let mut awaited = Awaited::new(&message.ids);
        let opening = message.opens_session();
        let outcome = match self.ask(&message).await {
            Ok(Reply::Events(response)) => self.stream(response, &mut awaited, opening).await,
            Ok(Reply::Body(status, body)) => {
                self.answer(status, &body, &mut awaited, opening).await
            }
            Err(reason) => Err(reason),
        };
        let Err(reason) = outcome else { return };
        for id in awaited.ids() {
            self.fail(id, FAILED, &reason).await;
        }
        if message.is_unreadable {
            self.fail("null", UNREADABLE, &reason).await;
        }
    }

    async fn answer(
        &self,
        status: StatusCode,
        body: &str,
        awaited: &mut Awaited,
        opening: bool,
    ) -> Result<(), String> {
        let body = body.trim();
        let message = Object::read(body);
        let error = message.as_ref().and_then(|message| message.get("error"));
        let names = |message: &Object<'_>| message.get("id").is_some_and(|id| id != "null");
        if let Some(error) = error.filter(|_| !message.as_ref().is_some_and(names)) {
            // What is wrong is wrong with all of it.
            if awaited.is_empty() {
                self.pass_on(body).await;
            }
            for id in awaited.ids() {
                self.pass_on(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}"))
                    .await;
            }
            return Ok(());
        }
        let is_message = message.is_some_and(|message| message.get("jsonrpc").is_some());
        if is_message || (status.is_success() && body.starts_with('[')) {
            if opening {
                self.session().note_version(body);
            }
            awaited.hear(body);
            self.pass_on(body).await;
        }
        if awaited.is_empty() && (is_message || status.is_success()) {
            return Ok(());
        }
        let body: String = body.chars().take(MAX_REASON).collect();
        Err(format!("the server answered {status}: {body}"))
    }

    /// Passes on the events of a stream until the answers are among them. A stream that breaks off
    /// is taken up where it ended, if the server said how.
    async fn stream(
        &self,
        response: Response,
        awaited: &mut Awaited,
        opening: bool,
    ) -> Result<(), String> {
        let mut response = response;
        let mut last_id: Option<String> = None;
        for _ in 0..=RESUMES {
            let mut parser = Parser::default();
            while let Ok(Some(piece)) = response.chunk().await {
                for event in parser.push(&piece) {
                    last_id = event.id.or(last_id);
                    awaited.hear(&event.data);
                    if opening {
                        self.session().note_version(&event.data);
                    }
                    self.pass_on(&event.data).await;
                }
                if parser.overflows() {
                    return Err(too_big());
                }
            }
            if awaited.is_empty() {
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

    /// What the server says unasked, for as long as there is a session.
    pub(crate) async fn listen(&self) {
        let mut opened = self.opened.subscribe();
        let mut last_id: Option<String> = None;
        loop {
            opened.borrow_and_update();
            let Ok(response) = self.get(last_id.as_ref()).await else {
                sleep(RETRY).await;
                continue;
            };
            if response.status().is_success() {
                let retry = self.hear_unasked(response, &mut last_id).await;
                sleep(retry.unwrap_or(RETRY)).await;
                continue;
            }
            // Most servers have nothing to say unasked; one that has forgotten the session may.
            last_id = None;
            if opened.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns how long to wait before coming back.
    async fn hear_unasked(
        &self,
        mut response: Response,
        last_id: &mut Option<String>,
    ) -> Option<Duration> {
        let mut parser = Parser::default();
        while let Ok(Some(piece)) = response.chunk().await {
            for event in parser.push(&piece) {
                *last_id = event.id.or(last_id.take());
                self.pass_on(&event.data).await;
            }
            if parser.overflows() {
                tracing::warn!("what the server says unasked is too big, and is not passed on");
                break;
            }
        }
        parser.retry
    }

    pub(crate) async fn fail(&self, id: &str, code: i64, reason: &str) {
        let error = json!({ "code": code, "message": reason });
        self.pass_on(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")).await;
    }
}
