//! Reads RSS, RDF and Atom of any version, also what is no well-formed XML.
//!
//! `quick_xml` finds the tokens; names, nesting and references are read here, since its own checks end at the first fault.
//! Nothing recurs, and an entry is given as soon as it ends.

use std::collections::HashMap;
use std::sync::Arc;

use quick_xml::errors::Error;
use quick_xml::events::{BytesStart, Event};
use trawl_connectors::{MAX_DEPTH, TooDeep, decode_references};
use url::Url;

use super::captured::Captured;
use super::entities::Entities;
use super::entry::{Entry, author};
use super::field::{Field, dialect, field, is_own};
use super::markup::{
    End, Faults, LineCounter, Repair, begins_markup, begins_tag, behind_marks, find_feed, position, repair,
    tokens,
};

const MAX_ATTRIBUTES: usize = 64;
const HTML_PAGE: &str = "it is an HTML page, not a feed; its address may be that of the site";

/// A feed that is read from entry to entry.
pub(super) struct XmlFeed {
    text: Arc<String>,
    at: usize,
    lines: LineCounter,
    entities: Entities,
    /// Dialects of the prefixes that the feed declares.
    prefixes: HashMap<String, &'static str>,
    open: Vec<OpenElement>,
    /// The name of the first element.
    root: Option<String>,
    /// Whether the feed may be behind a first element that is none of it.
    may_begin_later: bool,
    is_feed: bool,
    /// Whether it declares to be a page.
    is_page: bool,
    entry: Option<Entry>,
    captured: Option<Captured>,
    pub(super) faults: Faults,
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
            text: Arc::new(text),
            at,
            lines: LineCounter::default(),
            entities: Entities::default(),
            prefixes: HashMap::new(),
            open: Vec::new(),
            root: None,
            may_begin_later: true,
            is_feed: false,
            is_page: false,
            entry: None,
            captured: None,
            faults: Faults::default(),
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
        let mut start = behind_marks(&text, self.at);
        let mut reader = tokens(&text[start..]);
        loop {
            let at = start + position(&reader);
            if text[at..].starts_with('<') && !begins_markup(&text[at + 1..]) {
                self.add_content("&lt;");
                start = behind_marks(&text, at + 1);
                reader = tokens(&text[start..]);
                continue;
            }
            if self.may_begin_later && self.root.is_none() && begins_tag(&text[at..]) {
                if let Some(place) = find_feed(&text[at..]) {
                    self.faults.before += place;
                    start = behind_marks(&text, at + place);
                    reader = tokens(&text[start..]);
                    continue;
                }
                self.may_begin_later = false;
            }
            let event = reader.read_event();
            let mut end = start + position(&reader);
            let repaired = self.repair(&event, text.get(at..end).unwrap_or_default(), &text[at..], at);
            let step = match repaired {
                Some(Repair::Skip(length)) => {
                    end = at + length;
                    Step::Nothing
                }
                Some(Repair::Tag(length)) => {
                    end = at + length;
                    self.read_broken_tag(&text[at..end], at)?
                }
                None => self.read(event, text.get(at..end).unwrap_or_default(), at)?,
            };
            if end != start + position(&reader) {
                start = behind_marks(&text, end);
                reader = tokens(&text[start..]);
            }
            match step {
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

    /// How to read a token that is broken; `rest` is the feed from it on.
    fn repair(&mut self, event: &Result<Event, Error>, token: &str, rest: &str, at: usize) -> Option<Repair> {
        let parent = self.open.last().map_or("", |element| &*element.name);
        let found = match event {
            _ if !self.faults.may_repair() => None,
            Err(Error::Syntax(_)) => repair(rest, true, parent),
            Ok(Event::Start(_) | Event::Empty(_) | Event::End(_) | Event::CData(_)) => {
                repair(token, false, parent)
            }
            _ => None,
        }?;
        self.faults.count_repair(self.lines.line(&self.text, at));
        Some(found)
    }

    /// Reads a tag of which a quote or the end is missing.
    fn read_broken_tag(&mut self, tag: &str, at: usize) -> Result<Step, String> {
        let tag = tag.trim_matches(['<', '>']);
        if let Some(name) = tag.strip_prefix('/') {
            return Ok(self.close(&name.trim().to_ascii_lowercase()));
        }
        let is_empty = tag.ends_with('/');
        let content = tag.trim_end_matches('/').replace(['"', '\''], " ");
        let name = content.find(char::is_whitespace).unwrap_or(content.len());
        self.start(&BytesStart::from_content(content, name), at, is_empty)
    }

    fn read(&mut self, event: Result<Event, Error>, written: &str, at: usize) -> Result<Step, String> {
        match event {
            Ok(Event::Start(tag)) => return self.start(&tag, at, false),
            Ok(Event::Empty(tag)) => return self.start(&tag, at, true),
            Ok(Event::End(tag)) => return Ok(self.close(&tag.name().as_ref().trim().to_ascii_lowercase())),
            Ok(Event::Text(_) | Event::GeneralRef(_)) => self.add_content(written),
            Ok(Event::CData(section)) => {
                if let Some(captured) = &mut self.captured {
                    captured.add_verbatim(&section);
                }
            }
            Ok(Event::DocType(name)) => {
                self.is_page =
                    name.trim_start().get(..4).is_some_and(|name| name.eq_ignore_ascii_case("html"));
                self.entities.declare(written);
            }
            Ok(Event::Eof) if self.entry.is_none() => return Ok(self.stop(End::Unclosed)),
            // The last end tag is cut.
            Err(_) if self.entry.is_none() && self.is_feed && self.text[at..].starts_with("</") => {
                return Ok(self.stop(End::Unclosed));
            }
            Ok(Event::Decl(_) | Event::PI(_) | Event::Comment(_)) => {}
            Err(error) if !matches!(error, Error::Syntax(_)) && !written.is_empty() => {}
            Ok(Event::Eof) | Err(_) => {
                let line = self.lines.line(&self.text, at);
                return Ok(self.stop(End::Cut(line)));
            }
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
            _ if self.is_page => HTML_PAGE.to_owned(),
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
        let may_begin_entry = matches!(local, "item" | "entry");
        // Such a tag may declare its own prefix.
        let attributes = may_begin_entry.then(|| self.attributes(tag));
        // Within an element of an unknown dialect it is a part of that, such as an older version.
        let is_part = self.entry.is_some()
            && self.captured.is_none()
            && self
                .open
                .last()
                .is_some_and(|outer| outer.role == Role::Other && self.is_foreign(&outer.name));
        let begins_entry = may_begin_entry && is_own(self.dialect(prefix)) && !is_part;
        if begins_entry && self.entry.is_some() {
            self.finish_captured();
            let place = self.open.iter().rposition(|element| element.role == Role::Entry);
            self.open.truncate(place.unwrap_or_default());
            return Ok(self.entry.take().map_or(Step::Nothing, Step::UnclosedEntry));
        }
        if self.captured.as_ref().is_some_and(Captured::holds_no_field) && self.field_of(&name).is_some() {
            self.finish_captured();
            self.open.pop();
        }
        if let Some(captured) = &mut self.captured {
            captured.start(&name, is_empty);
            let depth = self.open.len() + captured.depth;
            return self.check_depth(depth, at).map(|()| Step::Nothing);
        }
        self.check_depth(self.open.len() + 1, at)?;
        let attributes = attributes.unwrap_or_else(|| self.attributes(tag));
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
            if let Some(id) = attributes.get("rdf:about") {
                entry.add_id(id, true);
            }
            self.entry = Some(entry);
        }
        match parent {
            Some(Role::Entry | Role::Group) => self.start_field(&name, &attributes),
            Some(Role::Feed) if self.author.is_none() && self.field_of(&name) == Some(Field::Author) => {
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
        let Some(field) = self.field_of(name) else { return };
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

    /// Whether an element has a prefix that tells neither a feed's own dialect nor a field.
    fn is_foreign(&self, name: &str) -> bool {
        let prefix = name.split_once(':').map_or("", |(prefix, _)| prefix);
        !is_own(self.dialect(prefix)) && self.field_of(name).is_none()
    }

    fn field_of(&self, name: &str) -> Option<Field> {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        // A prefix may be declared for another namespace than it is used for.
        field(self.dialect(prefix), local).or_else(|| field(prefix, local))
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
            (Field::Enclosure, _) | (_, "enclosure") if kind.starts_with("image/") => 4,
            (Field::Enclosure, _) | (_, "enclosure") => 3,
            (_, "alternate" | "") if kind.is_empty() || kind.contains("html") => 0,
            (_, "alternate" | "") => 1,
            // Others are for programs, such as `self` and `edit`.
            _ => return,
        };
        if rank == 4 || (rank == 3 && value("medium") == "image") {
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
