//! Groups rows into request bodies of bounded size, in file order.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::input::RowReader;
use super::row::{PreparedRow, RefusedRow, Rejection, Row};

/// Below the server's 8 MiB (decisions 9.9): a proxy may count headers.
pub(crate) const MAX_BODY_BYTES: usize = 7 * 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BatchRow {
    pub(crate) number: u64,
    pub(crate) id: String,
    /// The next row starts one byte (a comma) later.
    end: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) end: u64,
    pub(crate) members: Vec<BatchRow>,
    pub(crate) rejections: Vec<Rejection>,
    pub(crate) truncated: u64,
    /// Bytes of the input read so far.
    pub(crate) position: u64,
    ids: HashSet<String>,
    text: Vec<u8>,
}

impl Batch {
    pub(crate) fn body(&self, members: &Range<usize>) -> Bytes {
        let Some(last) = members.end.checked_sub(1).filter(|_| !members.is_empty()) else {
            return Bytes::from_static(b"[]");
        };
        let start = members.start.checked_sub(1).map_or(0, |before| self.members[before].end + 1);
        let end = self.members[last].end;
        let mut body = Vec::with_capacity(end - start + 2);
        body.push(b'[');
        body.extend_from_slice(&self.text[start..end]);
        body.push(b']');
        body.into()
    }

    pub(crate) fn ids(&self) -> &HashSet<String> {
        &self.ids
    }

    /// The rejections of refused rows.
    pub(crate) fn locate(&self, refused: Vec<RefusedRow>) -> Vec<Rejection> {
        if refused.is_empty() {
            return Vec::new();
        }
        let mut numbers: HashMap<&str, u64> =
            self.members.iter().map(|member| (member.id.as_str(), member.number)).collect();
        let rejection = |RefusedRow { id, reason }: RefusedRow| {
            // Named twice or never sent.
            let number = numbers.remove(id.as_str())?;
            Some(Rejection::row(number, Some(id), reason))
        };
        refused.into_iter().filter_map(rejection).collect()
    }

    fn is_empty(&self) -> bool {
        self.members.is_empty() && self.rejections.is_empty()
    }
}

pub(crate) struct Batcher {
    max_rows: usize,
    max_bytes: usize,
    open: Batch,
}

impl Batcher {
    pub(crate) fn new(max_rows: usize, max_bytes: usize) -> Self {
        Self { max_rows, max_bytes, open: Batch::default() }
    }

    pub(crate) fn push(
        &mut self,
        number: u64,
        row: Result<PreparedRow, Rejection>,
        position: u64,
    ) -> Option<Batch> {
        let row = row.and_then(|row| self.check_size(number, row));
        let closed = match &row {
            Ok(row) if !self.has_room_for(row) => self.close(),
            Err(_) if self.open.rejections.len() >= self.max_rows => self.close(),
            _ => None,
        };
        match row {
            Ok(row) => self.add(number, row),
            Err(rejection) => self.open.rejections.push(rejection),
        }
        self.open.end = self.open.end.max(number);
        self.open.position = position;
        closed
    }

    pub(crate) fn close(&mut self) -> Option<Batch> {
        let batch = std::mem::take(&mut self.open);
        // A rejection of the whole file has no number.
        self.open.end = batch.end;
        self.open.position = batch.position;
        (!batch.is_empty()).then_some(batch)
    }

    fn check_size(&self, number: u64, row: PreparedRow) -> Result<PreparedRow, Rejection> {
        let bytes = row.json.len() + 2;
        if bytes <= self.max_bytes {
            return Ok(row);
        }
        let reason = format!("{bytes} bytes of JSON, must be at most {}", self.max_bytes);
        Err(Rejection::row(number, Some(row.id), reason))
    }

    fn has_room_for(&self, row: &PreparedRow) -> bool {
        let separator = usize::from(!self.open.members.is_empty());
        self.open.members.len() < self.max_rows
            && self.open.text.len() + separator + row.json.len() + 2 <= self.max_bytes
            && !self.open.ids.contains(&row.id)
    }

