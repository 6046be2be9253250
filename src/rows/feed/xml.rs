//! Reads RSS, RDF and Atom of any version, also what is no well-formed XML.
//!
//! `quick_xml` finds the tokens; names, nesting and references are read here, since its own checks end at the first fault.
//! Nothing recurs, and an entry is given as soon as it ends.

use std::collections::HashMap;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::errors::Error;
use quick_xml::events::{BytesStart, Event};
use trawl_connectors::{MAX_DEPTH, TooDeep, decode_references};
use url::Url;

use super::captured::Captured;
use super::entities::Entities;
use super::entry::{Entry, author};
use super::field::{Field, dialect, field, is_own};

const MAX_ATTRIBUTES: usize = 64;
const HTML_PAGE: &str = "it is an HTML page, not a feed; its address may be that of the site";

/// How the reading of a feed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    /// End tags alone are missing.
    Unclosed,
    /// In this line.
    Cut(u64),
}

/// A feed that is read from entry to entry.
pub(super) struct XmlFeed {
    text: Arc<str>,
    at: usize,
    lines: LineCounter,
    entities: Entities,
    /// Dialects of the prefixes that the feed declares.
    prefixes: HashMap<String, &'static str>,
    open: Vec<OpenElement>,
    /// The name of the first element.
    root: Option<String>,
    is_feed: bool,
    entry: Option<Entry>,
    captured: Option<Captured>,
    pub(super) author: Option<String>,
    pub(super) end: Option<End>,
}

struct OpenElement {
    /// Lower case, with its prefix.
    name: String,
    role: Role,
    /// The `xml:base` that it states.
    base: Option<Url>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Feed,
    Entry,
    Group,
    Other,
}

/// Counts line breaks on the way.
#[derive(Default)]
struct LineCounter {
    at: usize,
    breaks: u64,
}

