//! An entry of a feed, and the row that it becomes.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};
use trawl_connectors::{check_picture, decode_references, escaped_to_text, html_to_text, times};
use url::{ParseError, Url};

use super::FeedRow;
use crate::rows::content::MAX_TITLE_BYTES;
use crate::rows::row::truncate;

/// Longer addresses are left out, as an action must hold them.
const MAX_ADDRESS_BYTES: usize = 8_000;
/// The time of entries whose own cannot be read: they are not news.
const UNDATED: i64 = 0;

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Plain,
    Html,
    /// HTML or plain text.
    Either,
}

/// The value of the smallest rank, the first of equal ones.
#[derive(Debug)]
pub(super) struct Ranked<T>(Option<(u8, T)>);

impl<T> Default for Ranked<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Ranked<T> {
    fn takes(&self, rank: u8) -> bool {
        self.0.as_ref().is_none_or(|(present, _)| rank < *present)
    }

    fn offer(&mut self, rank: u8, value: T) {
        if self.takes(rank) {
            self.0 = Some((rank, value));
        }
    }

    pub(super) fn get(&self) -> Option<&T> {
        self.0.as_ref().map(|(_, value)| value)
    }

    fn take(self) -> Option<T> {
        self.0.map(|(_, value)| value)
    }
}

/// What an entry says, as it is read.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// The line where it begins.
    pub(super) line: u64,
    pub(super) id: Option<String>,
    pub(super) title: Ranked<String>,
    /// The title as it is written.
    pub(super) written_title: Option<String>,
    pub(super) text: Ranked<String>,
    author: Ranked<String>,
    pub(super) time: Ranked<i64>,
    /// The latest of all times.
    pub(super) changed: Option<i64>,
    pub(super) unread_time: Option<String>,
    /// Times as if they were UTC, whose zones cannot be read, and how they are written.
    without_zone: Ranked<(i64, String)>,
    pub(super) link: Ranked<String>,
    /// The first address of any kind, of which ids are derived.
    pub(super) first_address: Option<String>,
    image: Ranked<String>,
}

impl Entry {
    pub(super) fn new(line: u64) -> Self {
        Self { line, ..Self::default() }
    }

    pub(super) fn add_title(&mut self, rank: u8, written: &str, notation: Notation) {
        let shown = with_named_tags(written, notation);
        let title = plain_text(&shown, notation);
        if rank == 0 && self.written_title.is_none() {
            self.written_title = Some(written.trim().to_owned());
        }
        if !title.is_empty() {
            self.title.offer(rank, title.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }

    pub(super) fn add_text(&mut self, rank: u8, written: &str, notation: Notation) {
        if self.text.takes(rank) {
            let text = plain_text(written, notation);
            if !text.is_empty() {
                self.text.offer(rank, text.into_owned());
            }
        }
    }

    /// A person by `mail (name)`, `name <mail>`, or as written.
    pub(super) fn add_author(&mut self, written: &str) {
        if let Some(name) = author(written) {
            self.author.offer(u8::from(name.contains('@')), name);
        }
    }

    pub(super) fn add_time(&mut self, rank: u8, written: &str) {
        let written = written.trim();
        match times::from_text(written) {
            Some(time) => {
                self.changed = self.changed.max(Some(time));
                self.time.offer(rank, time);
            }
            None if written.is_empty() => {}
            None => {
                let shown: String = written.chars().take(60).collect();
                if let Some(time) = time_without_zone(written) {
                    self.without_zone.offer(rank, (time, shown.clone()));
                }
                self.unread_time = Some(shown);
            }
        }
    }

    /// An id; one that is an address opens the entry if nothing else does.
    pub(super) fn add_id(&mut self, id: &str, opens: bool) {
        let id = id.trim();
        if id.is_empty() {
            return;
        }
        let is_page = || id.parse::<Url>().is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if opens && (id.starts_with('/') || is_page()) {
            self.link.offer(2, id.to_owned());
        }
        self.id.get_or_insert_with(|| id.to_owned());
    }

    /// Offers an address that opens the entry.
    ///
    /// Rank 0 is its page, 1 another form of that, 3 a file, 4 a picture.
    pub(super) fn add_link(&mut self, rank: u8, address: &str, base: Option<&Url>) {
        let address = resolve(address.trim(), base);
        if address.is_empty() {
            return;
        }
        if rank < 2 {
            self.first_address.get_or_insert_with(|| address.clone());
        }
        self.link.offer(rank, address);
    }

    /// An address of any kind.
    pub(super) fn add_address(&mut self, address: &str, base: Option<&Url>) {
        self.first_address.get_or_insert_with(|| resolve(address.trim(), base));
    }

    pub(super) fn add_image(&mut self, rank: u8, address: &str, base: Option<&Url>) {
        if !address.trim().is_empty() {
            self.image.offer(rank, resolve(address.trim(), base));
        }
    }

    pub(super) fn into_row(
        self,
        number: u64,
        id: String,
        feed_author: Option<&str>,
        address: Option<&Url>,
    ) -> FeedRow {
        let (time, undated, unread_zone) =
            match (self.time.take(), self.without_zone.take(), self.unread_time) {
                (Some(time), ..) => (Some(time), None, None),
                (None, Some((time, written)), _) => (Some(time), None, Some(written)),
                (None, None, Some(unread)) => (Some(UNDATED), Some(unread), None),
                (None, None, None) => (None, None, None),
            };
        let text = self.text.take();
        let mut is_shortened = false;
        let mut shown_address = |written: String, is_safe: fn(&str) -> bool| {
            // References in CDATA are no part of an address.
            let address = resolve(&decode_references(&written), address);
            let is_fit = address.len() <= MAX_ADDRESS_BYTES && is_safe(&address);
            is_shortened |= !is_fit;
            is_fit.then_some(address)
        };
        // An entry with an unsafe link is refused, with the reason.
        let link = self.link.take().and_then(|link| shown_address(link, |_| true));
        let image =
            self.image.take().and_then(|image| shown_address(image, |image| check_picture(image).is_ok()));
        // An address is all that can be shown of an entry without words.
        let mut title = self.title.take().or_else(|| link.clone().filter(|_| text.is_none()));
        let mut author = self.author.take().or_else(|| feed_author.map(str::to_owned));
        for words in [&mut title, &mut author].into_iter().flatten() {
            is_shortened |= truncate(words, MAX_TITLE_BYTES);
        }
        let texts = [
            ("id", Some(id)),
            ("title", title),
            ("brief", text),
            ("author", author),
            ("image", image),
            ("link", link),
        ];
        let mut fields: Map<_, _> = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?))))
            .collect();
        fields.extend(time.map(|time| ("displayTime".to_owned(), time.into())));
        FeedRow { number, line: self.line, fields, undated, unread_zone, is_shortened }
    }
}

