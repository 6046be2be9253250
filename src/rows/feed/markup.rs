//! Tokens of markup, and what to make of broken ones.

use quick_xml::Reader;

/// Each may need a look at the whole rest of the feed.
const MAX_REPAIRS: u64 = 100;
/// Names of tags with which feeds begin, without prefixes.
const BEGINS: &[&str] = &["?xml", "rss", "feed", "rdf"];
/// Tags with which parts of feeds begin.
const ENTRIES: &[&str] = &["item", "entry", "channel"];
/// Tags of pages.
const PAGE: &[&str] = &["html", "head", "body", "!doctype"];

/// How the reading of a feed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    /// End tags alone are missing.
    Unclosed,
    /// In this line.
    Cut(u64),
}

/// Counts line breaks on the way.
#[derive(Default)]
pub(super) struct LineCounter {
    at: usize,
    breaks: u64,
}

impl LineCounter {
    pub(super) fn line(&mut self, text: &str, at: usize) -> u64 {
        if let Some(passed) = text.as_bytes().get(self.at..at) {
            self.breaks += line_breaks(passed);
            self.at = at;
        }
        self.breaks + 1
    }
}

pub(super) fn line_breaks(text: &[u8]) -> u64 {
    text.split(|byte| *byte == b'\n').skip(1).count() as u64
}

pub(super) fn tokens(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    reader
}

/// The place from here on behind byte order marks.
///
/// The reader of tokens leaves one out where it begins, and miscounts its bytes.
pub(super) fn behind_marks(text: &str, place: usize) -> usize {
    text.len() - text[place..].trim_start_matches('\u{feff}').len()
}

pub(super) fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

/// Whether `<` with this behind it is no text.
pub(super) fn begins_markup(behind: &str) -> bool {
    let is_declaration = |declaration: &str| {
        let begin = declaration.get(..7).unwrap_or_default();
        declaration.starts_with("--") || begin == "[CDATA[" || begin.eq_ignore_ascii_case("doctype")
    };
    match behind.strip_prefix('!') {
        Some(declaration) => is_declaration(declaration),
        None => behind.starts_with(|next: char| next.is_alphabetic() || matches!(next, '/' | '?' | '_')),
    }
}

/// What is told of bytes before a feed.
pub(super) fn note_before(bytes: usize) -> Option<String> {
    (bytes > 0).then(|| format!("{bytes} bytes before the feed are no part of it, and were left out"))
}

/// Names of the tags that begin or end in a text, without prefixes, and their places.
fn names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('<').map(|(place, _)| {
        let name = text[place + 1..].trim_start_matches('/');
        let end = name.find(|next: char| next.is_whitespace() || matches!(next, '<' | '>' | '/'));
        let name = &name[..end.unwrap_or(name.len())];
        (place, name.rsplit(':').next().unwrap_or(name))
    })
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Whether a tag begins here, and neither a comment, a declaration nor an instruction.
pub(super) fn begins_tag(text: &str) -> bool {
    text.strip_prefix('<').is_some_and(|behind| !behind.starts_with(['?', '!']))
}

/// The place of the feed behind what a broken server wrote before it.
///
/// `None` if the text begins with the feed, or is a page of its own.
pub(super) fn find_feed(text: &str) -> Option<usize> {
    let (_, name) = names(text).next()?;
    if is_one_of(ENTRIES, name) {
        return None;
    }
    let (place, name) = names(text).find(|(_, name)| is_one_of(BEGINS, name) || is_one_of(PAGE, name))?;
    (place > 0 && is_one_of(BEGINS, name)).then_some(place)
}

/// Where a JSON Feed begins; `None` if the text is markup.
pub(super) fn find_json(text: &str) -> Option<usize> {
    if text.trim_start().starts_with('{') {
        return Some(0);
    }
    let is_markup = |name| [BEGINS, PAGE, ENTRIES].iter().any(|names| is_one_of(names, name));
    let place = text.find("\n{")? + 1;
    (!names(text).any(|(_, name)| is_markup(name))).then_some(place)
}

/// What is no part of a feed, or broken in it.
#[derive(Default)]
pub(super) struct Faults {
    /// Bytes before the feed.
    pub(super) before: usize,
    repairs: u64,
    /// The line of the first repair.
    line: u64,
}

impl Faults {
    pub(super) fn may_repair(&self) -> bool {
        self.repairs < MAX_REPAIRS
    }

    pub(super) fn count_repair(&mut self, line: u64) {
        if self.repairs == 0 {
            self.line = line;
        }
        self.repairs += 1;
    }

    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let Self { before, repairs, line } = *self;
        let broken = (repairs > 0).then(|| {
            format!("{repairs} tags or sections have no end, the first in line {line}; what is around them may lack parts")
        });
        note_before(before).into_iter().chain(broken)
    }
}

