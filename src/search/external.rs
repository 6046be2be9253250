//! An external system as a source: what it sends becomes pages of the coordinator.

mod left;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use trawl_connectors::{
    Answer, ContentItem, DeclaredOrder, Question, SourceClient, SourceError, TraceContext,
};

use self::left::{Left, left_by_rank, left_by_time};
use super::{
    request::Order,
    source::{Ask, Entry, FailureKind, Item, Later, Page, Position, SourceFailure, Taken},
};

/// A registered external system.
pub(super) struct ExternalSource {
    pub(super) order: DeclaredOrder,
    /// The `limit` of every call. Always the same, whatever the caller's page, so that its cursors stay what they were.
    pub(super) page_size: usize,
    pub(super) client: SourceClient,
}

/// One page as a source sent it, whoever asked for it: pages of many searches are made of it.
#[derive(Debug, Default)]
pub(super) struct SourcePage {
    rows: Vec<Row>,
    /// Whether all rows are in time order.
    in_time_order: bool,
    /// Leads to the page behind it.
    pub(super) cursor: Option<String>,
    total: Option<u64>,
    /// A slip that harms no row.
    pub(super) note: Option<String>,
    /// The contract was broken, yet the rows are usable (decisions 6.4).
    pub(super) broken: Option<String>,
}

/// One item of a source's page, written down once.
#[derive(Debug)]
struct Row {
    item: Item,
    author: Option<String>,
}

impl ExternalSource {
    /// Asks for the page that `cursor` leads to, as part of this trace.
    pub(super) async fn ask(
        &self,
        keyword: &str,
        cursor: Option<&str>,
        trace: Option<&TraceContext>,
    ) -> Result<SourcePage, SourceFailure> {
        let question = Question { keyword, limit: self.page_size, cursor };
        let asked = self.client.search_within(&question, trace).await;
        let answer = asked.map_err(|error| into_failure(&error))?;
        SourcePage::read(answer, self.order, cursor)
    }
}

impl SourcePage {
    /// The page that a source of this declared order sent for this cursor.
    ///
    /// # Errors
    /// An item cannot be written down.
    pub(super) fn read(
        answer: Answer,
        declared: DeclaredOrder,
        cursor: Option<&str>,
    ) -> Result<Self, SourceFailure> {
        let Answer { items, total, cursor: next, notes, mut broken } = answer;
        let stands_still = next.is_some() && next.as_deref() == cursor;
        if stands_still {
            broken
                .get_or_insert_with(|| "its cursor stands still: the next page would be this one".to_owned());
        }
        let in_time_order = items.is_sorted_by_key(|item| Reverse(item.display_time));
        if declared == DeclaredOrder::Time && !in_time_order {
            broken.get_or_insert_with(|| "it declares time order and breaks it".to_owned());
        }
        let rows = items
            .into_iter()
            .map(Row::write)
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|_| SourceFailure::new(FailureKind::Error, "an item could not be written down"))?;
        let note = notes.into_iter().next();
        Ok(Self { rows, in_time_order, cursor: next.filter(|_| !stands_still), total, note, broken })
    }

    /// The time of its first item, which none of it is above and everything behind it is at most of; `None` where it is
    /// empty, or not in time order.
    pub(super) fn newest(&self) -> Option<i64> {
        let first = self.rows.first().filter(|_| self.in_time_order && self.broken.is_none())?;
        Some(first.item.display_time)
    }

    /// About how many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        const EACH: usize = 128;
        let texts = |row: &Row| {
            EACH + row.item.id.len() + row.item.json.len() + row.author.as_ref().map_or(0, String::len)
        };
        let own =
            [&self.cursor, &self.note, &self.broken].into_iter().flatten().map(String::len).sum::<usize>();
        EACH + own + self.rows.iter().map(texts).sum::<usize>()
    }
}

impl Row {
    fn write(item: ContentItem) -> Result<Self, serde_json::Error> {
        let json = serde_json::to_string(&item)?;
        let (id, display_time) = (item.id, item.display_time);
        Ok(Self { item: Item { json, display_time, id, title_is_name: false }, author: item.author })
    }
}

