//! Completion of what a person types.

use crate::query::{MAX_TERMS, Piece, Query, Target};
use crate::text::{
    ScriptRun, WHOLE_NAME, fold, is_ideograph, is_syllabic, query_words, runs, stem, whole_name,
};

/// Folded beginning of a title, name or author.
///
/// Signs count as spaces, and spaces do not count.
#[derive(Debug)]
pub struct TypedPrefix {
    /// Runs, with a space between two.
    spaced: String,
}

/// Part of a document that a prefix completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletedPart {
    Title,
    /// Any form of a name, such as `zhangs` of 张三.
    Name,
    Author,
}

/// Where a text continues a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PrefixPlace {
    TextStart,
    /// At a later word or ideograph.
    WordStart,
}

impl TypedPrefix {
    /// `None` without a word.
    pub fn new(typed: &str) -> Option<Self> {
        let spaced = spaced_runs(typed);
        (!spaced.is_empty()).then_some(Self { spaced })
    }

    /// Whether a digit is typed, as in an id.
    pub fn has_digits(&self) -> bool {
        self.spaced.contains(|character: char| character.is_ascii_digit())
    }

    /// Queries in time order for documents that may complete it.
    ///
    /// Each [`Name`](CompletedPart::Name) found completes it. Other parts have its words in any order, so that
    /// [`place_in`](Self::place_in) decides.
    pub fn queries(&self) -> Vec<(CompletedPart, Query)> {
        let words = self.word_pieces();
        let mut queries = vec![
            (CompletedPart::Title, Target::Title.query(words.clone())),
            (CompletedPart::Author, Target::Author.query(words)),
        ];
        let name = self.whole_name_piece().map(|piece| Target::Text.query(vec![piece]));
        queries.extend(name.map(|name| (CompletedPart::Name, name)));
        queries
    }

    /// The first place at which the text continues it.
    pub fn place_in(&self, text: &str) -> Option<PrefixPlace> {
        let text = spaced_runs(text);
        if self.is_continued_by(&text) {
            return Some(PrefixPlace::TextStart);
        }
        let mut is_after_space = false;
        for (start, character) in text.char_indices() {
            let is_start = is_after_space || is_ideograph(character) || is_syllabic(character);
            is_after_space = character == ' ';
            if is_start && self.is_continued_by(&text[start..]) {
                return Some(PrefixPlace::WordStart);
            }
        }
        None
    }

    fn is_continued_by(&self, text: &str) -> bool {
        let mut text = text.chars().filter(|&character| character != ' ');
        self.spaced.chars().filter(|&character| character != ' ').all(|typed| text.next() == Some(typed))
    }

    /// Each word and ideograph once, without positions, which titles lack.
    fn word_pieces(&self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let unfinished = self.unfinished_word();
        let finished = self.spaced.strip_suffix(unfinished.unwrap_or_default()).unwrap_or(&self.spaced);
        for (_, word) in query_words(finished).into_iter().take(MAX_TERMS) {
            let piece = Piece::Term(word);
            if !pieces.contains(&piece) {
                pieces.push(piece);
            }
        }
        pieces.extend(unfinished.map(|word| prefix(stem(word).into_owned(), word.to_owned())));
        pieces
    }

    /// Whole names, whose words are stemmed, that begin with it.
    fn whole_name_piece(&self) -> Option<Piece> {
        let words = query_words(&self.spaced);
        let words = || words.iter().map(|(_, word)| word.as_str());
        let stemmed = format!("{WHOLE_NAME}{}", whole_name(words())?);
        let Some(unfinished) = self.unfinished_word().filter(|word| *stem(word) != **word) else {
            return Some(prefix(stemmed.clone(), stemmed));
        };
        let before = words().take(words().count().saturating_sub(1));
        let typed = format!("{WHOLE_NAME}{}", whole_name(before.chain([unfinished]))?);
        // The word may be finished, too.
        let finished = prefix(stemmed.clone(), format!("{stemmed} "));
        Some(Piece::Either(vec![vec![finished], vec![prefix(stemmed, typed)]]))
    }

    /// Ideographs and syllables are never unfinished.
    fn unfinished_word(&self) -> Option<&str> {
        match runs(&self.spaced).last()? {
            ScriptRun::Word(word) => Some(word),
            ScriptRun::Ideographs(_) | ScriptRun::Syllables(_) => None,
        }
    }
}

/// Folds a text, and leaves a space between two runs.
fn spaced_runs(text: &str) -> String {
    let folded = fold(text);
    let mut spaced = String::with_capacity(folded.len());
    for run in runs(&folded) {
        if !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.push_str(run.text());
    }
    spaced
}

fn prefix(stem: String, start: String) -> Piece {
    Piece::Prefix { stem, start }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PrefixPlace, TypedPrefix};

    fn place(typed: &str, text: &str) -> Option<PrefixPlace> {
        TypedPrefix::new(typed)?.place_in(text)
    }

    #[test]
    fn prefix_is_found_at_the_start_of_a_text_or_word() {
        use PrefixPlace::{TextStart, WordStart};
        for (typed, text, expected) in [
            ("ann", "Annual report", Some(TextStart)),
            ("ANNUAL  rep", "Annual report", Some(TextStart)),
            ("annual-rep", "Annual report", Some(TextStart)),
            ("rep", "Annual report", Some(WordStart)),
            ("eport", "Annual report", None),
            ("annual rex", "Annual report", None),
            ("report annual", "Annual report", None),
            ("iso27001", "ISO 27001 audit", Some(TextStart)),
            ("iso 270", "ISO27001 audit", Some(TextStart)),
            ("cafe", "Le Café", Some(WordStart)),
            ("年度预", "年度预算报告", Some(TextStart)),
            ("预算", "年度预算报告", Some(WordStart)),
            ("算报", "年度预算报告", Some(WordStart)),
            ("年预", "年度预算报告", None),
            ("國際", "国际会议", Some(TextStart)),
            ("２０２６年", "2026年度", Some(TextStart)),
            ("wangf", "Wang Fang", Some(TextStart)),
            ("łódz", "Lodz office", Some(TextStart)),
            ("정책", "회사의 정책을", Some(WordStart)),
            ("ประชุม", "การประชุม", Some(WordStart)),
        ] {
            assert_eq!(place(typed, text), expected, "{typed:?} in {text:?}");
        }
    }

    #[test]
    fn prefix_without_a_word_is_none() {
        for typed in ["", " \u{3000}", "…!", "\u{ad}"] {
            assert!(TypedPrefix::new(typed).is_none(), "{typed:?}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(500))]

        #[test]
        fn every_beginning_of_a_text_is_continued_by_it(
            text in "[a-zA-Zé0-9 年度预算國カ ,.-]{1,24}",
            length in 1_usize..24,
        ) {
            let typed: String = text.chars().take(length).collect();
            if TypedPrefix::new(&typed).is_some() {
                prop_assert_eq!(place(&typed, &text), Some(PrefixPlace::TextStart));
            }
        }

        #[test]
        fn text_before_a_space_only_moves_the_place(typed in "[a-c年度]{1,4}", before in "[x-z]{1,4}", after in "[a-c年度]{0,4}") {
            let text = format!("{before} {typed}{after}");
            prop_assert_eq!(place(&typed, &text), Some(PrefixPlace::WordStart));
        }
    }
}
