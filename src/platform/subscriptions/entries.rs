//! Entries of a source as items: ids, hashes and problems.

use std::collections::HashMap;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Map, Value, value::RawValue};

use super::report::EntryProblem;
use crate::{
    error::{Error, Result},
    platform::{
        contents::forms::{Content, read_batch},
        shared::patch::{ID_BYTES, check_id},
    },
    rows::{
        content,
        row::{PreparedRow, Rejection, Row, truncate},
    },
};

/// Begins a SHA-256 that stands for an entry's id.
const HASHED: &str = "sha256-";
const HASH_BYTES: usize = 16;
/// Maximum bytes of an id that is shown.
const SHOWN_BYTES: usize = 200;
/// Entry problems that are listed.
pub(super) const LISTED_PROBLEMS: usize = 10;

/// Entries of a document or page: items, and those that cannot be.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) received: u64,
    pub(super) items: Vec<Content>,
    pub(super) refused: u64,
    /// The first refused ones.
    pub(super) problems: Vec<EntryProblem>,
    pub(super) truncated: u64,
    pub(super) undated: u64,
}

/// Reads prepared rows as items; the last of the same id wins.
pub(super) fn read_entries(
    subscription_id: &str,
    rows: Vec<PreparedRow>,
    rejections: Vec<Rejection>,
) -> Result<Entries> {
    let received = (rows.len() + rejections.len()) as u64;
    let mut entries = Entries { received, ..Entries::default() };
    for rejection in rejections {
        entries.refuse(rejection.id, rejection.reason);
    }
    let mut bodies = Vec::with_capacity(rows.len());
    let mut places = HashMap::new();
    for row in rows {
        entries.truncated += u64::from(row.truncated);
        entries.undated += u64::from(row.undated);
        bodies.push(item_json(subscription_id, &row.id, &row.json)?);
        places.insert(item_id(subscription_id, &row.id), (row.place(), row.id));
    }
    let (items, failures) = read_batch(bodies.iter().map(AsRef::as_ref));
    entries.items = items;
    for failure in failures {
        let (place, id) = places.remove(&failure.id).unzip();
        entries.refuse(id, place.unwrap_or_default() + &failure.message);
    }
    Ok(entries)
}

/// Converts rows of a query.
pub(super) fn prepare(rows: Vec<Map<String, Value>>) -> (Vec<PreparedRow>, Vec<Rejection>) {
    let (mut prepared, mut rejections) = (Vec::with_capacity(rows.len()), Vec::new());
    for (number, fields) in (1..).zip(rows) {
        match content::prepare(Row { number, line: None, fields, undated: false }) {
            Ok(row) => prepared.push(row),
            Err(rejection) => rejections.push(rejection),
        }
    }
    (prepared, rejections)
}

impl Entries {
    fn refuse(&mut self, id: Option<String>, reason: String) {
        self.refused += 1;
        if self.problems.len() < LISTED_PROBLEMS {
            self.problems.push(problem(id, reason));
        }
    }
}

pub(super) fn problem(id: Option<String>, reason: String) -> EntryProblem {
    let shown = id.map(|mut id| {
        truncate(&mut id, SHOWN_BYTES);
        id
    });
    EntryProblem { id: shown, reason }
}

fn item_json(subscription_id: &str, entry_id: &str, json: &RawValue) -> Result<Box<RawValue>> {
    let mut item: Map<String, Value> = serde_json::from_str(json.get()).map_err(Error::internal)?;
    item.insert("id".to_owned(), item_id(subscription_id, entry_id).into());
    serde_json::value::to_raw_value(&item).map_err(Error::internal)
}

/// The item's id of an entry: no two entries share one.
pub(super) fn item_id(subscription_id: &str, entry_id: &str) -> String {
    let plain = format!("{subscription_id}:{entry_id}");
    if plain.len() <= ID_BYTES && check_id(&plain).is_ok() && !entry_id.starts_with(HASHED) {
        return plain;
    }
    format!("{subscription_id}:{HASHED}{}", hex::encode(digest(&SHA256, entry_id.as_bytes())))
}

/// The entry's id of an item; `None` if the item has but its hash.
pub(super) fn entry_id<'a>(subscription_id: &str, item_id: &'a str) -> Option<&'a str> {
    let entry_id = item_id.strip_prefix(subscription_id)?.strip_prefix(':')?;
    (!entry_id.starts_with(HASHED)).then_some(entry_id)
}

/// The hash of all that an entry says; its viewers are the subscription's.
pub(super) fn hash(item: &Content) -> Result<String> {
    let text = serde_json::to_vec(&(item.display_time, item)).map_err(Error::internal)?;
    Ok(hex::encode(&digest(&SHA256, &text).as_ref()[..HASH_BYTES]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hash_differs_by_text_and_time_alone() {
        let item = Content { id: "a".into(), title: Some("A".into()), ..Content::default() };
        let later = Content { display_time: Some(1), ..item.clone() };
        let other = Content { title: Some("B".into()), ..item.clone() };
        let renamed = Content { id: "b".into(), ..item.clone() };
        assert_eq!(hash(&item).unwrap(), hash(&renamed).unwrap());
        assert_ne!(hash(&item).unwrap(), hash(&later).unwrap());
        assert_ne!(hash(&item).unwrap(), hash(&other).unwrap());
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn ids_are_valid_and_differ_as_the_entries_do(
            one in "(sha256-)?[a-z\\n:/]{0,8}", other in "(sha256-)?[a-z\\n:/]{0,8}", repeat in 1_usize..200,
        ) {
            let (one, other) = (one.repeat(repeat), other.repeat(repeat));
            let id = item_id("s", &one);
            prop_assert!(check_id(&id).is_ok());
            prop_assert_eq!(id == item_id("s", &other), one == other);
            prop_assert!(entry_id("s", &id).is_none_or(|entry_id| entry_id == one));
        }
    }
}
