//! Filling an index from the rows, a portion at a time, so that the change log is followed in between.
//!
//! A portion is read and handed to the index before the next step of the log is, so what is put last was read last: an item
//! that changed after it was read has an entry that is followed later, and what stands in the index in the end is what the
//! database has.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use trawl_index::Document;
use trawl_search::sources::builtin::RebuildProgress;

use super::reader::{Area, Rows};
use crate::{error::Result, store::Store};

/// Between two lines of the log that say how far it is.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// How far a filling is.
pub(super) struct Filling {
    /// Areas that are not through; the first one is under way.
    areas: Vec<Area>,
    /// The number of the last row of the first of them that was read.
    sequence: i64,
    pub(super) filled: Arc<RebuildProgress>,
    /// Documents that were handed over since the last commit.
    pub(super) uncommitted: usize,
    pub(super) committed_at: Instant,
    /// Whether changes of the log were taken in since then, which somebody may look for.
    pub(super) has_changes: bool,
    logged_at: Instant,
}

/// What a commit notes of it, so that the next process goes on there.
#[derive(Serialize, Deserialize)]
struct Note {
    area: String,
    sequence: i64,
    done: u64,
}

impl Filling {
    /// A filling that begins, or goes on where a note says.
    pub(super) async fn begin(store: &Store, note: Option<&str>) -> Result<Self> {
        let mut known = 0;
        for area in Area::ALL {
            known += area.count(store).await?;
        }
        let note: Option<Note> = note.and_then(|note| serde_json::from_str(note).ok());
        let place = note.as_ref().and_then(|note| Area::ALL.iter().position(|area| area.name() == note.area));
        let (sequence, done) = note.map_or((0, 0), |note| (note.sequence, note.done));
        Ok(Self {
            areas: Area::ALL[place.unwrap_or(0)..].to_vec(),
            sequence: if place.is_some() { sequence } else { 0 },
            filled: Arc::new(RebuildProgress::new(if place.is_some() { done } else { 0 }, known)),
            uncommitted: 0,
            committed_at: Instant::now(),
            has_changes: false,
            logged_at: Instant::now(),
        })
    }

    /// Whether a filling can go on where this note says.
    pub(super) fn goes_on(note: Option<&str>) -> bool {
        let note = note.and_then(|note| serde_json::from_str::<Note>(note).ok());
        note.is_some_and(|note| Area::ALL.iter().any(|area| area.name() == note.area))
    }

    /// The next documents; `None` once all were read.
    pub(super) async fn read_on(&mut self, rows: &Rows) -> Result<Option<Vec<Document>>> {
        while let Some(area) = self.areas.first() {
            if let Some((documents, last)) = area.scan(rows, self.sequence).await? {
                self.sequence = last;
                return Ok(Some(documents));
            }
            self.areas.remove(0);
            self.sequence = 0;
        }
        Ok(None)
    }

    /// Notes that documents which were read are in the index.
    pub(super) fn took(&mut self, documents: usize) {
        self.uncommitted += documents;
        self.filled.add(documents);
        if self.logged_at.elapsed() >= LOG_EVERY {
            self.logged_at = Instant::now();
            let (done, known) = (self.filled.done(), self.filled.known());
            tracing::info!(done, known, "filling the full-text index");
        }
    }

    /// What the next commit is to note.
    pub(super) fn note(&self) -> Option<String> {
        let area = self.areas.first()?.name().to_owned();
        serde_json::to_string(&Note { area, sequence: self.sequence, done: self.filled.done() }).ok()
    }
}
