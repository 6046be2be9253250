//! Ends chains of pages that would go on for ever, in constant space inside the opaque cursor.
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
const SAMPLED_ROWS: usize = 4;
/// Rows that are invented anew with each page end nowhere else.
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
    /// The page at each power of two.
    landmark: Option<Landmark>,
    passed: u32,
    /// The last pages with rows, in short.
    recent: Vec<[u8; 4]>,
    /// Some rows of the last page, in short. They tell whether the next one is nearly the same.
    sample: Vec<[u8; 2]>,
    barren: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Landmark {
    next: Fingerprint,
    rows: Option<Fingerprint>,
}

/// Page of a chain, with the cursor behind it.
pub(crate) struct PassedPage<'a> {
    pub(crate) rows: &'a [SentRow],
    /// Rows that this search has not met yet.
    pub(crate) fresh: usize,
    pub(crate) next: &'a str,
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
        let short = rows.map(|[a, b, c, d, ..]| [a, b, c, d]);
        let of_landmark = |part: fn(&Landmark) -> Option<Fingerprint>| self.landmark.as_ref().and_then(part);
        let is_circle = of_landmark(|landmark| Some(landmark.next)) == Some(next);
        let was_long_ago = rows.is_some() && of_landmark(|landmark| landmark.rows) == rows;
        let was_recent = short.is_some_and(|short| self.recent.contains(&short));
        let is_repeated = was_long_ago || was_recent;
        let is_barren = is_repeated
            || page.fresh * ROWS_OF_A_NEW_ONE < page.rows.len().max(1)
            || self.is_sampled_in(page.rows);
        if !page.rows.is_empty() {
            self.sample = sample_of(page.rows);
        }
        self.barren = if is_barren { self.barren.saturating_add(1) } else { 0 };
        self.passed = self.passed.saturating_add(1);
        if self.passed.is_power_of_two() {
            self.landmark = Some(Landmark { next, rows });
        }
        if let Some(short) = short.filter(|_| !was_recent) {
            self.recent.push(short);
            let excess = self.recent.len().saturating_sub(RECENT_PAGES);
            self.recent.drain(..excess);
        }
        let ends = if is_circle {
            Err("its cursors form a loop: the next page was read already".to_owned())
        } else if was_long_ago && !was_recent {
            Err("its pages form a loop: this one came before, by another cursor".to_owned())
        } else if self.barren >= MAX_BARREN {
            Err(format!("its last {MAX_BARREN} pages brought nothing new, so it is asked for no more"))
        } else if self.passed >= MAX_PAGES {
            Err(format!("it has more than {MAX_PAGES} pages"))
        } else {
            Ok(())
        };
        (if is_barren { Brought::Nothing { is_repeated } } else { Brought::Rows }, ends)
    }

    fn is_sampled_in(&self, rows: &[SentRow]) -> bool {
        let holds = |sampled: &[u8; 2]| rows.iter().any(|row| row.id.starts_with(sampled));
        !self.sample.is_empty() && rows.len() >= ROWS_OF_A_NEW_ONE && self.sample.iter().all(holds)
    }
}

/// The rows of the least prints, as a page of so many may have a few new ones.
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