    fn add(&mut self, number: u64, row: PreparedRow) {
        if !self.open.members.is_empty() {
            self.open.text.push(b',');
        }
        self.open.text.extend_from_slice(&row.json);
        self.open.truncated += u64::from(row.truncated);
        self.open.ids.insert(row.id.clone());
        self.open.members.push(BatchRow { number, id: row.id, end: self.open.text.len() });
    }
}

/// Reads, converts and groups rows until they end, or nobody receives them.
pub(crate) fn read_batches(
    rows: Result<RowReader, Rejection>,
    prepare: impl Fn(Row) -> Result<PreparedRow, Rejection>,
    mut batcher: Batcher,
    sender: &mpsc::Sender<Batch>,
) {
    match rows {
        Ok(mut reader) => {
            while let Some(row) = reader.next() {
                let (number, row) = match row {
                    Ok(row) => (row.number, prepare(row)),
                    Err(rejection) => (rejection.number.unwrap_or_default(), Err(rejection)),
                };
                if let Some(batch) = batcher.push(number, row, reader.position())
                    && sender.blocking_send(batch).is_err()
                {
                    return;
                }
            }
        }
        Err(rejection) => drop(batcher.push(0, Err(rejection), 0)),
    }
    if let Some(batch) = batcher.close() {
        // Otherwise the receiver has reported why.
        let _ = sender.blocking_send(batch);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn prepared(id: &str, filler: usize) -> PreparedRow {
        let json = serde_json::json!({ "id": id, "title": "x".repeat(filler) }).to_string();
        PreparedRow { id: id.to_owned(), json: json.into_bytes(), truncated: false }
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
            let mut batcher = Batcher::new(max_rows, max_bytes);
            let mut batches = Vec::new();
            for (index, (id, filler, is_broken)) in rows.iter().enumerate() {
                let number = index as u64 + 1;
                let row = if *is_broken {
                    Err(Rejection::row(number, None, "broken"))
                } else {
                    Ok(prepared(&id.to_string(), *filler))
                };
                batches.extend(batcher.push(number, row, number * 10));
            }
            batches.extend(batcher.close());

            let mut numbers_seen = Vec::new();
            let mut end_before = 0;
            for batch in &batches {
                let body = batch.body(&(0..batch.members.len()));
                prop_assert!(body.len() <= max_bytes.max(2));
                prop_assert!(batch.members.len() <= max_rows);
                prop_assert!(batch.rejections.len() <= max_rows + 1);
                let ids: Vec<_> = batch.members.iter().map(|member| member.id.clone()).collect();
                prop_assert_eq!(ids_in(&body), ids.clone());
                prop_assert_eq!(batch.ids().len(), ids.len(), "no id twice in one request");
                let numbers = batch.members.iter().map(|member| member.number)
                    .chain(batch.rejections.iter().filter_map(|rejection| rejection.number));
                for number in numbers {
                    prop_assert!(number > end_before && number <= batch.end);
                    numbers_seen.push(number);
                }
                prop_assert_eq!(batch.position, batch.end * 10);
                end_before = batch.end;
            }
            numbers_seen.sort_unstable();
            prop_assert_eq!(numbers_seen, (1..=rows.len() as u64).collect::<Vec<_>>());
        }

        #[test]
        fn any_part_of_a_batch_is_a_json_array(count in 1_usize..20, cut in 0_usize..20) {
            let mut batcher = Batcher::new(100, MAX_BODY_BYTES);
            for number in 0..count {
                prop_assert!(batcher.push(number as u64 + 1, Ok(prepared(&number.to_string(), number)), 0).is_none());
            }
            let batch = batcher.close().unwrap();
            let cut = cut.min(count);
            let mut ids = ids_in(&batch.body(&(0..cut)));
            ids.extend(ids_in(&batch.body(&(cut..count))));
            prop_assert_eq!(ids, (0..count).map(|number| number.to_string()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn oversized_row_is_rejected() {
        let mut batcher = Batcher::new(10, 100);
        assert!(batcher.push(1, Ok(prepared("a", 200)), 0).is_none());
        let batch = batcher.close().unwrap();
        assert!(batch.members.is_empty());
        assert_eq!(batch.rejections[0].id.as_deref(), Some("a"));
        assert!(batcher.close().is_none());
    }
}
