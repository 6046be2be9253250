//! Promises about any keyword and text, for the fuzzers of `tests/fuzz`.

#![allow(clippy::missing_panics_doc, reason = "each panics where a promise is broken")]

use crate::completion::TypedPrefix;
use crate::query::{MAX_CLAUSES, Query, RelaxableKeyword, author_pieces};
use crate::{Extent, Highlighter, fold};

/// A query is bounded, and marks change nothing of a text.
///
/// `bytes` are the keyword, a line break and the text.
pub fn query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (keyword, text) = text.split_once('\n').unwrap_or((&text, &text));
    let query = Query::parse(keyword);
    assert!(query.clauses.len() <= MAX_CLAUSES);
    assert!(query.clauses.iter().all(|clause| !clause.pieces.is_empty()));
    assert!(query == Query::parse(keyword), "two readings differ");
    let whole_tokens = query.whole_token_queries();
    for changed in
        [query.with_parts_of(&whole_tokens), query.without_stop_words(), query.without_question_words()]
    {
        changed.bytes();
    }
    author_pieces(keyword);
    relax(keyword);
    if let Some(prefix) = TypedPrefix::new(keyword) {
        prefix.queries();
        prefix.place_in(text);
    }
    assert!(fold(&fold(text)) == fold(text), "a folded text folds on");
    let highlighter = Highlighter::new(&query);
    for extent in [Extent::Whole, Extent::Unbounded, Extent::Passage] {
        check_marks(text, highlighter.mark(text, extent), extent);
    }
    check_marks(text, highlighter.mark_name(text), Extent::Whole);
}

fn relax(keyword: &str) {
    let relaxable = RelaxableKeyword::read(keyword);
    let words = relaxable.words().count();
    for kept in [0, words / 2] {
        assert!(relaxable.left_out(|word| word == kept).len() < words.max(1));
        relaxable.keeping(|word| word == kept);
    }
    relaxable.parted(|word| word % 2 == 0);
}

/// Checks that marks are closed, not empty, and do not nest.
///
/// Without them the text is a part of the field's.
fn check_marks(text: &str, html: Option<String>, extent: Extent) {
    let Some(html) = html else { return assert!(text.is_empty()) };
    for (place, marked) in html.split("<em>").enumerate() {
        let ends = marked.matches("</em>").count();
        assert_eq!(ends, usize::from(place > 0), "{html}");
        assert!(!marked.starts_with("</em>"), "{html}");
    }
    let plain = html.replace("<em>", "").replace("</em>", "");
    assert!(!plain.contains(['<', '>', '"', '\'']), "{html}");
    let plain = ["&lt;<", "&gt;>", "&quot;\"", "&#39;'", "&amp;&"].iter().fold(plain, |plain, pair| {
        let (entity, character) = pair.split_at(pair.len() - 1);
        plain.replace(entity, character)
    });
    let is_whole = extent == Extent::Unbounded || extent == Extent::Whole && plain.len() == text.len();
    let shown = plain.strip_prefix('…').unwrap_or(&plain);
    let shown = shown.strip_suffix('…').unwrap_or(shown);
    assert!(if is_whole { plain == text } else { text.contains(shown) }, "{html}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn wild_keywords_hold_what_the_fuzzer_asks() {
        trawl_seeds::each_wild_file("queries", super::query).unwrap();
    }
}
