//! One search under way: asks the sources in rounds until the page is full, the sources are at their end, or the
//! time is over, and keeps the account of each.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    answer::{Answer, Failure, SourceReport, Status},
    cursor::{Cursor, LaneState, SourceKey},
    duplicates::note_also_in,
    gather::{Call, Gather, Outcome, run},
    loops::LoopGuard,
    merge::{Finished, Lane, Merge, Released},
    plan::{Plan, PlannedLane},
    request::{SearchRequest, Viewer},
    source::{Ask, FailureKind, Item, Later, Page, Position, Rest, Source, SourceFailure},
};
use crate::error::Result;

/// Sources that did not answer within one part in so many of the time that there is are late.
const PATIENCE: u32 = 10;

/// What became of one source so far.
struct Account {
    planned: PlannedLane,
    status: Option<Status>,
    message: Option<String>,
    /// At least one page of it was asked for by an earlier search.
    kept: bool,
    /// At least one page of it is an earlier answer.
    stale: bool,
    /// It is suspended.
    rest: Option<Rest>,
    total: Option<u64>,
    took: Duration,
    pages: usize,
    /// At least one page of it came in.
    answered: bool,
    /// Why at least one page of it may lack something.
    lacking: Option<String>,
    /// The page after those at hand was asked for ahead and failed, which is of no account until it is wanted.
    failed_ahead: Option<Outcome>,
    /// The cursors that its pages led to, in turn.
    led_to: Vec<String>,
}

/// One search under way.
pub(super) struct Run {
    ask: Arc<Ask>,
    merge: Merge,
    accounts: Vec<Account>,
    disabled: Vec<(usize, Arc<dyn Source>)>,
    absent: Vec<LaneState>,
    source_pages: usize,
}

impl Run {
    /// A search as planned for the keyword that `query` is, which reads at most `source_pages` pages of each source, and that by `deadline`.
    pub(super) fn new(
        plan: Plan,
        viewer: Viewer,
        request: SearchRequest,
        query: Arc<trawl_index::Query>,
        source_pages: usize,
        deadline: Instant,
    ) -> Self {
        let Plan { lanes: planned, disabled, length, before, absent, shown } = plan;
        let lane = |lane: &PlannedLane| Lane::at(lane.position.clone(), lane.taken, lane.source.weight());
        let lanes = planned.iter().map(lane).collect();
        let ask = Arc::new(Ask {
            viewer,
            query,
            keyword: request.keyword,
            filters: request.filters,
            order: request.order,
            limit: request.limit,
            whole_ties: length.largest_tie(),
            before,
            deadline,
            trace: request.trace,
        });
        let merge = Merge::new(request.order, length, lanes, shown);
        let accounts = planned.into_iter().map(Account::new).collect();
        Self { ask, merge, accounts, disabled, absent, source_pages }
    }

    /// Asks the sources until the page is full or they have nothing more for it, but by the deadline.
    ///
    /// Every source is asked at once; later rounds ask only those that the rest of the page may need. A round that some
    /// sources hold up is not waited for idly: the others are read ahead, so that what they have is at hand when the late
    /// ones are given up.
    pub(super) async fn ask_until_done(&mut self) {
        if self.accounts.len() == 1 {
            return self.ask_the_only_one().await;
        }
        let deadline = self.ask.deadline;
        let now = Instant::now();
        let late_from = now + deadline.saturating_duration_since(now) / PATIENCE;
        let mut gather = Gather::new(Arc::clone(&self.ask));
        loop {
            let wanted = self.merge.advance();
            // Whether the page needs it or not: of a source that was asked it has to be told how it is, and how much it has.
            let is_silent = |place: &usize| {
                self.accounts[*place].status.is_none() && gather.is_asking(*place) && !wanted.contains(place)
            };
            let silent = (0..self.accounts.len()).filter(is_silent);
            let open: Vec<usize> = wanted.iter().copied().chain(silent).collect();
            if open.is_empty() {
                return;
            }
            if Instant::now() >= deadline {
                for place in open {
                    let failed = self.accounts[place].failed_ahead.take();
                    match failed.or_else(|| gather.give_up(place)) {
                        Some(outcome) => self.take_in(outcome),
                        None => self.give_up(place),
                    }
                }
            } else if self.begin(&mut gather, &wanted) {
                self.take_in_round(&mut gather, late_from).await;
            }
        }
    }