/// What a broken token is read as.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Repair {
    /// Its beginning, of so many bytes, is none.
    Skip(usize),
    /// A tag, which ends behind so many bytes.
    Tag(usize),
}

/// Mends a token that swallowed others.
///
/// `is_open` says that it has no end, `parent` in which element it stands.
pub(super) fn repair(token: &str, is_open: bool, parent: &str) -> Option<Repair> {
    let behind = token.strip_prefix('<')?;
    let holds_entry = || names(behind).any(|(_, name)| is_one_of(ENTRIES, name));
    if let Some(section) = token.strip_prefix("<![CDATA[") {
        let next = section.find("<![CDATA[").or_else(|| is_open.then_some(section.len()))?;
        let is_over = section[..next].to_ascii_lowercase().contains(&format!("</{parent}"));
        return is_over.then_some(Repair::Skip("<![CDATA[".len()));
    }
    if behind.starts_with(['!', '?']) {
        let length = if behind.starts_with("!--") { "<!--".len() } else { "<!".len() };
        return (is_open && holds_entry()).then_some(Repair::Skip(length));
    }
    let end = token.find('>')?;
    let next = token[1..end].find('<').map_or(end, |next| next + 1);
    let is_quoted = ['"', '\''].iter().any(|quote| token[..next].matches(*quote).count() % 2 == 1);
    if next < end && !is_quoted {
        return begins_markup(&token[next + 1..]).then_some(Repair::Tag(next));
    }
    let has_swallowed = end + 1 < token.len() && (is_misquoted(token) || holds_entry());
    (has_swallowed || (is_open && holds_entry())).then_some(Repair::Tag(end + 1))
}

/// Whether a quote ends right before a character that no attribute begins with.
fn is_misquoted(tag: &str) -> bool {
    let mut open = None;
    tag.char_indices().any(|(place, character)| match open {
        Some(quote) if quote == character => {
            open = None;
            !tag[place + 1..].starts_with(|next: char| next.is_whitespace() || matches!(next, '/' | '>'))
        }
        None if matches!(character, '"' | '\'') => {
            open = Some(character);
            false
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feed_begins_behind_what_is_no_page() {
        for (text, place) in [
            ("<?xml version='1.0'?><rss>", None),
            ("<br />\n<b>Warning</b><?xml version='1.0'?><rss>", Some(21)),
            ("<b>Notice</b>: <a:feed>", Some(15)),
            ("<rss><feed>", None),
            ("<html><rss>", None),
            ("<p>see</p><body><rss>", None),
            ("<item><feed>", None),
            ("<p>none", None),
        ] {
            assert_eq!(find_feed(text), place, "{text}");
        }
    }

    #[test]
    fn json_begins_behind_what_is_no_markup_of_a_feed() {
        for (text, place) in [
            (" {\"items\":[]}", Some(0)),
            ("<br />\n<b>Warning</b>\n{\"items\":[]}", Some(22)),
            ("Warning\n{}", Some(8)),
            ("<rss>\n{", None),
            ("<html>\n{", None),
            ("<p>", None),
        ] {
            assert_eq!(find_json(text), place, "{text}");
        }
    }

    #[test]
    fn token_that_swallowed_others_is_mended() {
        for (token, is_open, repair_of_it) in [
            ("<a b=\"x length=\"1\" c=\"y\">", false, None),
            ("<a b=\"x>\n<c d=\"1\" e=\"2\"/>", false, Some(Repair::Tag(8))),
            ("<a b=\"<p>x</p>\" c=\"d\">", false, None),
            ("<a b='x></a></item><item c='y'>", false, Some(Repair::Tag(8))),
            ("<a b='x></a></item>", true, Some(Repair::Tag(8))),
            ("<a b='x></a>", true, None),
            ("<a Text</a>", false, Some(Repair::Tag(7))),
            ("</a\n<b>", false, Some(Repair::Tag(4))),
            ("<![CDATA[x</T><b><![CDATA[y]]>", false, Some(Repair::Skip(9))),
            ("<![CDATA[x <b><![CDATA[y]]>", false, None),
            ("<![CDATA[x</t></item>", true, Some(Repair::Skip(9))),
            ("<![CDATA[x", true, None),
            ("<!-- x</item>", true, Some(Repair::Skip(4))),
            ("<!-- <item/> -->", false, None),
        ] {
            assert_eq!(repair(token, is_open, "t"), repair_of_it, "{token}");
        }
    }
}
