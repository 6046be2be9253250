//! The spelling that is typed, where texts have others, too: `wi fi` beside `Wi-Fi` and `wifi`.

use super::parameters::{FEEDBACK_CHARS, TYPED_SPELLING_WEIGHT};
use super::words::WeightedWords;
use crate::item::Texts;
use crate::text::{fold, is_ideograph};

impl WeightedWords {
    /// Whether the spelling of the best matches counts.
    pub fn prefers_a_spelling(&self) -> bool {
        self.typed_spelling.is_some()
    }

    /// Addition to the nearness of a match with these texts.
    pub fn typed_spelling_score(&self, texts: &Texts<'_>) -> f32 {
        let Some(typed) = &self.typed_spelling else { return 0.0 };
        let is_typed_so = texts.beginning(FEEDBACK_CHARS).any(|text| has_word(&fold(text), typed));
        let worth = || self.indexed.iter().map(|word| word.weight * word.idf).sum::<f32>();
        if is_typed_so { TYPED_SPELLING_WEIGHT * worth() } else { 0.0 }
    }
}

/// Whether a text has a word that goes on at neither end.
fn has_word(text: &str, word: &str) -> bool {
    let goes_on = |character: char| character.is_alphanumeric() && !is_ideograph(character);
    let is_whole =
        |start: usize| !text[..start].ends_with(goes_on) && !text[start + word.len()..].starts_with(goes_on);
    !word.is_empty() && text.match_indices(word).any(|(start, _)| is_whole(start))
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn word_goes_on_at_neither_end() {
        for (text, expected) in [
            ("wi fi", true),
            ("the (wi fi) net", true),
            ("kiwi fi, wi fi", true),
            ("在wi fi里", true),
            ("kiwi fi", false),
            ("wi fis", false),
            ("wi-fi", false),
            ("", false),
        ] {
            assert_eq!(has_word(text, "wi fi"), expected, "{text}");
        }
        assert!(!has_word("wi fi", ""));
    }
}