/// The time in UTC of a date whose zone alone cannot be read.
///
/// The time is wrong by hours. Without it the entry would stand as of 1970.
fn time_without_zone(written: &str) -> Option<i64> {
    let clock = written.find(':')?;
    let zone = clock + written[clock..].find([' ', '+', '-'])?;
    let is_zone = |text: &str| {
        let is_letters = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_uppercase());
        let is_offset = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-:".contains(&byte));
        !text.is_empty() && (is_letters || is_offset)
    };
    is_zone(written[zone..].trim()).then(|| times::from_text(&written[..zone]))?
}

/// An address, from `base` on where it is relative.
fn resolve(address: &str, base: Option<&Url>) -> String {
    match (Url::parse(address), base) {
        (Ok(url), _) => url.into(),
        (Err(ParseError::RelativeUrlWithoutBase), Some(base)) if !address.is_empty() => {
            base.join(address).map_or_else(|_| address.to_owned(), String::from)
        }
        _ => address.to_owned(),
    }
}

pub(super) fn author(written: &str) -> Option<String> {
    let written = plain_text(written, Notation::Either);
    let written = written.split_whitespace().collect::<Vec<_>>().join(" ");
    let pair = |open: char, close: char| {
        let (before, inside) = written.strip_suffix(close)?.split_once(open)?;
        let (before, inside) = (before.trim().trim_matches('"').trim(), inside.trim());
        let is_mail = |text: &str| text.contains('@') && !text.contains(char::is_whitespace);
        match (is_mail(before), is_mail(inside)) {
            (true, false) if open == '(' && !inside.is_empty() => Some(inside.to_owned()),
            (false, true) if !before.is_empty() => Some(before.to_owned()),
            _ => None,
        }
    };
    let name = pair('(', ')').or_else(|| pair('<', '>')).unwrap_or_else(|| written.clone());
    (!name.is_empty()).then_some(name)
}

/// Keeps tags that a title names, such as `<video>`: they have neither attributes nor an end.
fn with_named_tags(title: &str, notation: Notation) -> Cow<'_, str> {
    if notation != Notation::Either || !title.contains('<') {
        return title.into();
    }
    let name_of = |tag: &str| {
        let end = tag.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(tag.len());
        tag[..end].to_ascii_lowercase()
    };
    let ended: HashSet<String> = title.split("</").skip(1).map(name_of).collect();
    let (mut kept, mut rest) = (String::new(), title);
    while let Some((before, behind)) = rest.split_once('<') {
        kept.push_str(before);
        let name = name_of(behind);
        let is_word = behind[name.len()..].starts_with('>')
            && !matches!(&*name, "" | "br" | "img" | "wbr" | "p" | "hr")
            && !ended.contains(&name);
        kept.push_str(if is_word { "&lt;" } else { "<" });
        rest = behind;
    }
    (kept + rest).into()
}

fn plain_text(written: &str, notation: Notation) -> Cow<'_, str> {
    match notation {
        Notation::Plain => written.trim().into(),
        _ if !written.contains(['<', '&']) => written.trim().into(),
        Notation::Html => html_to_text(written).into(),
        Notation::Either => escaped_to_text(written).into(),
    }
}
