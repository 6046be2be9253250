//! What sources answered a moment ago, and the calls that are under way: identical questions share one call
//! (decisions 6.5). This file is about external ones.
//!
//! An external source is asked as the application, never as the person who searches, so an answer is the same for all of
//! its tenant; a registration belongs to one tenant, and its number is part of every key. What is built in depends on the
//! viewer and on the state of the index: it is kept apart (`built_in`).

mod built_in;
mod flights;
mod positions;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use moka::{ops::compute::Op, sync::Cache};
use tokio::time::{Instant, timeout_at};

use self::{
    flights::{Flights, Waiting},
    positions::Positions,
};
use super::{external::SourcePage, source::SourceFailure};
use crate::config;

pub(super) use self::built_in::{BuiltInPages, Question};

/// Where an earlier page is at hand, the wait for a new one ends this long before the search's deadline, or a tenth of what
/// is left before it where that is less: the earlier page has to get into the answer.
const LEAD: Duration = Duration::from_millis(100);
/// Of the bytes for pages, positions may take one in so many beside them.
const POSITIONS_SHARE: u64 = 16;
/// No page is kept for longer, whatever the settings say.
const LONGEST_KEPT: Duration = Duration::from_hours(24 * 365);

/// One question to one source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The registration that is asked, by its number in this process; another one of the same source has another.
    pub(super) registration: u64,
    /// What is searched for.
    pub(super) keyword: String,
    /// The page, by the source's own cursor.
    pub(super) cursor: Option<String>,
}

/// A page, and where it came from.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The page.
    pub(super) page: Arc<SourcePage>,
    /// It came with an earlier question.
    pub(super) kept: bool,
    /// It is an earlier one that stands in for this failure.
    pub(super) instead_of: Option<SourceFailure>,
}

/// The answers of all sources. Clones share them.
#[derive(Clone)]
pub(super) struct Answers {
    held: Arc<Held>,
}

struct Held {
    fresh: Duration,
    stale: Duration,
    kept: Cache<Arc<Key>, Kept>,
    positions: Positions,
    flights: Flights<Arc<Key>, Arc<SourcePage>>,
}

#[derive(Clone)]
struct Kept {
    page: Arc<SourcePage>,
    since: Instant,
    /// The page before it was asked for anew since then.
    is_overtaken: bool,
}

type Outcome = Result<Arc<SourcePage>, SourceFailure>;

/// The bytes that answers of external sources may have of all, and those that pages of built-in ones may.
fn shares(bytes: u64) -> (u64, u64) {
    let built_in = bytes / 4;
    (bytes - built_in, built_in)
}

impl Answers {
    /// Answers that are kept as the settings say.
    pub(super) fn new(settings: config::Cache) -> Self {
        let config::Cache { fresh_ms, stale_ms, bytes } = settings;
        let (bytes, _) = shares(bytes);
        let (fresh, stale) = (Duration::from_millis(fresh_ms), Duration::from_millis(stale_ms));
        let kept = Cache::builder()
            .max_capacity(bytes)
            .weigher(|key: &Arc<Key>, kept: &Kept| {
                let asked = key.keyword.len() + key.cursor.as_ref().map_or(0, String::len);
                u32::try_from(asked + kept.page.bytes()).unwrap_or(u32::MAX)
            })
            .time_to_live(stale.max(fresh).min(LONGEST_KEPT))
            .build();
        let positions = Positions::new(bytes / POSITIONS_SHARE);
        Self { held: Arc::new(Held { fresh, stale, kept, positions, flights: Flights::default() }) }
    }

