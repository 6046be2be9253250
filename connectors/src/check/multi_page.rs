//! Follows a keyword's small pages and compares them with one large page.

use std::collections::HashMap;

use super::clause::ContractClause;
use super::page::{CheckedPage, show};
use super::page_chain;
use super::session::CheckSession;
use crate::answer::MAX_CURSOR_BYTES;
use crate::request::{ContractParameters, DEFAULT_LIMIT};
use crate::settings::DeclaredOrder;

pub(super) const MULTI_PAGE_CLAUSES: [ContractClause; 7] = [
    ContractClause::ItemIdStable,
    ContractClause::CursorAdvances,
    ContractClause::CursorEnds,
    ContractClause::CursorUnique,
    ContractClause::CursorComplete,
    ContractClause::CursorRepeatable,
    ContractClause::Order,
];
const LARGE_LIMIT: usize = 100;
const AIMED_PAGES: u64 = 8;
const MAX_PAGES: usize = 25;
/// More empty pages in a row are endless.
const MAX_EMPTY_PAGES: usize = 8;
/// Longer cursors are followed to find further faults.
const MAX_CURSOR: usize = 4 * MAX_CURSOR_BYTES;

struct FollowedPages {
    /// Before the small pages, and after them if it came again.
    large: (CheckedPage, Option<CheckedPage>),
    pages: Vec<CheckedPage>,
    ended: bool,
    limit: usize,
    curl: String,
}

