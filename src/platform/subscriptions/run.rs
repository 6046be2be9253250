//! A run of a subscription, which compares and writes entries in batches.

use std::{
    mem,
    time::{Duration, Instant},
};

use trawl_connectors::FeedClient;

use super::{
    SubscriptionsState,
    batch::{self, ChangeCounts, ItemBatch, NewItem, RunProgress},
    entries::{self, Entries, LISTED_PROBLEMS},
    hosts::Hosts,
    repo::{self, RunEnd, SubscriptionRow},
    report::{EntryProblem, LastRun, RunOutcome},
    schedule,
};
use crate::{
    blobs::extraction::process::TextReader,
    confined::process::{ReaderAsker, ReaderProcesses, ReadingTask},
    error::{Error, ErrorKind, Result},
    replicas::Fence,
};

/// Items of one transaction.
pub(super) const BATCH: usize = 250;

/// The parts that runs share.
pub(super) struct Runner {
    pub(super) state: SubscriptionsState,
    pub(super) feeds: FeedClient,
    pub(super) hosts: Hosts,
    /// Time after which a run lets others go first.
    pub(super) max_run_time: Duration,
    pub(super) texts: TextReader,
    pub(super) readers: ReaderProcesses,
}

/// Why a run ends before its source is read.
#[derive(Debug)]
pub(super) enum RunStop {
    /// The source failed.
    Failed(RunFailure),
    /// The subscription was changed or removed, or another replica has taken over.
    Superseded,
    /// It lasted long, and goes on as the next run.
    Paused,
    /// This server failed.
    Internal(Error),
}

/// A failure of a source, for operators.
#[derive(Debug, Default)]
pub(super) struct RunFailure {
    pub(super) message: String,
    /// A host that asked for a pause, and the pause's end.
    pub(super) rest: Option<(String, i64)>,
    /// Whether no later run can succeed by itself.
    pub(super) is_final: bool,
}

impl From<Error> for RunStop {
    fn from(error: Error) -> Self {
        if error.kind == ErrorKind::Conflict { Self::Superseded } else { Self::Internal(error) }
    }
}

impl RunStop {
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(RunFailure { message: message.into(), ..RunFailure::default() })
    }
}

/// The end of a run whose source was read.
pub(super) struct FinishedRun {
    pub(super) outcome: RunOutcome,
    /// The place where the next run continues; absent keeps it.
    pub(super) position: Option<String>,
    /// Written with the end.
    pub(super) batch: ItemBatch,
    /// Whether every entry of the source was read.
    pub(super) is_whole: bool,
}

/// A run under way.
pub(super) struct Run<'a> {
    pub(super) runner: &'a Runner,
    pub(super) begun: SubscriptionRow,
    fence: Fence,
    report: LastRun,
    aged: Vec<String>,
    since: Instant,
}

impl<'a> Run<'a> {
    /// Begins a run, which nothing was read for.
    pub(super) fn new(runner: &'a Runner, begun: SubscriptionRow, fence: Fence) -> Self {
        let report = LastRun { started_at: runner.state.clock.now(), ..LastRun::default() };
        Self { runner, begun, fence, report, aged: Vec::new(), since: Instant::now() }
    }

    /// Lets all that are due now go first, should this run be cut off.
    pub(super) async fn begin(&self) -> Result<(), RunStop> {
        let (begun, now) = (self.begun.clone(), self.report.started_at);
        let written = self.runner.state.contents.store.write_for(begun.tenant_id, move |transaction| {
            Box::pin(async move { Ok(repo::begin_run(transaction, &begun, now).await?) })
        });
        Ok(written.await?)
    }

    /// Whom its processes read for.
    pub(super) fn asker(&self) -> ReaderAsker {
        ReaderAsker { group: self.begun.tenant_id, member: ReadingTask::Subscription }
    }

    /// Makes a run that lasts long go on as the next one. What was read so far is written.
    pub(super) fn give_way(&self) -> Result<(), RunStop> {
        if self.since.elapsed() < self.runner.max_run_time { Ok(()) } else { Err(RunStop::Paused) }
    }

    /// Counts what was read; returns the items.
    pub(super) fn take(&mut self, entries: Entries) -> Result<Vec<NewItem>> {
        self.receive(entries.received);
        self.report.refused += entries.refused;
        let room = LISTED_PROBLEMS.saturating_sub(self.report.problems.len());
        self.report.problems.extend(entries.problems.into_iter().take(room));
        self.report.truncated += entries.truncated;
        self.report.undated += entries.undated;
        let items = entries.items.into_iter();
        items.map(|content| Ok(NewItem { hash: entries::hash(&content)?, content })).collect()
    }

