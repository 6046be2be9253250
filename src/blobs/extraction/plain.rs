//! Plain text, Markdown and HTML in any encoding.

use std::{borrow::Cow, io::Write};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use trawl_connectors::html_to_text;

use super::{MAX_PLAIN_BYTES, Stop, TextWriter};

/// Bytes in which an HTML page declares its encoding.
const DECLARED_WITHIN: usize = 1_024;

/// Source code, logs and CSV, unchanged.
pub(super) fn plain<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    text.push(&decode(content, None))
}

/// Markdown without its markup and link targets.
pub(super) fn markdown<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let source = decode(content, None);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    for event in Parser::new_ext(&source, options) {
        match event {
            Event::Text(piece) | Event::Code(piece) => text.push(&piece)?,
            Event::SoftBreak | Event::HardBreak | Event::Rule => text.push("\n")?,
            Event::End(end) if !is_within_a_line(end) => text.push("\n")?,
            Event::Start(Tag::Image { title, .. } | Tag::Link { title, .. }) if !title.is_empty() => {
                text.push(&title)?;
                text.push(" ")?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_within_a_line(end: TagEnd) -> bool {
    matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

pub(super) fn html<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let source = decode(content, declared(content));
    text.push(&html_to_text(&source))
}

fn declared(content: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&content[..content.len().min(DECLARED_WITHIN)]).to_ascii_lowercase();
    let (_, after) = head.split_once("charset=")?;
    let label = after.trim_start_matches(['"', '\'']);
    let end =
        label.find(|character: char| !(character.is_ascii_alphanumeric() || "-_:.".contains(character)));
    Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
}

/// Decodes by byte order mark, valid UTF-8, declared encoding, then detection.
fn decode<'a>(content: &'a [u8], declared: Option<&'static Encoding>) -> Cow<'a, str> {
    let most = usize::try_from(MAX_PLAIN_BYTES).unwrap_or(usize::MAX);
    let beginning = &content[..content.len().min(most)];
    if let Some((encoding, mark)) = Encoding::for_bom(beginning) {
        return encoding.decode_without_bom_handling(&beginning[mark..]).0;
    }
    let valid = match std::str::from_utf8(beginning) {
        Ok(text) => return Cow::Borrowed(text),
        // The cut may split a character.
        Err(error) if error.error_len().is_none() => Some(error.valid_up_to()),
        Err(_) => None,
    };
    if let Some(end) = valid {
        return UTF_8.decode_without_bom_handling(&beginning[..end]).0;
    }
    let encoding = declared.unwrap_or_else(|| {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(beginning, true);
        detector.guess(None, Utf8Detection::Allow)
    });
    encoding.decode_without_bom_handling(beginning).0
}
