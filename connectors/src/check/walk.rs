//! The clauses about several pages: small ones to the end, held against one large page before and after.

use std::collections::HashMap;

use super::chain;
use super::clause::Clause;
use super::page::{CheckedPage, show};
use super::probe::Parameters;
use super::script::{DEFAULT_LIMIT, OF_PAGES, Script};
use crate::answer::MAX_CURSOR_BYTES;
use crate::settings::DeclaredOrder;

/// The page that the small ones are held against.
const LARGE_LIMIT: usize = 100;
/// Small pages that a chain aims at.
const AIMED_PAGES: u64 = 8;
/// Small pages after which a chain is left.
const MOST_PAGES: usize = 25;
/// Pages without rows, one after the other, after which a chain has no end.
const MOST_EMPTY_PAGES: usize = 8;
/// The longest cursor that is sent back, in bytes: one that is somewhat too long is followed, to see what else there is.
const LONGEST_CURSOR: usize = 4 * MAX_CURSOR_BYTES;

/// What was seen of one keyword's pages.
struct Walk {
    /// The large page, before the small ones and after them; `None` where it did not come again.
    large: (CheckedPage, Option<CheckedPage>),
    /// The small pages from the first on, as far as they lead.
    pages: Vec<CheckedPage>,
    /// Whether the last of them had no cursor.
    ended: bool,
    /// How many rows they were to have.
    limit: usize,
    /// The call of the last page.
    curl: String,
}

