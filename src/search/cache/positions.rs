//! Where in the pages of an external source a time lies, as earlier searches saw it. A search from a time on reads from
//! there, and not every page before it again (decisions 5.3).
//!
//! A position may be wrong by now: items come and go, and cursors that count are shifted by them. So it only says where to
//! look first. In a list by time, everything below a time stands behind any item that is of the time or above it: where the
//! page that is found there begins with such an item, the search may begin with it, too; else it reads from the beginning.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use moka::sync::Cache;
use tokio::time::Instant;

use super::Key;

/// How long a position is of use. Cursors may be of a moment, and show nothing that came later.
const LIFETIME: Duration = Duration::from_mins(10);
/// Positions of one keyword in one source; of more, those nearest to the beginning are dropped.
const MOST: usize = 512;

/// The positions of all keywords in all sources.
pub(super) struct Positions {
    kept: Cache<Arc<Asked>, Arc<Mutex<Places>>>,
}

/// What was searched for, in which registration.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Asked {
    registration: u64,
    keyword: String,
}

/// Pages by the time of their first item.
#[derive(Debug, Default)]
struct Places {
    by_time: BTreeMap<i64, Place>,
    bytes: usize,
}

#[derive(Debug)]
struct Place {
    /// Leads to the page.
    cursor: String,
    since: Instant,
}

impl Positions {
    /// Positions of about so many bytes at the most.
    pub(super) fn new(bytes: u64) -> Self {
        let kept = Cache::builder()
            .max_capacity(bytes)
            .weigher(|asked: &Arc<Asked>, places: &Arc<Mutex<Places>>| {
                u32::try_from(asked.keyword.len() + lock(places).bytes).unwrap_or(u32::MAX)
            })
            .time_to_live(LIFETIME)
            .build();
        Self { kept }
    }

    /// The page of this key begins with an item of this time. A first page needs no position.
    pub(super) fn learn(&self, key: &Key, time: i64) {
        let Some(cursor) = &key.cursor else { return };
        let asked = Arc::new(Asked { registration: key.registration, keyword: key.keyword.clone() });
        let places = self.kept.get(&asked).unwrap_or_default();
        lock(&places).put(time, cursor.clone());
        // Put in anew, so that it is weighed anew.
        self.kept.insert(asked, places);
    }

    /// The cursor of the last page that began with an item of this time or above it.
    pub(super) fn find(&self, registration: u64, keyword: &str, time: i64) -> Option<String> {
        let places = self.kept.get(&Asked { registration, keyword: keyword.to_owned() })?;
        let places = lock(&places);
        let (_, place) = places.by_time.range(time..).next()?;
        (place.since.elapsed() < LIFETIME).then(|| place.cursor.clone())
    }

    /// The page behind this cursor begins elsewhere by now.
    pub(super) fn forget(&self, key: &Key) {
        let asked = Asked { registration: key.registration, keyword: key.keyword.clone() };
        if let Some(places) = self.kept.get(&asked) {
            lock(&places).by_time.retain(|_, place| Some(&place.cursor) != key.cursor.as_ref());
        }
    }
}

impl Places {
    fn put(&mut self, time: i64, cursor: String) {
        const EACH: usize = 128;
        self.by_time.retain(|_, place| place.since.elapsed() < LIFETIME && place.cursor != cursor);
        if self.by_time.len() == MOST {
            self.by_time.pop_last();
        }
        self.by_time.insert(time, Place { cursor, since: Instant::now() });
        self.bytes = self.by_time.values().map(|place| EACH + place.cursor.len()).sum();
    }
}

fn lock(places: &Mutex<Places>) -> MutexGuard<'_, Places> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn key(keyword: &str, cursor: &str) -> Key {
        Key { registration: 1, keyword: keyword.to_owned(), cursor: Some(cursor.to_owned()) }
    }

    fn find(positions: &Positions, time: i64) -> Option<String> {
        positions.find(1, "a", time)
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_is_looked_for_in_the_last_page_that_began_at_it_or_above() {
        let positions = Positions::new(1 << 20);
        for (cursor, time) in [("2", 80), ("3", 60), ("4", 40)] {
            positions.learn(&key("a", cursor), time);
        }
        positions.learn(&key("b", "of another keyword"), 61);
        positions.learn(&Key { registration: 2, ..key("a", "of another source") }, 61);
        positions.learn(&Key { cursor: None, ..key("a", "") }, 100);
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
    async fn a_page_has_one_position_which_is_forgotten_and_grows_old() {
        let positions = Positions::new(1 << 20);
        positions.learn(&key("a", "2"), 80);
        positions.learn(&key("a", "2"), 70);
        assert_eq!((find(&positions, 80), find(&positions, 70)), (None, Some("2".to_owned())));
        positions.forget(&key("a", "2"));
        assert_eq!(find(&positions, 70), None);
        positions.learn(&key("a", "3"), 60);
        advance(LIFETIME / 2).await;
        positions.learn(&key("a", "4"), 40);
        advance(LIFETIME / 2).await;
        assert_eq!((find(&positions, 60), find(&positions, 40)), (None, Some("4".to_owned())));
    }

    #[test]
    fn of_too_many_those_nearest_to_the_beginning_are_dropped() {
        let most = i64::try_from(MOST).unwrap();
        let mut places = Places::default();
        (0..2 * most).for_each(|page| places.put(-page, page.to_string()));
        let times: Vec<i64> = places.by_time.keys().rev().copied().collect();
        assert_eq!(times, (most..2 * most).map(|page| -page).collect::<Vec<_>>());
    }
}
