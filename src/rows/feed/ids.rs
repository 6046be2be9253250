//! Ids of entries, also where several share one.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher};

use super::entry::Entry;

/// Keys of derived ids. They stay: an id that changes is another item.
const ID_KEYS: (u64, u64) = (0x5d78_4074_2887_2d60, 0x90ee_ca4c_90a5_e228);

/// The ids of a feed, and what was said under each, by hashes.
#[derive(Default)]
pub(super) struct Ids {
    known: HashMap<u128, Said>,
    /// Entries that say the same as another.
    pub(super) repetitions: u64,
}

struct Said {
    /// Link and title.
    words: u128,
    /// Beside them the time, else the text.
    whole: u128,
    /// The latest time that the entry states.
    changed: Option<i64>,
}

impl Ids {
    /// Returns the id of an entry; `None` if it repeats another.
    ///
    /// It repeats one that is as new or newer. One that says nothing repeats none.
    ///
    /// Of several entries under one id the first keeps it. Others have their link and title in it, or all that tells them apart.
    pub(super) fn assign(&mut self, entry: &Entry) -> Option<String> {
        let stated = entry.id.clone().unwrap_or_else(|| derived_id(entry));
        let link = entry.link.get().map_or("", String::as_str);
        let title = entry.written_title.as_deref().unwrap_or_default();
        if link.is_empty() && title.is_empty() && entry.text.get().is_none() {
            return Some(stated);
        }
        let words = hash(&[link, title]);
        let time = entry.time.get().map(i64::to_string);
        let time = time.as_deref().or(entry.unread_time.as_deref());
        let other = time.or_else(|| entry.text.get().map(String::as_str)).unwrap_or_default();
        let said = Said { words, whole: hash(&[&shown(words), other]), changed: entry.changed };
        let mut id = stated.clone();
        if self.known.get(&hash(&[&id])).is_some_and(|first| first.words != said.words) {
            id = format!("{stated}#{}", shown(said.words));
        }
        if self.known.get(&hash(&[&id])).is_some_and(|first| first.whole != said.whole) {
            id = format!("{stated}#{}", shown(said.whole));
        }
        match self.known.entry(hash(&[&id])) {
            Place::Vacant(place) => _ = place.insert(said),
            Place::Occupied(mut place) => {
                self.repetitions += 1;
                if said.changed <= place.get().changed {
                    return None;
                }
                place.insert(said);
            }
        }
        Some(id)
    }
}

/// An id of link and title, else of what there is; empty if there is nothing.
fn derived_id(entry: &Entry) -> String {
    let title = entry.written_title.as_deref();
    let link = entry.link.get().map(String::as_str);
    let text = entry.text.get().map(String::as_str);
    let parts = match (entry.first_address.as_deref(), title, link.or(text)) {
        (Some(address), title, _) => [address, title.unwrap_or_default()],
        (None, Some(title), _) => ["", title],
        (None, None, Some(other)) => [other, ""],
        (None, None, None) => match entry.title.get() {
            Some(title) => ["", title],
            None => return String::new(),
        },
    };
    shown(hash(&parts))
}

fn hash(parts: &[&str]) -> u128 {
    let mut hasher = SipHasher::new_with_keys(ID_KEYS.0, ID_KEYS.1);
    for part in parts {
        hasher.write(part.as_bytes());
    }
    hasher.finish128().as_u128()
}

/// Both halves without leading zeros, as ids have always been.
fn shown(hash: u128) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    let (low, high) = (hash as u64, (hash >> 64) as u64);
    format!("{low:x}{high:x}")
}
