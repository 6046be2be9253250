//! Analysed words of a field in one string.
//!
//! Texts are analysed on many threads; an engine only splits this string. It holds the scope's prefix, then a position
//! mark and the text of each word.

use super::segmentation::words_of_runs;
use super::{
    Folded, PlacedRun, PositionStep, VariantBudget, WordVariant, compound_variants, indexed_forms,
    placed_runs, stem,
};
use crate::document::SCOPE_END;

const NEXT: char = '\u{1}';
const SAME: char = '\u{2}';
/// Skips a position, so that phrases end with a text.
const GAP: char = '\u{3}';

/// Starts whole names; words never contain it.
pub const WHOLE_NAME: char = '=';

/// Starts whole titles.
pub const WHOLE_TITLE: char = '~';

/// Starts title terms of documents with a text.
pub const HEADING: char = '#';

/// Writes a field's words.
#[derive(Debug)]
pub struct EncodedWords {
    encoded: String,
    prefix_len: usize,
    /// Variants that the document may still have.
    budget: VariantBudget,
}

impl EncodedWords {
    pub fn new(prefix: &str) -> Self {
        Self { encoded: prefix.to_owned(), prefix_len: prefix.len(), budget: VariantBudget::new() }
    }

    /// Adds an empty word, which finds every document.
    pub fn add_marker(&mut self) {
        self.encoded.push(NEXT);
    }

    pub fn add_text(&mut self, text: &str) {
        self.add_folded(text, &Folded::new(text));
    }

    pub(crate) fn add_folded(&mut self, text: &str, folded: &Folded) {
        let mut first = self.encoded.len() > self.prefix_len;
        let runs: Vec<_> = placed_runs(&folded.text).collect();
        let variants = compound_variants(text, folded, &runs);
        words_and_variants(runs.into_iter(), &variants, |step, word| {
            self.add_word(step, std::mem::take(&mut first), word);
        });
    }

    /// Adds the text that a field of the same prefix holds alone, analysed once for both.
    pub fn add_text_of(&mut self, field: &Self) {
        let is_first = self.encoded.len() == self.prefix_len;
        let mut words = field.encoded[field.prefix_len..].chars();
        if words.next().is_some() {
            self.encoded.push(if is_first { NEXT } else { GAP });
            self.encoded.push_str(words.as_str());
        }
    }

    /// Adds words, their variants at the same positions, and whole names.
    ///
    /// All names share one budget; names after that have only their words.
    pub fn add_name(&mut self, name: &str) {
        let mut first = self.encoded.len() > self.prefix_len;
        let folded = Folded::new(name);
        let (variants, whole_names) = indexed_forms(name, &folded, &mut self.budget);
        words_and_variants(placed_runs(&folded.text), &variants, |step, word| {
            self.add_word(step, std::mem::take(&mut first), word);
        });
        for whole in whole_names {
            self.add_term(&format!("{WHOLE_NAME}{whole}"));
        }
    }

    /// Adds a word that no position tells, at that of the last word.
    pub fn add_term(&mut self, term: &str) {
        let is_first = self.encoded.len() == self.prefix_len;
        self.add_word(if is_first { PositionStep::Next } else { PositionStep::Same }, false, term);
    }

    pub fn add_headings(&mut self, text: &str) {
        let folded = Folded::new(text);
        let runs: Vec<_> = placed_runs(&folded.text).collect();
        let variants = compound_variants(text, &folded, &runs);
        words_and_variants(runs.into_iter(), &variants, |step, word| {
            self.add_word(step, false, &format!("{HEADING}{word}"));
        });
    }

    fn add_word(&mut self, step: PositionStep, begins_text: bool, word: &str) {
        self.encoded.push(match step {
            _ if begins_text => GAP,
            PositionStep::Next => NEXT,
            PositionStep::Same => SAME,
        });
        self.encoded.push_str(word);
    }

    /// `None` without words.
    pub fn finish(self) -> Option<String> {
        (self.encoded.len() > self.prefix_len).then_some(self.encoded)
    }
}

/// Emits words, and their variants at the positions where these start.
fn words_and_variants<'a>(
    runs: impl Iterator<Item = PlacedRun<'a>>,
    variants: &[WordVariant],
    mut emit: impl FnMut(PositionStep, &str),
) {
    let mut variants = variants.iter().peekable();
    words_of_runs(runs, |step, place, word| {
        emit(step, word);
        while let Some(variant) = variants.next_if(|variant| variant.place.start < place.end) {
            // Typed words are stemmed, except the last.
            let stem = stem(&variant.word);
            emit(PositionStep::Same, &stem);
            if stem != variant.word {
                emit(PositionStep::Same, &variant.word);
            }
        }
    });
}

