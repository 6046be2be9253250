//! Applies the log to the index and commits.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::{
    mpsc::{self, error::TryRecvError},
    watch,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use trawl_engine::Indexes;
use trawl_search::sources::builtin::Incompleteness;

use super::{
    RETRY_AFTER,
    commit_schedule::{Bulk, Rest, UncommittedBatch},
    context::{EngineContext, Outputs},
    log_cutter::LogCutter,
    progress::Announcer,
    reader::{LogReader, ReaderStep, Rows},
    rebuild::{Portion, RebuildScan},
    rebuild_request::{Ask, RebuildRefusal, RebuildRequests, RebuildState},
    sinks::{IndexFailure, Sinks},
};
use crate::{error::Error, index_progress::WaitingSearches, store::change_log};

const STEPS_AHEAD: usize = 4;

/// Consecutive failures after which the index's files are verified.
const DOUBTFUL: u32 = 3;

/// Longest pause after consecutive failures, in multiples of `RETRY_AFTER`.
const LONGEST_PAUSE: u32 = 5;

/// Time after which changes that are not searchable are reported as missing.
pub(super) const LATE_AFTER: Duration = Duration::from_secs(5);

pub(super) struct Follower {
    pub(super) rows: Rows,
    pub(super) sinks: Sinks,
    pub(super) announcer: Announcer,
    pub(super) stop: CancellationToken,
    pub(super) batch_changes: u64,
    pub(super) requests: RebuildRequests,
    pub(super) scan: Option<RebuildScan>,
    /// Position up to which changes are applied and, outside of rebuilds, committed.
    pub(super) position: i64,
    failures: u32,
    cutter: LogCutter,
    bulk: Bulk,
    rests: watch::Sender<Rest>,
    waiting: WaitingSearches,
}

impl Follower {
    pub(super) fn new(
        context: &EngineContext,
        indexes: Box<dyn Indexes>,
        outputs: &Outputs,
        asks: mpsc::Receiver<Ask>,
        rebuild: bool,
        stop: CancellationToken,
    ) -> Self {
        Self {
            rows: context.rows.clone(),
            sinks: Sinks::new(indexes, Arc::clone(&outputs.served)),
            announcer: outputs.announcer.clone(),
            stop,
            batch_changes: context.settings.batch_changes,
            requests: RebuildRequests::new(asks, rebuild),
            scan: None,
            position: 0,
            failures: 0,
            bulk: Bulk::default(),
            rests: watch::Sender::new(Rest::after(0, Duration::ZERO)),
            waiting: context.waiting.clone(),
            cutter: LogCutter::new(context.rows.store.clone(), context.followed.clone()),
        }
    }

    /// Follows until stopped; after a failure it retries from the last commit.
    pub(super) async fn run(mut self) {
        while !self.stop.is_cancelled() {
            if let Err(trouble) = self.follow().await {
                self.recover(trouble).await;
            }
        }
        self.sinks.close().await;
    }

    /// Serves before the first request where possible.
    pub(super) async fn prepare_early(&mut self) {
        for _ in 0..2 {
            match self.prepare().await {
                Err(IndexFailure::Unusable(reason)) => self.recover(IndexFailure::Unusable(reason)).await,
                Err(trouble) => {
                    tracing::warn!(?trouble, "the full-text index could not be opened at startup");
                    return;
                }
                Ok(()) => return,
            }
        }
    }