    /// The same where there is one source, which needs no account of what is under way.
    async fn ask_the_only_one(&mut self) {
        while let Some(place) = self.merge.advance().pop() {
            if Instant::now() >= self.ask.deadline {
                self.give_up(place);
            } else if let Some(call) = self.call(place) {
                let outcome = run(Arc::clone(&self.ask), call).await;
                self.take_in(outcome);
            }
        }
    }

    /// Begins the requests to sources that the page waits for. A failure that was met when reading ahead counts now; whether
    /// the page is to wait for what is under way, or may want something else by that, is answered.
    fn begin(&mut self, gather: &mut Gather, wanted: &[usize]) -> bool {
        let mut waits = true;
        for place in wanted.iter().copied() {
            if gather.is_asking(place) {
                continue;
            }
            if let Some(failed) = self.accounts[place].failed_ahead.take() {
                self.take_in(failed);
                waits = false;
            } else if let Some(call) = self.call(place) {
                gather.begin(call);
            } else {
                waits = false;
            }
        }
        waits
    }

    /// Takes in what comes: all that is under way, but once that takes long, one at a time and with reading ahead.
    async fn take_in_round(&mut self, gather: &mut Gather, late_from: Instant) {
        while !gather.is_idle() {
            let is_late = Instant::now() >= late_from;
            if is_late {
                self.read_ahead(gather);
            }
            let until = if is_late { self.ask.deadline } else { late_from };
            match gather.next(until).await {
                Some(outcome) if outcome.result.is_err() && self.merge.has_at_hand(outcome.place) => {
                    let place = outcome.place;
                    self.accounts[place].failed_ahead = Some(outcome);
                }
                Some(outcome) => self.take_in(outcome),
                None => {}
            }
            if is_late {
                return;
            }
        }
    }

    /// Asks the sources whose next page the page will want if those that are late give nothing.
    fn read_ahead(&mut self, gather: &mut Gather) {
        for place in self.merge.wanted_without(|place| gather.is_asking(place)) {
            let account = &self.accounts[place];
            // More pages than a source may be read are refused when they are wanted.
            if account.failed_ahead.is_none()
                && account.pages < self.source_pages
                && let Some(call) = self.call(place)
            {
                gather.begin(call);
            }
        }
    }

    /// The next request to a source, unless it has been asked for as many pages as one search may.
    fn call(&mut self, place: usize) -> Option<Call> {
        let account = &mut self.accounts[place];
        if account.pages >= self.source_pages {
            account.message =
                Some(format!("read {} pages without getting to the end of this one", account.pages));
            self.merge.fail(place);
            return None;
        }
        account.pages += 1;
        let position = self.merge.next_position(place)?;
        Some(Call { place, source: Arc::clone(&account.planned.source), position })
    }

    /// The time is over before a source could be asked for what is wanted of it.
    fn give_up(&mut self, place: usize) {
        let message = "the time was over before it could be asked for its next page";
        let result = Err(SourceFailure::new(FailureKind::Timeout, message));
        self.take_in(Outcome { place, result, took: Duration::ZERO });
    }

