//! What goes into the directory, and reading it back.

use std::io::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use super::caller::Caller;

/// Everything of an area (`users`, `organizations`) that changed after a cursor, read in pages of `limit`, and the cursor behind it.
/// Each page must be what the interface promises (decisions 9.6).
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
        assert!(answer.body.get("total").is_none(), "what is left is not counted");
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

/// Everything of an area.
pub(crate) async fn read_all(caller: &Caller, area: &str) -> Vec<Value> {
    read_after(caller, area, 0, 1_000).await.0
}

/// One user or department, by his id on the synchronising side.
pub(crate) async fn read_one(caller: &Caller, area: &str, id: &str) -> Value {
    let field = if area == "users" { "userId" } else { "orgId" };
    let all = read_all(caller, area).await;
    all.into_iter().find(|row| row[field] == id).unwrap_or_else(|| panic!("no {id} among {area}"))
}

/// When a row changed last.
pub(crate) fn changed_at(row: &Value) -> i64 {
    row["lastUpdatedDate"].as_str().unwrap().parse().unwrap()
}

/// A picture, as far as anybody looks.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand so on";

/// The content of a picture as it is sent.
pub(crate) fn packed(content: &[u8]) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    BASE64_STANDARD.encode(encoder.finish().unwrap())
}

/// `pictureParam` with this content.
pub(crate) fn content(content: &[u8]) -> Value {
    json!({"fileName": "me.jpg", "data": packed(content), "type": 2})
}
