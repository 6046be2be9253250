//! An external system as a source: pages of the contract become pages of the coordinator.

#[cfg(test)]
mod tests;

use std::{cmp::Reverse, sync::Arc, time::Duration};

use trawl_connectors::{Answer, ContentItem, DeclaredOrder, Question, SourceClient, SourceError};

use super::{
    request::Order,
    source::{Ask, Entry, FailureKind, Item, Later, Page, Position, Source, SourceFailure, Taken},
};

/// A registered external system.
pub(super) struct ExternalSource {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) order: DeclaredOrder,
    pub(super) timeout: Duration,
    /// The `limit` of every call. Always the same, whatever the caller's page, so that its cursors stay what they were.
    pub(super) page_size: usize,
    pub(super) client: SourceClient,
}

#[async_trait::async_trait]
impl Source for ExternalSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    async fn page(&self, ask: &Arc<Ask>, position: &Position) -> Result<Page, SourceFailure> {
        let (cursor, taken) = match position {
            Position::InPage(cursor, taken) => (cursor.as_deref(), taken.as_ref()),
            Position::Beginning | Position::AfterItem(..) | Position::AfterRank(_) => (None, None),
            Position::End => return Ok(Page::default()),
        };
        let question = Question { keyword: &ask.keyword, limit: self.page_size, cursor };
        let answer = self.client.search(&question).await.map_err(|error| into_failure(&error))?;
        into_page(answer, ask, self.order, cursor, taken)
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
    answer: Answer,
    ask: &Ask,
    declared: DeclaredOrder,
    cursor: Option<&str>,
    taken: Option<&Taken>,
) -> Result<Page, SourceFailure> {
    let Answer { mut items, total, cursor: next_cursor, notes, mut broken } = answer;
    let stands_still = next_cursor.is_some() && next_cursor.as_deref() == cursor;
    if stands_still {
        broken.get_or_insert_with(|| "its cursor stands still: the next page would be this one".to_owned());
    }
    let next = next_cursor.filter(|_| !stands_still).map(|next| Position::InPage(Some(next), None));

    let mut later = Later::AnyTime;
    if ask.order == Order::Time {
        let in_order = items.is_sorted_by_key(|item| Reverse(item.display_time));
        if declared == DeclaredOrder::Time {
            later = Later::AtMost(items.iter().map(|item| item.display_time).min().unwrap_or(i64::MAX));
            if !in_order {
                broken.get_or_insert_with(|| "it declares time order and breaks it".to_owned());
            }
        }
        items.sort_by(|left, right| by_time(left).cmp(&by_time(right)));
    }
    let past_the_range = broken.is_none()
        && matches!((later, ask.filters.from), (Later::AtMost(time), Some(from)) if time < from);
    let next = next.filter(|_| !past_the_range);

    let skipped = taken.map_or(0, |taken| count_taken(&items, taken, ask.order));
    let mut entries = items
        .into_iter()
        .enumerate()
        .skip(skipped)
        .filter(|(_, item)| is_wanted(item, ask))
        .map(|(index, item)| {
            let taken = Taken { count: index + 1, display_time: item.display_time, id: item.id.clone() };
            let after = Position::InPage(cursor.map(str::to_owned), Some(taken));
            Ok(Entry { item: into_item(item)?, after })
        })
        .collect::<Result<Vec<_>, serde_json::Error>>()
        .map_err(|_| SourceFailure::new(FailureKind::Error, "an item could not be written down"))?;
    // After the last wanted item of the page nothing of it is left, so the source stands at the next one.
    if let (Some(last), Some(next)) = (entries.last_mut(), &next) {
        last.after = next.clone();
    }
    Ok(Page { entries, next, later, total, tie_cut: false, broken, note: notes.into_iter().next() })
}

/// The order of a page by time.
fn by_time(item: &ContentItem) -> (Reverse<i64>, &str) {
    (Reverse(item.display_time), &item.id)
}

/// How many items of an ordered page were taken already, as it is now.
fn count_taken(items: &[ContentItem], taken: &Taken, order: Order) -> usize {
    match order {
        Order::Time => {
            let last = (Reverse(taken.display_time), taken.id.as_str());
            items.partition_point(|item| by_time(item) <= last)
        }
        Order::Relevance => items
            .iter()
            .position(|item| item.id == taken.id)
            .map_or_else(|| taken.count.min(items.len()), |place| place + 1),
    }
}

/// The contract knows no filters, so what it sends is filtered here (decisions 5.8).
fn is_wanted(item: &ContentItem, ask: &Ask) -> bool {
    let by_the_author = |wanted: &str| {
        item.author.as_deref().is_some_and(|author| author.to_lowercase().contains(&wanted.to_lowercase()))
    };
    ask.filters.from.is_none_or(|from| item.display_time >= from)
        && ask.upper_bound().is_none_or(|bound| item.display_time < bound)
        && ask.filters.author.as_deref().is_none_or(by_the_author)
}

fn into_item(item: ContentItem) -> Result<Item, serde_json::Error> {
    Ok(Item { json: serde_json::to_string(&item)?, display_time: item.display_time, id: item.id })
}
