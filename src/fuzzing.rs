//! Promises about any file that a stranger sends, for the fuzzers of `tests/fuzz`.

#![allow(clippy::missing_panics_doc, reason = "each panics where a promise is broken")]

use std::io::Cursor;

use serde_json::{Map, Value};

use crate::blobs::extraction::{TextFormat, TextWriter, extract};
use crate::rows::content::{self, MAX_BRIEF_BYTES};
use crate::rows::feed::FeedRows;
use crate::rows::input::RowReader;
use crate::rows::row::Row;
use crate::rows::task;

const MAX_TEXT_BYTES: usize = 256 << 10;
const MAX_ROWS_BYTES: u64 = 1 << 20;

/// A feed: its rows are numbered, have ids, and become items or are refused.
pub fn feed(bytes: &[u8]) {
    let address = "https://pier.example/news/feed.xml".parse().ok();
    let Ok(mut feed) = FeedRows::open(bytes, None, address) else { return };
    let mut before = 0;
    for row in feed.by_ref() {
        assert!(row.number > before && row.line > 0);
        before = row.number;
        assert!(row.fields.get("id").is_some_and(Value::is_string), "{:?}", row.fields);
        item(Row {
            number: row.number,
            line: Some(row.line),
            fields: row.fields,
            undated: row.undated.is_some(),
        });
    }
    let (_end, notes) = (feed.end(), feed.notes());
    assert!(notes.iter().all(|note| note.len() < 1_000), "{notes:?}");
}

/// Rows of a file to import: they are numbered, and nothing follows what ends them.
pub fn rows(bytes: &[u8]) {
    let mut before = 0;
    let mut has_ended = false;
    for row in RowReader::new(Cursor::new(bytes.to_vec()), MAX_ROWS_BYTES) {
        assert!(!has_ended, "a row follows the end");
        let number = match row {
            Ok(row) => {
                let number = row.number;
                let again = Row { fields: row.fields.clone(), ..row };
                item(row);
                if let Ok(task) = task::prepare(again, Some("ann")) {
                    object(task.json.get());
                }
                Some(number)
            }
            Err(rejection) => rejection.number,
        };
        has_ended = number.is_none();
        assert!(number.is_none_or(|number| number > before), "{number:?} follows {before}");
        before = number.unwrap_or(before);
    }
}

fn item(row: Row) {
    if let Ok(row) = content::prepare(row) {
        let item = object(row.json.get());
        assert!(item["id"].as_str().is_some_and(|id| id == row.id));
        let brief = item.get("brief").and_then(Value::as_str).unwrap_or_default();
        assert!(brief.len() <= MAX_BRIEF_BYTES);
    }
}

fn object(json: &str) -> Map<String, Value> {
    let object = serde_json::from_str(json);
    assert!(object.is_ok(), "{json}");
    object.unwrap_or_default()
}

/// A document: its text is bounded and holds no control characters.
pub fn document(bytes: &[u8]) {
    text(bytes, TextFormat::Plain);
}

/// Markdown: its text is as that of a document.
pub fn markdown(bytes: &[u8]) {
    text(bytes, TextFormat::Markdown);
}

/// A feed behind a line with the charset of its content type.
pub fn charset(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return };
    let (charset, content) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 1..]);
    let Ok(feed) = FeedRows::open(content, Some(&charset), None) else { return };
    for row in feed {
        assert!(row.fields.get("id").is_some_and(Value::is_string), "{:?}", row.fields);
    }
}

fn text(bytes: &[u8], read_as: TextFormat) {
    let mut written = Vec::new();
    let mut text = TextWriter::new(&mut written, MAX_TEXT_BYTES);
    let _stop = extract(bytes, read_as, true, &mut text);
    assert!(text.flush().is_ok());
    assert!(text.notes().len() <= 8 && text.notes().iter().all(|note| note.len() <= 200));
    drop(text);
    assert!(written.len() <= MAX_TEXT_BYTES && std::str::from_utf8(&written).is_ok());
    assert!(!written.iter().any(|byte| byte.is_ascii_control() && !b"\n\t".contains(byte)));
}

#[cfg(test)]
mod tests {
    use trawl_seeds::each_wild_file;

    #[test]
    fn wild_files_hold_what_the_fuzzers_ask() {
        each_wild_file("feeds", super::feed).unwrap();
        each_wild_file("rows", super::rows).unwrap();
        each_wild_file("docs", super::document).unwrap();
        each_wild_file("docs", super::markdown).unwrap();
        each_wild_file("charsets", super::charset).unwrap();
    }
}