impl Script<'_> {
    /// Follows the pages of a keyword whose first page is known.
    pub(super) async fn try_pages(&mut self, order: DeclaredOrder, keyword: &str, first: &CheckedPage) {
        let parameters = |limit| Parameters { keyword: Some(keyword), limit: Some(limit), cursor: None };
        let exchange = self.probe.call(parameters(LARGE_LIMIT), &self.identity).await;
        // The contract names no highest limit: a source that refuses this one is held against its first page.
        let (large_limit, before) = match self.read(&exchange, Some(LARGE_LIMIT)) {
            Ok(page) => (LARGE_LIMIT, page),
            Err(_) => (DEFAULT_LIMIT, first.clone()),
        };
        if before.rows.len() < 2 {
            return self.leave_pages_open(keyword);
        }
        let limit = choose_limit(&before);
        let mut walk =
            Walk { large: (before, None), pages: Vec::new(), ended: false, limit, curl: String::new() };
        self.follow(keyword, &mut walk).await;
        let repeated = self.repeat_second_page(keyword, &walk).await;
        let exchange = self.probe.call(parameters(large_limit), &self.identity).await;
        match self.read(&exchange, Some(large_limit)) {
            Ok(after) => walk.large.1 = Some(after),
            Err(seen) => {
                let why = format!("a page of {large_limit} did not come a second time: {seen}");
                self.ledger.unknown(Clause::ItemIdStable, why);
            }
        }
        if !walk.pages.is_empty() {
            self.judge_walk(order, &walk, repeated, &exchange.curl);
        }
    }

    fn leave_pages_open(&mut self, keyword: &str) {
        for clause in OF_PAGES {
            let why =
                format!("a page of the keyword {} has fewer than 2 rows: name one with more", show(keyword));
            self.ledger.unknown(clause, why);
        }
    }

    /// Asks for the small pages one after the other.
    async fn follow(&mut self, keyword: &str, walk: &mut Walk) {
        let mut asked: HashMap<String, usize> = HashMap::new();
        let mut cursor: Option<String> = None;
        let mut empty = 0;
        for number in 1..=MOST_PAGES {
            let purpose = if number == 1 { Clause::Limit } else { Clause::CursorAdvances };
            let parameters =
                Parameters { keyword: Some(keyword), limit: Some(walk.limit), cursor: cursor.as_deref() };
            let Some((page, curl)) = self.page(purpose, parameters).await else { break };
            let next = page.cursor.clone();
            empty = if page.rows.is_empty() { empty + 1 } else { 0 };
            walk.curl = curl;
            walk.pages.push(page);
            let Some(next) = next else {
                walk.ended = true;
                break;
            };
            if cursor.as_ref() == Some(&next) {
                let seen = format!("page {number} has the cursor that it was asked for by: {}", show(&next));
                self.ledger.fail(Clause::CursorAdvances, seen, &walk.curl);
                break;
            }
            if let Some(earlier) = asked.insert(next.clone(), number) {
                let seen = format!("page {number} leads back to the page after page {earlier}");
                self.ledger.fail(Clause::CursorEnds, seen, &walk.curl);
                break;
            }
            if empty == MOST_EMPTY_PAGES {
                let seen = format!("{empty} pages without rows, and still a cursor");
                self.ledger.fail(Clause::CursorEnds, seen, &walk.curl);
                break;
            }
            if next.len() > LONGEST_CURSOR {
                break;
            }
            cursor = Some(next);
        }
        self.enter_length(walk);
    }

    /// Enters how far the pages led.
    fn enter_length(&mut self, walk: &Walk) {
        let (pages, limit) = (walk.pages.len(), walk.limit);
        if walk.ended {
            self.ledger.pass(Clause::CursorEnds, format!("null on page {pages}"), &walk.curl);
        } else {
            let why = format!("{pages} pages did not reach the end: name a keyword with fewer matches");
            self.ledger.unknown(Clause::CursorEnds, why);
        }
        if pages > 1 {
            self.ledger.pass(Clause::CursorAdvances, format!("{pages} pages of {limit}"), &walk.curl);
        } else {
            let why = format!("a page of {limit} has no cursor");
            self.ledger.unknown(Clause::CursorAdvances, why.clone());
            self.ledger.unknown(Clause::CursorRepeatable, why);
        }
    }

    /// The second page once more, now that the chain is done, and the call.
    async fn repeat_second_page(&mut self, keyword: &str, walk: &Walk) -> Option<(CheckedPage, String)> {
        let [first, _, ..] = walk.pages.as_slice() else { return None };
        let parameters =
            Parameters { keyword: Some(keyword), limit: Some(walk.limit), cursor: first.cursor.as_deref() };
        self.page(Clause::CursorRepeatable, parameters).await
    }

    fn judge_walk(
        &mut self,
        order: DeclaredOrder,
        walk: &Walk,
        repeated: Option<(CheckedPage, String)>,
        large_curl: &str,
    ) {
        let Walk { large: (before, after), pages, curl, .. } = walk;
        if let Some(after) = after {
            let unstable = chain::find_unstable(before, std::slice::from_ref(after));
            let unstable = unstable.or_else(|| chain::find_unstable(before, pages));
            self.ledger.judge(Clause::ItemIdStable, unstable, large_curl);
        }
        let has_changed = after.as_ref().is_some_and(|after| chain::have_changed(before, after));
        if pages.len() > 1 {
            self.judge(Clause::CursorUnique, chain::find_repeated(pages), has_changed, curl);
        } else {
            self.ledger.unknown(Clause::CursorUnique, "there is one page only");
        }
        if let Some((again, again_curl)) = repeated {
            let different = chain::find_different(&pages[1], &again);
            self.judge(Clause::CursorRepeatable, different, has_changed, &again_curl);
        }
        self.judge_completeness(walk, has_changed);
        match order {
            DeclaredOrder::Time => {
                let rising = chain::find_rising(std::slice::from_ref(before));
                let rising = rising.or_else(|| chain::find_rising(pages));
                self.judge(Clause::Order, rising, has_changed, curl);
            }
            // Rows of equal relevance have no order, and what relevance they have is not said.
            DeclaredOrder::Relevance => match chain::find_swapped(before, pages) {
                None => self.ledger.pass(Clause::Order, "kept", curl),
                Some(seen) => {
                    let why = format!("{seen}, as rows of equal relevance may");
                    self.ledger.unknown(Clause::Order, why);
                }
            },
        }
    }

    /// Whether the pages hold what the large page holds, and as much as `total` says.
    fn judge_completeness(&mut self, walk: &Walk, has_changed: bool) {
        let Walk { large: (before, after), pages, ended, limit, curl } = walk;
        let after = after.as_ref().unwrap_or(before);
        let walked: usize = pages.iter().map(|page| page.rows.len()).sum();
        let is_comparable = *ended || walked >= before.rows.len() + limit;
        let fault =
            chain::find_lost(before, after, pages).or_else(|| chain::find_foreign(before, after, pages));
        let is_whole = *ended && fault.is_none();
        if is_comparable {
            self.judge(Clause::CursorComplete, fault, has_changed, curl);
        } else {
            let why = "the pages did not reach the end: name a keyword with fewer matches";
            self.ledger.unknown(Clause::CursorComplete, why);
        }
        if let Some(fault) = chain::find_wrong_total(before, pages, is_whole) {
            self.judge(Clause::Total, Some(fault), has_changed, curl);
        }
    }

    /// Enters what a look for a fault found. What came or went meanwhile may look like one.
    fn judge(&mut self, clause: Clause, fault: Option<String>, has_changed: bool, curl: &str) {
        match fault {
            Some(seen) if has_changed => {
                let why = format!("{seen}, but rows came or went meanwhile: check while nothing is written");
                self.ledger.unknown(clause, why);
            }
            fault => self.ledger.judge(clause, fault, curl),
        }
    }
}

/// A limit by which a keyword's matches make several pages.
fn choose_limit(large: &CheckedPage) -> usize {
    let matches = large.total.unwrap_or(0).max(large.rows.len() as u64);
    let limit = usize::try_from(matches.div_ceil(AIMED_PAGES)).unwrap_or(LARGE_LIMIT);
    limit.clamp(1, (large.rows.len() / 2).clamp(1, LARGE_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::page::Row;

    fn large(rows: usize, total: Option<u64>) -> CheckedPage {
        let row = Row { id: String::new(), display_time: None, content: 0 };
        CheckedPage { rows: vec![row; rows], total, cursor: None }
    }

    #[test]
    fn small_pages_are_several() {
        assert_eq!(choose_limit(&large(57, Some(57))), 8);
        assert_eq!(choose_limit(&large(2, Some(2))), 1);
        assert_eq!(choose_limit(&large(100, Some(1_000_000))), 50);
        assert_eq!(choose_limit(&large(100, None)), 13);
        assert_eq!(choose_limit(&large(3, Some(0))), 1);
    }
}
