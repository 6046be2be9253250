//! Marks the matches of a query in a text, as HTML.
//!
//! A text is analysed as for the index, so the marks are what made it match. Stems and phrases are marked,
//! the last word also as a prefix, ideographs anywhere. Excluded words and authors are not.

mod graphemes;
mod html;
mod marks;
mod passage;
mod query;
#[cfg(test)]
mod tests;

use self::graphemes::{GraphemeCache, boundary_before};
use self::marks::Mark;
use self::query::HighlightQuery;
use crate::Query;
use crate::text::{Folded, VariantBudget, compound_variants, name_variants, placed_runs};

const WHOLE_BYTES: usize = 8 << 10;
const PASSAGE_SOURCE_BYTES: usize = 64 << 10;

/// Shown part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it, up to 8 KiB.
    Whole,
    /// All of it; the caller bounds its length.
    Unbounded,
    /// About 200 characters with the most matches of the first 64 KiB, or the first ones.
    Passage,
}

/// Marks the matches of one query.
#[derive(Debug, Clone)]
pub struct Highlighter {
    query: HighlightQuery,
}

impl Highlighter {
    /// Prepares a query for marking.
    pub fn new(query: &Query) -> Self {
        Self { query: HighlightQuery::new(query) }
    }

    /// HTML with `<em>` around matches and `…` at cuts; `None` if empty.
    ///
    /// Matching words are marked whole; grapheme clusters and entities are never cut. Takes linear time.
    pub fn mark(&self, text: &str, extent: Extent) -> Option<String> {
        self.mark_text(text, extent, false)
    }

    /// Marks a name, also by pinyin and joined words.
    pub fn mark_name(&self, name: &str) -> Option<String> {
        self.mark_text(name, Extent::Whole, true)
    }

    /// The first match in a text, or in a name.
    pub fn first_match<'t>(&self, text: &'t str, is_name: bool) -> Option<&'t str> {
        let source = &text[..boundary_before(text, text.floor_char_boundary(PASSAGE_SOURCE_BYTES))];
        let first = self.marks(source, is_name).into_iter().next()?;
        source.get(first.start..first.end)
    }

    fn mark_text(&self, text: &str, extent: Extent, is_name: bool) -> Option<String> {
        if text.is_empty() {
            return None;
        }
        let bytes = match extent {
            Extent::Whole => WHOLE_BYTES,
            Extent::Unbounded => text.len(),
            Extent::Passage => PASSAGE_SOURCE_BYTES,
        };
        let source = &text[..boundary_before(text, text.floor_char_boundary(bytes))];
        let marks = self.marks(source, is_name);
        let shown = match extent {
            Extent::Whole | Extent::Unbounded => 0..source.len(),
            Extent::Passage => passage::choose(source, &marks),
        };
        Some(html::write(text, shown, &marks))
    }

    /// Disjoint, in text order.
    fn marks(&self, text: &str, is_name: bool) -> Vec<Mark> {
        if self.query.is_empty() {
            return Vec::new();
        }
        let folded = Folded::new(text);
        let runs: Vec<_> = placed_runs(&folded.text).collect();
        // The title comes first, as in the index.
        let variants = if is_name {
            name_variants(text, &folded, &mut VariantBudget::new())
        } else {
            compound_variants(text, &folded, &runs)
        };
        let positions = self.query.term_positions(&runs, &variants);
        let matches = self.query.matches(&positions);
        let mut graphemes = GraphemeCache::new(text);
        marks::merge(matches.into_iter().map(|found| Mark {
            start: graphemes.around(folded.source_start(found.start)).start,
            end: graphemes.around(folded.source_end(found.end)).end,
            ..found
        }))
    }
}