/// A word as read back from a field.
#[derive(Debug, PartialEq, Eq)]
pub struct EncodedWord<'a> {
    /// Positions after the previous word.
    pub distance: usize,
    /// The word without the scope's prefix; empty for the marker.
    pub word: &'a str,
}

/// Splits a field into the scope's prefix and its words.
pub fn encoded_words(field: &str) -> (&str, EncodedWordReader<'_>) {
    let prefix_len = field.find(SCOPE_END).map_or(0, |end| end + SCOPE_END.len_utf8());
    let (prefix, rest) = field.split_at(prefix_len);
    (prefix, EncodedWordReader { rest })
}

/// Reads a field's words.
#[derive(Debug)]
pub struct EncodedWordReader<'a> {
    rest: &'a str,
}

impl<'a> Iterator for EncodedWordReader<'a> {
    type Item = EncodedWord<'a>;

    fn next(&mut self) -> Option<EncodedWord<'a>> {
        let mut characters = self.rest.chars();
        let distance = match characters.next()? {
            SAME => 0,
            GAP => 2,
            _ => 1,
        };
        let rest = characters.as_str();
        let (word, rest) = rest.split_at(rest.find([NEXT, SAME, GAP]).unwrap_or(rest.len()));
        self.rest = rest;
        Some(EncodedWord { distance, word })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_words_are_read_back() {
        let mut words = EncodedWords::new("7.news\0");
        words.add_marker();
        let mut cats = EncodedWords::new("7.news\0");
        cats.add_text("Cats 中国");
        words.add_text_of(&cats);
        words.add_text_of(&EncodedWords::new("7.news\0"));
        words.add_text("");
        words.add_text("dog");
        let encoded = words.finish().unwrap();

        let (prefix, words) = encoded_words(&encoded);
        let read: Vec<(usize, &str)> = words.map(|EncodedWord { distance, word }| (distance, word)).collect();
        assert_eq!(prefix, "7.news\0");
        assert_eq!(read, [(1, ""), (2, "cat"), (0, "cats"), (1, "中"), (0, "中国"), (1, "国"), (2, "dog")]);
    }

    #[test]
    fn name_variants_are_encoded_where_they_start() {
        let mut words = EncodedWords::new("7.people\0");
        words.add_name("三 Ann李");
        let encoded = words.finish().unwrap();
        let whole_names = "\u{2}=ann\u{2}=l\u{2}=li\u{2}=s\u{2}=san\u{2}=三\u{2}=三 ann 李\u{2}=李";
        let written = format!("\u{1}三\u{2}s\u{2}san\u{1}ann\u{1}李\u{2}l\u{2}li{whole_names}");
        assert_eq!(encoded, format!("7.people\0{written}"));
    }

    fn terms(words: EncodedWords) -> usize {
        encoded_words(&words.finish().unwrap()).1.count()
    }

    fn variant_count(names: &[&str]) -> usize {
        let (mut as_names, mut as_words) = (EncodedWords::new("7.people\0"), EncodedWords::new("7.people\0"));
        for name in names {
            as_names.add_name(name);
            as_words.add_text(name);
        }
        terms(as_names) - terms(as_words)
    }

    #[test]
    fn name_variants_of_a_document_are_bounded() {
        let of = |length: usize| "重单解曾仇朴".chars().cycle().take(length).collect::<String>();
        for lengths in [[16, 16, 16, 16], [84, 170, 85, 64], [17, 8, 170, 16], [8, 8, 8, 8]] {
            let names = lengths.map(of);
            let variants = variant_count(&names.each_ref().map(String::as_str));
            assert!((1_000..=2_000).contains(&variants), "{lengths:?}: {variants}");
        }
        assert_eq!(
            variant_count(&[&of(16), "张三"]),
            variant_count(&[&of(16)]),
            "none is left for the second name"
        );
        let usual = ["张三丰", "zhang.sanfeng", "00417", "港风物流集团有限公司"];
        let each: usize = usual.iter().map(|name| variant_count(&[name])).sum();
        assert!(variant_count(&usual) == each && each < 700, "all of {each}");
    }

    #[test]
    fn text_without_words_is_not_encoded() {
        let mut words = EncodedWords::new("7.news\0");
        words.add_text(" …!");
        assert_eq!(words.finish(), None);
    }
}
