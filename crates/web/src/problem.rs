//! Errors outside of an operation's contract, in the form of RFC 9457.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kenning_app::Refused;
use serde_json::json;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) detail: String,
    /// When to try again, in seconds. Sent only with statuses that invite a retry.
    retry_after: u64,
}

/// How long to wait if nothing is known about it, in seconds.
pub(crate) const RETRY_AFTER: u64 = 1;

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), retry_after: RETRY_AFTER }
    }

    pub(crate) fn retry_after(self, wait: Duration) -> Self {
        Self { retry_after: wait.as_secs() + 1, ..self }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Busy(_) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests at once; try again soon",
            ),
            Refused::TimedOut(_) | Refused::OutcomeUnknown(_) => {
                Self::new(StatusCode::GATEWAY_TIMEOUT, refused.to_string())
            }
            Refused::Panicked => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "something went wrong here; it is logged",
            ),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let body = json!({
            "type": "about:blank",
            "title": title,
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let mut response = (self.status, axum::Json(body)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        match self.status {
            StatusCode::UNAUTHORIZED => {
                let scheme = HeaderValue::from_static("Bearer");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            }
            status => add_retry_after(status, self.retry_after, response.headers_mut()),
        }
        response
    }
}

/// Says when to try again, in seconds, with a status that invites it.
pub(crate) fn add_retry_after(status: StatusCode, seconds: u64, headers: &mut HeaderMap) {
    if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}