    /// Notes what was guessed, cut or not understood.
    pub(super) fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        self.report.notes.extend(notes);
    }

    /// Counts entries.
    pub(super) fn receive(&mut self, count: u64) {
        self.report.received += count;
    }

    /// Counts an entry that cannot be an item.
    pub(super) fn refuse(&mut self, problem: EntryProblem) {
        self.report.refused += 1;
        self.list(problem);
    }

    /// Counts files that are left out.
    pub(super) fn leave_out(&mut self, count: u64) {
        self.report.left_out += count;
    }

    /// Counts a file whose text is not whole.
    pub(super) fn note_incomplete(&mut self, problem: EntryProblem) {
        self.report.incomplete += 1;
        self.list(problem);
    }

    /// Counts a row that does not move the cursor.
    pub(super) fn pass_over(&mut self, problem: EntryProblem) {
        self.report.passed_over += 1;
        self.list(problem);
    }

    fn list(&mut self, problem: EntryProblem) {
        if self.report.problems.len() < LISTED_PROBLEMS {
            self.report.problems.push(problem);
        }
    }

    /// Writes all but the last batch of items, and returns that.
    pub(super) async fn write_but_last(&mut self, mut items: Vec<NewItem>) -> Result<Vec<NewItem>, RunStop> {
        while items.len() > BATCH {
            let rest = items.split_off(BATCH);
            self.write(ItemBatch { items, gone: Vec::new() }, RunProgress::Stay).await?;
            items = rest;
        }
        Ok(items)
    }

    /// Removes all but the last batch of items, and returns that.
    pub(super) async fn remove_but_last(&mut self, mut gone: Vec<String>) -> Result<Vec<String>, RunStop> {
        while gone.len() > BATCH {
            let rest = gone.split_off(BATCH);
            self.write(ItemBatch { items: Vec::new(), gone }, RunProgress::Stay).await?;
            gone = rest;
        }
        Ok(gone)
    }

    /// Writes the changes of a batch, once the index has room.
    pub(super) async fn write(&mut self, batch: ItemBatch, mut progress: RunProgress) -> Result<(), RunStop> {
        let state = &self.runner.state;
        let now = state.clock.now();
        let compared = batch::compare(state.contents.store.reader(), &self.begun, batch.items, now).await?;
        self.aged.extend(compared.aged);
        if let RunProgress::End(end) = &mut progress
            && let Some(aged) = &mut end.aged
        {
            *aged = mem::take(&mut self.aged);
        }
        let items: Vec<_> = compared.changed.into_iter().map(|entry| entry.item).collect();
        let batch = ItemBatch { items, gone: batch.gone };
        state.contents.bulk.wait_for_room(batch.items.len() + batch.gone.len()).await?;
        let (begun, fence) = (self.begun.clone(), self.fence.clone());
        let written = state.contents.store.write_for(begun.tenant_id, move |transaction| {
            Box::pin(async move { batch::write(transaction, (&begun, &fence), batch, progress, now).await })
        });
        let ChangeCounts { added, changed, removed } = written.await?.ok_or(RunStop::Superseded)?;
        self.report.added += added;
        self.report.changed += changed;
        self.report.removed += removed;
        Ok(())
    }

    /// Writes the end of the run and counts it.
    async fn write_end(&mut self, batch: ItemBatch, end: RunEnd) -> Result<(), RunStop> {
        let outcome = end.last_run.outcome.name();
        self.write(batch, RunProgress::End(Box::new(end))).await?;
        metrics::counter!("trawl_subscription_runs_total", "outcome" => outcome).increment(1);
        Ok(())
    }

    /// Records that the source was read.
    pub(super) async fn end(&mut self, ending: FinishedRun) -> Result<(), RunStop> {
        let now = self.runner.state.clock.now();
        let next = schedule::after_success(now, self.begun.settings.interval_minutes);
        let end = RunEnd {
            failures: 0,
            next_run_at: self.begun.settings.enabled.then_some(next),
            position: ending.position,
            rest: None,
            aged: ending.is_whole.then(Vec::new),
            last_run: LastRun { finished_at: now, outcome: ending.outcome, ..self.report.clone() },
        };
        self.write_end(ending.batch, end).await
    }

    /// Records that the source was read in part, and makes the next run due.
    pub(super) async fn pause(&mut self) -> Result<(), RunStop> {
        let now = self.runner.state.clock.now();
        let seconds = self.runner.max_run_time.as_secs();
        self.note([format!("the run lasted {seconds} seconds, and the next one goes on where it stopped")]);
        let end = RunEnd {
            failures: 0,
            next_run_at: self.begun.settings.enabled.then_some(now),
            position: None,
            rest: None,
            aged: None,
            last_run: LastRun { finished_at: now, outcome: RunOutcome::Read, ..self.report.clone() },
        };
        self.write_end(ItemBatch::default(), end).await
    }

    /// Records that the source failed.
    pub(super) async fn fail(&mut self, failure: RunFailure) -> Result<(), RunStop> {
        let now = self.runner.state.clock.now();
        let (settings, failures) = (&self.begun.settings, self.begun.failures.saturating_add(1));
        tracing::info!(
            tenant_id = self.begun.tenant_id,
            subscription = settings.id,
            failures,
            reason = failure.message,
            "a run of a subscription failed"
        );
        let next = schedule::after_failure(now, settings.interval_minutes, failures, fastrand::f64());
        let rests_to = failure.rest.as_ref().map_or(next, |(_, until)| *until);
        let last_run = LastRun {
            finished_at: now,
            outcome: RunOutcome::Failed,
            error: Some(failure.message),
            ..self.report.clone()
        };
        let end = RunEnd {
            last_run,
            failures,
            next_run_at: (settings.enabled && !failure.is_final).then_some(next.max(rests_to)),
            position: None,
            rest: failure.rest,
            aged: None,
        };
        self.write_end(ItemBatch::default(), end).await
    }
}
