//! Parts of words that are misspelt as they sound: 苏洲仓库 for 苏州仓库.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{CorrectableWord, MAX_TRIED, by_likelihood};
use crate::query::Piece;
use crate::text::{are_homophones, dictionary_words, homophones_of, is_ideograph};

/// Parts of a word that are looked up.
const MAX_PARTS: usize = 8;
/// Homophones that are tried for each part.
const MAX_HOMOPHONES: usize = 4;

/// A dictionary word, or two single ideographs side by side.
#[derive(Debug)]
pub struct WordPart {
    /// Folded.
    pub text: String,
    /// Finds it.
    pub(super) piece: Piece,
    /// Bytes of the word.
    place: Range<usize>,
}

impl WordPart {
    /// Whether the other word has as many characters and the same usual pinyin without tones.
    pub fn sounds_like(&self, other: &str) -> bool {
        are_homophones(&self.text, other)
    }

    /// Texts with one other character that sound like it.
    pub fn homophones(&self) -> Vec<String> {
        homophones_of(&self.text)
    }
}

impl CorrectableWord {
    /// Parts that may be homophones of words.
    ///
    /// Words of letters have none, and neither have words that are too long to be edited.
    pub(super) fn parts(&self) -> Vec<WordPart> {
        if !self.word.starts_with(is_ideograph) || !self.is_short_enough_to_edit() {
            return Vec::new();
        }
        let words = dictionary_words(&self.word);
        let is_single = |word: &str| word.chars().nth(1).is_none();
        let (mut parts, mut start) = (Vec::new(), 0);
        for (number, word) in words.iter().enumerate() {
            let next = words.get(number + 1).filter(|next| is_single(word) && is_single(next));
            let piece = match next {
                Some(next) => Some(Piece::Phrase(vec![(0, (*word).to_owned()), (1, (*next).to_owned())])),
                None => (!is_single(word)).then(|| Piece::Term((*word).to_owned())),
            };
            let place = start..start + word.len() + next.map_or(0, |next| next.len());
            start += word.len();
            parts.extend(piece.map(|piece| WordPart {
                text: self.word[place.clone()].to_owned(),
                piece,
                place,
            }));
        }
        parts.truncate(MAX_PARTS);
        parts
    }

    /// Puts homophones in place of parts that are found nowhere.
    ///
    /// The list is empty if no part has one.
    ///
    /// `parts` have their homophones with document frequencies.
    pub(super) fn with_homophones(&self, parts: &[(WordPart, BTreeMap<String, u64>)]) -> Vec<String> {
        let (mut spellings, mut end) = (vec![String::new()], 0);
        for (WordPart { text, place, .. }, homophones) in parts {
            let mut homophones = by_likelihood(text, homophones);
            homophones.truncate(MAX_HOMOPHONES);
            if homophones.is_empty() || place.start < end {
                continue;
            }
            let between = &self.word[end..place.start];
            let spell = |before: &String| {
                homophones.iter().map(|word| format!("{before}{between}{word}")).collect::<Vec<_>>()
            };
            spellings = spellings.iter().flat_map(spell).take(MAX_TRIED).collect();
            end = place.end;
        }
        if end == 0 {
            return Vec::new();
        }
        spellings.into_iter().map(|spelling| spelling + &self.word[end..]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::CorrectableWord;

    fn word(text: &str) -> CorrectableWord {
        CorrectableWord::all_of(text).remove(0)
    }

    #[test]
    fn run_has_dictionary_words_and_neighbours_as_parts() {
        for (text, expected) in [
            ("苏洲仓库", &["苏洲", "仓库"][..]),
            ("报肖流程", &["报肖", "流程"]),
            ("差旅抱销", &["差旅", "抱销"]),
            ("报肖流呈", &["报肖", "肖流", "流呈"]),
            ("budget", &[]),
        ] {
            let parts: Vec<String> = word(text).parts().into_iter().map(|part| part.text).collect();
            assert_eq!(parts, expected, "{text}");
        }
    }

    #[test]
    fn homophones_take_the_places_of_parts() {
        let word = word("报肖流呈");
        let spelled = |homophones: &[(&str, &[(&str, u64)])]| {
            let homophones_of = |text: &str| {
                let of_text = homophones.iter().find(|(part, _)| *part == text)?;
                Some(of_text.1.iter().map(|(word, documents)| ((*word).to_owned(), *documents)).collect())
            };
            let parts = word.parts().into_iter().map(|part| {
                let homophones: BTreeMap<String, u64> = homophones_of(&part.text).unwrap_or_default();
                (part, homophones)
            });
            word.with_homophones(&parts.collect::<Vec<_>>())
        };
        assert_eq!(spelled(&[]), [""; 0]);
        assert_eq!(spelled(&[("流呈", &[("流程", 3)])]), ["报肖流程"]);
        let both = [("报肖", &[("报晓", 1), ("报销", 9)][..]), ("流呈", &[("流程", 3)])];
        assert_eq!(spelled(&both), ["报销流程", "报晓流程"]);
        // 肖流 begins within 报肖.
        assert_eq!(spelled(&[("报肖", &[("报销", 9)]), ("肖流", &[("校刘", 9)])]), ["报销流呈"]);
    }
}