impl CheckSession<'_> {
    pub(super) async fn check_pages(&mut self, order: DeclaredOrder, keyword: &str, first: &CheckedPage) {
        let parameters = |limit| ContractParameters::first_page(keyword, limit);
        let exchange = self.probe.call(parameters(LARGE_LIMIT), &self.credentials).await;
        // The contract names no highest limit.
        let (large_limit, before) = match self.read(&exchange, Some(LARGE_LIMIT)) {
            Ok(page) => (LARGE_LIMIT, page),
            Err(_) => (DEFAULT_LIMIT, first.clone()),
        };
        // Pages without rows may go on forever.
        if before.rows.len() < 2 && (before.cursor.is_none() || !before.rows.is_empty()) {
            return self.mark_pages_unknown(keyword);
        }
        let limit = choose_limit(&before);
        let mut followed = FollowedPages {
            large: (before, None),
            pages: Vec::new(),
            ended: false,
            limit,
            curl: String::new(),
        };
        self.follow(keyword, &mut followed).await;
        let repeated = self.repeat_second_page(keyword, &followed).await;
        let exchange = self.probe.call(parameters(large_limit), &self.credentials).await;
        match self.read(&exchange, Some(large_limit)) {
            Ok(after) => followed.large.1 = Some(after),
            Err(seen) => {
                let why = format!("the repeated page of {large_limit} failed: {seen}");
                self.verdicts.unknown(ContractClause::ItemIdStable, why);
            }
        }
        if !followed.pages.is_empty() {
            self.judge_pages(order, &followed, repeated, &exchange.curl);
        }
    }

    fn mark_pages_unknown(&mut self, keyword: &str) {
        for clause in MULTI_PAGE_CLAUSES {
            let why =
                format!("a page of the keyword {} has fewer than 2 rows: name one with more", show(keyword));
            self.verdicts.unknown(clause, why);
        }
    }

    async fn follow(&mut self, keyword: &str, followed: &mut FollowedPages) {
        let mut seen_cursors: HashMap<String, usize> = HashMap::new();
        let mut cursor: Option<String> = None;
        let mut empty = 0;
        for number in 1..=MAX_PAGES {
            let purpose = if number == 1 { ContractClause::Limit } else { ContractClause::CursorAdvances };
            let parameters = ContractParameters {
                keyword: Some(keyword),
                limit: Some(followed.limit),
                cursor: cursor.as_deref(),
                ..ContractParameters::default()
            };
            let Some((page, curl)) = self.page(purpose, parameters).await else { break };
            let next = page.cursor.clone();
            empty = if page.rows.is_empty() { empty + 1 } else { 0 };
            followed.curl = curl;
            followed.pages.push(page);
            let Some(next) = next else {
                followed.ended = true;
                break;
            };
            if cursor.as_ref() == Some(&next) {
                let seen = format!("page {number} has the cursor that it was asked for by: {}", show(&next));
                self.verdicts.fail(ContractClause::CursorAdvances, seen, &followed.curl);
                break;
            }
            if let Some(earlier) = seen_cursors.insert(next.clone(), number) {
                let seen = format!("page {number} leads back to the page after page {earlier}");
                self.verdicts.fail(ContractClause::CursorEnds, seen, &followed.curl);
                break;
            }
            if empty == MAX_EMPTY_PAGES {
                let seen = format!("{empty} pages without rows, and still a cursor");
                self.verdicts.fail(ContractClause::CursorEnds, seen, &followed.curl);
                break;
            }
            if next.len() > MAX_CURSOR {
                break;
            }
            cursor = Some(next);
        }
        self.record_length(followed);
    }

    fn record_length(&mut self, followed: &FollowedPages) {
        let (pages, limit) = (followed.pages.len(), followed.limit);
        if followed.ended {
            // Only an empty page tells the end, and rights may empty any.
            let doubt = if self.probe.ends_by_an_empty_page() {
                ": this system states neither a total nor a next page, so rows behind a page that rights empty are missed"
            } else {
                ""
            };
            let seen = format!("null on page {pages}{doubt}");
            self.verdicts.pass(ContractClause::CursorEnds, seen, &followed.curl);
        } else {
            let why = format!("{pages} pages did not reach the end: name a keyword with fewer matches");
            self.verdicts.unknown(ContractClause::CursorEnds, why);
        }
        if pages > 1 {
            self.verdicts.pass(
                ContractClause::CursorAdvances,
                format!("{pages} pages of {limit}"),
                &followed.curl,
            );
        } else {
            let why = format!("a page of {limit} has no cursor");
            self.verdicts.unknown(ContractClause::CursorAdvances, why.clone());
            self.verdicts.unknown(ContractClause::CursorRepeatable, why);
        }
    }

    async fn repeat_second_page(
        &mut self,
        keyword: &str,
        followed: &FollowedPages,
    ) -> Option<(CheckedPage, String)> {
        let [first, _, ..] = followed.pages.as_slice() else { return None };
        let parameters = ContractParameters {
            keyword: Some(keyword),
            limit: Some(followed.limit),
            cursor: first.cursor.as_deref(),
            ..ContractParameters::default()
        };
        self.page(ContractClause::CursorRepeatable, parameters).await
    }

    fn judge_pages(
        &mut self,
        order: DeclaredOrder,
        followed: &FollowedPages,
        repeated: Option<(CheckedPage, String)>,
        large_curl: &str,
    ) {
        let FollowedPages { large: (before, after), pages, curl, .. } = followed;
        if let Some(after) = after {
            let unstable = page_chain::find_unstable(before, std::slice::from_ref(after));
            let unstable = unstable.or_else(|| page_chain::find_unstable(before, pages));
            self.verdicts.judge(ContractClause::ItemIdStable, unstable, large_curl);
        }
        let has_changed = after.as_ref().is_some_and(|after| page_chain::have_changed(before, after));
        if pages.len() > 1 {
            self.judge(ContractClause::CursorUnique, page_chain::find_repeated(pages), has_changed, curl);
        } else {
            self.verdicts.unknown(ContractClause::CursorUnique, "there is one page only");
        }
        if let Some((again, again_curl)) = repeated {
            let different = page_chain::find_different(&pages[1], &again);
            self.judge(ContractClause::CursorRepeatable, different, has_changed, &again_curl);
        }
        self.judge_completeness(followed, has_changed);
        match order {
            DeclaredOrder::Time => {
                let rising = page_chain::find_rising(std::slice::from_ref(before));
                let rising = rising.or_else(|| page_chain::find_rising(pages));
                self.judge(ContractClause::Order, rising, has_changed, curl);
            }
            // Rows of equal relevance have no order.
            DeclaredOrder::Relevance => match page_chain::find_swapped(before, pages) {
                None => self.verdicts.pass(ContractClause::Order, "kept", curl),
                Some(seen) => {
                    let why = format!("{seen}, as rows of equal relevance may");
                    self.verdicts.unknown(ContractClause::Order, why);
                }
            },
        }
    }

    fn judge_completeness(&mut self, followed: &FollowedPages, has_changed: bool) {
        let FollowedPages { large: (before, after), pages, ended, limit, curl } = followed;
        let after = after.as_ref().unwrap_or(before);
        let followed_rows: usize = pages.iter().map(|page| page.rows.len()).sum();
        let is_comparable = *ended || followed_rows >= before.rows.len() + limit;
        let fault = page_chain::find_lost(before, after, pages)
            .or_else(|| page_chain::find_foreign(before, after, pages));
        let is_whole = *ended && fault.is_none();
        if is_comparable {
            self.judge(ContractClause::CursorComplete, fault, has_changed, curl);
        } else {
            let why = "the pages did not reach the end: name a keyword with fewer matches";
            self.verdicts.unknown(ContractClause::CursorComplete, why);
        }
        if let Some(fault) = page_chain::find_wrong_total(before, pages, is_whole) {
            self.judge(ContractClause::Total, Some(fault), has_changed, curl);
        }
    }

    /// A fault may come from rows that were added or removed during the check.
    fn judge(&mut self, clause: ContractClause, fault: Option<String>, has_changed: bool, curl: &str) {
        match fault {
            Some(seen) if has_changed => {
                let why = format!("{seen}, but rows came or went meanwhile: check while nothing is written");
                self.verdicts.unknown(clause, why);
            }
            fault => self.verdicts.judge(clause, fault, curl),
        }
    }
}

fn choose_limit(large: &CheckedPage) -> usize {
    let matches = large.total.unwrap_or(0).max(large.rows.len() as u64);
    let limit = usize::try_from(matches.div_ceil(AIMED_PAGES)).unwrap_or(LARGE_LIMIT);
    limit.clamp(1, (large.rows.len() / 2).clamp(1, LARGE_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::page::ItemDigest;

    fn large(rows: usize, total: Option<u64>) -> CheckedPage {
        let row = ItemDigest { id: String::new(), display_time: None, title: String::new(), content: 0 };
        CheckedPage { rows: vec![row; rows], total, cursor: None }
    }

    #[test]
    fn limit_divides_matches_into_several_pages() {
        assert_eq!(choose_limit(&large(57, Some(57))), 8);
        assert_eq!(choose_limit(&large(2, Some(2))), 1);
        assert_eq!(choose_limit(&large(100, Some(1_000_000))), 50);
        assert_eq!(choose_limit(&large(100, None)), 13);
        assert_eq!(choose_limit(&large(3, Some(0))), 1);
    }
}
