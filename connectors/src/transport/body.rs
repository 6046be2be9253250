//! Bodies within a memory bound.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::GzDecoder;
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

use super::failure::TransportError;
use crate::text::quote;

/// Each start costs more than a member's few bytes.
const MAX_MEMBERS: usize = 1_000;
const SHOWN_ENCODING_CHARACTERS: usize = 40;

pub(crate) struct ResponseBody {
    bytes: Vec<u8>,
    is_gzip: bool,
}

pub(crate) async fn receive_body(
    mut response: Response,
    bound: usize,
) -> Result<ResponseBody, TransportError> {
    let is_gzip = read_encoding(&response)?;
    let stated = response.content_length().map_or(Ok(0), usize::try_from);
    let Some(stated) = stated.ok().filter(|stated| *stated <= bound) else {
        return Err(TransportError::TooLarge(bound));
    };
    let mut bytes = Vec::with_capacity(stated);
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > bound - bytes.len() {
            return Err(TransportError::TooLarge(bound));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(ResponseBody { bytes, is_gzip })
}

pub(crate) async fn read_body(response: Response, bound: usize) -> Result<Vec<u8>, TransportError> {
    receive_body(response, bound).await?.inflate(bound)
}

/// Tells whether the body is gzip, by either name (RFC 9110).
///
/// Other names are no coding: a body may be plain and say so, or its charset.
fn read_encoding(response: &Response) -> Result<bool, TransportError> {
    let values = response.headers().get_all(CONTENT_ENCODING);
    let texts: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let stated = texts.join(",").to_ascii_lowercase();
    let codings: Vec<_> = stated.split(',').map(str::trim).filter(|name| !is_no_coding(name)).collect();
    match codings[..] {
        [] => Ok(false),
        ["gzip" | "x-gzip"] => Ok(true),
        _ => Err(TransportError::Encoding(quote(&codings.join(", "), SHOWN_ENCODING_CHARACTERS))),
    }
}

fn is_no_coding(name: &str) -> bool {
    let charsets =
        ["utf-", "utf8", "iso-8859-", "windows-125", "us-ascii", "gb", "big5", "shift_jis", "euc-", "koi8-"];
    matches!(name, "" | "identity" | "none" | "binary" | "7bit" | "8bit" | "chunked" | "aws-chunked")
        || charsets.iter().any(|charset| name.starts_with(charset))
}

impl ResponseBody {
    /// Content that is cheap to read and has at most `most` bytes.
    pub(crate) fn if_small(&self, most: usize) -> Option<Cow<'_, [u8]>> {
        if !self.is_gzip {
            return (self.bytes.len() <= most).then_some(Cow::Borrowed(&self.bytes));
        }
        // JSON shrinks to a quarter or less.
        if self.bytes.len() > most / 4 {
            return None;
        }
        inflate(&self.bytes, most).ok().map(Cow::Owned)
    }

    /// At most `bound` bytes. It may take milliseconds.
    pub(crate) fn inflate(self, bound: usize) -> Result<Vec<u8>, TransportError> {
        if self.is_gzip { inflate(&self.bytes, bound) } else { Ok(self.bytes) }
    }
}

/// Inflates a file that its server sends as it is stored, such as `feed.xml.gz`.
pub(crate) fn inflate_file(bytes: Vec<u8>, bound: usize) -> Result<Vec<u8>, TransportError> {
    if bytes.starts_with(&[0x1f, 0x8b]) { inflate(&bytes, bound) } else { Ok(bytes) }
}

