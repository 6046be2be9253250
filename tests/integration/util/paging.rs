//! Searches followed to their end, with checks of every page.

use std::{cmp::Reverse, collections::HashSet};

use serde_json::Value;

use super::{answer::Answer, caller::Caller};

#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) ids: Vec<String>,
    pub(crate) times: Vec<i64>,
    pub(crate) lengths: Vec<usize>,
}

impl Walk {
    /// Fails on a repetition or broken order.
    #[track_caller]
    pub(crate) fn take(&mut self, page: &Answer) {
        for item in page.items() {
            self.ids.push(item["id"].as_str().unwrap().to_owned());
            self.times.push(item["displayTime"].as_i64().unwrap());
        }
        assert_eq!(page.body["count"], page.items().len());
        self.lengths.push(page.items().len());
        assert!(self.times.is_sorted_by_key(|time| Reverse(*time)), "wrong order");
    }

    #[track_caller]
    pub(crate) fn assert_met(&self, expected: impl IntoIterator<Item = String>) {
        let met: HashSet<&String> = self.ids.iter().collect();
        assert_eq!(met.len(), self.ids.len(), "{} items were repeated", self.ids.len() - met.len());
        let expected: HashSet<String> = expected.into_iter().collect();
        let lost: Vec<&String> = expected.iter().filter(|id| !met.contains(id)).take(5).collect();
        assert!(lost.is_empty(), "lost: {lost:?}, maybe more; found {} of {}", met.len(), expected.len());
        assert_eq!(met.len(), expected.len(), "an unexpected item was found");
    }
}

pub(crate) fn ids_of(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Follows the cursor to the end. Every page except the last must be full.
pub(crate) async fn walk_by_cursor(caller: &Caller, parameters: &[(&str, &str)], limit: usize) -> Walk {
    let mut walk = Walk::default();
    let mut cursor = None;
    loop {
        let page = page_after(caller, parameters, limit, cursor.as_deref()).await;
        walk.take(&page);
        cursor = page.cursor();
        if cursor.is_none() {
            break;
        }
        assert_eq!(page.items().len(), limit, "a page before the last is short");
        assert_eq!(page.body["partial"], false, "{}", page.body["sources"]);
    }
    assert!(walk.lengths.last().is_some_and(|last| *last <= limit));
    walk
}

/// Follows the cursor to the end, in any order.
pub(crate) async fn items_by_cursor(
    caller: &Caller,
    parameters: &[(&str, &str)],
    limit: usize,
) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), None);
    loop {
        let page = page_after(caller, parameters, limit, cursor.as_deref()).await;
        assert_eq!(page.body["partial"], false, "{}", page.body["sources"]);
        items.extend_from_slice(page.items());
        cursor = page.cursor();
        if cursor.is_none() {
            return items;
        }
    }
}

/// Exactly `limit` items.
pub(crate) async fn page_after(
    caller: &Caller,
    parameters: &[(&str, &str)],
    limit: usize,
    cursor: Option<&str>,
) -> Answer {
    let limit = limit.to_string();
    let mut all = parameters.to_vec();
    all.extend([("limit", limit.as_str()), ("paging", "cursor")]);
    all.extend(cursor.map(|cursor| ("cursor", cursor)));
    caller.search(&all).await.ok()
}

/// Follows the last item's time to the end. No page may split a millisecond.
pub(crate) async fn walk_by_time(caller: &Caller, parameters: &[(&str, &str)], limit: usize) -> Walk {
    let mut walk = Walk::default();
    let size = limit.to_string();
    let mut before: Option<String> = None;
    loop {
        let mut all = parameters.to_vec();
        all.push(("limit", &size));
        all.extend(before.as_deref().map(|before| ("cursor", before)));
        let page = caller.search(&all).await.ok();
        assert_eq!(page.body["partial"], false, "{}", page.body["sources"]);
        walk.take(&page);
        let Some(last) = walk.times.last().filter(|_| !page.items().is_empty()) else { break };
        before = Some(last.to_string());
        assert!(page.items().len() >= limit || page.cursor().is_none(), "a page before the last is short");
    }
    walk
}
