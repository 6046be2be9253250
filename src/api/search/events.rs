//! A search of every module as server-sent events: each module as it gets ready, then `done` (decisions 5.9).

use std::time::{Duration, Instant};

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::stream;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument, Span};

use super::all::Entry;
use crate::{
    error::{Error, Result},
    search::{AllModules, Held},
};

/// Between two signs of life where nothing else is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An event, and the room that it takes until it is handed on.
type Ready = (Event, Held);

/// What the last event says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    /// The number of modules.
    count: usize,
    /// Milliseconds from the request on.
    took_ms: u64,
    /// Whether any module lacks something that was asked for.
    partial: bool,
}

/// The stream: the modules that are ready already, then the others.
pub(super) fn answer(first: Vec<Entry>, search: AllModules, started: Instant) -> Response {
    // There is room for every event, so a caller that reads slowly does not prolong the search; how much waits for him
    // is bounded by what the search lets its answers hold.
    let (sender, receiver) = mpsc::channel(search.count() + 1);
    let span = Span::current();
    let sending = send_events(first, search, started, sender).instrument(span.clone());
    // The stream holds the task, and the task the search: a caller that goes away ends both.
    let task = AbortOnDropHandle::new(tokio::spawn(sending));
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

async fn send_events(
    first: Vec<Entry>,
    mut search: AllModules,
    started: Instant,
    sender: mpsc::Sender<Ready>,
) -> Result<()> {
    let count = search.count();
    let mut partial = false;
    let mut send = async |entry: Entry| {
        partial |= entry.partial;
        let event = Event::default().event("module").data(entry.text);
        // Where nobody listens any more, this task ends with the stream.
        drop(sender.send((event, entry.held)).await);
    };
    for entry in first {
        send(entry).await;
    }
    while let Some(answer) = search.next().await {
        send(Entry::write(answer)?).await;
    }
    // The search is over, whenever the caller has read it all.
    drop(search);
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let done = serde_json::to_string(&Done { count, took_ms, partial }).map_err(Error::internal)?;
    drop(sender.send((Event::default().event("done").data(done), Held::default())).await);
    Ok(())
}

/// A stream under way.
type Stream = (mpsc::Receiver<Ready>, AbortOnDropHandle<Result<()>>);

/// The next event. Where the search broke off, the stream does so too, so that nobody takes it for complete.
async fn next_event(stream: Option<Stream>) -> Option<(Result<Event>, Option<Stream>)> {
    let (mut receiver, task) = stream?;
    if let Some((event, _held)) = receiver.recv().await {
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
            sender.send((Event::default().data("x"), Held::default())).await.unwrap();
            task()
        }));
        stream::unfold(Some((receiver, task)), next_event).map(|event| event.is_ok()).collect().await
    }

    #[tokio::test]
    async fn a_search_that_breaks_off_does_not_end_in_order() {
        assert_eq!(ends(|| Ok(())).await, [true]);
        assert_eq!(ends(|| Err(Error::internal("x"))).await, [true, false]);
        assert_eq!(ends(|| panic!("made to panic")).await, [true, false]);
    }
}
