use std::io::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use super::caller::Caller;

/// Reads all changes after a cursor; also returns the last cursor.
///
/// It asserts on every page that rows are oldest first and none repeats.
pub(crate) async fn read_after(
    caller: &Caller,
    area: &str,
    mut cursor: i64,
    limit: usize,
) -> (Vec<Value>, i64) {
    let mut all = Vec::new();
    loop {
        let path = format!("/v1/{area}/sync?cursor={cursor}&limit={limit}");
        let answer = caller.get(&path).await.ok();
        let rows = answer.items();
        assert!(rows.len() <= limit, "{} rows of {limit}", rows.len());
        assert_eq!(answer.body["count"], rows.len());
        assert!(answer.body.get("total").is_none(), "the remaining rows are not counted");
        for row in rows {
            let time = changed_at(row);
            assert!(time > cursor, "{time} is not after {cursor}");
            cursor = time;
        }
        all.extend_from_slice(rows);
        if rows.len() < limit {
            return (all, cursor);
        }
    }
}

pub(crate) async fn read_all(caller: &Caller, area: &str) -> Vec<Value> {
    read_after(caller, area, 0, 1_000).await.0
}

pub(crate) async fn read_one(caller: &Caller, area: &str, id: &str) -> Value {
    let field = if area == "users" { "userId" } else { "orgId" };
    let all = read_all(caller, area).await;
    all.into_iter().find(|row| row[field] == id).unwrap_or_else(|| panic!("no {id} among {area}"))
}

pub(crate) fn changed_at(row: &Value) -> i64 {
    row["lastUpdatedDate"].as_str().unwrap().parse().unwrap()
}

/// Only the signature is checked.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand so on";

pub(crate) fn packed(content: &[u8]) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    BASE64_STANDARD.encode(encoder.finish().unwrap())
}

pub(crate) fn content(content: &[u8]) -> Value {
    json!({"fileName": "me.jpg", "data": packed(content), "type": 2})
}