    /// Opens the index unless it is open, and serves it, complete or not.
    pub(super) async fn prepare(&mut self) -> Result<(), IndexFailure> {
        if self.sinks.is_open() && self.scan.is_some() {
            return Ok(());
        }
        self.scan = None;
        let was_rebuilding = match self.sinks.open().await {
            // An operator has the indexes taken over.
            Err(IndexFailure::Foreign(reason)) if self.requests.takes_over() => {
                return Err(IndexFailure::Unusable(reason));
            }
            opened => opened?,
        };
        self.requests.is_due |= was_rebuilding && self.requests.state != RebuildState::GivenUp;
        let reader = self.rows.store.index_reader();
        let last = change_log::last_position(reader).await?;
        let first_kept = change_log::first_position(reader).await?.unwrap_or(last + 1);
        let Some((checkpoint, note)) = self.sinks.checkpoint() else {
            self.position = last;
            if last > 0 {
                self.begin_scan(None).await?;
            } else {
                self.sinks.take_reason();
                self.sinks.serve(None);
            }
            self.requests.is_due = false;
            return Ok(());
        };
        if self.requests.is_due
            && checkpoint.complete
            && self.sinks.has_room_beside()
            && !self.rows.store.has_room_for(self.sinks.local_bytes())
        {
            // A rebuild would fill the disk and fail again and again.
            tracing::error!("the disk has no room for a second index; the index is not rebuilt");
            self.requests.is_due = false;
            self.announcer.give_up();
            self.requests.answer(Err(RebuildRefusal::NoRoom));
        }
        let unusable = if checkpoint.store != self.rows.store.id() {
            Some("it belongs to another database")
        } else if checkpoint.position > last {
            Some("it is ahead of the database")
        } else if checkpoint.position + 1 < first_kept {
            Some("the change log was truncated past it")
        } else if !checkpoint.complete && !RebuildScan::goes_on(note.as_deref()) {
            Some("its rebuild was interrupted")
        } else if self.requests.is_due && !(checkpoint.complete && self.sinks.has_room_beside()) {
            Some("asked for")
        } else {
            None
        };
        if let Some(reason) = unusable {
            return Err(IndexFailure::Unusable(reason.to_owned()));
        }
        self.position = checkpoint.position;
        if !checkpoint.complete {
            return self.begin_scan(note.as_deref()).await;
        }
        if self.requests.is_due {
            self.requests.state = RebuildState::UnderWay;
            self.sinks.open_replacement().await?;
            self.begin_scan(None).await?;
        } else {
            self.announcer.end_rebuild(self.position);
        }
        // The served index follows the log even while another one is built beside it. One that takes over from another
        // lacks nothing that was found.
        let announced = self.announcer.now();
        let takes_over = announced.caught_up && announced.position <= checkpoint.position;
        let is_behind = checkpoint.position < last && !takes_over;
        self.sinks.serve(is_behind.then_some(Incompleteness::Behind).as_ref());
        Ok(())
    }

    async fn follow(&mut self) -> Result<(), IndexFailure> {
        self.bulk = Bulk::default();
        self.prepare().await?;
        self.requests.answer(Ok(self.announcer.now()));
        let (sender, mut steps) = mpsc::channel(STEPS_AHEAD);
        self.rests.send_replace(Rest::after(self.position, Duration::ZERO));
        let reader = LogReader {
            positions: self.rows.store.positions(),
            rows: self.rows.clone(),
            batch_changes: self.batch_changes,
            steps: sender,
            rests: self.rests.subscribe(),
            waiting: self.waiting.clone(),
        };
        let reader = AbortOnDropHandle::new(tokio::spawn(reader.run(self.position)));
        let mut batch = UncommittedBatch::default();
        while !self.stop.is_cancelled() {
            self.sinks.check_damage()?;
            if batch.is_empty()
                && let Ok(ask) = self.requests.asks.try_recv()
                && self.takes_up(ask)
            {
                return Ok(());
            }
            // A rebuild continues between requests, when the log has no further step.
            let step = if self.scan.is_some() && batch.applied_since.is_none() {
                match steps.try_recv() {
                    Ok(step) => Some(step),
                    Err(TryRecvError::Empty) => {
                        self.continue_scan().await?;
                        continue;
                    }
                    Err(TryRecvError::Disconnected) => None,
                }
            } else {
                tokio::select! {
                    step = steps.recv() => step,
                    damage = self.sinks.damaged() => return Err(damage),
                    Some(ask) = self.requests.asks.recv(), if batch.is_empty() => {
                        if self.takes_up(ask) {
                            return Ok(());
                        }
                        continue;
                    }
                    () = self.bulk.end(), if batch.is_empty() => {
                        self.end_bulk().await?;
                        continue;
                    }
                    () = self.stop.cancelled() => return Ok(()),
                }
            };
            let Some(step) = step else {
                return Ok(reader.await.map_err(Error::internal)??);
            };
            let has_more = !steps.is_empty();
            self.take_in_time(step, &mut batch, has_more).await?;
        }
        Ok(())
    }