/// Inflates whole gzip members (RFC 1952), with nothing after them.
///
/// Servers send an empty body with any header.
fn inflate(gzip: &[u8], bound: usize) -> Result<Vec<u8>, TransportError> {
    let mut content = Vec::new();
    let mut rest = gzip;
    for _ in 0..MAX_MEMBERS {
        if rest.is_empty() {
            return Ok(content);
        }
        let mut member = GzDecoder::new(rest);
        // One byte beyond the bound shows that there is more.
        let most = u64::try_from(bound - content.len()).unwrap_or(u64::MAX).saturating_add(1);
        let outcome = member.by_ref().take(most).read_to_end(&mut content);
        if content.len() > bound {
            return Err(TransportError::TooLarge(bound));
        }
        outcome.map_err(|_| TransportError::Undecodable)?;
        rest = member.into_inner();
    }
    Err(TransportError::Undecodable)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn consecutive_members_are_one_content() {
        let both = [gzip(b"{\"data\""), gzip(b""), gzip(b":[]}")].concat();
        assert_eq!(inflate(&both, 100).unwrap(), b"{\"data\":[]}");
        assert_eq!(inflate(&both, 11).unwrap().len(), 11);
        assert_eq!(inflate(&both, 10), Err(TransportError::TooLarge(10)));
    }

    #[test]
    fn too_many_members_are_refused() {
        assert_eq!(inflate(&gzip(b"").repeat(MAX_MEMBERS - 1), 10), Ok(Vec::new()));
        assert_eq!(inflate(&gzip(b"").repeat(MAX_MEMBERS + 1), 10), Err(TransportError::Undecodable));
    }

    #[test]
    fn empty_body_is_an_empty_content() {
        assert_eq!(inflate(b"", 10), Ok(Vec::new()));
        assert_eq!(inflate(&gzip(b""), 10), Ok(Vec::new()));
    }

    #[test]
    fn truncated_member_is_refused_at_any_length() {
        let whole = gzip("搜索 and some more".as_bytes());
        for length in 1..whole.len() {
            assert_eq!(inflate(&whole[..length], 100), Err(TransportError::Undecodable), "{length}");
        }
    }

    #[test]
    fn bytes_after_the_last_member_are_refused() {
        for rest in [&b"{}"[..], b"\0", b"\0\0\0\0\0\0\0\0\0\0\0\0", b"\x1f\x8b"] {
            let bytes = [&gzip(b"[]"), rest].concat();
            assert_eq!(inflate(&bytes, 100), Err(TransportError::Undecodable), "{rest:?}");
        }
    }

    #[test]
    fn wrong_checksum_is_refused() {
        let mut bytes = gzip(b"some words that have a checksum");
        let checksum = bytes.len() - 8;
        bytes[checksum] ^= 1;
        assert_eq!(inflate(&bytes, 100), Err(TransportError::Undecodable));
    }

    #[test]
    fn gzip_bomb_is_refused_without_inflating_it() {
        let mut bomb = gzip(&vec![b' '; 50_000_000]);
        assert!(bomb.len() < 60_000);
        bomb.truncate(bomb.len() / 2);
        assert_eq!(inflate(&bomb, 1_000), Err(TransportError::TooLarge(1_000)));
    }

    #[test]
    fn file_is_inflated_within_the_bound() {
        assert_eq!(inflate_file(gzip(b"<rss/>"), 6).unwrap(), b"<rss/>");
        assert_eq!(inflate_file(gzip(b"<rss/>"), 5), Err(TransportError::TooLarge(5)));
        assert_eq!(inflate_file(b"<rss/>".to_vec(), 6).unwrap(), b"<rss/>");
    }

    #[test]
    fn small_body_is_judged_by_its_inflated_size() {
        let body = |content: &[u8]| ResponseBody { bytes: gzip(content), is_gzip: true };
        assert_eq!(body(b"[]").if_small(1_000).as_deref(), Some(&b"[]"[..]));
        assert_eq!(body(&[b' '; 1_001]).if_small(1_000), None);
        let plain = |length| ResponseBody { bytes: vec![b' '; length], is_gzip: false };
        assert!(plain(1_000).if_small(1_000).is_some());
        assert!(plain(1_001).if_small(1_000).is_none());
        assert_eq!(plain(3).inflate(10).unwrap().len(), 3);
    }
}