impl LineCounter {
    fn line(&mut self, text: &str, at: usize) -> u64 {
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

/// What a token brings.
enum Step {
    Nothing,
    /// An entry that ended with the token.
    Entry(Entry),
    /// An entry without an end; the token begins the next one.
    UnclosedEntry(Entry),
    End,
}

type Attributes = HashMap<String, String>;

impl XmlFeed {
    pub(super) fn new(text: String) -> Self {
        // What a broken server wrote before the document is no part of it.
        let at = text.find('<').unwrap_or(text.len());
        Self {
            text: text.into(),
            at,
            lines: LineCounter::default(),
            entities: Entities::default(),
            prefixes: HashMap::new(),
            open: Vec::new(),
            root: None,
            is_feed: false,
            entry: None,
            captured: None,
            author: None,
            end: None,
        }
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// Why it is no feed, or where it must not be read further.
    pub(super) fn next_entry(&mut self) -> Result<Option<Entry>, String> {
        if self.end.is_some() {
            return Ok(None);
        }
        let text = Arc::clone(&self.text);
        let mut start = self.at;
        let mut reader = tokens(&text[start..]);
        loop {
            let at = start + position(&reader);
            if text[at..].starts_with('<') && !begins_markup(&text[at + 1..]) {
                self.add_content("&lt;");
                start = at + 1;
                reader = tokens(&text[start..]);
                continue;
            }
            let event = reader.read_event();
            let end = start + position(&reader);
            match self.read(event, text.get(at..end).unwrap_or_default(), at)? {
                Step::Nothing => {}
                Step::Entry(entry) => {
                    self.at = end;
                    return Ok(Some(entry));
                }
                Step::UnclosedEntry(entry) => {
                    self.at = at;
                    return Ok(Some(entry));
                }
                Step::End if self.is_feed => return Ok(None),
                Step::End => return Err(self.explain()),
            }
        }
    }

    fn read(&mut self, event: Result<Event, Error>, written: &str, at: usize) -> Result<Step, String> {
        match event {
            Ok(Event::Start(tag)) => return self.start(&tag, at, false),
            Ok(Event::Empty(tag)) => return self.start(&tag, at, true),
            Ok(Event::End(tag)) => return Ok(self.close(&tag.name().as_ref().to_ascii_lowercase())),
            Ok(Event::Text(_) | Event::GeneralRef(_)) => self.add_content(written),
            Ok(Event::CData(section)) => {
                if let Some(captured) = &mut self.captured {
                    captured.add_verbatim(&section);
                }
            }
            Ok(Event::DocType(name)) => {
                if name.trim_start().get(..4).is_some_and(|name| name.eq_ignore_ascii_case("html")) {
                    return Err(HTML_PAGE.to_owned());
                }
                self.entities.declare(written);
            }
            Ok(Event::Eof) if self.entry.is_none() => return Ok(self.stop(End::Unclosed)),
            Ok(Event::Eof) | Err(Error::Syntax(_)) => {
                let line = self.lines.line(&self.text, at);
                return Ok(self.stop(End::Cut(line)));
            }
            Err(_) if written.is_empty() => {
                let line = self.lines.line(&self.text, at);
                return Ok(self.stop(End::Cut(line)));
            }
            Ok(Event::Decl(_) | Event::PI(_) | Event::Comment(_)) | Err(_) => {}
        }
        Ok(Step::Nothing)
    }

    fn stop(&mut self, end: End) -> Step {
        self.end = Some(end);
        Step::End
    }

    /// Why a document without an entry or an element of a feed is none.
    fn explain(&self) -> String {
        match (&self.root, self.end) {
            (_, Some(End::Cut(line))) => format!("it breaks off in line {line}, before a feed begins"),
            (Some(root), _) => {
                format!("<{root}> is its root element; a feed begins with rss, rdf:RDF or feed")
            }
            (None, _) => "it has no element; a feed begins with rss, rdf:RDF or feed".to_owned(),
        }
    }

    fn start(&mut self, tag: &BytesStart, at: usize, is_empty: bool) -> Result<Step, String> {
        let name = tag.name().as_ref().to_ascii_lowercase();
        let (prefix, local) = name.split_once(':').unwrap_or(("", &name));
        let begins_entry = matches!(local, "item" | "entry") && is_own(self.dialect(prefix));
        if begins_entry && self.entry.is_some() {
            self.finish_captured();
            let place = self.open.iter().rposition(|element| element.role == Role::Entry);
            self.open.truncate(place.unwrap_or_default());
            return Ok(self.entry.take().map_or(Step::Nothing, Step::UnclosedEntry));
        }
        if let Some(captured) = &mut self.captured {
            captured.start(&name, is_empty);
            let depth = self.open.len() + captured.depth;
            return self.check_depth(depth, at).map(|()| Step::Nothing);
        }
        self.check_depth(self.open.len() + 1, at)?;
        let attributes = self.attributes(tag);
        let role = self.role(prefix, local, begins_entry)?;
        let parent = self.open.last().map(|element| element.role);
        let base = attributes.get("xml:base").and_then(|base| match self.base() {
            Some(outer) => outer.join(base).ok(),
            None => Url::parse(base).ok(),
        });
        self.open.push(OpenElement { name: name.clone(), role, base });
        self.root.get_or_insert_with(|| name.clone());
        if role == Role::Entry {
            let mut entry = Entry::new(self.lines.line(&self.text, at));
            if let Some(address) = attributes.get("href") {
                entry.add_link(0, address, self.base());
            }
            self.entry = Some(entry);
        }
        match parent {
            Some(Role::Entry | Role::Group) => self.start_field(&name, &attributes),
            Some(Role::Feed) if matches!(&*name, "author" | "dc:creator") && self.author.is_none() => {
                self.captured = Some(Captured::new(Field::Author, &name, &attributes, false));
            }
            _ => {}
        }
        Ok(if is_empty { self.close(&name) } else { Step::Nothing })
    }

    fn check_depth(&mut self, depth: usize, at: usize) -> Result<(), String> {
        if depth <= MAX_DEPTH {
            return Ok(());
        }
        let line = self.lines.line(&self.text, at);
        Err(format!("it {}", TooDeep { line }))
    }

    fn role(&mut self, prefix: &str, local: &str, begins_entry: bool) -> Result<Role, String> {
        let dialect = self.dialect(prefix);
        let role = match local {
            _ if begins_entry => Role::Entry,
            "rss" | "feed" | "channel" if is_own(dialect) => Role::Feed,
            "rdf" => Role::Feed,
            "html" if self.open.is_empty() => return Err(HTML_PAGE.to_owned()),
            _ if self.entry.is_some()
                && matches!(field(dialect, local), Some(Field::Group | Field::Enclosure)) =>
            {
                Role::Group
            }
            _ => Role::Other,
        };
        self.is_feed |= matches!(role, Role::Entry | Role::Feed);
        Ok(role)
    }

    /// Takes a field of the entry from attributes, or begins to read its content.
    fn start_field(&mut self, name: &str, attributes: &Attributes) {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let Some(field) = field(self.dialect(prefix), local) else { return };
        let is_in_atom =
            |element: &OpenElement| element.role == Role::Entry && element.name.ends_with("entry");
        let is_atom = self.open.iter().any(is_in_atom);
        let address = ["href", "url"].into_iter().find_map(|name| attributes.get(name));
        match (field, address) {
            (Field::Link | Field::Enclosure | Field::Image, Some(address)) => {
                self.add_attribute(field, address, attributes);
            }
            (Field::Enclosure | Field::Group, _) => {}
            // The content is elsewhere.
            (Field::Text(_), _) if attributes.contains_key("src") => {}
            _ => self.captured = Some(Captured::new(field, name, attributes, is_atom)),
        }
    }

    fn add_attribute(&mut self, field: Field, address: &str, attributes: &Attributes) {
        let base = self.base().cloned();
        let Some(entry) = &mut self.entry else { return };
        let value = |name: &str| attributes.get(name).map_or("", |value| value.trim()).to_ascii_lowercase();
        let (kind, relation) = (value("type"), value("rel"));
        if field == Field::Link {
            entry.add_address(address, base.as_ref());
        }
        let rank = match (field, relation.rsplit('/').next().unwrap_or_default()) {
            (Field::Image, _) => return entry.add_image(0, address, base.as_ref()),
            (Field::Enclosure, _) | (_, "enclosure") => 3,
            (_, "alternate" | "") if kind.is_empty() || kind.contains("html") => 0,
            (_, "alternate" | "") => 1,
            // Others are for programs, such as `self` and `edit`.
            _ => return,
        };
        if rank == 3 && (kind.starts_with("image/") || value("medium") == "image") {
            entry.add_image(1, address, base.as_ref());
        }
        entry.add_link(rank, address, base.as_ref());
    }

    /// Ends an element, and those within it that have no end.
    fn close(&mut self, name: &str) -> Step {
        let known = self.open.iter().rposition(|element| element.name == name);
        if let Some(captured) = &mut self.captured {
            let is_outer = known.is_some_and(|place| place + 1 < self.open.len());
            if !is_outer && !captured.end(name) {
                return Step::Nothing;
            }
        }
        let Some(place) = known else { return Step::Nothing };
        self.finish_captured();
        let ends_entry = self.open[place..].iter().any(|element| element.role == Role::Entry);
        self.open.truncate(place);
        if self.open.is_empty() {
            self.end = Some(End::Whole);
        }
        match self.entry.take_if(|_| ends_entry) {
            Some(entry) => Step::Entry(entry),
            None if self.end.is_some() => Step::End,
            None => Step::Nothing,
        }
    }

    /// Adds what was read last to the entry or the feed.
    fn finish_captured(&mut self) {
        let Some(captured) = self.captured.take() else { return };
        let base = self.base().cloned();
        match &mut self.entry {
            Some(entry) => captured.add_to(entry, &mut self.entities, base.as_ref()),
            None => self.author = author(&captured.into_author(&mut self.entities)),
        }
    }

    fn base(&self) -> Option<&Url> {
        self.open.iter().rev().find_map(|element| element.base.as_ref())
    }

    fn dialect<'p>(&self, prefix: &'p str) -> &'p str {
        self.prefixes.get(prefix).copied().unwrap_or(prefix)
    }

    fn attributes(&mut self, tag: &BytesStart) -> Attributes {
        let mut attributes = Attributes::new();
        for attribute in tag.html_attributes().with_checks(false).flatten().take(MAX_ATTRIBUTES) {
            let name = attribute.key.as_ref().to_ascii_lowercase();
            let value = decode_references(&self.entities.resolve(&attribute.value)).into_owned();
            if let (Some(prefix), Some(dialect)) = (name.strip_prefix("xmlns:"), dialect(&value)) {
                self.prefixes.insert(prefix.to_owned(), dialect);
            }
            attributes.insert(name, value);
        }
        attributes
    }

    fn add_content(&mut self, written: &str) {
        if let Some(captured) = &mut self.captured {
            captured.add(written);
        }
    }
}

fn tokens(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    reader
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

/// Whether `<` with this behind it is no text.
fn begins_markup(behind: &str) -> bool {
    let is_declaration = |declaration: &str| {
        let begin = declaration.get(..7).unwrap_or_default();
        declaration.starts_with("--") || begin == "[CDATA[" || begin.eq_ignore_ascii_case("doctype")
    };
    match behind.strip_prefix('!') {
        Some(declaration) => is_declaration(declaration),
        None => behind.starts_with(|next: char| next.is_alphabetic() || matches!(next, '/' | '?' | '_')),
    }
}
