//! Groups rows into request bodies of bounded size, in file order.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::row::{PreparedRow, Rejection};

/// Largest body, below the server's 8 MiB: a proxy may count headers.
pub(crate) const MAX_BODY_BYTES: usize = 7 * 1024 * 1024;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RowBatch {
    /// Rows of distinct ids.
    pub(crate) rows: Vec<PreparedRow>,
    #[serde(skip)]
    pub(crate) ids: HashSet<String>,
    rejections: Vec<Rejection>,
    /// Bytes of the input read so far.
    position: u64,
    /// The rows' JSON, each with a comma.
    #[serde(skip)]
    bytes: usize,
}

/// The outcome of a batch's rows.
#[derive(Debug)]
pub(crate) struct BatchOutcome {
    pub(crate) accepted: usize,
    pub(crate) truncated: u64,
    pub(crate) undated: u64,
    /// Refused rows in file order.
    pub(crate) rejections: Vec<Rejection>,
    /// The reason for which reading ended early.
    pub(crate) ending: Option<String>,
    /// Bytes of the input read so far.
    pub(crate) position: u64,
}

impl RowBatch {
    fn has_room_for(&self, row: &Result<PreparedRow, Rejection>, max_rows: usize, max_bytes: usize) -> bool {
        match row {
            Ok(row) => {
                self.rows.len() < max_rows
                    && self.bytes + row.json.get().len() + 2 <= max_bytes
                    && !self.ids.contains(&row.id)
            }
            Err(_) => self.rejections.len() < max_rows,
        }
    }

    fn add(&mut self, row: Result<PreparedRow, Rejection>, position: u64) {
        match row {
            Ok(row) => {
                self.bytes += row.json.get().len() + 1;
                self.ids.insert(row.id.clone());
                self.rows.push(row);
            }
            Err(rejection) => self.rejections.push(rejection),
        }
        self.position = position;
    }

    /// Cuts what a process says of refused rows.
    pub(crate) fn shortened(mut self) -> Self {
        let again = |rejection: Rejection| match rejection.number {
            Some(number) => Rejection::row(number, rejection.id, rejection.reason),
            None => Rejection::file(rejection.reason),
        };
        self.rejections = self.rejections.into_iter().map(again).collect();
        self
    }

    /// Rows, those that are refused, and the reason for which reading ended early.
    pub(crate) fn into_parts(self) -> (Vec<PreparedRow>, Vec<Rejection>, Option<String>) {
        let (endings, refused): (Vec<_>, _) =
            self.rejections.into_iter().partition(|rejection| rejection.number.is_none());
        (self.rows, refused, endings.into_iter().next().map(|ending| ending.reason))
    }

    /// Joins rejections with refused rows, which map ids to reasons.
    pub(crate) fn outcome(self, mut refused: HashMap<String, String>) -> BatchOutcome {
        let refusal = |row: &PreparedRow| {
            let reason = refused.remove(&row.id)?;
            Some(Rejection::row(row.number, Some(row.id.clone()), reason))
        };
        let refused: Vec<_> = self.rows.iter().filter_map(refusal).collect();
        let accepted = self.rows.len() - refused.len();
        let truncated = self.rows.iter().filter(|row| row.truncated).count() as u64;
        let undated = self.rows.iter().filter(|row| row.undated).count() as u64;
        let position = self.position;
        let (_, mut rejections, ending) = self.into_parts();
        rejections.extend(refused);
        rejections.sort_by_key(|rejection| rejection.number);
        BatchOutcome { accepted, truncated, undated, rejections, ending, position }
    }
}

/// Writes rows as a JSON array.
pub(crate) fn body(rows: &[PreparedRow]) -> Bytes {
    let mut body = Vec::with_capacity(rows.iter().map(|row| row.json.get().len() + 1).sum::<usize>() + 2);
    body.push(b'[');
    for row in rows {
        if body.len() > 1 {
            body.push(b',');
        }
        body.extend_from_slice(row.json.get().as_bytes());
    }
    body.push(b']');
    body.into()
}

