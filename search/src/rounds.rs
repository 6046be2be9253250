//! Rounds of requests until the page is full, all sources end, or time is up.

mod estimation;
mod progress;

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::time::Instant;
use trawl_engine::{Query, relevance::RankedBy};

use self::{
    estimation::Estimation,
    progress::{SourceProgress, report_unasked},
};
use crate::{
    answer::{SearchFailure, SearchPage, SourceReport},
    cursor::{LaneState, PageCursor},
    duplicates::note_also_in,
    error::Result,
    fan_out::{CallOutcome, CalledSources, FanOut, SourceCall, call_source},
    merge::{Lane, Merge, MergedPage, ReleasedItem},
    module::ModuleSource,
    pinned::Pinned,
    plan::{PagePlan, PlannedLane},
    request::{Filters, SearchContext, SearchOrder},
    source::{FailureKind, Position, ResultItem, SourceFailure, SourcePage, SourceRequest, Status},
    sources::builtin::BuiltinSource,
};

/// Rows of last pages that a cursor carries for all sources.
const LAST_ROWS: usize = 256;
/// Sources are late after this part of the time.
const LATE_AFTER_PART: u32 = 10;

pub(crate) struct SearchRounds {
    request: Arc<SourceRequest>,
    merge: Merge,
    sources: Vec<SourceProgress>,
    /// The sources that are ranked as one, with their places.
    together: Vec<(usize, Arc<BuiltinSource>)>,
    estimation: Estimation,
    /// The query that the index ranked by.
    ranked_query: Option<Arc<Query>>,
    /// What all pages of the index are ranked by.
    ranked_by: Option<Arc<RankedBy>>,
    unasked: Vec<(usize, ModuleSource)>,
    absent: Vec<LaneState>,
    source_pages: usize,
}

impl SearchRounds {
    pub(crate) fn new(plan: PagePlan, search: Arc<SearchContext>, source_pages: usize) -> Self {
        let PagePlan { lanes: planned, unasked, length, before, absent, seen, recency, ranked_by } = plan;
        let lane = |PlannedLane { source, state, left_out }: &PlannedLane| {
            Lane::at(state.position.clone(), state.consumed, state.least_estimate, source.weight())
                .of(state.source)
                .leaving_out(left_out.clone())
        };
        let lanes = planned.iter().map(lane).collect();
        let merge = Merge::new(search.parameters.order, length, lanes, seen);
        let request = Arc::new(SourceRequest { search, whole_ties: length.largest_tie(), before, recency });
        let sources: Vec<_> = planned.into_iter().map(SourceProgress::new).collect();
        let mut rounds = Self {
            request,
            merge,
            sources,
            together: Vec::new(),
            estimation: Estimation::Unneeded,
            ranked_query: None,
            ranked_by: ranked_by.map(Arc::new),
            unasked,
            absent,
            source_pages,
        };
        let SearchContext { parameters, query, .. } = &*rounds.request.search;
        // All items are equal if no words are searched.
        if parameters.order == SearchOrder::Relevance && !query.words.is_empty() {
            let sources = rounds.sources.iter().map(|source| &source.planned.source);
            let builtin = sources.enumerate().filter_map(|(place, source)| match source {
                ModuleSource::Builtin(source) => Some((place, Arc::clone(source))),
                ModuleSource::External(_) => None,
            });
            rounds.together = builtin.collect();
            if rounds.sources.len() > 1 {
                rounds.estimation = Estimation::Waiting;
            }
        }
        rounds
    }

    /// The query with parts of what nothing holds; `None` by time, or without a ranking.
    pub(crate) fn ranked_query(&self) -> Option<&Arc<Query>> {
        self.ranked_query.as_ref()
    }

    fn is_ranked(&self, place: usize) -> bool {
        self.together.iter().any(|(ranked, _)| *ranked == place)
    }

    /// The first round asks all sources, later ones those that the page needs.
    ///
    /// While some are late, others are read ahead.
    pub(crate) async fn run(&mut self) {
        if self.sources.len() == 1 {
            return self.run_single().await;
        }
        self.prepare_estimation().await;
        let deadline = self.request.search.deadline;
        let now = Instant::now();
        let late_from = now + deadline.saturating_duration_since(now) / LATE_AFTER_PART;
        let mut fan_out = FanOut::new(Arc::clone(&self.request));
        loop {
            let needed = self.merge.advance();
            // Each report needs a first answer, even if the page does not.
            let is_silent = |place: &usize| {
                self.sources[*place].status.is_none() && fan_out.is_asking(*place) && !needed.contains(place)
            };
            let silent = (0..self.sources.len()).filter(is_silent);
            let open: Vec<usize> = needed.iter().copied().chain(silent).collect();
            if open.is_empty() {
                return;
            }
            if Instant::now() >= deadline {
                for place in open {
                    let failed = self.sources[place].failed_ahead.take();
                    match failed.or_else(|| fan_out.give_up(place)) {
                        Some(outcome) => self.take_outcome(outcome),
                        None => self.give_up(place),
                    }
                }
            } else if self.begin(&mut fan_out, &needed) {
                self.take_round(&mut fan_out, late_from).await;
            }
        }
    }

