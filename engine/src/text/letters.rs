//! Single characters: which are no part of a word, and which are written for others.

use any_ascii::any_ascii_char;
use icu_properties::props::{DefaultIgnorableCodePoint, Emoji, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Accents, vowel points and other optional marks, and characters that show nothing, such as soft hyphens.
///
/// Texts are decomposed, so hamzas on Arabic letters are marks, too.
pub(super) fn is_ignored(character: char) -> bool {
    match character {
        '\0'..='\u{7f}' => false,
        // Accents, and marks of signs such as keycaps.
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}'
        // Hebrew points and accents.
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
        // Arabic vowels, hamzas and tatweel.
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}' | '\u{8d3}'..='\u{8ff}'
        // Syriac points.
        | '\u{711}' | '\u{730}'..='\u{74a}'
        // Skin tones.
        | '\u{1f3fb}'..='\u{1f3ff}' => true,
        _ => CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character),
    }
}

/// The mark for which a spacing voicing mark of kana is written.
pub(super) fn combining(character: char) -> char {
    match character {
        '゛' => '\u{3099}',
        '゜' => '\u{309a}',
        other => other,
    }
}

/// Letters for which a lower-case character stands: `ss` for `ß`.
pub(super) fn plain_letters(character: char) -> impl Iterator<Item = char> {
    let plain = match character {
        '\0'..='\u{7f}' => None,
        '×' => Some("x"),
        'ς' => Some("σ"),
        // Alef, kaf, yeh and heh in the spellings of Arabic, Persian and Urdu.
        'ٱ' => Some("ا"),
        'ک' => Some("ك"),
        'ى' | 'ی' => Some("ي"),
        'ة' | 'ہ' | 'ۃ' | 'ە' => Some("ه"),
        _ if is_latin(character) => {
            Some(any_ascii_char(character)).filter(|plain| is_all(plain, char::is_ascii_alphabetic))
        }
        _ if is_decimal_digit(character) => {
            Some(any_ascii_char(character)).filter(|plain| is_all(plain, char::is_ascii_digit))
        }
        _ => None,
    };
    let same = plain.is_none().then_some(character);
    plain.unwrap_or_default().chars().map(|letter| letter.to_ascii_lowercase()).chain(same)
}

/// Letters of Latin that no mark explains, such as `ł`, `þ` and `ə`.
fn is_latin(character: char) -> bool {
    matches!(character,
        '\u{df}'..='\u{2af}' | '\u{1d00}'..='\u{1dbf}' | '\u{1e00}'..='\u{1eff}' | '\u{2c60}'..='\u{2c7f}'
        | '\u{a722}'..='\u{a7ff}' | '\u{ab30}'..='\u{ab64}')
}

fn is_decimal_digit(character: char) -> bool {
    CodePointMapData::<GeneralCategory>::new().get(character) == GeneralCategory::DecimalNumber
}

fn is_all(plain: &str, is: fn(&char) -> bool) -> bool {
    !plain.is_empty() && plain.chars().all(|letter| is(&letter))
}

/// A picture that is a word, or half of a flag.
pub(super) fn is_emoji(character: char) -> bool {
    is_flag_letter(character)
        || matches!(character, '\u{231a}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
            && CodePointSetData::new::<Emoji>().contains(character)
}

/// Two of these are a flag.
pub(super) fn is_flag_letter(character: char) -> bool {
    matches!(character, '\u{1f1e6}'..='\u{1f1ff}')
}

#[cfg(test)]
mod tests {
    use crate::text::fold;

    #[test]
    fn letters_without_accents_are_folded_to_plain_ones() {
        for (text, folded) in [
            ("Łukasz Søren Ægir Groß GROẞ", "lukasz soren aegir gross gross"),
            ("Đông Işıl Þór œuvre ŒUVRE ðŋħ", "dong isil thor oeuvre oeuvre dngh"),
            ("Ħal Ŧæ ĸ Ɖ ə", "hal tae q d e"),
            ("M5×20", "m5x20"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    #[test]
    fn characters_that_show_nothing_vanish() {
        for invisible in
            ['\u{ad}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{200e}', '\u{fe0f}']
        {
            assert_eq!(fold(&format!("Daten{invisible}schutz")), "datenschutz", "{invisible:?}");
            assert_eq!(fold(&format!("か{invisible}\u{3099}")), "が", "{invisible:?}");
        }
        assert_eq!(fold("👩\u{200d}💻👍🏽"), "👩💻👍");
        assert_eq!(fold("می\u{200c}خواهم क्\u{200d}ष"), fold("میخواهم क्ष"));
    }

    #[test]
    fn optional_marks_and_forms_are_folded() {
        for (written, plain) in [
            ("مُحَمَّد", "محمد"),
            ("كتـــاب", "كتاب"),
            ("أحمد إسلام آمال ٱسم", "احمد اسلام امال اسم"),
            ("مسؤول شئون على مدرسة", "مسوول شيون علي مدرسه"),
            ("شَٰکر ایران", "شكر ايران"),
            ("שָׁלוֹם", "שלום"),
            ("ﺷﺮﻛﺔ", "شركه"),
            ("١٢٣ ۴۵۶ १२३ ๑๒๓ ၁၂၃ 𝟙", "123 456 123 123 123 1"),
        ] {
            assert_eq!(fold(written), plain, "{written}");
        }
        assert_eq!(fold("〇 ½ น้ำ 각"), fold(&fold("〇 ½ น้ำ 각")));
        assert!(fold("二〇二六").contains('〇'));
    }
}
