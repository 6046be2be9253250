//! Tells what an input is by its first bytes, never by its name.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// How many bytes of an inflated input are looked at.
pub(super) const HEAD_BYTES: usize = 64 * 1024;

/// What an input is packed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// How an input's rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One JSON object a line.
    Lines,
    /// One JSON array of objects.
    Array,
    /// RSS, Atom or JSON Feed.
    Feed,
}

/// By the magic bytes of RFC 1952 and RFC 8878 (skippable frames included, as `pzstd` begins with one).
pub(super) fn compression(magic: &[u8]) -> Compression {
    match magic {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

/// The length of a UTF-8 byte order mark at the beginning: 3 or 0.
pub(super) fn byte_order_mark(head: &[u8]) -> usize {
    if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

/// By the first character; an object is a feed only if it declares itself a JSON Feed. `head` is the beginning
/// of the input, inflated and without byte order mark. The error says why the input cannot be read at all.
pub(super) fn format(head: &[u8]) -> Result<Format, &'static str> {
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err("this is UTF-16; only UTF-8 is read");
    }
    match head.trim_ascii_start().first() {
        Some(b'[') => Ok(Format::Array),
        Some(b'<') => Ok(Format::Feed),
        Some(b'{') if is_json_feed(head) => Ok(Format::Feed),
        _ => Ok(Format::Lines),
    }
}

/// Whether the first object has a `version` of JSON Feed; where it is too long to see that far, whether it has come
/// to its `items`.
fn is_json_feed(head: &[u8]) -> bool {
    let mut seen = Seen::default();
    let ended = serde_json::Deserializer::from_slice(head).deserialize_map(&mut seen);
    seen.is_feed.unwrap_or(seen.items && ended.is_err_and(|error| error.is_eof()))
}

#[derive(Default)]
struct Seen {
    is_feed: Option<bool>,
    items: bool,
}

impl<'de> Visitor<'de> for &mut Seen {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "version" {
                let version = map.next_value::<Value>()?;
                let address = version.as_str().unwrap_or_default();
                self.is_feed = Some(address.starts_with("https://jsonfeed.org/version/"));
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
    fn compression_is_told_by_magic_bytes() {
        assert_eq!(compression(&[0x1f, 0x8b, 8, 0]), Compression::Gzip);
        assert_eq!(compression(&zstd::encode_all(&b"x"[..], 1).unwrap()), Compression::Zstd);
        assert_eq!(compression(&[0x50, 0x2a, 0x4d, 0x18]), Compression::Zstd);
        assert_eq!(compression(b"{\"i"), Compression::None);
        assert_eq!(compression(b""), Compression::None);
    }

    #[test]
    fn format_is_told_by_the_first_character() {
        assert_eq!(format(b"{\"id\":1}\n{\"id\":2}\n"), Ok(Format::Lines));
        assert_eq!(format(b" \r\n [{\"id\":1}]"), Ok(Format::Array));
        assert_eq!(format(b"\n<?xml version='1.0'?><rss/>"), Ok(Format::Feed));
        assert_eq!(format(b""), Ok(Format::Lines));
        assert_eq!(format(b"no JSON at all"), Ok(Format::Lines));
        assert!(format(b"\xff\xfe{\0").is_err());
    }

    #[test]
    fn a_json_feed_declares_itself() {
        let feed = r#"{"title":"t","version":"https://jsonfeed.org/version/1.1","items":[]}"#;
        assert_eq!(format(feed.as_bytes()), Ok(Format::Feed));
        let row = r#"{"text":"see \"version\":\"https://jsonfeed.org/version/1\"","version":3}"#;
        assert_eq!(format(row.as_bytes()), Ok(Format::Lines));
        assert_eq!(format(br#"{"id":1,"items":[1,2]}"#), Ok(Format::Lines));
    }

    #[test]
    fn a_json_feed_whose_version_comes_late_is_told_by_its_items() {
        let long = format!(r#"{{"items":[{{"id":"1","content_text":"{}"}}]"#, "x".repeat(HEAD_BYTES));
        assert_eq!(format(&long.as_bytes()[..HEAD_BYTES]), Ok(Format::Feed));
        let other = format!(r#"{{"id":"1","text":"{}"}}"#, "x".repeat(HEAD_BYTES));
        assert_eq!(format(&other.as_bytes()[..HEAD_BYTES]), Ok(Format::Lines));
    }
}
