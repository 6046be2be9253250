//! Normalises characters, so that spellings of a word become one.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::letters::{combining, is_ignored, plain_letters};
use super::traditional::SimplifiedTable;

/// Folds forms of one word: `Ｃａｆé, Łódź, 國際` becomes `cafe, lodz, 国际`.
///
/// These are compatibility forms (NFKC), case, accents, letters and digits of all scripts, and traditional
/// characters; characters that show nothing vanish. Voicing marks of kana stay.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return fold_ascii(text);
    }
    let table = SimplifiedTable::table();
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

/// Folds a character that never combines with neighbours; `None` for others.
///
/// ASCII, full-width forms, common ideographs and punctuation: nearly all English and Chinese.
pub(super) fn fold_alone(character: char, table: &SimplifiedTable) -> Option<char> {
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

pub(super) fn fold_together<'a>(
    text: &'a str,
    table: &'a SimplifiedTable,
) -> impl Iterator<Item = char> + 'a {
    text.chars()
        .map(combining)
        .nfkd()
        .filter(|character| !is_ignored(*character))
        .nfc()
        .flat_map(char::to_lowercase)
        // Lower-casing decomposes `İ`.
        .filter(|character| !is_ignored(*character))
        .flat_map(plain_letters)
        .map(|character| table.of(character))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn width_case_and_accents_are_folded() {
        assert_eq!(fold("Ｃａｆé ＮＡÏＶＥ　１２"), "cafe naive 12");
        assert_eq!(fold("İstanbul ΣΟΦΟΣ ﬁne Straße"), "istanbul σοφοσ fine strasse");
        assert_eq!(fold("ABC中文"), "abc中文");
    }

    #[test]
    fn traditional_and_simplified_are_folded_alike() {
        assert_eq!(fold("國際經濟，臺灣 Ｐｈｏｎｅ"), fold("国际经济,台湾 phone"));
        assert_eq!(fold("音\u{f914}"), "音乐");
    }

    #[test]
    fn kana_keep_their_voicing() {
        assert_eq!(fold("がぱ"), "がぱ");
        assert_eq!(fold("ｶﾞｯｺｳ ﾊﾟｽﾎﾟｰﾄ ｳﾞ"), "ガッコウ パスポート ヴ");
        assert_eq!(fold("カ゛イト゛ ﾎ゜"), "ガイド ポ");
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(fold("plain 中文，"), Cow::Owned(_)));
        assert!(matches!(fold("plain 中文。"), Cow::Borrowed(_)));
        assert!(matches!(fold("plain"), Cow::Borrowed(_)));
    }

    /// Combining marks, Hangul in parts, ligatures, rare ideographs, half-width kana.
    pub(crate) fn odd_text() -> impl Strategy<Value = String> {
        let parts = "\u{ad}|\u{200b}|\u{200d}|\u{feff}|ø|Ł|Æ|ı|ẞ|×|أ|\u{640}|\u{64e}|ש|\u{5c1}|٣|๓|น|\u{e33}|\u{e4d}|က|ក|회|🇩|🏽|a|E|é|e|\u{301}|\u{323}|\u{3099}|\u{93c}|\u{94d}|क|ß|ﬁ|İ|Σ|ς|ᄀ|ᅡ|ᆨ|가|ㄱ|ㅏ|ﾡ|か|ガ|ｶ|ﾞ|゛|國|国|\
            㑮|𡻕|\u{f914}|Ａ|，|…|\u{3000}|👍|\u{200d}|\u{fe0f}|葛\u{e0100}|\u{37a}|㌔|ﷺ|<|\u{338}|\u{345}|ᾳ|Ώ|\
            \u{653}|ا|1| ";
        prop_oneof![trawl_seeds::concatenated(parts, 0..40), any::<String>()]
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(512))]

        #[test]
        fn fast_path_folds_like_the_full_algorithm(text in odd_text()) {
            let whole: String = fold_together(&text, SimplifiedTable::table()).collect();
            prop_assert_eq!(&*fold(&text), &whole);
        }

        #[test]
        fn folding_is_idempotent(text in "[ -~à-ÿ一-龥㐀-䶿、-】！-～]{0,30}") {
            let once = fold(&text).into_owned();
            prop_assert_eq!(&*fold(&once), &once);
        }
    }
}
