//! Where captured calls go.

use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kenning_gaps::Batch;
use kenning_gaps::ports::EventStore;
use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::redirect::Policy;

use crate::reply;

const TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of an error's text that are worth repeating.
const MAX_REASON: u64 = 500;

/// Takes captured calls. It is called from a thread of its own and may take its time.
pub trait Sink: Send + Sync {
    fn send(&self, batch: &Batch) -> Result<(), SinkError>;

    /// All tools that the server was seen to offer.
    fn tools(&self, project_id: &str, tools: &[String]) {
        let _ = (project_id, tools);
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// It may work later.
    #[error("calls cannot be reported now: {0}")]
    Unavailable(String),
    /// It never will.
    #[error("calls were refused: {0}")]
    Refused(String),
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy)]
pub struct Nowhere;

impl Sink for Nowhere {
    fn send(&self, _: &Batch) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Keeps calls in a store on this machine.
pub struct LogSink {
    log: Arc<dyn EventStore>,
}

impl LogSink {
    pub fn new(log: Arc<dyn EventStore>) -> Self {
        Self { log }
    }
}

impl std::fmt::Debug for LogSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogSink").finish_non_exhaustive()
    }
}

impl Sink for LogSink {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        let appended = self.log.append(batch);
        appended.map(|_| ()).map_err(|error| SinkError::Unavailable(error.to_string()))
    }

    fn tools(&self, project_id: &str, tools: &[String]) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        if let Err(error) = self.log.note_tools(project_id, tools, now) {
            tracing::warn!(%error, "the list of tools was not kept");
        }
    }
}

/// Sends calls to another machine, as mcpeye's clients do.
pub struct Ingest {
    url: String,
    secret: Option<String>,
    /// Made by the first to send: it must not be made in async code, where this may be.
    client: OnceLock<Client>,
}

impl Ingest {
    /// `base` may or may not end in `/ingest`.
    pub fn new(base: &str, secret: Option<String>) -> Self {
        let base = base.trim().trim_end_matches('/');
        let base = base.strip_suffix("/ingest").unwrap_or(base);
        Self { url: format!("{base}/ingest"), secret, client: OnceLock::new() }
    }

    fn client(&self) -> Result<&Client, SinkError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        crate::choose_encryption();
        let client = Client::builder().timeout(TIMEOUT).redirect(Policy::none()).build();
        let client = client.map_err(|error| SinkError::Refused(error.to_string()))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// The secret is not for logs.
impl std::fmt::Debug for Ingest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ingest").field("url", &reply::public(&self.url)).finish_non_exhaustive()
    }
}

impl Sink for Ingest {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        let body = serde_json::to_vec(batch).map_err(|e| SinkError::Refused(e.to_string()))?;
        let mut request = self.client()?.post(&self.url).header("content-type", "application/json");
        if let Some(secret) = &self.secret {
            request = request.header("x-mcpeye-secret", secret);
        }
        let answer = request.body(body).send();
        let answer = answer.map_err(|error| SinkError::Unavailable(reply::describe(&error)))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            StatusCode::PAYLOAD_TOO_LARGE if batch.events.len() > 1 => self.send_halves(batch),
            status if is_final(status) => Err(SinkError::Refused(self.describe(status, answer))),
            status => Err(SinkError::Unavailable(self.describe(status, answer))),
        }
    }
}

impl Ingest {
    /// What was answered, and what to do about it.
    fn describe(&self, status: StatusCode, answer: Response) -> String {
        let mut said = Vec::new();
        // What cannot be read is not worth a second error.
        let _ = answer.take(MAX_REASON).read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        let hint = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "; is the secret right?",
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => "; is the address right?",
            _ => "",
        };
        let url = reply::public(&self.url);
        format!("{url} answered {status}: {}{hint}", said.trim())
    }

    fn send_halves(&self, batch: &Batch) -> Result<(), SinkError> {
        let (first, second) = batch.events.split_at(batch.events.len() / 2);
        for events in [first, second] {
            let half = Batch {
                project_id: batch.project_id.clone(),
                identity: batch.identity.clone(),
                events: events.to_vec(),
            };
            self.send(&half)?;
        }
        Ok(())
    }
}

/// Whether the same batch would be refused again.
fn is_final(status: StatusCode) -> bool {
    let later = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    status.is_client_error() && !later.contains(&status)
}
