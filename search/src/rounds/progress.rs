use std::{collections::HashSet, time::Duration};

use crate::{
    answer::SourceReport,
    fan_out::CallOutcome,
    loop_guard::{Brought, Fingerprint, LoopGuard, PassedPage},
    plan::PlannedLane,
    source::{PagedSource, Pause, Position, SourceFailure, SourcePage, Status, TimeBound},
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
    /// How its list ended before the stated total.
    early_end: Option<String>,
    /// It counts once the page is needed.
    pub(super) failed_ahead: Option<CallOutcome>,
    /// Cursors of the pages read, each with what is remembered of the pages before.
    passed: Vec<(String, LoopGuard)>,
    /// Rows of the pages read.
    met: HashSet<Fingerprint>,
    /// The oldest row of the pages read, if the source declares time order.
    oldest: Option<i64>,
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
            early_end: None,
            failed_ahead: None,
            passed: Vec::new(),
            met: HashSet::new(),
            oldest: None,
        }
    }

    /// Drops rows that this search or the last page had.
    ///
    /// Reports those of an external source.
    pub(super) fn drop_repeated(&self, of_search: &HashSet<&str>, is_external: bool, page: &mut SourcePage) {
        let guard = self.latest_guard();
        let (sent, end) = (page.items.len(), page.items.last().map(|item| item.after.clone()));
        page.items.retain(|item| !of_search.contains(item.item.id.as_str()));
        // Between two searches a list may move, which is no breach.
        let is_breach = page.items.len() < sent;
        page.items.retain(|item| !guard.had(&item.item.id));
        let repeated = sent - page.items.len();
        if let (Some(last), Some(end)) = (page.items.last_mut(), end) {
            last.after = end;
        }
        // Cached pages overlap when a new item pushes others down.
        let is_fresh = !self.cached && !page.cached;
        if repeated > 0 && is_external && is_fresh {
            let told = if is_breach { &mut page.broken } else { &mut page.note };
            let reason = format!("{repeated} of {sent} items repeat an id of an earlier page");
            *told = Some(told.take().map_or(reason.clone(), |told| format!("{reason}; {told}")));
        }
    }

    /// Ends the chain of an external source whose pages lead nowhere.
    ///
    /// Reports an order that breaks between pages.
    pub(super) fn check_progress(&mut self, page: &mut SourcePage) {
        let mut guard = self.latest_guard().clone();
        let mut fresh = 0;
        let mut newest = None;
        for row in page.sent.iter().filter(|row| self.met.insert(row.id) && !guard.had_row(row.id)) {
            fresh += 1;
            newest = newest.max(Some(row.display_time));
        }
        if let TimeBound::AtMost(oldest) = page.bound {
            // Filters may hide the rows that rise. Known ones rise when a new row pushes others down.
            if self.oldest.is_some_and(|oldest| newest > Some(oldest)) {
                page.broken
                    .get_or_insert_with(|| "it declares time order and breaks it between pages".to_owned());
            }
            self.oldest = Some(self.oldest.map_or(oldest, |earlier| earlier.min(oldest)));
        }
        let Some(Position::InPage(Some(next), _)) = &page.next else { return };
        let started_at =
            matches!(&self.planned.state.position, Position::InPage(Some(start), _) if start == next);
        let (brought, ends) =
            guard.pass(&PassedPage { rows: &page.sent, fresh, is_exact: !self.passed.is_empty(), next });
        let ends = if started_at || self.passed.iter().any(|(passed, _)| passed == next) {
            Err("its cursors form a loop: the next page was read already".to_owned())
        } else {
            ends
        };
        self.passed.push((next.clone(), guard));
        if brought == (Brought::Nothing { is_repeated: true }) {
            page.items.clear();
        }
        if let Err(why) = ends {
            page.broken = Some(page.broken.take().map_or(why.clone(), |broken| format!("{why}; {broken}")));
            page.next = None;
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

    /// The source refused the cursor that it gave: its list ends here.
    pub(super) fn take_end(&mut self, refusal: &SourceFailure) {
        self.answered = true;
        self.status = self.status.or(Some(Status::Ok));
        self.early_end = Some(format!("it refused its next page ({})", refusal.message));
    }

    /// What is remembered of the pages read so far.
    pub(super) fn latest_guard(&self) -> &LoopGuard {
        self.passed.last().map_or(&self.planned.state.guard, |(_, guard)| guard)
    }

    /// What is remembered of the pages before, with at most `rows` rows.
    pub(super) fn guard_at(&self, position: &Position, rows: usize) -> LoopGuard {
        let found = match position {
            Position::InPage(Some(cursor), _) => self.passed.iter().find(|(passed, _)| passed == cursor),
            _ => None,
        };
        let mut guard = found.map_or(&self.planned.state.guard, |(_, guard)| guard).clone();
        guard.keep_last_rows(rows);
        guard
    }

    /// Tells how many of the stated matches came before the end.
    pub(super) fn note_early_end(&mut self, known: usize) {
        let Some(total) = self.total.filter(|total| *total > known as u64) else { return };
        if self.status == Some(Status::Ok) && self.incomplete.is_none() {
            let count = format!("{known} of the {total} matches that it states");
            self.early_end = Some(join_messages([Some(count), self.early_end.take()]));
        }
    }

    fn message(&self) -> Option<String> {
        let early_end = self.early_end.as_ref().map(|end| format!("it shows no more: {end}"));
        let message = self.incomplete.clone().or_else(|| self.message.clone());
        Some(join_messages([message, early_end])).filter(|message| !message.is_empty())
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
            message: self.message(),
            retry_at: self.pause.map(|pause| pause.retry_at),
            stale: self.stale,
        }
    }
}

fn join_messages(messages: [Option<String>; 2]) -> String {
    messages.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A source that is disabled, or skipped while the keyword is typed.
pub(super) fn report_unasked(source: &dyn PagedSource) -> SourceReport {
    let (status, message) = if source.is_disabled() {
        let SourceFailure { kind, message, .. } = SourceFailure::disabled();
        (kind.into(), message)
    } else {
        (Status::Skipped, "not asked while the keyword is typed".to_owned())
    };
    SourceReport {
        id: source.id().to_owned(),
        name: source.name().to_owned(),
        status,
        took_ms: 0,
        total: None,
        message: Some(message),
        retry_at: None,
        stale: false,
    }
}
