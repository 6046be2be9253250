//! Pages of external sources by the time of their first item.
//!
//! A search below a time skips the pages before. Positions may be outdated. In time order,
//! items below a time are behind all items at or above it: if the page still begins with such an item, the
//! search may begin there. A query whose order breaks between pages has no positions, as rows would be skipped.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use moka::sync::Cache;
use tokio::time::Instant;

use super::raw_page::{RawPage, SourcePageKey};
use crate::single_flight::lock;

/// A cursor may be a snapshot that shows nothing newer.
const LIFETIME: Duration = Duration::from_mins(10);
/// The nearest to the beginning are dropped first.
const MAX_PAGES: usize = 512;

#[derive(Clone)]
pub(super) struct TimePositions {
    /// Positions by the key of a query's first page.
    queries: Cache<SourcePageKey, Arc<Mutex<PagesByTime>>>,
}

#[derive(Debug, Default)]
struct PagesByTime {
    by_time: BTreeMap<i64, PageAtTime>,
    /// The oldest time before each cursor.
    oldest_before: HashMap<String, i64>,
    /// When a page began above the end of the page before.
    broken: Option<Instant>,
    bytes: usize,
}

#[derive(Debug)]
struct PageAtTime {
    cursor: String,
    since: Instant,
}

impl TimePositions {
    pub(super) fn new(bytes: u64) -> Self {
        let queries = Cache::builder()
            .max_capacity(bytes)
            .weigher(|key: &SourcePageKey, pages: &Arc<Mutex<PagesByTime>>| {
                u32::try_from(key.keyword.len() + lock(pages).bytes).unwrap_or(u32::MAX)
            })
            .time_to_live(LIFETIME)
            .build();
        Self { queries }
    }

    /// First pages need no position. Pages without order have none.
    pub(super) fn put(&self, key: &SourcePageKey, page: &RawPage) {
        let Some(newest) = page.newest() else { return };
        let next = page.cursor.clone().zip(page.oldest());
        if key.cursor.is_none() && next.is_none() {
            return;
        }
        let query = key.first_page_key();
        let pages = self.queries.get(&query).unwrap_or_default();
        lock(&pages).put(newest, key.cursor.as_ref(), next);
        // Inserted again to be weighed again.
        self.queries.insert(query, pages);
    }

    /// Finds the last page of a key's query that began at this time or above.
    ///
    /// [`RawPage::newest`](super::raw_page::RawPage::newest) of that page verifies it.
    pub(super) fn find(&self, key: &SourcePageKey, time: i64) -> Option<String> {
        let pages = self.queries.get(&key.first_page_key())?;
        let pages = lock(&pages);
        if pages.broken.is_some_and(|since| since.elapsed() < LIFETIME) {
            return None;
        }
        let (_, page) = pages.by_time.range(time..).next()?;
        (page.since.elapsed() < LIFETIME).then(|| page.cursor.clone())
    }

    pub(super) fn forget(&self, key: &SourcePageKey) {
        if let Some(pages) = self.queries.get(&key.first_page_key()) {
            lock(&pages).by_time.retain(|_, page| Some(&page.cursor) != key.cursor.as_ref());
        }
    }
}

impl PagesByTime {
    fn put(&mut self, newest: i64, cursor: Option<&String>, next: Option<(String, i64)>) {
        const EACH: usize = 128;
        if cursor.and_then(|cursor| self.oldest_before.get(cursor)).is_some_and(|oldest| newest > *oldest) {
            self.broken = Some(Instant::now());
        }
        if self.oldest_before.len() >= MAX_PAGES {
            self.oldest_before.clear();
        }
        self.oldest_before.extend(next);
        if let Some(cursor) = cursor {
            self.put_position(newest, cursor.clone());
        }
        let cursors = self.by_time.values().map(|page| &page.cursor).chain(self.oldest_before.keys());
        self.bytes = cursors.map(|cursor| EACH + cursor.len()).sum();
    }

