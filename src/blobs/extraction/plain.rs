//! Plain text, Markdown and HTML in any encoding.

use std::{io::Write, mem::take};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use trawl_connectors::html_to_text;

use super::{
    MAX_PLAIN_BYTES, Stop, TextWriter,
    encoding::{decode_marked_up_noted, decode_noted},
};

/// Told where a plain text is longer.
pub(super) const CUT_PLAIN: &str = "of a plain text, the first MiB is read";

/// Source code, logs, XML and CSV, unchanged.
pub(super) fn plain<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let source = decode_marked_up_noted(beginning(content, text), text);
    text.push(&source)
}

/// Markdown without its markup and link targets.
pub(super) fn markdown<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let source = decode_noted(beginning(content, text), None, text);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut block = String::new();
    for event in Parser::new_ext(&source, options) {
        match event {
            Event::Html(piece) => block.push_str(&piece),
            Event::End(TagEnd::HtmlBlock) => text.push_line(&html_to_text(&take(&mut block)))?,
            Event::InlineHtml(tag) if parts_words(&tag) => text.push("\n")?,
            Event::Text(piece) | Event::Code(piece) => text.push(&piece)?,
            // Items of a tight list have no paragraphs.
            Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::Start(
                Tag::List(_) | Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::Heading { .. } | Tag::Table(_),
            ) => text.push("\n")?,
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

fn parts_words(tag: &str) -> bool {
    html_to_text(&format!("a{tag}b")) == "a b"
}

fn is_within_a_line(end: TagEnd) -> bool {
    matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

pub(super) fn html<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let source = decode_marked_up_noted(beginning(content, text), text);
    text.push(&html_to_text(&source))
}

fn beginning<'a, W: Write>(content: &'a [u8], text: &mut TextWriter<W>) -> &'a [u8] {
    let most = usize::try_from(MAX_PLAIN_BYTES).unwrap_or(usize::MAX);
    if content.len() > most {
        text.note(CUT_PLAIN);
    }
    &content[..content.len().min(most)]
}
