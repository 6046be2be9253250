//! Sends documents together, one bulk at a time.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use trawl_engine::Failure;

use crate::client::{Call, Client, RequestBody, SHARD_TIMEOUT, failure, overloaded};
use crate::layout::writing_alias;

/// Size of one bulk; a longer document goes alone.
const MAX_BULK_BYTES: usize = 5 << 20;
/// Tries of documents that an overloaded cluster refused.
const MAX_TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Operations that were not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Bulk {
    lines: Vec<u8>,
}

/// A document of an index.
#[derive(Debug)]
pub(crate) struct BulkTarget<'a> {
    pub(crate) index: &'a str,
    pub(crate) id: &'a str,
    /// Routes it to its shard.
    pub(crate) tenant: i64,
}

/// The lines of an operation.
pub(crate) type Operation = Vec<u8>;

/// Puts a body at a version, unless it or a later one is there.
pub(crate) fn put(target: &BulkTarget<'_>, version: i64, body: &Value) -> Operation {
    let action = json!({"index": {
        "_index": writing_alias(target.index),
        "_id": target.id,
        "routing": target.tenant.to_string(),
        "version": version,
        "version_type": "external",
    }});
    format!("{action}\n{body}\n").into_bytes()
}

impl Bulk {
    /// Adds an operation, after sending those that leave it no room.
    pub(crate) async fn add(&mut self, client: &Client, operation: &Operation) -> Result<(), Failure> {
        if self.lines.len() + operation.len() > MAX_BULK_BYTES {
            self.send(client).await?;
        }
        self.lines.extend_from_slice(operation);
        Ok(())
    }

    /// Sends all operations; those that an overloaded cluster refused again.
    ///
    /// # Errors
    /// The cluster remains overloaded, or lacks an index. Some operations may have succeeded.
    pub(crate) async fn send(&mut self, client: &Client) -> Result<(), Failure> {
        let mut lines = std::mem::take(&mut self.lines);
        let mut pause = FIRST_PAUSE;
        let path = format!("_bulk?require_alias=true&{SHARD_TIMEOUT}");
        for _ in 0..MAX_TRIES {
            if lines.is_empty() {
                return Ok(());
            }
            let body = Some(RequestBody::Lines(lines.clone()));
            let answer = client.send(Call::write(Method::POST, &path, body)).await?;
            if answer.status != StatusCode::TOO_MANY_REQUESTS {
                lines = refused(&lines, &answer.success()?)?;
            }
            if !lines.is_empty() {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
        }
        if lines.is_empty() { Ok(()) } else { Err(overloaded()) }
    }
}

/// The lines of a bulk that are to be sent again.
fn refused(lines: &[u8], answer: &Value) -> Result<Vec<u8>, Failure> {
    if answer["errors"] == false {
        return Ok(Vec::new());
    }
    let items = answer["items"].as_array();
    let items =
        items.ok_or_else(|| Failure::Failed("OpenSearch answered a bulk without items".to_owned()))?;
    let mut lines = lines.split_inclusive(|byte| *byte == b'\n');
    let mut again = Vec::new();
    for item in items {
        let (Some(action), Some(document)) = (lines.next(), lines.next()) else { break };
        let item = &item["index"];
        let status = item["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
        match status {
            // This or a later version is there.
            200..=299 | 409 => {}
            429 | 500..=599 => again.extend([action, document].concat()),
            400 if is_fault_of_document(item) => {
                // Its reason may quote the document.
                let (index, id, error) =
                    (item["_index"].as_str(), item["_id"].as_str(), item["error"]["type"].as_str());
                tracing::error!(index, id, error, "OpenSearch refused a document; it cannot be found");
            }
            status => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                return Err(failure(status, item));
            }
        }
    }
    Ok(again)
}

/// Whether another document would be taken.
fn is_fault_of_document(item: &Value) -> bool {
    let error = &item["error"];
    let is_long = |error: &Value| error["type"] == "max_bytes_length_exceeded_exception";
    let is_mapped = matches!(
        error["type"].as_str(),
        Some("mapper_parsing_exception" | "strict_dynamic_mapping_exception")
    );
    is_mapped || is_long(error) || is_long(&error["caused_by"])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trawl_engine::Failure;

    use super::refused;

    fn answer(statuses: &[u16]) -> Value {
        let error = json!({"type": "mapper_parsing_exception"});
        let item = |status: &u16| json!({"index": {"status": status, "error": error}});
        json!({"errors": true, "items": statuses.iter().map(item).collect::<Vec<_>>()})
    }

    #[test]
    fn overload_is_sent_again_and_a_bad_document_is_not() {
        let lines = b"a\n1\nb\n2\nc\n3\nd\n4\ne\n5\n";
        let again = refused(lines, &answer(&[201, 429, 400, 503, 409])).unwrap();
        assert_eq!(again, b"b\n2\nd\n4\n");
    }

    #[test]
    fn refusal_for_another_reason_than_the_document_fails_the_bulk() {
        let item = json!({"index": {"status": 400, "error": {"type": "illegal_argument_exception"}}});
        let answer = json!({"errors": true, "items": [item]});
        assert!(matches!(refused(b"a\n1\n", &answer), Err(Failure::Failed(_))));
    }

    #[test]
    fn missing_index_fails_the_bulk() {
        assert!(matches!(refused(b"a\n1\n", &answer(&[404])), Err(Failure::Unavailable(_))));
    }
}