    async fn run_single(&mut self) {
        let deadline = self.request.search.deadline;
        while let Some(place) = self.merge.advance().pop() {
            if Instant::now() >= deadline {
                self.give_up(place);
            } else if let Some(call) = self.next_call(place) {
                for outcome in call_source(Arc::clone(&self.request), call, Some(deadline)).await {
                    self.take_outcome(outcome);
                }
            }
        }
    }

    fn begin(&mut self, fan_out: &mut FanOut, needed: &[usize]) -> bool {
        let mut waits = true;
        for place in needed.iter().copied() {
            if fan_out.is_asking(place) {
                continue;
            }
            if let Some(failed) = self.sources[place].failed_ahead.take() {
                self.take_outcome(failed);
                waits = false;
            } else if let Some(call) = self.next_call(place) {
                fan_out.begin(call);
            } else {
                waits = false;
            }
        }
        waits
    }

    /// A late round is taken outcome by outcome, with reading ahead.
    async fn take_round(&mut self, fan_out: &mut FanOut, late_from: Instant) {
        while !fan_out.is_idle() {
            let is_late = Instant::now() >= late_from;
            if is_late {
                self.read_ahead(fan_out);
            }
            let until = if is_late { self.request.search.deadline } else { late_from };
            match fan_out.next(until).await {
                Some(outcome) if outcome.result.is_err() && self.merge.has_pending(outcome.place) => {
                    let place = outcome.place;
                    self.sources[place].failed_ahead = Some(outcome);
                }
                Some(outcome) => self.take_outcome(outcome),
                None => {}
            }
            if is_late {
                return;
            }
        }
    }

    fn read_ahead(&mut self, fan_out: &mut FanOut) {
        for place in self.merge.lanes_to_read_ahead(|place| fan_out.is_asking(place)) {
            let source = &self.sources[place];
            // Too many pages fail a source only when they are needed.
            if source.failed_ahead.is_none()
                && !fan_out.is_asking(place)
                && source.pages < self.source_pages
                && let Some(call) = self.next_call(place)
            {
                fan_out.begin(call);
            }
        }
    }

    fn next_call(&mut self, place: usize) -> Option<SourceCall> {
        if !self.is_ranked(place) {
            let position = self.next_page(place)?;
            let source = self.sources[place].planned.source.clone();
            return Some(SourceCall {
                places: vec![place],
                sources: CalledSources::Single(source, position),
            });
        }
        let (mut places, mut asked, mut ended) = (Vec::new(), Vec::new(), Vec::new());
        for (place, source) in self.together.clone() {
            if let Some(position) = self.next_page(place) {
                places.push(place);
                asked.push((source, position));
            } else {
                ended.push((source, Position::AfterRank(self.merge.known_items(place))));
            }
        }
        asked.extend(ended);
        let sources = CalledSources::Ranked(asked, self.ranked_by.clone());
        (!places.is_empty()).then_some(SourceCall { places, sources })
    }

    fn next_page(&mut self, place: usize) -> Option<Position> {
        let position = self.merge.next_position(place)?;
        let source = &mut self.sources[place];
        if source.pages >= self.source_pages {
            source.message = Some(format!("read {} pages without finishing this one", source.pages));
            self.merge.fail(place);
            return None;
        }
        source.pages += 1;
        Some(position)
    }

    fn give_up(&mut self, place: usize) {
        let message = "the time ran out before its next page";
        let result = Err(SourceFailure::new(FailureKind::Timeout, message));
        self.take_outcome(CallOutcome { place, result, took: Duration::ZERO });
    }

    fn take_outcome(&mut self, outcome: CallOutcome) {
        let CallOutcome { place, result, took } = outcome;
        if let Ok(page) = &result
            && let Some(statistics) = &page.statistics
        {
            self.ranked_query = Some(Arc::clone(&statistics.query));
            self.ranked_by = self.ranked_by.take().or_else(|| page.ranked_by.clone());
        }
        if matches!(self.estimation, Estimation::Waiting) && self.is_ranked(place) {
            let statistics = result.as_ref().ok().and_then(|page| page.statistics.clone());
            self.estimate_by(statistics.as_deref());
        }
        self.sources[place].took += took;
        match result {
            Ok(mut page) => {
                self.estimate(place, &mut page);
                let source = &mut self.sources[place];
                let of_search = if source.pages < 2 { HashSet::new() } else { self.merge.ids_of(place) };
                // A built-in item may move down between two snapshots.
                let is_external = matches!(self.merge.next_position(place), Some(Position::InPage(..)));
                source.drop_repeated(&of_search, is_external, &mut page);
                source.check_progress(&mut page);
                source.take_page(&mut page);
                self.supply(place, page);
            }
            Err(failure) if failure.is_cursor_fault && self.is_behind_a_page(place) => {
                self.sources[place].take_end(&failure);
                self.merge.supply(place, SourcePage::default());
            }
            Err(failure) => {
                let source = &mut self.sources[place];
                source.status = Some(failure.status());
                source.message = Some(failure.message);
                source.pause = failure.pause;
                self.merge.fail(place);
            }
        }
    }

