//! An element whose content is read whole, with any elements in it.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use trawl_connectors::decode_references;
use url::Url;

use super::entities::Entities;
use super::entry::{Entry, Notation};
use super::field::Field;

/// Elements of HTML whose end is often left out; they do not nest.
const UNCLOSED: &str =
    "area base br col dd dt embed hr img input li link meta option p source td th tr track wbr";

/// The content of a field.
pub(super) struct Captured {
    field: Field,
    /// Lower case, with its prefix.
    name: String,
    notation: Notation,
    is_base64: bool,
    is_permalink: bool,
    /// Text with its references, and tags without prefixes and attributes.
    content: String,
    has_tags: bool,
    /// Open elements within.
    pub(super) depth: usize,
    /// Those of its own name.
    same: usize,
}

impl Captured {
    pub(super) fn new(field: Field, name: &str, attributes: &HashMap<String, String>, is_atom: bool) -> Self {
        let value = |name: &str| attributes.get(name).map_or("", |value| value.trim()).to_ascii_lowercase();
        let (kind, is_text) = (value("type"), matches!(field, Field::Title(_) | Field::Text(_)));
        let notation = match &*kind {
            kind if kind.contains("html") || kind.ends_with("xml") => Notation::Html,
            "" if is_atom
                && name.rsplit(':').next().is_some_and(|name| !matches!(name, "body" | "encoded")) =>
            {
                Notation::Plain
            }
            kind if is_atom && (kind.starts_with("text") || kind == "plain") => Notation::Plain,
            _ => Notation::Either,
        };
        // Other types than those of text are encoded (RFC 4287 §4.1.3.3).
        let is_encoded = notation == Notation::Either && kind.contains('/') && !kind.starts_with("text/");
        Self {
            field,
            name: name.to_owned(),
            notation,
            is_base64: is_text && (is_encoded || value("mode") == "base64"),
            is_permalink: value("ispermalink") != "false",
            content: String::new(),
            has_tags: false,
            depth: 0,
            same: 0,
        }
    }

    /// Whether another field begins behind it, if its own end tag is missing.
    pub(super) fn holds_no_field(&self) -> bool {
        matches!(self.field, Field::Link | Field::Id | Field::Time(_) | Field::Comments) && self.depth == 0
    }

    pub(super) fn add(&mut self, written: &str) {
        self.content.push_str(written);
    }

    /// Adds text without references.
    pub(super) fn add_verbatim(&mut self, text: &str) {
        self.content.push_str(&text.replace('&', "&amp;").replace('<', "&lt;"));
    }

    pub(super) fn start(&mut self, name: &str, is_empty: bool) {
        let local = local(name);
        self.has_tags = true;
        self.content.extend(["<", local, ">"]);
        if is_empty {
            self.content.extend(["</", local, ">"]);
        } else {
            self.depth += usize::from(!is_unclosed(local));
            self.same += usize::from(name == self.name);
        }
    }

    /// Whether this end tag is its own.
    pub(super) fn end(&mut self, name: &str) -> bool {
        if name == self.name && self.same == 0 {
            return true;
        }
        let local = local(name);
        self.content.extend(["</", local, ">"]);
        self.depth = self.depth.saturating_sub(usize::from(!is_unclosed(local)));
        self.same -= usize::from(name == self.name);
        false
    }

    pub(super) fn add_to(self, entry: &mut Entry, entities: &mut Entities, base: Option<&Url>) {
        let (field, is_permalink) = (self.field, self.is_permalink);
        if field == Field::Author {
            return entry.add_author(&self.into_author(entities));
        }
        let Some((written, notation)) = self.into_text(entities) else { return };
        match field {
            Field::Title(rank) => entry.add_title(rank, &written, notation),
            Field::Text(rank) => entry.add_text(rank, &written, notation),
            Field::Time(rank) => entry.add_time(rank, &written),
            Field::Id => entry.add_id(&written, is_permalink),
            Field::Link => entry.add_link(0, &written, base),
            Field::Comments => entry.add_address(&written, base),
            Field::Image => entry.add_image(0, &written, base),
            Field::Author | Field::Enclosure | Field::Group => {}
        }
    }

    /// The name of a person, else the address (RFC 4287 §3.2).
    pub(super) fn into_author(self, entities: &mut Entities) -> String {
        let part = |name: &str| {
            let (_, behind) = self.content.split_once(&format!("<{name}>"))?;
            let (part, _) = behind.split_once('<')?;
            Some(part.trim()).filter(|part| !part.is_empty())
        };
        let is_nobody = || ["name", "uri"].iter().any(|name| self.content.contains(&format!("<{name}>")));
        let others = || if is_nobody() { "" } else { &self.content };
        let written = part("name").or_else(|| part("email")).unwrap_or_else(others);
        decode_references(&entities.resolve(written)).into_owned()
    }

    /// The text, and how it is written; `None` if it is none.
    fn into_text(self, entities: &mut Entities) -> Option<(String, Notation)> {
        let resolved = entities.resolve(&self.content);
        if self.has_tags {
            return Some((resolved.into_owned(), Notation::Html));
        }
        let text = decode_references(&resolved).into_owned();
        if !self.is_base64 {
            return Some((text, self.notation));
        }
        let encoded: String = text.split_whitespace().collect();
        match BASE64_STANDARD.decode(encoded).map(String::from_utf8) {
            Ok(Ok(text)) => Some((text, Notation::Either)),
            // A picture, for example.
            Ok(Err(_)) if matches!(self.field, Field::Text(_)) => None,
            // Its type is wrong.
            _ => Some((text, Notation::Either)),
        }
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn is_unclosed(name: &str) -> bool {
    UNCLOSED.split(' ').any(|other| other == name)
}
