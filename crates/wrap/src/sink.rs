//! Destinations of recorded calls.

use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use kenning_gaps::Batch;
use kenning_gaps::ports::EventStore;
use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::redirect::Policy;

use crate::call::milliseconds;
use crate::remote::reply;

const TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of an error's text that are repeated in the log.
const MAX_REASON: u64 = 500;

/// Takes recorded calls. It is called from a thread of its own and may block.
pub trait Sink: Send + Sync {
    fn send(&self, batch: &Batch) -> Result<(), SinkError>;

    /// Notes all tools that the server has listed so far.
    fn tools(&self, project_id: &str, tools: &[String]) {
        let _ = (project_id, tools);
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The same batch may be sent again later.
    #[error("the sink is unavailable: {0}")]
    Unavailable(String),
    /// The same batch would be refused again.
    #[error("the sink refused the calls: {0}")]
    Refused(String),
}

/// Discards all calls.
#[derive(Debug, Clone, Copy)]
pub struct NullSink;

impl Sink for NullSink {
    fn send(&self, _: &Batch) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Writes calls to a store.
pub struct StoreSink {
    store: Arc<dyn EventStore>,
}

impl StoreSink {
    pub fn new(store: Arc<dyn EventStore>) -> Self {
        Self { store }
    }
}

impl std::fmt::Debug for StoreSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreSink").finish_non_exhaustive()
    }
}

impl Sink for StoreSink {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        let appended = self.store.append(batch);
        appended.map(|_| ()).map_err(|error| SinkError::Unavailable(error.to_string()))
    }

    fn tools(&self, project_id: &str, tools: &[String]) {
        let now = milliseconds(SystemTime::now());
        if let Err(error) = self.store.note_tools(project_id, tools, now) {
            tracing::warn!(%error, "the list of tools could not be stored");
        }
    }
}

/// Sends calls to the ingest route of a Kenning or mcpeye server.
pub struct IngestSink {
    url: String,
    secret: Option<String>,
    /// Built on first use: a blocking client must not be built in async code, as `new` may be.
    client: OnceLock<Client>,
}

impl IngestSink {
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

/// The secret must not reach a log.
impl std::fmt::Debug for IngestSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IngestSink")
            .field("url", &reply::without_secrets(&self.url))
            .finish_non_exhaustive()
    }
}

impl Sink for IngestSink {
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

impl IngestSink {
    /// The answer, and a hint at what to check.
    fn describe(&self, status: StatusCode, answer: Response) -> String {
        let mut body = Vec::new();
        // A body that cannot be read is not worth a second error.
        let _ = answer.take(MAX_REASON).read_to_end(&mut body);
        let body = String::from_utf8_lossy(&body);
        let hint = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "; is the secret right?",
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => "; is the address right?",
            _ => "",
        };
        let url = reply::without_secrets(&self.url);
        format!("{url} answered {status}: {}{hint}", body.trim())
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
