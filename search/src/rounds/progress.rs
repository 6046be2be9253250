use std::time::Duration;

use crate::{
    answer::SourceReport,
    fan_out::CallOutcome,
    loop_guard::LoopGuard,
    plan::PlannedLane,
    source::{PagedSource, Pause, Position, SourceFailure, SourcePage, Status},
};

/// A source in one search: its place in the cursor, and how it answered.
pub(super) struct SourceProgress {
    pub(super) planned: PlannedLane,
    pub(super) status: Option<Status>,
    pub(super) message: Option<String>,
    pub(super) cached: bool,
    stale: bool,
    pub(super) pause: Option<Pause>,
    pub(super) total: Option<u64>,
    pub(super) took: Duration,
    pub(super) pages: usize,
    pub(super) answered: bool,
    pub(super) incomplete: Option<String>,
    /// It counts once the page is needed.
    pub(super) failed_ahead: Option<CallOutcome>,
    cursors: Vec<String>,
}

impl SourceProgress {
    pub(super) fn new(planned: PlannedLane) -> Self {
        Self {
            total: planned.state.total,
            planned,
            status: None,
            message: None,
            pause: None,
            cached: false,
            stale: false,
            took: Duration::ZERO,
            pages: 0,
            answered: false,
            incomplete: None,
            failed_ahead: None,
            cursors: Vec::new(),
        }
    }

    /// Its cursor leads back to an earlier page.
    pub(super) fn check_progress(&mut self, page: &mut SourcePage) {
        let Some(Position::InPage(Some(next), _)) = &page.next else { return };
        let started_at =
            matches!(&self.planned.state.position, Position::InPage(Some(start), _) if start == next);
        let guard = self.guard_at(&Position::End);
        if started_at || self.cursors.contains(next) || guard.was_at(next) {
            page.broken
                .get_or_insert_with(|| "its cursors form a loop: the next page was read already".to_owned());
            page.next = None;
        } else {
            self.cursors.push(next.clone());
        }
    }

    pub(super) fn take_page(&mut self, page: &mut SourcePage) {
        self.total = page.total.or(self.total);
        self.answered = true;
        self.cached |= page.cached;
        self.stale |= page.stale;
        self.incomplete = page.incomplete.clone().or(self.incomplete.take());
        let is_invalid = page.broken.is_some() || self.status == Some(Status::Invalid);
        self.status = Some(if is_invalid { Status::Invalid } else { Status::Ok });
        self.message = page.broken.take().or(self.message.take()).or(page.note.take());
    }

    pub(super) fn guard_at(&self, position: &Position) -> LoopGuard {
        let mut guard = self.planned.state.guard.clone();
        let last = match position {
            Position::InPage(Some(cursor), _) => self.cursors.iter().position(|passed| passed == cursor),
            Position::End => self.cursors.len().checked_sub(1),
            _ => None,
        };
        self.cursors.iter().take(last.map_or(0, |last| last + 1)).for_each(|cursor| guard.pass(cursor));
        guard
    }

    pub(super) fn report(&self) -> SourceReport {
        let source = &self.planned.source;
        SourceReport {
            id: source.id().to_owned(),
            name: source.name().to_owned(),
            // A source at its end is not asked.
            status: self.status.unwrap_or(Status::Ok),
            took_ms: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            total: self.total,
            message: self.incomplete.clone().or_else(|| self.message.clone()),
            retry_at: self.pause.map(|pause| pause.retry_at),
            stale: self.stale,
        }
    }
}

pub(super) fn report_disabled(source: &dyn PagedSource) -> SourceReport {
    let SourceFailure { kind, message, .. } = SourceFailure::disabled();
    SourceReport {
        id: source.id().to_owned(),
        name: source.name().to_owned(),
        status: kind.into(),
        took_ms: 0,
        total: None,
        message: Some(message),
        retry_at: None,
        stale: false,
    }
}