    /// An incomplete built-in source never ends: later pages may find more.
    fn supply(&mut self, place: usize, mut page: SourcePage) {
        let is_builtin = matches!(self.sources[place].planned.source, ModuleSource::Builtin(_));
        let ends_early = is_builtin && page.incomplete.is_some() && page.next.is_none();
        if ends_early {
            let last = page.items.last().map(|item| item.after.clone());
            page.next = last.or_else(|| self.merge.next_position(place));
        }
        self.merge.supply(place, page);
        if ends_early {
            self.merge.fail(place);
        }
    }

    /// Whether the next page is asked for by a cursor of the source.
    fn is_behind_a_page(&self, place: usize) -> bool {
        matches!(self.merge.next_position(place), Some(Position::InPage(Some(_), _)))
    }

    /// Tells where lists ended before their stated totals; filters leave that open.
    fn note_early_ends(&mut self) {
        let SearchContext { parameters, .. } = &*self.request.search;
        if self.request.before.is_some() || parameters.filters != Filters::default() {
            return;
        }
        for (place, source) in self.sources.iter_mut().enumerate() {
            let is_external = matches!(source.planned.source, ModuleSource::External(_));
            if is_external && source.answered && self.merge.has_ended(place) {
                source.note_early_end(self.merge.known_items(place));
            }
        }
    }

    /// [`SearchFailure::NoSource`] when no source answered.
    pub(crate) fn finish(
        mut self,
        seal: impl FnOnce(PageCursor) -> Result<String>,
    ) -> Result<SearchPage, SearchFailure> {
        self.note_early_ends();
        let Self { request, merge, sources, unasked, absent, ranked_by, .. } = self;
        let mut reports: Vec<SourceReport> = sources.iter().map(SourceProgress::report).collect();
        // A source that waits for the end of the typing is no failure.
        let is_skipped = unasked.iter().any(|(_, source)| !source.is_disabled());
        for (place, source) in unasked {
            reports.insert(place, report_unasked(&*source));
        }
        let statuses: Vec<Status> = sources.iter().filter_map(|source| source.status).collect();
        let answered = sources.iter().any(|source| source.answered);
        if sources.is_empty() && !is_skipped || !statuses.is_empty() && !answered {
            let all_timed_out = !statuses.is_empty()
                && statuses.iter().all(|status| matches!(status, Status::Timeout | Status::Late));
            let asked = sources.iter().filter(|source| source.status.is_some());
            // A source without suspension can be asked at once: `None` is the least.
            let retry_after = asked.map(|source| source.pause.map(|pause| pause.remaining)).min().flatten();
            return Err(SearchFailure::NoSource { all_timed_out, retry_after, sources: reports });
        }
        // A source has at least what is known of it, whatever total it states.
        let totals = sources
            .iter()
            .enumerate()
            .map(|(place, source)| source.total.unwrap_or_default().max(merge.known_items(place) as u64));
        let total = totals.fold(0, u64::saturating_add);
        let MergedPage { items, lanes, tie_cut, seen } = merge.finish();
        let ids: Vec<Arc<str>> = sources.iter().map(|source| source.planned.source.id_as_json()).collect();
        let items = items.into_iter().map(|released| into_item(released, &sources, &ids)).collect();
        let partial = tie_cut
            || is_skipped
            || lanes.iter().any(|lane| lane.misses_items)
            || sources.iter().any(|source| source.incomplete.is_some());
        let at_end = lanes.iter().all(|lane| lane.position == Position::End);
        let rows_of_each = LAST_ROWS / sources.len().max(1);
        let states = lanes.into_iter().zip(sources).map(|(lane, source)| LaneState {
            source: source.planned.state.source,
            guard: source.guard_at(&lane.position, rows_of_each),
            position: lane.position,
            consumed: lane.consumed,
            least_estimate: lane.least_estimate,
            total: source.total,
        });
        let lanes = states.chain(absent).collect();
        let cursor = if at_end {
            None
        } else {
            let (before, ranked_by) = (request.before, ranked_by.map(Arc::unwrap_or_clone));
            Some(seal(PageCursor { before, lanes, seen, ranked_by, ..PageCursor::default() })?)
        };
        Ok(SearchPage {
            pinned: Pinned::default(),
            items,
            total,
            cursor,
            partial,
            corrected: None,
            relaxed: None,
            facets: None,
            sources: reports,
        })
    }
}

fn into_item(released: ReleasedItem, sources: &[SourceProgress], ids: &[Arc<str>]) -> ResultItem {
    let ReleasedItem { mut item, also_in, place } = released;
    item.lane = Some(place);
    item.source = ids.get(place).cloned();
    if !also_in.is_empty() {
        let ids: Vec<&str> = also_in.iter().map(|place| sources[*place].planned.source.id()).collect();
        note_also_in(&mut item, &ids);
    }
    item
}