/// Groups rows into batches; none holds an id twice.
///
/// Each row has the position of the input after it.
pub(crate) fn batches(
    rows: impl Iterator<Item = (Result<PreparedRow, Rejection>, u64)>,
    max_rows: usize,
    max_bytes: usize,
) -> impl Iterator<Item = RowBatch> {
    let check = move |(row, position): (Result<PreparedRow, _>, _)| {
        (row.and_then(|row| check_size(row, max_bytes)), position)
    };
    let mut rows = rows.map(check).peekable();
    std::iter::from_fn(move || {
        let mut batch = RowBatch::default();
        while let Some((row, position)) =
            rows.next_if(|(row, _)| batch.has_room_for(row, max_rows, max_bytes))
        {
            batch.add(row, position);
        }
        (!batch.rows.is_empty() || !batch.rejections.is_empty()).then_some(batch)
    })
}

fn check_size(row: PreparedRow, max_bytes: usize) -> Result<PreparedRow, Rejection> {
    let bytes = row.json.get().len() + 2;
    if bytes <= max_bytes {
        return Ok(row);
    }
    let reason = format!("{bytes} bytes of JSON, must be at most {max_bytes}");
    Err(Rejection::row(row.number, Some(row.id), reason))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn prepared(number: u64, id: &str, filler: usize) -> PreparedRow {
        let item = serde_json::json!({ "id": id, "title": "x".repeat(filler) });
        let (id, json) = (id.to_owned(), serde_json::value::to_raw_value(&item).unwrap());
        PreparedRow { number, line: None, id, json, truncated: false, undated: false }
    }

    fn ids_in(body: &Bytes) -> Vec<String> {
        let rows: Vec<Value> = serde_json::from_slice(body).unwrap();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn batches_hold_each_row_once_in_order_within_limits(
            rows in prop::collection::vec((0_u8..20, 0_usize..120, any::<bool>()), 0..60),
            max_rows in 1_usize..8,
            max_bytes in 60_usize..300,
        ) {
            let read = (1..).zip(&rows).map(|(number, (id, filler, is_broken))| {
                let row = if *is_broken {
                    Err(Rejection::row(number, None, "broken"))
                } else {
                    Ok(prepared(number, &id.to_string(), *filler))
                };
                (row, number * 10)
            });
            let mut next = 1;
            for batch in batches(read, max_rows, max_bytes) {
                let body = body(&batch.rows);
                prop_assert!(body.len() <= max_bytes.max(2));
                prop_assert!(batch.rows.len() <= max_rows && batch.rejections.len() <= max_rows);
                let ids: Vec<_> = batch.rows.iter().map(|row| row.id.clone()).collect();
                prop_assert_eq!(ids_in(&body), ids.clone());
                prop_assert_eq!(batch.ids.len(), ids.len(), "no id twice in one request");
                prop_assert!(batch.rows.is_sorted_by_key(|row| row.number));

                let refused = ids.iter().map(|id| (id.clone(), "no".to_owned())).collect();
                let outcome = batch.outcome(refused);
                prop_assert_eq!(outcome.accepted, 0);
                for rejection in outcome.rejections {
                    prop_assert_eq!(rejection.number, Some(next));
                    next += 1;
                }
                prop_assert_eq!(outcome.position, (next - 1) * 10);
            }
            prop_assert_eq!(next, rows.len() as u64 + 1);
        }
    }

    #[test]
    fn oversized_row_is_rejected() {
        let mut batches = batches([(Ok(prepared(1, "a", 200)), 0)].into_iter(), 10, 100);
        let batch = batches.next().unwrap();
        assert!(batch.rows.is_empty() && batches.next().is_none());
        assert_eq!(batch.rejections[0].id.as_deref(), Some("a"));
    }
}
