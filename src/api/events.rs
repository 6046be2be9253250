//! Answers as server-sent events: what a task makes is sent as it comes, and the task ends with its caller.

use std::time::Duration;

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::stream;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument, Span};

use crate::error::{Error, Result};

/// Between two signs of life where nothing else is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The events that a task sends, each with what is to be kept until it is handed on. The stream holds the task: a caller that
/// goes away ends both. Where the task breaks off, the stream does too, so that nobody takes it for complete.
pub(super) fn answer<K: Send + 'static>(
    receiver: mpsc::Receiver<(Event, K)>,
    task: AbortOnDropHandle<Result<()>>,
    span: Span,
) -> Response {
    let events =
        stream::unfold(Some((receiver, task)), move |stream| next_event(stream).instrument(span.clone()));
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Proxies such as nginx would gather the events.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    (headers, events).into_response()
}

/// A stream under way.
type Stream<K> = (mpsc::Receiver<(Event, K)>, AbortOnDropHandle<Result<()>>);

/// The next event.
async fn next_event<K>(stream: Option<Stream<K>>) -> Option<(Result<Event>, Option<Stream<K>>)> {
    let (mut receiver, task) = stream?;
    if let Some((event, _kept)) = receiver.recv().await {
        return Some((Ok(event), Some((receiver, task))));
    }
    let error = match task.await {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => error,
        Err(panic) => Error::internal(panic),
    };
    error.log();
    Some((Err(error), None))
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    /// How a stream ends whose task sends one event and then ends like this.
    async fn ends(task: impl FnOnce() -> Result<()> + Send + 'static) -> Vec<bool> {
        let (sender, receiver) = mpsc::channel(2);
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            sender.send((Event::default().data("x"), ())).await.unwrap();
            task()
        }));
        stream::unfold(Some((receiver, task)), next_event).map(|event| event.is_ok()).collect().await
    }

    #[tokio::test]
    async fn what_breaks_off_does_not_end_in_order() {
        assert_eq!(ends(|| Ok(())).await, [true]);
        assert_eq!(ends(|| Err(Error::internal("x"))).await, [true, false]);
        assert_eq!(ends(|| panic!("made to panic")).await, [true, false]);
    }
}
