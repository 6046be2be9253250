//! Converts RSS, RDF, Atom and JSON Feed to rows.
//!
//! Feeds are read as they come, not as they should be: `encoding` makes text of bytes, `xml` and `json` find entries, `field`
//! says which element means what, and `entry` makes a row of the best values.

mod captured;
mod encoding;
mod entities;
mod entry;
mod field;
mod ids;
mod json;
mod markup;
#[cfg(test)]
mod tests;
mod xml;

use std::vec::IntoIter;

use serde_json::{Map, Value};
use url::Url;

use self::encoding::Decoded;
use self::entry::Entry;
use self::ids::Ids;
use self::markup::{End, find_json, note_before};
use self::xml::XmlFeed;

/// Inflated; a feed is read in memory.
pub(crate) const MAX_FEED_BYTES: usize = 64 * 1024 * 1024;

/// An entry as a row.
#[derive(Debug)]
pub(crate) struct FeedRow {
    /// Its place, from 1.
    pub(crate) number: u64,
    /// The line where it begins.
    pub(crate) line: u64,
    pub(crate) fields: Map<String, Value>,
    /// A time that cannot be read; the row is of 1970.
    pub(crate) undated: Option<String>,
    /// A time that counts as UTC, as its zone cannot be read.
    pub(crate) unread_zone: Option<String>,
    /// Whether its title or author was cut, or an address dropped.
    pub(crate) is_shortened: bool,
}

/// How the rows of a feed ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FeedEnd {
    Whole,
    /// Where the document breaks off; the rows before are good.
    Cut(String),
    /// Why the document must not be read.
    Refused(String),
}

/// The rows of a feed, in its order.
pub(crate) struct FeedRows {
    entries: Entries,
    /// Where the feed was found; relative addresses begin there.
    address: Option<Url>,
    next: Option<Entry>,
    ids: Ids,
    rows: u64,
    undated: u64,
    unread_zones: u64,
    shortened: u64,
    notes: Vec<String>,
    refusal: Option<String>,
}

enum Entries {
    Xml(Box<XmlFeed>),
    Json(IntoIter<Entry>, Option<String>, End),
}

impl FeedRows {
    /// Opens a document; `charset` is what HTTP says of it.
    ///
    /// # Errors
    /// Why it is no feed. A feed without entries is one.
    pub(crate) fn open(bytes: &[u8], charset: Option<&str>, address: Option<Url>) -> Result<Self, String> {
        let Decoded { text, note } = encoding::decode(bytes, charset);
        let mut notes: Vec<_> = note.into_iter().collect();
        let entries = if let Some(place) = find_json(&text) {
            notes.extend(note_before(place));
            let feed = json::read(&text[place..])?;
            Entries::Json(feed.entries.into_iter(), feed.author, feed.end)
        } else {
            Entries::Xml(Box::new(XmlFeed::new(text)))
        };
        let mut rows = Self {
            entries,
            address,
            next: None,
            ids: Ids::default(),
            rows: 0,
            undated: 0,
            unread_zones: 0,
            shortened: 0,
            notes,
            refusal: None,
        };
        rows.next = rows.entries.next_entry()?;
        Ok(rows)
    }

    /// How the rows ended, once there are no more.
    pub(crate) fn end(&self) -> FeedEnd {
        match (&self.refusal, self.entries.end()) {
            (Some(refusal), _) => FeedEnd::Refused(refusal.clone()),
            (None, End::Cut(line)) => FeedEnd::Cut(format!(
                "the feed breaks off in line {line}; {} entries before that are whole",
                self.rows
            )),
            (None, _) => FeedEnd::Whole,
        }
    }

    /// What was guessed or not understood, once there are no more rows.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if let Entries::Xml(feed) = &self.entries {
            notes.extend(feed.faults.notes());
        }
        if self.undated > 1 {
            notes.push(format!("the times of {} entries cannot be read", self.undated));
        }
        if self.unread_zones > 1 {
            notes.push(format!("the zones of the times of {} entries cannot be read", self.unread_zones));
        }
        if self.shortened > 0 {
            notes.push(format!(
                "parts of {} entries are too long or unsafe, and were cut or left out",
                self.shortened
            ));
        }
        if self.ids.repetitions > 0 {
            let repetitions = self.ids.repetitions;
            notes.push(format!("{repetitions} entries repeat others; the newest of each is kept"));
        }
        if self.rows == 0 {
            notes.push("the feed has no entry".to_owned());
        }
        if self.entries.end() == End::Unclosed {
            notes.push("the end tag of the feed is missing; it may be cut off".to_owned());
        }
        notes
    }
}

impl Iterator for FeedRows {
    type Item = FeedRow;

    fn next(&mut self) -> Option<FeedRow> {
        let (entry, id) = loop {
            let entry = self.next.take()?;
            self.next = self.entries.next_entry().unwrap_or_else(|refusal| {
                self.refusal = Some(refusal);
                None
            });
            self.rows += 1;
            if let Some(id) = self.ids.assign(&entry) {
                break (entry, id);
            }
        };
        let row = entry.into_row(self.rows, id, self.entries.author(), self.address.as_ref());
        self.shortened += u64::from(row.is_shortened);
        let place = || format!("entry {} (line {})", row.number, row.line);
        if let Some(time) = &row.undated {
            if self.undated == 0 {
                self.notes
                    .push(format!("{} stands as of 1970, as {time:?} is no time that can be read", place()));
            }
            self.undated += 1;
        }
        if let Some(time) = &row.unread_zone {
            if self.unread_zones == 0 {
                self.notes.push(format!(
                    "the time of {} counts as UTC, as the zone of {time:?} cannot be read",
                    place()
                ));
            }
            self.unread_zones += 1;
        }
        Some(row)
    }
}

impl Entries {
    fn next_entry(&mut self) -> Result<Option<Entry>, String> {
        match self {
            Self::Xml(feed) => feed.next_entry(),
            Self::Json(entries, ..) => Ok(entries.next()),
        }
    }

    fn author(&self) -> Option<&str> {
        match self {
            Self::Xml(feed) => feed.author.as_deref(),
            Self::Json(_, author, _) => author.as_deref(),
        }
    }

    fn end(&self) -> End {
        match self {
            Self::Xml(feed) => feed.end.unwrap_or(End::Whole),
            Self::Json(_, _, end) => *end,
        }
    }
}
