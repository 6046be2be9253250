//! A search of every module as server-sent events: each module as it gets ready, then `done` (decisions 5.9).

use std::time::Instant;

use axum::response::{Response, sse::Event};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument, Span};

use super::all::Entry;
use crate::{
    api::events,
    error::{Error, Result},
    search::{Held, slow::WatchedModules},
};

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
pub(super) fn answer(first: Vec<Entry>, search: WatchedModules, started: Instant) -> Response {
    // There is room for every event, so a caller that reads slowly does not prolong the search; how much waits for him
    // is bounded by what the search lets its answers hold.
    let (sender, receiver) = mpsc::channel(search.count() + 1);
    let span = Span::current();
    let sending = send_events(first, search, started, sender).instrument(span.clone());
    events::answer(receiver, AbortOnDropHandle::new(tokio::spawn(sending)), span)
}

async fn send_events(
    first: Vec<Entry>,
    mut search: WatchedModules,
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