    fn take_in(&mut self, outcome: Outcome) {
        let Outcome { place, result, took } = outcome;
        self.accounts[place].took += took;
        match result {
            Ok(mut page) => {
                self.drop_repeated(place, &mut page);
                self.check_order(place, &mut page);
                let account = &mut self.accounts[place];
                account.check_progress(&mut page);
                account.take_in(&mut page);
                self.supply(place, page);
            }
            Err(failure) => {
                let account = &mut self.accounts[place];
                account.status = Some(failure.kind.into());
                account.message = Some(failure.message);
                account.rest = failure.rest;
                self.merge.fail(place);
            }
        }
    }

    /// Hands a page to the merge. A source that may lack something is never at its end: what it comes to have is for a later
    /// page, as what a source that failed would have sent.
    fn supply(&mut self, place: usize, mut page: Page) {
        let gives_out = page.lacking.is_some() && page.next.is_none();
        if gives_out {
            let last = page.entries.last().map(|entry| entry.after.clone());
            page.next = last.or_else(|| self.merge.next_position(place));
        }
        self.merge.supply(place, page);
        if gives_out {
            self.merge.fail(place);
        }
    }

    /// A source that ignores its cursor sends the same items again; none is shown twice in one search for that
    /// (decisions 6.4).
    fn drop_repeated(&self, place: usize, page: &mut Page) {
        if self.accounts[place].pages < 2 {
            return;
        }
        let known = self.merge.ids_of(place);
        let sent = page.entries.len();
        page.entries.retain(|entry| !known.contains(entry.item.id.as_str()));
        let repeated = sent - page.entries.len();
        // An item of a built-in source may have moved down between two looks at the index; that breaks nothing.
        let is_external = matches!(self.merge.next_position(place), Some(Position::InPage(..)));
        // Nor do pages of different moments: what a new item pushes down stands on the page before it and on the one behind.
        let is_of_one_moment = !self.accounts[place].kept && !page.kept;
        if repeated > 0 && is_external && is_of_one_moment {
            let reason = format!("{repeated} of {sent} items repeat an id of an earlier page");
            page.broken =
                Some(page.broken.take().map_or(reason.clone(), |broken| format!("{reason}; {broken}")));
        }
    }

    /// Whether a source that orders by time keeps the order from page to page (decisions 6.4).
    fn check_order(&self, place: usize, page: &mut Page) {
        let first = page.entries.first().map(|entry| entry.item.display_time);
        if let (Later::AtMost(bound), Later::AtMost(_), Some(first)) =
            (self.merge.later(place), page.later, first)
            && first > bound
        {
            page.broken
                .get_or_insert_with(|| "it declares time order and breaks it between pages".to_owned());
        }
    }

    /// The answer; `seal` writes its cursor down.
    ///
    /// # Errors
    /// [`Failure::NoSource`] when none of the sources that were asked answered, or there is none to be asked. A source
    /// that was at its end already was not asked.
    pub(super) fn finish(self, seal: impl FnOnce(Cursor) -> Result<String>) -> Result<Answer, Failure> {
        let Self { ask, merge, accounts, disabled, absent, .. } = self;
        let mut sources: Vec<SourceReport> = accounts.iter().map(Account::report).collect();
        for (place, source) in disabled {
            sources.insert(place, report_disabled(&*source));
        }
        let asked: Vec<Status> = accounts.iter().filter_map(|account| account.status).collect();
        let answered = accounts.iter().any(|account| account.answered);
        if accounts.is_empty() || !asked.is_empty() && !answered {
            let all_timed_out = !asked.is_empty() && asked.iter().all(|status| *status == Status::Timeout);
            let asked = accounts.iter().filter(|account| account.status.is_some());
            // One that is not suspended can be asked again at once; `None` is the least.
            let retry_after = asked.map(|account| account.rest.map(|rest| rest.left)).min().flatten();
            return Err(Failure::NoSource { all_timed_out, retry_after, sources });
        }
        let Finished { items, lanes, tie_cut, remembered } = merge.finish();
        let items = items.into_iter().map(|released| into_item(released, &accounts)).collect();
        let partial = tie_cut
            || lanes.iter().any(|lane| lane.lacking)
            || accounts.iter().any(|account| account.lacking.is_some());
        let total = accounts.iter().filter_map(|account| account.total).fold(0, u64::saturating_add);
        let at_end = lanes.iter().all(|lane| lane.position == Position::End);
        let states = lanes.into_iter().zip(accounts).map(|(lane, account)| LaneState {
            source: SourceKey::of(account.planned.source.id()),
            guard: account.guard_at(&lane.position),
            position: lane.position,
            taken: lane.taken,
            total: account.total,
        });
        let lanes = states.chain(absent).collect();
        let cursor = if at_end {
            None
        } else {
            Some(seal(Cursor { before: ask.before, lanes, shown: remembered, corrected: None })?)
        };
        Ok(Answer { items, total, cursor, partial, corrected: None, sources })
    }
}

