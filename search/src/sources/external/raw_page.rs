//! Pages as external systems sent them, and their keys.

use std::{cmp::Reverse, sync::Arc};

use trawl_connectors::{Answer, ContentItem, DeclaredOrder};

use crate::{
    loop_guard::{SentRow, fingerprint},
    source::{FailureKind, ResultItem, SourceFailure},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SourcePageKey {
    /// A number in this process, of one tenant.
    pub(crate) registration: u64,
    pub(crate) keyword: String,
    /// Synchronised id; `None` for a source that is called as the application.
    pub(crate) person: Option<String>,
    /// The source's own cursor.
    pub(crate) cursor: Option<String>,
}

impl SourcePageKey {
    pub(super) fn first_page_key(&self) -> Self {
        Self { cursor: None, ..self.clone() }
    }
}

/// A page as the source sent it.
#[derive(Debug, Default)]
pub(crate) struct RawPage {
    pub(super) items: Vec<RawItem>,
    /// The rows in short.
    pub(super) sent: Arc<[SentRow]>,
    pub(super) in_time_order: bool,
    pub(super) cursor: Option<String>,
    pub(super) total: Option<u64>,
    pub(super) incomplete: Option<String>,
    pub(super) note: Option<String>,
    pub(super) broken: Option<String>,
}

#[derive(Debug)]
pub(super) struct RawItem {
    pub(super) item: ResultItem,
    pub(super) author: Option<String>,
}

impl RawPage {
    /// # Errors
    /// An item cannot be written as JSON.
    pub(crate) fn read(
        answer: Answer,
        declared: DeclaredOrder,
        cursor: Option<&str>,
    ) -> Result<Self, SourceFailure> {
        let Answer { items, total, cursor: next, incomplete, notes, mut broken } = answer;
        let stands_still = next.is_some() && next.as_deref() == cursor;
        if stands_still {
            broken.get_or_insert_with(|| {
                "its cursor does not advance: the next page would be this one".to_owned()
            });
        }
        let in_time_order = items.is_sorted_by_key(|item| Reverse(item.display_time));
        if declared == DeclaredOrder::Time && !in_time_order {
            broken.get_or_insert_with(|| "it declares time order and breaks it".to_owned());
        }
        let sent =
            items.iter().map(|item| SentRow { id: fingerprint(&item.id), display_time: item.display_time });
        let sent = sent.collect();
        let items = items
            .into_iter()
            .map(RawItem::write)
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|_| SourceFailure::new(FailureKind::Error, "an item could not be serialised"))?;
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let cursor = next.filter(|_| !stands_still);
        Ok(Self { items, sent, in_time_order, cursor, total, incomplete, note, broken })
    }

    /// The upper bound of all times here and behind, if the order holds.
    pub(super) fn newest(&self) -> Option<i64> {
        let first = self.items.first().filter(|_| self.in_time_order && self.broken.is_none())?;
        Some(first.item.display_time)
    }

    pub(super) fn oldest(&self) -> Option<i64> {
        self.sent.iter().map(|row| row.display_time).min()
    }

    /// The item of this id.
    pub(super) fn find(&self, id: &str) -> Option<ResultItem> {
        self.items.iter().find(|raw| raw.item.id == id).map(|raw| raw.item.clone())
    }

    /// The approximate bytes.
    pub(super) fn bytes(&self) -> usize {
        const EACH: usize = 128;
        let texts = |raw: &RawItem| {
            EACH + size_of::<SentRow>()
                + raw.item.id.len()
                + raw.item.json.len()
                + raw.author.as_ref().map_or(0, String::len)
        };
        let own = [&self.cursor, &self.incomplete, &self.note, &self.broken];
        let own = own.into_iter().flatten().map(String::len).sum::<usize>();
        EACH + own + self.items.iter().map(texts).sum::<usize>()
    }
}

impl RawItem {
    fn write(item: ContentItem) -> Result<Self, serde_json::Error> {
        let json = serde_json::to_string(&item)?;
        let (id, display_time) = (item.id, item.display_time);
        Ok(Self { item: ResultItem { id, display_time, json, ..ResultItem::default() }, author: item.author })
    }
}