    /// Tells searches of missing changes while a step takes long.
    ///
    /// [`ReaderStep::CaughtUp`] follows it.
    async fn take_in_time(
        &mut self,
        step: ReaderStep,
        batch: &mut UncommittedBatch,
        has_more: bool,
    ) -> Result<(), IndexFailure> {
        let (late, served) = (batch.since() + LATE_AFTER, self.sinks.served());
        let tells = self.serves_what_follows();
        let taking = self.take(step, batch, has_more);
        tokio::pin!(taking);
        tokio::select! {
            taken = &mut taking => return taken,
            () = tokio::time::sleep_until(late.into()) => {}
        }
        if tells {
            served.set_incompleteness(Some(&Incompleteness::Behind));
        }
        taking.await
    }

    async fn take(
        &mut self,
        step: ReaderStep,
        batch: &mut UncommittedBatch,
        has_more: bool,
    ) -> Result<(), IndexFailure> {
        match step {
            ReaderStep::Apply(changes) => {
                batch.applied_since.get_or_insert_with(Instant::now);
                self.sinks.apply(changes).await?;
            }
            ReaderStep::Reach { position, caught_up } => {
                let begun = Instant::now();
                let since = batch.since();
                batch.applied_since = None;
                if let Some(scan) = self.scan.as_mut().filter(|_| !self.sinks.is_beside()) {
                    self.position = position;
                    scan.has_changes = true;
                    self.continue_scan().await?;
                } else if self.commits_now(position, has_more, since) {
                    batch.uncommitted = None;
                    self.reach(position).await?;
                } else {
                    batch.uncommitted = Some((position, since));
                }
                if let Some(at) = caught_up.filter(|_| batch.is_empty()) {
                    self.catch_up(at.into());
                }
                self.rests.send_replace(Rest::after(position, begun.elapsed()));
            }
            ReaderStep::CaughtUp(at) => {
                if let Some((position, _)) = batch.uncommitted.take() {
                    self.reach(position).await?;
                }
                self.catch_up(at.into());
            }
            ReaderStep::Truncated => {
                return Err(IndexFailure::Unusable("the change log was truncated past it".to_owned()));
            }
            ReaderStep::Lost => {
                let reason = "it holds changes that a failover of the database lost";
                return Err(IndexFailure::Unusable(reason.to_owned()));
            }
        }
        Ok(())
    }

    /// Tells searches that nothing is missing that the log had at this time.
    fn catch_up(&mut self, at: Instant) {
        // After a long step, there may be older entries by now; another such step follows them.
        if at.elapsed() >= LATE_AFTER && *self.rows.store.positions().borrow() > self.position {
            return;
        }
        if self.serves_what_follows() {
            self.sinks.tell(None);
        }
        self.announcer.catch_up();
    }

    /// Whether a commit is due at a position; tells the index of a bulk.
    fn commits_now(&mut self, position: i64, has_more: bool, since: Instant) -> bool {
        let waiting = *self.rows.store.positions().borrow() - position;
        let within = self.bulk.commit_within(waiting, has_more);
        self.sinks.set_bulk(self.bulk.is_under_way());
        since.elapsed() >= within
    }

    /// Commits once more, so that the index merges what the bulk has left.
    async fn end_bulk(&mut self) -> Result<(), IndexFailure> {
        self.bulk = Bulk::default();
        self.sinks.set_bulk(false);
        self.sinks.commit_searched(&self.rows.checkpoint(self.position, true)).await
    }

