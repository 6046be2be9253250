//! Where a text matches a query, for people to see: `<em>` around it, and everything else as HTML shows it (decisions 5.7).
//!
//! A text is read again the way it is indexed (`text`), so what is marked is what makes a document match: words by
//! their stem, the last one also as the beginning of a word, ideographs wherever they stand, phrases only where they
//! stand as a whole. What is excluded, or asked of the author, is not marked. Marks are made on the text as it was
//! written, whatever folding made of it.

mod html;
mod marks;
mod passage;
#[cfg(test)]
mod tests;
mod wanted;

use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use self::marks::Mark;
use self::wanted::Wanted;
use crate::Query;
use crate::text::{Folded, SoundBudget, sounds};

/// Bytes of a text that is shown whole.
const WHOLE_BYTES: usize = 8 << 10;
/// Bytes of a text that a passage is chosen from.
const LOOKED_AT_BYTES: usize = 64 << 10;

/// How much of a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it, up to 8 KiB.
    Whole,
    /// About 200 characters: those in which the most of what is asked for stands close together, else the first ones. It is
    /// chosen from the first 64 KiB.
    Passage,
}

/// Marks what a query asks for.
#[derive(Debug, Clone)]
pub struct Highlighter {
    wanted: Wanted,
}

impl Highlighter {
    /// Marks what this query asks for.
    pub fn new(query: &Query) -> Self {
        Self { wanted: Wanted::of(query) }
    }

    /// The text as HTML, in which `<em>` and `</em>` stand around each match, and are the only markup; `…` where it is
    /// cut. `None` for an empty text; one without a match is shown without marks.
    ///
    /// Of a word that matches by its stem or by its beginning the whole is marked: that is what was found. Neither a character
    /// as people see it (a grapheme cluster) nor an entity is ever cut.
    ///
    /// Takes time in proportion to the text, or to its first 64 KiB.
    pub fn mark(&self, text: &str, extent: Extent) -> Option<String> {
        self.mark_text(text, extent, false)
    }

    /// The same of a name ([`Document::title_is_name`](crate::Document::title_is_name)): also the characters that are typed by
    /// their pinyin are marked, and words that are typed as one.
    pub fn mark_name(&self, name: &str) -> Option<String> {
        self.mark_text(name, Extent::Whole, true)
    }

    fn mark_text(&self, text: &str, extent: Extent, is_name: bool) -> Option<String> {
        if text.is_empty() {
            return None;
        }
        let bytes = match extent {
            Extent::Whole => WHOLE_BYTES,
            Extent::Passage => LOOKED_AT_BYTES,
        };
        let looked_at = &text[..boundary_before(text, text.floor_char_boundary(bytes))];
        let marks = self.marks(looked_at, is_name);
        let shown = match extent {
            Extent::Whole => 0..looked_at.len(),
            Extent::Passage => passage::choose(looked_at, &marks),
        };
        Some(html::write(text, shown, &marks))
    }

    /// What is to be marked, in order, apart from each other.
    fn marks(&self, text: &str, is_name: bool) -> Vec<Mark> {
        if self.wanted.is_empty() {
            return Vec::new();
        }
        let folded = Folded::new(text);
        // The title comes first, so it is indexed with all of the budget too.
        let sounds = if is_name { sounds(text, &folded, &mut SoundBudget::new()) } else { Vec::new() };
        let places = self.wanted.places(&folded.text, &sounds);
        let matches = self.wanted.matches(&places);
        let mut clusters = Clusters { text, last: 0..0 };
        marks::merge(matches.into_iter().map(|found| Mark {
            start: clusters.around(folded.source_start(found.start)).start,
            end: clusters.around(folded.source_end(found.end)).end,
            ..found
        }))
    }
}

/// The characters of a text as people see them. The last one that was looked at is remembered, as one may be as long as the text
/// and hold a mark at every word of it.
struct Clusters<'a> {
    text: &'a str,
    last: Range<usize>,
}

impl Clusters<'_> {
    /// The character around the offset; empty where a boundary is there.
    fn around(&mut self, offset: usize) -> Range<usize> {
        if self.last.start < offset && offset < self.last.end {
            return self.last.clone();
        }
        let start = boundary_before(self.text, offset);
        if start == offset {
            return offset..offset;
        }
        self.last = start..boundary_behind(self.text, offset);
        self.last.clone()
    }
}

/// The last boundary between two characters as people see them that is not behind `offset`.
fn boundary_before(text: &str, offset: usize) -> usize {
    let mut cursor = GraphemeCursor::new(offset, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return offset;
    }
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// The first such boundary that is not before `offset`.
fn boundary_behind(text: &str, offset: usize) -> usize {
    let mut cursor = GraphemeCursor::new(offset, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return offset;
    }
    cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}