/// An item as it is answered: with the sources that have it too.
fn into_item(Released { mut item, also_in, .. }: Released, accounts: &[Account]) -> Item {
    if !also_in.is_empty() {
        let sources: Vec<&str> = also_in.iter().map(|place| accounts[*place].planned.source.id()).collect();
        note_also_in(&mut item, &sources);
    }
    item
}

/// One that is out of use is no part of what was asked for: it is named, and the answer is complete without it.
fn report_disabled(source: &dyn Source) -> SourceReport {
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

impl Account {
    fn new(planned: PlannedLane) -> Self {
        Self {
            total: planned.total,
            planned,
            status: None,
            message: None,
            rest: None,
            kept: false,
            stale: false,
            took: Duration::ZERO,
            pages: 0,
            answered: false,
            lacking: None,
            failed_ahead: None,
            led_to: Vec::new(),
        }
    }

    /// Ends a source whose cursor leads back to where it was, within this search or in the pages before it.
    fn check_progress(&mut self, page: &mut Page) {
        let Some(Position::InPage(Some(next), _)) = &page.next else { return };
        let started_at = matches!(&self.planned.position, Position::InPage(Some(start), _) if start == next);
        let guard = self.guard_at(&Position::End);
        if started_at || self.led_to.contains(next) || guard.was_at(next) {
            page.broken.get_or_insert_with(|| {
                "its cursors lead in a circle: the next page would be one that was read already".to_owned()
            });
            page.next = None;
        } else {
            self.led_to.push(next.clone());
        }
    }

    fn take_in(&mut self, page: &mut Page) {
        self.total = page.total.or(self.total);
        self.answered = true;
        self.kept |= page.kept;
        self.stale |= page.stale;
        self.lacking = page.lacking.clone().or(self.lacking.take());
        let is_invalid = page.broken.is_some() || self.status == Some(Status::Invalid);
        self.status = Some(if is_invalid { Status::Invalid } else { Status::Ok });
        self.message = page.broken.take().or(self.message.take()).or(page.note.take());
    }

    /// What is to be remembered of the way to `position`. Pages that were read ahead are not part of it.
    fn guard_at(&self, position: &Position) -> LoopGuard {
        let mut guard = self.planned.guard.clone();
        let read = match position {
            Position::InPage(Some(cursor), _) => self.led_to.iter().position(|led_to| led_to == cursor),
            Position::End => self.led_to.len().checked_sub(1),
            _ => None,
        };
        self.led_to.iter().take(read.map_or(0, |last| last + 1)).for_each(|cursor| guard.pass(cursor));
        guard
    }

    fn report(&self) -> SourceReport {
        let source = &self.planned.source;
        SourceReport {
            id: source.id().to_owned(),
            name: source.name().to_owned(),
            // One that was at its end already had nothing to be asked for.
            status: self.status.unwrap_or(Status::Ok),
            took_ms: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            total: self.total,
            message: self.lacking.clone().or_else(|| self.message.clone()),
            retry_at: self.rest.map(|rest| rest.retry_at),
            stale: self.stale,
        }
    }
}
