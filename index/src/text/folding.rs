//! Folding of width, case, accents and of traditional and simplified Chinese, so that what is the same word matches.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::traditional::Simplified;

/// Folds width and compatibility forms (NFKC), case, accents, and traditional characters: `Ｃａｆé 國際` becomes
/// `cafe 国际`.
///
/// Accents are the combining marks U+0300–036F that remain after decomposition; the voicing marks of kana are not
/// among them, so `が` stays what it is.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return fold_ascii(text);
    }
    let table = Simplified::table();
    let stays = |character| fold_alone(character, table) == Some(character);
    let Some(first) = text.find(|character| !stays(character)) else { return Cow::Borrowed(text) };
    let mut folded = String::with_capacity(text.len());
    let (same, mut rest) = text.split_at(first);
    folded.push_str(same);
    while !rest.is_empty() {
        let alone = rest.find(|character| match fold_alone(character, table) {
            Some(alone) => {
                folded.push(alone);
                false
            }
            None => true,
        });
        rest = alone.map_or("", |end| &rest[end..]);
        let end = rest.find(|character| fold_alone(character, table).is_some()).unwrap_or(rest.len());
        let (together, after) = rest.split_at(end);
        folded.extend(fold_together(together, table));
        rest = after;
    }
    Cow::Owned(folded)
}

fn fold_ascii(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// What folding makes of a character that it folds by itself, whatever stands beside it: ASCII, its full-width forms,
/// the ideographs of three bytes, and common punctuation. Nearly all that is written in English or Chinese.
///
/// None of them combines with what stands before it, nor with what stands behind it once accents are taken away.
pub(super) fn fold_alone(character: char, table: &Simplified) -> Option<char> {
    /// From a full-width form to what it is a form of.
    const FULL_WIDTH: u32 = 0xfee0;
    match character {
        '\0'..='\x7f' => Some(character.to_ascii_lowercase()),
        '\u{3400}'..='\u{9fff}' => Some(table.of(character)),
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - FULL_WIDTH).map(|narrow| narrow.to_ascii_lowercase())
        }
        '\u{3000}' => Some(' '),
        '、' | '。' | '〈'..='】' | '·' | '—' | '‘' | '’' | '“' | '”' => Some(character),
        _ => None,
    }
}

/// What folding makes of any text.
pub(super) fn fold_together<'a>(text: &'a str, table: &'a Simplified) -> impl Iterator<Item = char> + 'a {
    text.nfkd()
        .filter(|character| !is_accent(*character))
        .nfc()
        .flat_map(char::to_lowercase)
        // What lower-casing decomposes (`İ`), and the sigma that ends a word.
        .filter(|character| !is_accent(*character))
        .map(|character| if character == 'ς' { 'σ' } else { table.of(character) })
}

fn is_accent(character: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&character)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn width_case_and_accents_are_folded() {
        assert_eq!(fold("Ｃａｆé ＮＡÏＶＥ　１２"), "cafe naive 12");
        assert_eq!(fold("İstanbul ΣΟΦΟΣ ﬁne Straße"), "istanbul σοφοσ fine straße");
        assert_eq!(fold("ABC中文"), "abc中文");
    }

    #[test]
    fn traditional_and_simplified_become_one() {
        assert_eq!(fold("國際經濟，臺灣 Ｐｈｏｎｅ"), fold("国际经济,台湾 phone"));
        // A compatibility ideograph of 樂.
        assert_eq!(fold("音\u{f914}"), "音乐");
    }

    #[test]
    fn kana_keep_their_voicing() {
        assert_eq!(fold("がぱ"), "がぱ");
        assert_eq!(fold("ｶﾞｯｺｳ"), "ガッコウ");
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(fold("plain 中文，"), Cow::Owned(_)));
        assert!(matches!(fold("plain 中文。"), Cow::Borrowed(_)));
        assert!(matches!(fold("plain"), Cow::Borrowed(_)));
    }

    /// What is odd about texts: marks of all kinds, Hangul in parts, compatibility letters that decompose to them, ligatures,
    /// ideographs of two planes, half-width kana, letters that grow when they are lower-cased.
    pub(crate) fn odd_text() -> impl Strategy<Value = String> {
        let parts = vec![
            "a",
            "E",
            "é",
            "e",
            "\u{301}",
            "\u{323}",
            "\u{3099}",
            "\u{93c}",
            "\u{94d}",
            "क",
            "ß",
            "ﬁ",
            "İ",
            "Σ",
            "ς",
            "ᄀ",
            "ᅡ",
            "ᆨ",
            "가",
            "ㄱ",
            "ㅏ",
            "ﾡ",
            "か",
            "ガ",
            "ｶ",
            "ﾞ",
            "國",
            "国",
            "㑮",
            "𡻕",
            "\u{f914}",
            "Ａ",
            "，",
            "…",
            "\u{3000}",
            "👍",
            "\u{200d}",
            "\u{fe0f}",
            "葛\u{e0100}",
            "\u{37a}",
            "㌔",
            "ﷺ",
            "<",
            "\u{338}",
            "\u{345}",
            "ᾳ",
            "Ώ",
            "\u{653}",
            "ا",
            "1",
            " ",
        ];
        prop_oneof![
            prop::collection::vec(prop::sample::select(parts), 0..40).prop_map(|parts| parts.concat()),
            any::<String>()
        ]
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(512))]

        #[test]
        fn parts_fold_as_the_whole(text in odd_text()) {
            let whole: String = fold_together(&text, Simplified::table()).collect();
            prop_assert_eq!(&*fold(&text), &whole);
        }

        #[test]
        fn what_is_folded_stays_so(text in "[ -~à-ÿ一-龥㐀-䶿、-】！-～]{0,30}") {
            let once = fold(&text).into_owned();
            prop_assert_eq!(&*fold(&once), &once);
        }
    }
}
