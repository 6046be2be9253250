//! Detects compression and format by content, never by file name.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

pub(crate) const HEAD_BYTES: usize = 64 * 1024;

/// What a file must be.
pub(crate) const REQUIRED: &str =
    "must be JSON Lines (an object in each line), a JSON array, RSS, Atom or JSON Feed, plain, gzip or zstd";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputFormat {
    Lines,
    Array,
    Feed,
}

/// Tells the compression by magic bytes (RFC 1952, RFC 8878).
///
/// `pzstd` begins with a skippable frame.
pub(crate) fn compression(magic: &[u8]) -> Compression {
    match magic {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

/// Detects the format of an inflated input without byte order mark.
pub(crate) fn format(head: &[u8]) -> Result<InputFormat, &'static str> {
    if let [0xff, 0xfe, b'<', 0, ..] | [0xfe, 0xff, 0, b'<', ..] | [b'<', 0, ..] | [0, b'<', ..] = head {
        return Ok(InputFormat::Feed);
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err("the encoding must be UTF-8, not UTF-16");
    }
    if head.starts_with(b"PK\x03\x04") {
        return Err(
            "is a zip archive or an Office file; must be a file of rows or a feed, plain, gzip or zstd",
        );
    }
    match head.trim_ascii_start().first() {
        Some(b'[') => Ok(InputFormat::Array),
        Some(b'<') => Ok(InputFormat::Feed),
        Some(b'{') if is_json_feed(head) => Ok(InputFormat::Feed),
        Some(b'{') => Ok(InputFormat::Lines),
        _ if head.split(|byte| *byte == b'\n').any(begins_feed) => Ok(InputFormat::Feed),
        _ => Ok(InputFormat::Lines),
    }
}

/// Whether a feed begins in a line, behind what a broken server wrote.
fn begins_feed(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    [&b"<?xml"[..], b"<rss", b"<feed", b"<rdf:"].iter().any(|begin| line.starts_with(begin))
}

/// Looks for `version`, or for `items` where `version` lies beyond `head`.
fn is_json_feed(head: &[u8]) -> bool {
    let mut seen = JsonFeedVisitor::default();
    let ended = serde_json::Deserializer::from_slice(head).deserialize_map(&mut seen);
    seen.is_feed.unwrap_or(seen.items && ended.is_err_and(|error| error.is_eof()))
}

#[derive(Default)]
struct JsonFeedVisitor {
    is_feed: Option<bool>,
    items: bool,
}

impl<'de> Visitor<'de> for &mut JsonFeedVisitor {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "version" {
                let version = map.next_value::<Value>()?;
                let address = version.as_str().unwrap_or_default();
                self.is_feed = Some(address.contains("://jsonfeed.org/version/"));
            } else {
                self.items |= key == "items";
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_detected_by_magic_bytes() {
        assert_eq!(compression(&[0x1f, 0x8b, 8, 0]), Compression::Gzip);
        assert_eq!(compression(&zstd::encode_all(&b"x"[..], 1).unwrap()), Compression::Zstd);
        assert_eq!(compression(&[0x50, 0x2a, 0x4d, 0x18]), Compression::Zstd);
        assert_eq!(compression(b"{\"i"), Compression::None);
        assert_eq!(compression(b""), Compression::None);
    }

    #[test]
    fn format_is_detected_by_the_first_character() {
        assert_eq!(format(b"{\"id\":1}\n{\"id\":2}\n"), Ok(InputFormat::Lines));
        assert_eq!(format(b" \r\n [{\"id\":1}]"), Ok(InputFormat::Array));
        assert_eq!(format(b"\n<?xml version='1.0'?><rss/>"), Ok(InputFormat::Feed));
        assert_eq!(format(b""), Ok(InputFormat::Lines));
        assert_eq!(format(b"no JSON at all"), Ok(InputFormat::Lines));
        assert_eq!(format(b"Warning: none\n\n <?xml version='1.0'?><rss/>"), Ok(InputFormat::Feed));
        assert_eq!(format(b"{\"id\":1}\n<rss/>"), Ok(InputFormat::Lines));
        assert!(format(b"\xff\xfe{\0").is_err() && format(b"PK\x03\x04").is_err());
        assert_eq!(format(b"\xff\xfe<\0r\0"), Ok(InputFormat::Feed));
        assert_eq!(format(b"\0<\0r"), Ok(InputFormat::Feed));
    }

    #[test]
    fn json_feed_declares_itself() {
        let feed = r#"{"title":"t","version":"https://jsonfeed.org/version/1.1","items":[]}"#;
        assert_eq!(format(feed.as_bytes()), Ok(InputFormat::Feed));
        let row = r#"{"text":"see \"version\":\"https://jsonfeed.org/version/1\"","version":3}"#;
        assert_eq!(format(row.as_bytes()), Ok(InputFormat::Lines));
        assert_eq!(format(br#"{"id":1,"items":[1,2]}"#), Ok(InputFormat::Lines));
    }

    #[test]
    fn json_feed_with_late_version_is_detected_by_items() {
        let long = format!(r#"{{"items":[{{"id":"1","content_text":"{}"}}]"#, "x".repeat(HEAD_BYTES));
        assert_eq!(format(&long.as_bytes()[..HEAD_BYTES]), Ok(InputFormat::Feed));
        let other = format!(r#"{{"id":"1","text":"{}"}}"#, "x".repeat(HEAD_BYTES));
        assert_eq!(format(&other.as_bytes()[..HEAD_BYTES]), Ok(InputFormat::Lines));
    }
}