    /// Keeps a page that came just now. The call that brings it does this itself, also when nobody waits for it any more:
    /// a late answer is welcome to the next search.
    pub(super) fn keep(&self, key: Arc<Key>, page: &Arc<SourcePage>) {
        if self.held.stale.max(self.held.fresh).is_zero() {
            return;
        }
        if let Some(cursor) = &page.cursor {
            // Where cursors count, what new items push down from this page is on none of before that stands behind it.
            let behind = Arc::new(Key { cursor: Some(cursor.clone()), ..Key::clone(&key) });
            self.held.kept.entry(behind).and_compute_with(|behind| match behind {
                Some(behind) => Op::Put(Kept { is_overtaken: true, ..behind.into_value() }),
                None => Op::Nop,
            });
        }
        if let Some(newest) = page.newest() {
            self.held.positions.learn(&key, newest);
        }
        let page = Arc::clone(page);
        self.held.kept.insert(key, Kept { page, since: Instant::now(), is_overtaken: false });
    }

    /// The cursor of a page where what is below this time may begin, as earlier pages of the registration say. Whether it
    /// does, [`SourcePage::newest`] of that page tells; where not, it is to be forgotten.
    pub(super) fn find_position(&self, registration: u64, keyword: &str, time: i64) -> Option<String> {
        self.held.positions.find(registration, keyword, time)
    }

    /// The page of this key is not where it was.
    pub(super) fn forget_position(&self, key: &Key) {
        self.held.positions.forget(key);
    }

    /// The page that answers this question: a fresh one at hand, else that of the call under way, else that of the call
    /// which `begin` permits. Where the call fails, has not ended shortly before `deadline`, or is not permitted, an earlier
    /// page stands in for it. `begin` is told how long the call is waited for.
    ///
    /// A call that nobody waits for any more is dropped.
    ///
    /// # Errors
    /// The failure, where no earlier page is at hand.
    pub(super) async fn get<C>(
        &self,
        key: Arc<Key>,
        deadline: Instant,
        begin: impl FnOnce(Instant) -> Result<C, SourceFailure>,
    ) -> Result<Known, SourceFailure>
    where
        C: Future<Output = Outcome> + Send + 'static,
    {
        let earlier = self.held.kept.get(&key);
        let is_fresh = |kept: &&Kept| kept.since.elapsed() < self.held.fresh && !kept.is_overtaken;
        if let Some(kept) = earlier.as_ref().filter(is_fresh) {
            count("hit");
            return Ok(Known { page: Arc::clone(&kept.page), kept: true, instead_of: None });
        }
        let earlier = earlier.filter(|kept| kept.since.elapsed() < self.held.stale);
        let now = Instant::now();
        let left = deadline.saturating_duration_since(now);
        // Without an earlier page, nothing is gained by giving up before the search does.
        let until = if earlier.is_some() { now + left.saturating_sub(LEAD.min(left / 10)) } else { deadline };
        let outcome = match begin(until) {
            Ok(call) => {
                let waiting = self.join(key, call);
                if earlier.is_some() {
                    let late = |_elapsed| Err(SourceFailure::timed_out(now.elapsed()));
                    timeout_at(until, waiting).await.unwrap_or_else(late)
                } else {
                    waiting.await
                }
            }
            Err(failure) => Err(failure),
        };
        match (outcome, earlier) {
            (Ok(page), _) => Ok(Known { page, kept: false, instead_of: None }),
            (Err(failure), Some(kept)) => {
                count("stale");
                Ok(Known { page: kept.page, kept: true, instead_of: Some(failure) })
            }
            (Err(failure), None) => Err(failure),
        }
    }

    /// Joins the call under way, or begins it.
    fn join(
        &self,
        key: Arc<Key>,
        call: impl Future<Output = Outcome> + Send + 'static,
    ) -> Waiting<Arc<SourcePage>> {
        let (waiting, joined) = self.held.flights.join(key, call);
        count(if joined { "coalesced" } else { "miss" });
        waiting
    }
}

fn count(how: &'static str) {
    count_of("external", how);
}

/// Counts an answer of this kind of source, by how it came about.
fn count_of(kind: &'static str, how: &'static str) {
    metrics::counter!("trawl_source_answers_total", "kind" => kind, "how" => how).increment(1);
}
