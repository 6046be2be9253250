//! Bodies of a connection: requests' as they arrive, answers' as they are sent.
//!
//! An answer may be ready before its request's body has been read, as a refusal is. The rest is read and dropped behind
//! the answer, and the connection serves the next request. Closing at once would reset the connection, and the client
//! might lose the answer (RFC 9112, section 9.6).

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::StatusCode,
};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::{sync::oneshot, time::timeout};

use super::activity::{Activity, InFlightRequest};

/// Bytes of an unread body that are read behind its answer.
const DISCARDED_BYTES: usize = 64 << 20;

/// Time for reading the rest of an unread body.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(30);

/// Time for the next bytes of an unread body.
const DISCARD_PAUSE: Duration = Duration::from_secs(5);

/// A request's body that has not arrived whole.
pub(super) struct UnreadBody {
    body: Incoming,
    /// Whether the client waits for `100 Continue`. After a refusal it may send the next request instead of the body
    /// (RFC 9110, section 10.1.1).
    expects_continue: bool,
    activity: Arc<Activity>,
}

impl UnreadBody {
    /// Whether the connection must close behind an answer of this status.
    pub(super) fn closes_connection(&self, status: StatusCode) -> bool {
        let is_too_late = status == StatusCode::REQUEST_TIMEOUT;
        is_too_late || self.expects_continue || self.body.size_hint().lower() > DISCARDED_BYTES as u64
    }

    /// Reads the rest in the background, within limits.
    fn discard(mut self) {
        let in_flight = self.activity.begin_request();
        tokio::spawn(async move {
            let _in_flight = in_flight;
            let mut left = DISCARDED_BYTES;
            let read = async {
                while let Ok(Some(Ok(frame))) = timeout(DISCARD_PAUSE, self.body.frame()).await {
                    let bytes = frame.data_ref().map_or(0, Bytes::len);
                    let Some(rest) = left.checked_sub(bytes) else { return };
                    left = rest;
                }
            };
            // What is unread afterwards closes the connection.
            drop(timeout(DISCARD_TIMEOUT, read).await);
        });
    }
}

impl Drop for UnreadBody {
    fn drop(&mut self) {
        self.activity.end_body();
    }
}

/// A request's body, which arrives until its end or until it is dropped.
pub(super) struct ArrivingBody {
    /// The rest of the body, and who takes it when this is dropped.
    rest: Option<(UnreadBody, oneshot::Sender<UnreadBody>)>,
}

impl ArrivingBody {
    /// Returns the body, and what its reader will have left of it.
    pub(super) fn new(
        body: Incoming,
        expects_continue: bool,
        activity: &Arc<Activity>,
    ) -> (Self, Option<oneshot::Receiver<UnreadBody>>) {
        if body.is_end_stream() {
            return (Self { rest: None }, None);
        }
        activity.begin_body();
        let (taker, rest) = oneshot::channel();
        let unread = UnreadBody { body, expects_continue, activity: Arc::clone(activity) };
        (Self { rest: Some((unread, taker)) }, Some(rest))
    }
}

impl Drop for ArrivingBody {
    fn drop(&mut self) {
        if let Some((rest, taker)) = self.rest.take() {
            // Nobody takes it where the answer came first: then the connection closes.
            drop(taker.send(rest));
        }
    }
}

impl HttpBody for ArrivingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some((UnreadBody { body, .. }, _)) = &mut self.rest else { return Poll::Ready(None) };
        let polled = Pin::new(&mut *body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || body.is_end_stream() {
            self.rest = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.rest.as_ref().is_none_or(|(rest, _)| rest.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.rest.as_ref().map_or_else(|| SizeHint::with_exact(0), |(rest, _)| rest.body.size_hint())
    }
}

/// Keeps its request in flight until dropped, and then discards what is unread of it.
pub(super) struct AnswerBody {
    body: Body,
    unread: Option<UnreadBody>,
    _in_flight: InFlightRequest,
}

impl AnswerBody {
    pub(super) fn new(body: Body, unread: Option<UnreadBody>, in_flight: InFlightRequest) -> Self {
        Self { body, unread, _in_flight: in_flight }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        if let Some(unread) = self.unread.take() {
            unread.discard();
        }
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
