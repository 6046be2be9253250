//! Rebuilds an index from the rows in portions, between which the change log is followed.
//!
//! Each portion is read and indexed before the next step of the log. An item changed after it was read has a later log
//! entry. So the index ends up with the database's state.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use trawl_engine::{Change, Document};
use trawl_search::sources::builtin::{Incompleteness, RebuildProgress};

use super::{follower::Follower, reader::Rows, rebuild_request::RebuildState, sinks::IndexFailure};
use crate::{error::Result, platform::documents::Area, store::Store};

const LOG_EVERY: Duration = Duration::from_secs(10);

/// Documents between two commits of a rebuild.
const REBUILD_COMMIT: usize = 50_000;

/// Interval between commits of a rebuild that is searched already.
const REBUILD_COMMIT_EVERY: Duration = Duration::from_millis(500);

/// Like [`REBUILD_COMMIT_EVERY`], while changes of the log wait to be searchable.
const CHANGES_COMMIT_EVERY: Duration = Duration::from_millis(100);

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
            if let Some((documents, last)) =
                area.scan(rows.store.index_reader(), &rows.public_url, self.sequence).await?
            {
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

impl Follower {
    pub(super) async fn begin_scan(&mut self, note: Option<&str>) -> std::result::Result<(), IndexFailure> {
        let reason = self.sinks.take_reason().unwrap_or_else(|| {
            if note.is_some() { "its rebuild was interrupted" } else { "it is new" }.to_owned()
        });
        tracing::info!(reason, goes_on = note.is_some(), "starting to rebuild the full-text index");
        let scan = RebuildScan::begin(&self.rows.store, note).await?;
        if !self.sinks.is_beside() {
            self.sinks.serve(Some(&Incompleteness::Rebuilding(scan.progress.clone())));
        }
        self.announcer.begin_rebuild(self.position, &scan.progress, self.sinks.is_beside());
        self.scan = Some(scan);
        Ok(())
    }

    pub(super) async fn continue_scan(&mut self) -> std::result::Result<(), IndexFailure> {
        let Some(scan) = &mut self.scan else { return Ok(()) };
        let portion = scan.read_on(&self.rows).await?;
        let is_through = portion.is_none();
        if let Some(documents) = portion {
            let count = documents.len();
            let changes = documents.into_iter().map(Change::Put).collect();
            self.sinks.fill(changes).await?;
            scan.took(count);
            self.announcer.report_rebuild(&scan.progress);
        }
        if is_through {
            return self.finish_scan().await;
        }
        let is_searched = !self.sinks.is_beside();
        let every = if scan.has_changes { CHANGES_COMMIT_EVERY } else { REBUILD_COMMIT_EVERY };
        let is_due = is_searched && scan.committed_at.elapsed() >= every;
        if is_due || scan.uncommitted >= REBUILD_COMMIT {
            (scan.uncommitted, scan.committed_at, scan.has_changes) = (0, Instant::now(), false);
            let note = scan.note();
            let checkpoint = self.checkpoint(self.position, false);
            self.sinks.commit_rebuild(&checkpoint, note).await?;
            self.failures = 0;
            if is_searched {
                self.announcer.reach(self.position);
            }
        }
        Ok(())
    }

    async fn finish_scan(&mut self) -> std::result::Result<(), IndexFailure> {
        let checkpoint = self.checkpoint(self.position, true);
        let was_beside = self.sinks.is_beside();
        self.sinks.commit_rebuild(&checkpoint, None).await?;
        self.sinks.exchange().await?;
        // The rebuild counts as done even if a later step fails.
        (self.rebuild, self.beside) = (false, RebuildState::None);
        self.sinks.serve_rebuilt().await?;
        if *self.rows.store.positions().borrow() > self.position {
            // Entries remain in the log; the step [`ReaderStep::CaughtUp`] follows them.
            self.sinks.tell(Some(&Incompleteness::Behind));
            // The index replaced by a side-by-side rebuild lacked these entries too, so readiness stays.
            if !was_beside {
                self.announcer.fail();
            }
        }
        let documents = self.scan.take().map_or(0, |scan| scan.progress.done());
        tracing::info!(documents, "the full-text index is rebuilt");
        self.announcer.end_rebuild(self.position);
        Ok(())
    }
}
