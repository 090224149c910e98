//! Bodies that note when they end: of a request, which has a deadline, and of an answer, which has
//! none.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::Sleep;

use super::activity::Activity;

type Error = Box<dyn std::error::Error + Send + Sync>;
type NextFrame<E> = Poll<Option<Result<Frame<Bytes>, E>>>;

#[derive(Debug, thiserror::Error)]
#[error("the body did not come in time")]
struct TooLate;

/// Whether a body could not be read because the client took too long to send it.
pub(crate) fn came_too_late(error: axum::Error) -> bool {
    error.into_inner().is::<TooLate>()
}

/// The body of a request.
pub(super) struct Arriving {
    body: Incoming,
    deadline: Pin<Box<Sleep>>,
    activity: Arc<Activity>,
}

impl Arriving {
    pub(super) fn new(body: Incoming, within: Duration, activity: Arc<Activity>) -> Self {
        activity.received_head();
        if body.is_end_stream() {
            activity.received_body();
        }
        Self { body, deadline: Box::pin(tokio::time::sleep(within)), activity }
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> NextFrame<Error> {
        // First the deadline: a client that drips always has a frame.
        if self.deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(TooLate.into())));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.activity.received_body();
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.activity.received_body();
    }
}

/// The body of an answer. With its end the connection is idle.
pub(super) struct Answer {
    body: Body,
    activity: Arc<Activity>,
}

impl Answer {
    pub(super) fn new(body: Body, activity: Arc<Activity>) -> Self {
        Self { body, activity }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> NextFrame<axum::Error> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.activity.answered();
    }
}
