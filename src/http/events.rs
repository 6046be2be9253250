//! Server-sent events from a task that ends with its caller.

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

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Streams a task's events; each guard lives until its event is sent.
///
/// A disconnect aborts the task. Its failure breaks the stream, which must not look complete.
pub fn answer<K: Send + 'static>(
    receiver: mpsc::Receiver<(Event, K)>,
    task: AbortOnDropHandle<Result<()>>,
    span: Span,
) -> Response {
    let events =
        stream::unfold(Some((receiver, task)), move |stream| next_event(stream).instrument(span.clone()));
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Stops proxies such as nginx from buffering.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    (headers, events).into_response()
}

type Stream<K> = (mpsc::Receiver<(Event, K)>, AbortOnDropHandle<Result<()>>);

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

    async fn ends(task: impl FnOnce() -> Result<()> + Send + 'static) -> Vec<bool> {
        let (sender, receiver) = mpsc::channel(2);
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            sender.send((Event::default().data("x"), ())).await.unwrap();
            task()
        }));
        stream::unfold(Some((receiver, task)), next_event).map(|event| event.is_ok()).collect().await
    }

    #[tokio::test]
    async fn broken_stream_does_not_end_normally() {
        assert_eq!(ends(|| Ok(())).await, [true]);
        assert_eq!(ends(|| Err(Error::internal("x"))).await, [true, false]);
        assert_eq!(ends(|| panic!("made to panic")).await, [true, false]);
    }
}
