//! Reads JSON Feed, also where values are of other types than its specification says.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use trawl_connectors::check_json_depth;

use super::entry::{Entry, Notation};
use super::markup::{End, line_breaks};

/// Longer lists of people and attachments are not read.
const MAX_LIST_BYTES: usize = 64 * 1024;

/// The entries of a feed, and how its reading ended.
pub(super) struct JsonFeed {
    pub(super) entries: Vec<Entry>,
    pub(super) author: Option<String>,
    pub(super) end: End,
}

/// The members of an item that are read; an item may lack any.
#[derive(Default, Deserialize)]
#[serde(default)]
struct JsonItem<'t> {
    #[serde(borrow)]
    id: Option<&'t RawValue>,
    #[serde(borrow)]
    url: Option<&'t RawValue>,
    #[serde(borrow)]
    external_url: Option<&'t RawValue>,
    #[serde(borrow)]
    title: Option<&'t RawValue>,
    #[serde(borrow)]
    content_html: Option<&'t RawValue>,
    #[serde(borrow)]
    content_text: Option<&'t RawValue>,
    #[serde(borrow)]
    summary: Option<&'t RawValue>,
    #[serde(borrow)]
    image: Option<&'t RawValue>,
    #[serde(borrow)]
    banner_image: Option<&'t RawValue>,
    #[serde(borrow)]
    date_published: Option<&'t RawValue>,
    #[serde(borrow)]
    date_modified: Option<&'t RawValue>,
    #[serde(borrow)]
    author: Option<&'t RawValue>,
    #[serde(borrow)]
    authors: Option<&'t RawValue>,
    #[serde(borrow)]
    attachments: Option<&'t RawValue>,
}

/// # Errors
/// Why it is no feed.
pub(super) fn read(text: &str) -> Result<JsonFeed, String> {
    check_json_depth(text.as_bytes()).map_err(|refusal| format!("it {refusal}"))?;
    let mut feed = FeedVisitor { text, entries: Vec::new(), author: None, has_items: false };
    let mut deserializer = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
    let ended = deserializer.deserialize_map(&mut feed);
    let end = ended.map_or_else(|error| End::Cut(error.line() as u64), |()| End::Whole);
    if !feed.has_items {
        return Err(match end {
            End::Cut(line) => format!("it is no JSON in line {line}, before a list `items` begins"),
            _ => "it has no list `items`, as a JSON Feed has".to_owned(),
        });
    }
    Ok(JsonFeed { entries: feed.entries, author: feed.author, end })
}

struct FeedVisitor<'t> {
    text: &'t str,
    entries: Vec<Entry>,
    author: Option<String>,
    has_items: bool,
}

impl<'t> Visitor<'t> for &mut FeedVisitor<'t> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON Feed")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match &*name {
                "items" => map.next_value_seed(Items(&mut *self))?,
                "author" | "authors" => {
                    let people = map.next_value::<&RawValue>()?;
                    self.author = self.author.take().or_else(|| names(people).into_iter().next());
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The list of items.
struct Items<'f, 't>(&'f mut FeedVisitor<'t>);

impl<'t> DeserializeSeed<'t> for Items<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'t> Visitor<'t> for Items<'_, 't> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a list of items")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.has_items = true;
        let (mut line, mut at) = (1, 0);
        while let Some(item) = items.next_element::<&RawValue>()? {
            let place = (item.get().as_ptr() as usize).saturating_sub(self.0.text.as_ptr() as usize);
            let passed = self.0.text.as_bytes().get(at..place).unwrap_or_default();
            line += line_breaks(passed);
            at = place;
            self.0.entries.push(entry(item, line));
        }
        Ok(())
    }
}

fn entry(item: &RawValue, line: u64) -> Entry {
    let item: JsonItem = serde_json::from_str(item.get()).unwrap_or_default();
    let mut entry = Entry::new(line);
    for (rank, url) in [(0, item.url), (1, item.external_url)] {
        entry.add_link(rank, &scalar(url), None);
    }
    entry.add_title(0, &scalar(item.title), Notation::Plain);
    entry.add_text(0, &scalar(item.content_html), Notation::Html);
    entry.add_text(1, &scalar(item.content_text), Notation::Plain);
    entry.add_text(2, &scalar(item.summary), Notation::Plain);
    for (rank, date) in [(0, item.date_published), (4, item.date_modified)] {
        entry.add_time(rank, &scalar(date));
    }
    for (rank, image) in [(0, item.image), (1, item.banner_image)] {
        entry.add_image(rank, &scalar(image), None);
    }
    for people in [item.author, item.authors].into_iter().flatten() {
        for name in names(people) {
            entry.add_author(&name);
        }
    }
    for address in members(item.attachments, "url") {
        entry.add_address(&address, None);
        entry.add_link(3, &address, None);
    }
    entry.add_id(&scalar(item.id), true);
    entry
}

/// A text or number as text; another value is none.
fn scalar(value: Option<&RawValue>) -> String {
    let Some(text) = value.map(RawValue::get) else { return String::new() };
    match text.as_bytes() {
        [b'"', ..] => serde_json::from_str(text).unwrap_or_default(),
        [b'0'..=b'9' | b'-', ..] => text.to_owned(),
        _ => String::new(),
    }
}

fn names(people: &RawValue) -> Vec<String> {
    members(Some(people), "name")
}

/// A member of an object, or of each in a list.
fn members(value: Option<&RawValue>, member: &str) -> Vec<String> {
    let text = value.map_or("", RawValue::get);
    if text.len() > MAX_LIST_BYTES {
        return Vec::new();
    }
    let values = match serde_json::from_str(text) {
        Ok(Value::Array(values)) => values,
        Ok(value) => vec![value],
        Err(_) => Vec::new(),
    };
    let text = |value: &Value| value.get(member).unwrap_or(value).as_str().map(str::to_owned);
    values.iter().filter_map(text).collect()
}