    async fn reach(&mut self, position: i64) -> Result<(), IndexFailure> {
        self.sinks.commit_searched(&self.rows.checkpoint(position, true)).await?;
        self.failures = 0;
        self.position = position;
        // Searches that wait for this position find a whole index, however long the commit took.
        if self.serves_what_follows() && *self.rows.store.positions().borrow() <= position {
            self.sinks.tell(None);
        }
        self.announcer.reach(position);
        self.cutter.cut_behind(position);
        if self.scan.is_some() {
            self.continue_scan().await?;
        }
        Ok(())
    }

    /// Whether the served index lacks at most entries of the log.
    pub(super) fn serves_what_follows(&self) -> bool {
        self.scan.is_none() || self.sinks.is_beside()
    }

    async fn begin_scan(&mut self, note: Option<&str>) -> Result<(), IndexFailure> {
        let (rows, announcer) = (&self.rows, &self.announcer);
        self.scan = Some(RebuildScan::begin(rows, announcer, &mut self.sinks, self.position, note).await?);
        Ok(())
    }

    pub(super) async fn continue_scan(&mut self) -> Result<(), IndexFailure> {
        let Some(scan) = &mut self.scan else { return Ok(()) };
        match scan.go_on(&mut self.sinks, self.position).await? {
            Portion::Indexed => {}
            Portion::Committed => self.failures = 0,
            Portion::Last => {
                let was_beside = self.sinks.is_beside();
                self.sinks.swap().await?;
                // The rebuild counts as done even if a later step fails.
                self.requests.end();
                scan.end(&mut self.sinks, self.position, was_beside).await?;
                self.scan = None;
            }
        }
        Ok(())
    }

    /// Whether a requested rebuild starts, from the last commit; otherwise answers the refusal.
    pub(super) fn takes_up(&mut self, ask: Ask) -> bool {
        let refusal = if self.scan.is_some() {
            Some(RebuildRefusal::UnderWay)
        } else if !self.sinks.has_room_beside() {
            Some(RebuildRefusal::NotBeside)
        } else if !self.rows.store.has_room_for(self.sinks.local_bytes()) {
            Some(RebuildRefusal::NoRoom)
        } else {
            None
        };
        self.requests.take_up(ask, refusal)
    }

    pub(super) async fn recover(&mut self, trouble: IndexFailure) {
        self.announcer.fail();
        match trouble {
            IndexFailure::Unusable(reason) => {
                tracing::warn!(reason, "the full-text index is removed and rebuilt");
                (self.scan, self.requests.state) = (None, RebuildState::None);
                self.sinks.discard(reason).await;
                return;
            }
            IndexFailure::Unavailable(reason) | IndexFailure::Foreign(reason) => {
                tracing::warn!(reason, "indexing waits for the search engine");
                self.scan = None;
                self.failures += 1;
                self.sinks.let_go().await;
            }
            IndexFailure::Store(error) => {
                tracing::error!(%error, "the indexer could not read the database and will retry");
                // An empty fresh index must not pass for the one that follows the log.
                if self.scan.is_none() && self.sinks.is_beside() {
                    self.sinks.let_go().await;
                }
            }
            IndexFailure::Failed(error) => {
                tracing::error!(%error, "indexing failed and resumes from the last commit");
                self.scan = None;
                if self.requests.give_up() {
                    self.announcer.give_up();
                }
                self.failures += 1;
                if self.failures == DOUBTFUL {
                    self.sinks.doubt();
                }
                self.sinks.let_go().await;
            }
        }
        if self.serves_what_follows() {
            self.sinks.tell(Some(&Incompleteness::Behind));
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY_AFTER * self.failures.clamp(1, LONGEST_PAUSE)) => {}
            // Foreign indexes are taken over on request.
            Some(ask) = self.requests.asks.recv(), if !self.sinks.is_open() => {
                self.requests.take_over(ask);
            }
            () = self.stop.cancelled() => {}
        }
    }
}