    fn put_position(&mut self, time: i64, cursor: String) {
        self.by_time.retain(|_, page| page.since.elapsed() < LIFETIME && page.cursor != cursor);
        if self.by_time.len() == MAX_PAGES {
            self.by_time.pop_last();
        }
        self.by_time.insert(time, PageAtTime { cursor, since: Instant::now() });
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;
    use trawl_connectors::{Answer, ContentItem, DeclaredOrder};

    use super::*;

    fn page(times: &[i64], cursor: Option<&str>) -> RawPage {
        let item =
            |time: &i64| ContentItem { id: time.to_string(), display_time: *time, ..ContentItem::default() };
        let items = times.iter().map(item).collect();
        let answer = Answer { items, cursor: cursor.map(str::to_owned), ..Answer::default() };
        RawPage::read(answer, DeclaredOrder::Time, None).unwrap()
    }

    fn key(keyword: &str, cursor: &str) -> SourcePageKey {
        SourcePageKey {
            registration: 1,
            keyword: keyword.to_owned(),
            person: None,
            cursor: Some(cursor.to_owned()),
        }
    }

    fn find(positions: &TimePositions, time: i64) -> Option<String> {
        positions.find(&key("a", "any"), time)
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_is_found_in_the_last_page_that_began_above_it() {
        let positions = TimePositions::new(1 << 20);
        for (cursor, time) in [("2", 80), ("3", 60), ("4", 40)] {
            positions.put(&key("a", cursor), &page(&[time], None));
        }
        positions.put(&key("b", "of another keyword"), &page(&[61], None));
        positions
            .put(&SourcePageKey { registration: 2, ..key("a", "of another source") }, &page(&[61], None));
        let person = Some("mei".to_owned());
        positions.put(&SourcePageKey { person, ..key("a", "of one person") }, &page(&[61], None));
        positions.put(&SourcePageKey { cursor: None, ..key("a", "") }, &page(&[100], None));
        for (time, cursor) in [
            (81, None),
            (80, Some("2")),
            (79, Some("2")),
            (61, Some("2")),
            (60, Some("3")),
            (i64::MIN, Some("4")),
        ] {
            assert_eq!(find(&positions, time).as_deref(), cursor, "{time}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_has_one_position_that_expires() {
        let positions = TimePositions::new(1 << 20);
        positions.put(&key("a", "2"), &page(&[80], None));
        positions.put(&key("a", "2"), &page(&[70], None));
        assert_eq!((find(&positions, 80), find(&positions, 70)), (None, Some("2".to_owned())));
        positions.forget(&key("a", "2"));
        assert_eq!(find(&positions, 70), None);
        positions.put(&key("a", "3"), &page(&[60], None));
        advance(LIFETIME / 2).await;
        positions.put(&key("a", "4"), &page(&[40], None));
        advance(LIFETIME / 2).await;
        assert_eq!((find(&positions, 60), find(&positions, 40)), (None, Some("4".to_owned())));
    }

    #[test]
    fn positions_nearest_to_the_beginning_are_dropped_first() {
        let most = i64::try_from(MAX_PAGES).unwrap();
        let mut pages = PagesByTime::default();
        (0..2 * most).for_each(|page| pages.put(-page, Some(&page.to_string()), None));
        let times: Vec<i64> = pages.by_time.keys().rev().copied().collect();
        assert_eq!(times, (most..2 * most).map(|page| -page).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn order_broken_between_pages_leaves_no_position() {
        let positions = TimePositions::new(1 << 20);
        positions.put(&SourcePageKey { cursor: None, ..key("a", "") }, &page(&[100, 90], Some("2")));
        positions.put(&key("a", "2"), &page(&[50, 40], Some("3")));
        assert_eq!(find(&positions, 45).as_deref(), Some("2"));
        positions.put(&key("a", "3"), &page(&[80, 70], None));
        assert_eq!((find(&positions, 45), find(&positions, 75)), (None, None));
        advance(LIFETIME).await;
        positions.put(&key("a", "2"), &page(&[50, 40], Some("3")));
        assert_eq!(find(&positions, 45).as_deref(), Some("2"));
    }
}
