//! Cursor of the page behind one.

use jaq_json::Val;
use url::{Position, Url};

use super::value::{as_text, is_nothing, kind};
use super::{BoundFilters, FieldFaults, SEEN};
use crate::mapping::Paging;
use crate::mapping::message::{AnswerHead, MappingError};

impl BoundFilters<'_> {
    /// The cursor of the next page.
    pub(super) fn next(
        &self,
        answer: Val,
        rows: usize,
        total: Option<u64>,
        AnswerHead { sent_to, next_link, .. }: AnswerHead,
        faults: &mut FieldFaults,
    ) -> Result<Option<String>, MappingError> {
        const FIELD: &str = "answer.next";
        let stated = self.first(FIELD, answer)?.filter(|value| !is_nothing(value));
        let text = |value: Val| {
            as_text(&value)
                .ok_or_else(|| MappingError::new(FIELD, format!("yields {}, not text", kind(&value))))
        };
        let stated = stated.map(text).transpose()?;
        let rows = rows as u64;
        let seen = self.seen.saturating_add(rows);
        // Rights may make any page short. A total below the rows, or of one full page, may be that of a page.
        let is_doubtful = |total| total < seen || total == rows && rows >= self.limit;
        let has_more = || rows > 0 && total.is_none_or(|total| seen < total || is_doubtful(total));
        Ok(match self.program.paging {
            Paging::None => None,
            Paging::Cursor => stated,
            Paging::Link => stated.or(next_link).and_then(|next| {
                let located = locate(&sent_to, &next);
                if located.is_none() {
                    faults.add_to_page(FIELD, "leads to no web address, so the pages end here");
                }
                located
            }),
            Paging::Offset | Paging::Page if self.program.filters.contains_key(FIELD) => stated,
            Paging::Offset => has_more().then(|| seen.to_string()),
            Paging::Page => has_more().then(|| format!("{}{SEEN}{seen}", self.page.saturating_add(1))),
        })
    }
}

/// Resolves the next page's address and drops its origin.
///
/// A system behind a proxy states an origin of its own. `None` if it is no web address.
pub(in crate::mapping) fn locate(sent_to: &Url, next: &str) -> Option<String> {
    let next = sent_to.join(next).ok().filter(|next| matches!(next.scheme(), "http" | "https"))?;
    let target = &next[Position::BeforePath..Position::AfterQuery];
    // Two slashes at the beginning would name a host (RFC 3986 §4.2).
    Some(if target.starts_with("//") { format!("/.{target}") } else { target.to_owned() })
}
