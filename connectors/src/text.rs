//! Texts of others, cleaned and bounded for pages, logs and terminals.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineBreaks {
    /// Breaks and tabs become spaces.
    One,
    /// Line feeds and tabs stay.
    Many,
}

/// Controls, noncharacters that XML forbids, and characters that turn the surrounding text around.
///
/// Joiners and direction marks stay, as emoji, Persian and Hebrew need them.
pub(crate) fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\t' | '\u{2028}' | '\u{2029}')
}

/// A fast path for UTF-8 bytes.
fn is_surely_fit(byte: u8) -> bool {
    // The last three start U+0080 to U+00BF, U+2000 to U+2FFF and U+F000 to U+FFFF.
    !matches!(byte, 0..0x20 | 0x7f | 0xc2 | 0xe2 | 0xef)
}

/// Looks at every byte, which compiles to vector instructions.
fn are_surely_fit(text: &str) -> bool {
    text.bytes().fold(true, |fit, byte| fit & is_surely_fit(byte))
}

pub(crate) fn holds_unfit(text: &str) -> bool {
    !are_surely_fit(text) && text.contains(is_unfit)
}

/// A text of others on one line, without characters that are unfit to show.
pub fn clean_line(text: String) -> String {
    clean(text, usize::MAX, LineBreaks::One)
}

/// A text of others in lines, without characters that are unfit to show.
pub fn clean_lines(text: String) -> String {
    clean(text, usize::MAX, LineBreaks::Many)
}

/// Cut between characters, to `bound` bytes.
pub(crate) fn clean(text: String, bound: usize, lines: LineBreaks) -> String {
    let is_fit =
        are_surely_fit(&text) || !text.contains(|character| is_unfit(character) || is_break(character));
    if is_fit && text.len() <= bound {
        return text;
    }
    let mut cleaned = String::with_capacity(text.len().min(bound));
    for character in text.chars() {
        let replacement = match (character, lines) {
            ('\n' | '\t', LineBreaks::Many) => character,
            (character, LineBreaks::Many) if is_break(character) => '\n',
            (character, LineBreaks::One) if is_break(character) => ' ',
            (character, _) if is_unfit(character) => continue,
            _ => character,
        };
        if cleaned.len() + replacement.len_utf8() > bound {
            break;
        }
        cleaned.push(replacement);
    }
    cleaned
}

/// On one line, without addresses, which may carry keys.
pub(crate) fn quote(text: &str, characters: usize) -> String {
    let words: Vec<&str> = text
        .split(|character: char| character.is_whitespace() || is_unfit(character))
        .filter(|word| !word.is_empty())
        .map(|word| if word.contains("://") { "…" } else { word })
        .take(characters)
        .collect();
    words.join(" ").chars().take(characters).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn line_breaks_stay_only_where_lines_are_meant() {
        assert_eq!(clean("a\r\nb\tc\u{7}".into(), 100, LineBreaks::Many), "a\nb\tc");
        assert_eq!(clean("a\r\nb\tc\u{7}".into(), 100, LineBreaks::One), "a b c");
    }

    #[test]
    fn direction_overrides_are_removed_and_joiners_stay() {
        let one = |text: &str| clean(text.into(), 100, LineBreaks::One);
        assert_eq!(one("invoice\u{202e}fdp.exe\u{2066}x\u{2069}"), "invoicefdp.exex");
        assert_eq!(one("a\u{2028}b\u{2029}c\u{fffe}\u{ffff}"), "a b c");
        assert_eq!(clean("a\u{2028}b".into(), 100, LineBreaks::Many), "a\nb");
        for whole in ["👩\u{200d}👩\u{200d}👧", "می\u{200c}خواهم", "א\u{200f}b\u{200e}", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "e\u{301}"]
        {
            assert_eq!(one(whole), whole);
        }
        assert_eq!(quote("a\u{202e}b", 10), "a b");
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(clean("搜索".into(), 5, LineBreaks::One), "搜");
    }

    #[test]
    fn a_quotation_holds_no_address_and_no_line_break() {
        assert_eq!(quote("see\nhttps://host/?key=1 \u{1b}[31mnow", 200), "see … [31mnow");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn fast_path_misses_no_unfit_character(character in any::<char>()) {
            let is_fit = are_surely_fit(&character.to_string());
            prop_assert!(!is_fit || !is_unfit(character) && !is_break(character));
        }

        #[test]
        fn cleaned_text_is_bounded_and_free_of_controls(text in any::<String>(), bound in 0usize..40) {
            let cleaned = clean(text.clone(), bound, LineBreaks::One);
            prop_assert!(cleaned.len() <= bound);
            prop_assert!(!cleaned.contains(is_unfit));
            prop_assert_eq!(clean(cleaned.clone(), bound, LineBreaks::One), cleaned);
            let quoted = quote(&text, bound);
            prop_assert!(quoted.chars().count() <= bound);
            prop_assert!(!quoted.contains(is_unfit) && !quoted.contains("://"));
        }
    }
}
