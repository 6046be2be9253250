//! Rebuilds an index in portions, between which it follows the change log.
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

use super::{
    progress::Announcer,
    reader::Rows,
    sinks::{IndexFailure, Sinks},
};
use crate::{error::Result, platform::documents::Area};

const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Documents between two commits of a rebuild.
const REBUILD_COMMIT: usize = 50_000;

/// Interval between commits of a rebuild that is searched already.
const REBUILD_COMMIT_INTERVAL: Duration = Duration::from_millis(500);

/// [`REBUILD_COMMIT_INTERVAL`] while changes of the log wait to be searchable.
const CHANGES_COMMIT_INTERVAL: Duration = Duration::from_millis(100);

/// A rebuild under way.
pub(super) struct RebuildScan {
    rows: Rows,
    announcer: Announcer,
    /// Unfinished areas; the first one is in progress.
    areas: Vec<Area>,
    /// The last row read in the first area.
    sequence: i64,
    progress: Arc<RebuildProgress>,
    uncommitted: usize,
    pub(super) committed_at: Instant,
    /// Whether log changes were applied since then.
    pub(super) has_changes: bool,
    logged_at: Instant,
}

/// Outcome of a portion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Portion {
    Indexed,
    Committed,
    /// The filled index is committed as complete.
    Last,
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
    /// Begins to fill an index, or continues after its last commit.
    pub(super) async fn begin(
        rows: &Rows,
        announcer: &Announcer,
        sinks: &mut Sinks,
        position: i64,
        note: Option<&str>,
    ) -> std::result::Result<Self, IndexFailure> {
        let reason = sinks.take_reason().unwrap_or_else(|| {
            if note.is_some() { "its rebuild was interrupted" } else { "it is new" }.to_owned()
        });
        tracing::info!(reason, goes_on = note.is_some(), "starting to rebuild the full-text index");
        let mut known = 0;
        for area in Area::ALL {
            known += area.count(&rows.store).await?;
        }
        let note = Note::read(note);
        let place = note.as_ref().and_then(|note| Area::ALL.iter().position(|area| area.name() == note.area));
        let (sequence, done) =
            note.filter(|_| place.is_some()).map_or((0, 0), |note| (note.sequence, note.done));
        let progress = Arc::new(RebuildProgress::new(done, known));
        if !sinks.is_beside() {
            sinks.serve(Some(&Incompleteness::Rebuilding(Arc::clone(&progress))));
        }
        announcer.begin_rebuild(position, &progress, sinks.is_beside());
        sinks.set_rebuilding(true);
        Ok(Self {
            rows: rows.clone(),
            announcer: announcer.clone(),
            areas: Area::ALL[place.unwrap_or(0)..].to_vec(),
            sequence,
            progress,
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

    /// Indexes the next portion, and commits what is due.
    pub(super) async fn go_on(
        &mut self,
        sinks: &mut Sinks,
        position: i64,
    ) -> std::result::Result<Portion, IndexFailure> {
        let Some(documents) = self.read_on().await? else {
            sinks.set_rebuilding(false);
            sinks.commit_rebuild(&self.rows.checkpoint(position, true), None).await?;
            return Ok(Portion::Last);
        };
        let count = documents.len();
        sinks.fill(documents.into_iter().map(Change::Put).collect()).await?;
        self.took(count);
        self.announcer.report_rebuild(&self.progress);
        let is_searched = !sinks.is_beside();
        let every = if self.has_changes { CHANGES_COMMIT_INTERVAL } else { REBUILD_COMMIT_INTERVAL };
        let is_due = is_searched && self.committed_at.elapsed() >= every;
        if !is_due && self.uncommitted < REBUILD_COMMIT {
            return Ok(Portion::Indexed);
        }
        (self.uncommitted, self.committed_at, self.has_changes) = (0, Instant::now(), false);
        sinks.commit_rebuild(&self.rows.checkpoint(position, false), self.note()).await?;
        if is_searched {
            self.announcer.reach(position);
        }
        Ok(Portion::Committed)
    }

    /// Has searches answered by the index that was filled.
    pub(super) async fn end(
        &self,
        sinks: &mut Sinks,
        position: i64,
        was_beside: bool,
    ) -> std::result::Result<(), IndexFailure> {
        sinks.serve_rebuilt().await?;
        if *self.rows.store.positions().borrow() > position {
            // Entries remain in the log; the step [`ReaderStep::CaughtUp`] follows them.
            sinks.tell(Some(&Incompleteness::Behind));
            // The index replaced by a side-by-side rebuild lacked these entries too, so readiness stays.
            if !was_beside {
                self.announcer.fail();
            }
        }
        tracing::info!(documents = self.progress.done(), "the full-text index is rebuilt");
        self.announcer.end_rebuild(position);
        Ok(())
    }

    async fn read_on(&mut self) -> Result<Option<Vec<Document>>> {
        while let Some(area) = self.areas.first() {
            if let Some((documents, last)) =
                area.scan(self.rows.store.index_reader(), &self.rows.public_url, self.sequence).await?
            {
                self.sequence = last;
                return Ok(Some(documents));
            }
            self.areas.remove(0);
            self.sequence = 0;
        }
        Ok(None)
    }

    fn took(&mut self, documents: usize) {
        self.uncommitted += documents;
        self.progress.add(documents);
        if self.logged_at.elapsed() >= LOG_INTERVAL {
            self.logged_at = Instant::now();
            let (done, known) = (self.progress.done(), self.progress.known());
            tracing::info!(done, known, "rebuilding the full-text index");
        }
    }

    fn note(&self) -> Option<String> {
        let area = self.areas.first()?.name().to_owned();
        let (done, known) = (self.progress.done(), self.progress.known());
        serde_json::to_string(&Note { area, sequence: self.sequence, done, known }).ok()
    }
}
