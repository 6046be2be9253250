//! Headers as programs write them, made such as the parser reads them.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mail_parser::decoders::charsets::map::charset_decoder;

use super::{
    super::encoding::{decode, of_label},
    BASE64,
};

/// Headers above this size are left as they are.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// Bytes of an encoded word, of which RFC 2047 allows 75.
const MAX_WORD_BYTES: usize = 4 << 10;

/// The message with its header in UTF-8 and whole encoded words.
///
/// Their encodings get names that the parser knows.
pub(super) fn with_readable_header(content: &[u8]) -> Cow<'_, [u8]> {
    let is_end = |place: &usize| matches!(content[*place..], [b'\n', b'\n', ..] | [b'\n', b'\r', b'\n', ..]);
    let end = (0..content.len().min(MAX_HEADER_BYTES)).find(is_end);
    let Some(end) = end.or_else(|| (content.len() <= MAX_HEADER_BYTES).then_some(content.len())) else {
        return content.into();
    };
    let readable = with_whole_words(&decode(&content[..end], None));
    if readable.as_bytes() == &content[..end] {
        return content.into();
    }
    [readable.as_bytes(), &content[end..]].concat().into()
}

/// An encoded word of RFC 2047.
struct Word<'h> {
    label: &'h str,
    kind: &'h str,
    /// Bytes of Base64, or characters of quoted-printable.
    payload: Vec<u8>,
}

impl<'h> Word<'h> {
    /// Reads a word behind its `=?`, and what follows it.
    fn of(header: &'h str) -> Option<(Self, &'h str)> {
        let (label, rest) = header.split_once('?')?;
        let (kind, rest) = rest.split_once('?')?;
        let payload = rest[..rest.floor_char_boundary(MAX_WORD_BYTES)].split_once("?=")?.0;
        let behind = &rest[payload.len() + 2..];
        let payload = match kind {
            "B" | "b" => BASE64.decode(payload.trim_end_matches('=')).ok()?,
            "Q" | "q" => payload.into(),
            _ => return None,
        };
        Some((Self { label, kind, payload }, behind))
    }

    /// Whether both may hold parts of one character.
    fn is_like(&self, other: &Self) -> bool {
        self.label.eq_ignore_ascii_case(other.label) && self.kind.eq_ignore_ascii_case(other.kind)
    }

    fn write(&self, header: &mut String) {
        let known = of_label(self.label).filter(|_| charset_decoder(self.label.as_bytes()).is_none());
        let label = known.map_or(self.label, |encoding| encoding.name());
        let payload = match self.kind {
            "Q" | "q" => String::from_utf8_lossy(&self.payload).into_owned(),
            _ => STANDARD.encode(&self.payload),
        };
        header.extend(["=?", label, "?", self.kind, "?", &payload, "?="]);
    }
}

fn with_whole_words(header: &str) -> String {
    let (mut whole, mut rest, mut open) = (String::new(), header, None::<Word<'_>>);
    while let Some((before, behind)) = rest.split_once("=?") {
        let next = Word::of(behind);
        if let (Some(word), Some((next, behind))) = (&mut open, &next)
            && before.trim().is_empty()
            && word.is_like(next)
        {
            word.payload.extend(&next.payload);
            rest = behind;
            continue;
        }
        if let Some(word) = open.take() {
            word.write(&mut whole);
        }
        whole.push_str(before);
        if let Some((word, behind)) = next {
            open = Some(word);
            rest = behind;
        } else {
            whole.push_str("=?");
            rest = behind;
        }
    }
    if let Some(word) = open {
        word.write(&mut whole);
    }
    whole.push_str(rest);
    whole
}
