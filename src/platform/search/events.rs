//! Event stream of all modules and their best matches, then `done`.

use std::time::Instant;

use axum::response::{Response, sse::Event};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument, Span};
use trawl_search::{AnswerReservation, slow::TimedModules};

use super::{entry::AnswerEntry, page::FacetCounts};
use crate::{
    error::{Error, Result},
    http::events,
};

type Ready = (Event, AnswerReservation);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    count: usize,
    took_ms: u64,
    partial: bool,
    #[serde(flatten)]
    counts: FacetCounts,
}

pub(super) fn answer(first: Vec<AnswerEntry>, search: TimedModules, started: Instant) -> Response {
    // Room for every event, so that a slow reader does not prolong the search.
    let (sender, receiver) = mpsc::channel(search.count() + 2);
    let span = Span::current();
    let sending = send_events(first, search, started, sender).instrument(span.clone());
    events::answer(receiver, AbortOnDropHandle::new(tokio::spawn(sending)), span)
}

async fn send_events(
    first: Vec<AnswerEntry>,
    mut search: TimedModules,
    started: Instant,
    sender: mpsc::Sender<Ready>,
) -> Result<()> {
    let count = search.count();
    let mut partial = false;
    let mut send = async |entry: AnswerEntry| {
        let name = if entry.place.is_some() { "module" } else { "top" };
        partial |= entry.partial && entry.place.is_some();
        let event = Event::default().event(name).data(entry.text);
        // Without a reader this task ends with the stream.
        drop(sender.send((event, entry.reservation)).await);
    };
    for entry in first {
        send(entry).await;
    }
    while let Some(answer) = search.next().await {
        send(AnswerEntry::write(answer)?).await;
    }
    let counts = FacetCounts::from(search.facets().await);
    // The search is over, even for a slow reader.
    drop(search);
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let done = serde_json::to_string(&Done { count, took_ms, partial, counts }).map_err(Error::internal)?;
    drop(sender.send((Event::default().event("done").data(done), AnswerReservation::default())).await);
    Ok(())
}
