//! Folding of width, case and accents, so that what looks alike matches.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Folds width and compatibility forms (NFKC), case, and accents: `Ｃａｆé` becomes `cafe`.
///
/// Accents are the combining marks U+0300–036F that remain after decomposition; the voicing marks of kana are not
/// among them, so `が` stays what it is.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(text.to_ascii_lowercase());
        }
        return Cow::Borrowed(text);
    }
    let folded = text
        .nfkd()
        .filter(|character| !('\u{300}'..='\u{36f}').contains(character))
        .nfc()
        .flat_map(char::to_lowercase)
        // What lower-casing decomposes (`İ`), and the sigma that ends a word.
        .filter(|character| !('\u{300}'..='\u{36f}').contains(character))
        .map(|character| if character == 'ς' { 'σ' } else { character })
        .collect();
    Cow::Owned(folded)
}

/// Whether folding does nothing to the character but lower-case it: ASCII, the common ideographs and their commas.
fn is_plain(character: char) -> bool {
    matches!(character, '\0'..='\x7f' | '\u{4e00}'..='\u{9fff}' | '、' | '。' | '《' | '》' | '「' | '」')
        || matches!(character, '“' | '”')
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn width_case_and_accents_are_folded() {
        assert_eq!(fold("Ｃａｆé ＮＡÏＶＥ １２"), "cafe naive 12");
        assert_eq!(fold("İstanbul ΣΟΦΟΣ"), "istanbul σοφοσ");
        assert_eq!(fold("ABC中文"), "abc中文");
    }

    #[test]
    fn kana_keep_their_voicing() {
        assert_eq!(fold("がぱ"), "がぱ");
        assert_eq!(fold("ｶﾞｯｺｳ"), "ガッコウ");
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(fold("plain 中文，"), std::borrow::Cow::Owned(_)));
        assert!(matches!(fold("plain 中文。"), std::borrow::Cow::Borrowed(_)));
    }
}
