//! Plain text, Markdown and HTML in any encoding.

use std::io::Write;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use trawl_connectors::html_to_text;

use super::{
    MAX_PLAIN_BYTES, Stop, TextWriter,
    encoding::{decode, decode_marked_up},
};

/// Told where a plain text is longer.
pub(super) const CUT_PLAIN: &str = "of a plain text, the first MiB is read";

/// Source code, logs, XML and CSV, unchanged.
pub(super) fn plain<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let source = decode_marked_up(beginning(content, text));
    text.push(&source)
}

/// Markdown without its markup and link targets.
pub(super) fn markdown<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let source = decode(beginning(content, text), None);
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
    let source = decode_marked_up(beginning(content, text));
    text.push(&html_to_text(&source))
}

fn beginning<'a, W: Write>(content: &'a [u8], text: &mut TextWriter<W>) -> &'a [u8] {
    let most = usize::try_from(MAX_PLAIN_BYTES).unwrap_or(usize::MAX);
    if content.len() > most {
        text.note(CUT_PLAIN);
    }
    &content[..content.len().min(most)]
}
