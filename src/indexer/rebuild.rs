//! Rebuilds an index from the rows in portions, between which the change log is followed.
//!
//! Each portion is read and indexed before the next step of the log. An item changed after it was read has a later log
//! entry. So the index ends up with the database's state.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use trawl_engine::Document;
use trawl_search::sources::builtin::RebuildProgress;

use super::reader::{Area, Rows};
use crate::{error::Result, store::Store};

const LOG_EVERY: Duration = Duration::from_secs(10);

pub(super) struct RebuildScan {
    /// Unfinished areas; the first one is in progress.
    areas: Vec<Area>,
    /// The last row read in the first area.
    sequence: i64,
    pub(super) progress: Arc<RebuildProgress>,
    pub(super) uncommitted: usize,
    pub(super) committed_at: Instant,
    /// Whether log changes were applied since then.
    pub(super) has_changes: bool,
    logged_at: Instant,
}

#[derive(Serialize, Deserialize)]
struct Note {
    area: String,
    sequence: i64,
    done: u64,
    #[serde(default)]
    known: u64,
}

impl Note {
    fn read(note: Option<&str>) -> Option<Self> {
        serde_json::from_str(note?).ok()
    }
}

impl RebuildScan {
    pub(super) async fn begin(store: &Store, note: Option<&str>) -> Result<Self> {
        let mut known = 0;
        for area in Area::ALL {
            known += area.count(store).await?;
        }
        let note = Note::read(note);
        let place = note.as_ref().and_then(|note| Area::ALL.iter().position(|area| area.name() == note.area));
        let (sequence, done) = note.map_or((0, 0), |note| (note.sequence, note.done));
        Ok(Self {
            areas: Area::ALL[place.unwrap_or(0)..].to_vec(),
            sequence: if place.is_some() { sequence } else { 0 },
            progress: Arc::new(RebuildProgress::new(if place.is_some() { done } else { 0 }, known)),
            uncommitted: 0,
            committed_at: Instant::now(),
            has_changes: false,
            logged_at: Instant::now(),
        })
    }

    pub(super) fn goes_on(note: Option<&str>) -> bool {
        Note::read(note).is_some_and(|note| Area::ALL.iter().any(|area| area.name() == note.area))
    }

    /// Progress as of a commit's note.
    pub(super) fn progress_of(note: Option<&str>) -> RebuildProgress {
        Note::read(note)
            .map_or_else(RebuildProgress::default, |note| RebuildProgress::new(note.done, note.known))
    }

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

    pub(super) fn took(&mut self, documents: usize) {
        self.uncommitted += documents;
        self.progress.add(documents);
        if self.logged_at.elapsed() >= LOG_EVERY {
            self.logged_at = Instant::now();
            let (done, known) = (self.progress.done(), self.progress.known());
            tracing::info!(done, known, "rebuilding the full-text index");
        }
    }

    pub(super) fn note(&self) -> Option<String> {
        let area = self.areas.first()?.name().to_owned();
        let (done, known) = (self.progress.done(), self.progress.known());
        serde_json::to_string(&Note { area, sequence: self.sequence, done, known }).ok()
    }
}