/// Where in which of a source's pages a search goes on: the cursor that leads to the page, and what was taken of it.
/// `None` at the end.
pub(super) fn place(position: &Position) -> Option<(Option<&str>, &[Taken])> {
    match position {
        Position::InPage(cursor, taken) => Some((cursor.as_deref(), taken)),
        Position::Beginning | Position::AfterItem(..) | Position::AfterRank(_) => Some((None, &[])),
        Position::End => None,
    }
}

fn into_failure(error: &SourceError) -> SourceFailure {
    let kind = match error {
        SourceError::Timeout => FailureKind::Timeout,
        SourceError::Unavailable { .. } => FailureKind::Unavailable,
        SourceError::Unauthorized(_) => FailureKind::Unauthorized,
        SourceError::Invalid(_) => FailureKind::Invalid,
        SourceError::Forbidden(_) | SourceError::Failed(_) | SourceError::CursorRefused(_) => {
            FailureKind::Error
        }
    };
    let retry_after = match error {
        SourceError::Unavailable { retry_after, .. } => *retry_after,
        _ => None,
    };
    SourceFailure {
        retry_after,
        is_of_the_cursor: matches!(error, SourceError::CursorRefused(_)),
        ..SourceFailure::new(kind, error.to_string())
    }
}

/// Orders and filters what the source sent, and says where it stands after each item.
///
/// By time, items of one time are ordered by id within a page; from page to page they stay in the source's order.
pub(super) fn into_page(
    sent: &SourcePage,
    ask: &Ask,
    declared: DeclaredOrder,
    cursor: Option<&str>,
    taken: &[Taken],
) -> Page {
    let rows = sent.rows.as_slice();
    let mut later = Later::AnyTime;
    if ask.order == Order::Time && declared == DeclaredOrder::Time {
        later = Later::AtMost(rows.iter().map(|row| row.item.display_time).min().unwrap_or(i64::MAX));
    }
    let past_the_range = sent.in_time_order
        && sent.broken.is_none()
        && matches!((later, ask.filters.from), (Later::AtMost(time), Some(from)) if time < from);
    let Left { rows: left, behind } = match ask.order {
        Order::Time => {
            let is_ordered = declared == DeclaredOrder::Time && sent.newest().is_some();
            left_by_time(rows, taken, sent.cursor.is_none(), is_ordered)
        }
        Order::Relevance => left_by_rank(rows, taken),
    };
    let next = sent.cursor.clone().filter(|_| !past_the_range);
    let next = next.map(|next| Position::InPage(Some(next), behind));

    let mut entries: Vec<Entry> = left
        .into_iter()
        .filter(|(row, _)| is_wanted(row, ask))
        .map(|(row, taken)| Entry {
            item: row.item.clone(),
            after: Position::InPage(cursor.map(str::to_owned), taken),
        })
        .collect();
    // After the last wanted item of the page nothing of it is left, so the source stands at the next one.
    if let (Some(last), Some(next)) = (entries.last_mut(), &next) {
        last.after = next.clone();
    }
    Page {
        entries,
        next,
        later,
        total: sent.total,
        tie_cut: false,
        broken: sent.broken.clone(),
        note: sent.note.clone(),
        kept: false,
        stale: false,
        lacking: None,
    }
}

/// The contract knows no filters, so what it sends is filtered here (decisions 5.8).
fn is_wanted(row: &Row, ask: &Ask) -> bool {
    let Row { item, author } = row;
    let by_the_author = |wanted: &str| {
        author.as_deref().is_some_and(|author| author.to_lowercase().contains(&wanted.to_lowercase()))
    };
    ask.filters.from.is_none_or(|from| item.display_time >= from)
        && ask.upper_bound().is_none_or(|bound| item.display_time < bound)
        && ask.filters.author.as_deref().is_none_or(by_the_author)
}
