//! Ends chains of pages that would go on for ever.
//!
//! A cursor may lead back to a page (Brent's cycle detection), or new cursors may bring the rows of before, or none.

#[cfg(test)]
mod tests;

use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

pub(crate) type Fingerprint = [u8; 8];

/// Pages in a row that may bring nothing new (book: explanation/failures.md).
const MAX_BARREN: u8 = 3;
/// Rows of a page among which at least one must be new.
const ROWS_OF_A_NEW_ONE: usize = 10;
const RECENT_PAGES: usize = 3;
const SAMPLED_ROWS: usize = 8;
/// Rows of a sample below which a page has left it behind.
const LEFT_BELOW: u32 = 4;
/// Rows of the last page that are remembered.
const LAST_ROWS: usize = 100;
/// Rows that are invented anew with each page end nowhere else. Where nine of ten are repeated, it takes a hundredth.
const MAX_PAGES: u32 = 100_000;

pub(crate) fn fingerprint(text: &str) -> Fingerprint {
    shorten(text.as_bytes())
}

fn shorten(bytes: &[u8]) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.iter_mut().zip(digest(&SHA256, bytes).as_ref()).for_each(|(to, from)| *to = *from);
    print
}

/// Row as its source sent it, before any filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentRow {
    pub(crate) id: Fingerprint,
    pub(crate) display_time: i64,
}

/// What is remembered of the pages before a position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoopGuard {
    /// The page at or behind each power of two.
    landmark: Option<Landmark>,
    /// The rows of the first page, where most circles lead.
    first: Option<Fingerprint>,
    /// Pages, of which one that repeats rows counts several times.
    passed: u32,
    /// The last pages with rows, in short.
    recent: Vec<[u8; 4]>,
    /// Some rows of the last page, in short.
    sample: Vec<[u8; 2]>,
    barren: u8,
    /// The last rows of the last page, in short. The next page may overlap it.
    last: Vec<[u8; 4]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Landmark {
    next: Fingerprint,
    rows: Option<Fingerprint>,
    /// The first rows from here on, in short.
    sample: Vec<[u8; 4]>,
    /// Whether a later page had few rows of the sample.
    ///
    /// Until then, pages that overlap are no circle.
    is_behind: bool,
    /// A bit for each row of the sample that came once more.
    met: u8,
}

impl Landmark {
    fn new(next: Fingerprint, rows: Option<Fingerprint>) -> Self {
        Self { next, rows, sample: Vec::new(), is_behind: false, met: 0 }
    }

    /// Whether the whole sample came once more, however the pages are cut.
    fn comes_again(&mut self, rows: &[SentRow]) -> bool {
        let mut met = 0;
        for row in rows.iter().map(|row| short(row.id)) {
            if self.sample.len() < SAMPLED_ROWS && !self.is_behind && !self.sample.contains(&row) {
                self.sample.push(row);
            }
            let known = self.sample.iter().position(|sampled| *sampled == row);
            met |= known.map_or(0, |place| 1 << place);
        }
        if self.is_behind {
            self.met |= met;
        } else if self.sample.len() == SAMPLED_ROWS {
            self.is_behind = met.count_ones() < LEFT_BELOW && !rows.is_empty();
        }
        self.met == u8::MAX
    }
}

/// Page of a chain, with the cursor behind it.
pub(crate) struct PassedPage<'a> {
    pub(crate) rows: &'a [SentRow],
    /// Rows that neither this search nor the page before had.
    pub(crate) fresh: usize,
    /// Whether `fresh` counts by all rows of the page before.
    pub(crate) is_exact: bool,
    pub(crate) next: &'a str,
}

impl PassedPage<'_> {
    /// The square of the rows sent for each new one: a chain is to bring some, and an overlap costs little.
    fn weight(&self) -> u32 {
        let sent = self.rows.len() / self.fresh.max(1);
        u32::try_from(sent.clamp(1, ROWS_OF_A_NEW_ONE).pow(2)).unwrap_or(u32::MAX)
    }
}

/// What a page brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    Rows,
    /// The rows of an earlier page, or hardly any other.
    Nothing {
        /// All rows are those of an earlier page.
        is_repeated: bool,
    },
}

impl LoopGuard {
    /// Passes a page.
    ///
    /// # Errors
    /// Why the chain ends behind it.
    pub(crate) fn pass(&mut self, page: &PassedPage<'_>) -> (Brought, Result<(), String>) {
        let next = fingerprint(page.next);
        let rows = print_of(page.rows);
        let short_rows = rows.map(short);
        let of_landmark = |part: fn(&Landmark) -> Option<Fingerprint>| self.landmark.as_ref().and_then(part);
        let is_circle = of_landmark(|landmark| Some(landmark.next)) == Some(next);
        let was_long_ago =
            rows.is_some() && [self.first, of_landmark(|landmark| landmark.rows)].contains(&rows);
        let was_recent = short_rows.is_some_and(|short| self.recent.contains(&short));
        let is_repeated = was_long_ago || was_recent;
        let is_barren = is_repeated
            || page.fresh * ROWS_OF_A_NEW_ONE < page.rows.len().max(1)
            || (!page.is_exact && self.is_sampled_in(page.rows));
        if !page.rows.is_empty() {
            self.sample = sample_of(page.rows);
            self.last = page.rows.iter().map(|row| short(row.id)).collect();
            self.keep_last_rows(LAST_ROWS);
        }
        self.barren = if is_barren { self.barren.saturating_add(1) } else { 0 };
        if self.passed == 0 {
            self.first = rows;
        }
        let before = self.passed;
        self.passed = before.saturating_add(page.weight());
        if self.passed.checked_ilog2() != before.checked_ilog2() {
            self.landmark = Some(Landmark::new(next, rows));
        }
        let comes_again = self.landmark.as_mut().is_some_and(|landmark| landmark.comes_again(page.rows));
        if let Some(short) = short_rows.filter(|_| !was_recent) {
            self.recent.push(short);
            let excess = self.recent.len().saturating_sub(RECENT_PAGES);
            self.recent.drain(..excess);
        }
        let ends = if is_circle {
            Err("its cursors form a loop: the next page was read already".to_owned())
        } else if was_long_ago && !was_recent {
            Err("its pages form a loop: this one came before, by another cursor".to_owned())
        } else if comes_again {
            Err("its pages form a loop: their rows came before, in other pages".to_owned())
        } else if self.barren >= MAX_BARREN {
            Err(format!("its last {MAX_BARREN} pages brought nothing new, so it is asked for no more"))
        } else if self.passed >= MAX_PAGES {
            Err(format!("it has more than {MAX_PAGES} pages, or fewer that mostly repeat rows"))
        } else {
            Ok(())
        };
        (if is_barren { Brought::Nothing { is_repeated } } else { Brought::Rows }, ends)
    }

    /// Whether the last page had a row of this id.
    pub(crate) fn had(&self, id: &str) -> bool {
        !self.last.is_empty() && self.had_row(fingerprint(id))
    }

    pub(crate) fn had_row(&self, id: Fingerprint) -> bool {
        self.last.contains(&short(id))
    }

    /// Forgets the first rows of the last page.
    pub(crate) fn keep_last_rows(&mut self, most: usize) {
        self.last.drain(..self.last.len().saturating_sub(most));
    }

    fn is_sampled_in(&self, rows: &[SentRow]) -> bool {
        let holds = |sampled: &[u8; 2]| rows.iter().any(|row| row.id.starts_with(sampled));
        // A page that is remembered as a whole needs no sample.
        self.last.len() < rows.len()
            && !self.sample.is_empty()
            && rows.len() >= ROWS_OF_A_NEW_ONE
            && self.sample.iter().all(holds)
    }
}

fn short([a, b, c, d, ..]: Fingerprint) -> [u8; 4] {
    [a, b, c, d]
}

/// Picks the rows of the least prints.
fn sample_of(rows: &[SentRow]) -> Vec<[u8; 2]> {
    if rows.len() < ROWS_OF_A_NEW_ONE {
        return Vec::new();
    }
    let mut ids: Vec<Fingerprint> = rows.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids.into_iter().take(SAMPLED_ROWS).map(|[a, b, ..]| [a, b]).collect()
}

/// The same for any order of the rows; `None` without rows.
fn print_of(rows: &[SentRow]) -> Option<Fingerprint> {
    let mut ids: Vec<Fingerprint> = rows.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    (!ids.is_empty()).then(|| shorten(ids.as_flattened()))
}
