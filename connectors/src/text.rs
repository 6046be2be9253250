//! Cleaning and bounding of texts that others wrote, so that none can break a page, a log line or a terminal.

/// Which line structure a text may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// One line: line breaks and tabs become spaces.
    One,
    /// Line feeds and tabs stay.
    Many,
}

/// Whether a character is removed from texts that people read: controls, what turns the direction of the text
/// around it until something else turns it back, so that a title could rewrite the page or log line it stands in
/// (U+202A to U+202E, U+2066 to U+2069), and the two that are none and that XML cannot hold (U+FFFE, U+FFFF). What only
/// shapes its neighbours stays: joiners, as emoji and Persian need them, and the marks of direction (U+200E, U+200F,
/// U+061C).
pub(crate) fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

/// Line feed, tab, and the separators of lines and paragraphs that Unicode has besides.
fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\t' | '\u{2028}' | '\u{2029}')
}

/// Whether a byte of UTF-8 belongs to no character that is unfit or breaks a line; of most texts that is true of all bytes,
/// which is found out much sooner than what their characters are.
fn is_surely_fit(byte: u8) -> bool {
    // The last three begin U+0080 to U+00BF, U+2000 to U+2FFF and U+F000 to U+FFFF.
    !matches!(byte, 0..0x20 | 0x7f | 0xc2 | 0xe2 | 0xef)
}

/// Whether `text` holds an unfit character.
pub(crate) fn holds_unfit(text: &str) -> bool {
    !text.bytes().all(is_surely_fit) && text.contains(is_unfit)
}

/// `text` without unfit characters and of at most `bound` bytes, cut between characters.
pub(crate) fn clean(text: String, bound: usize, lines: Lines) -> String {
    let is_fit = text.bytes().all(is_surely_fit)
        || !text.contains(|character| is_unfit(character) || is_break(character));
    if is_fit && text.len() <= bound {
        return text;
    }
    let mut cleaned = String::with_capacity(text.len().min(bound));
    for character in text.chars() {
        let kept = match (character, lines) {
            ('\n' | '\t', Lines::Many) => character,
            (character, Lines::Many) if is_break(character) => '\n',
            (character, Lines::One) if is_break(character) => ' ',
            (character, _) if is_unfit(character) => continue,
            _ => character,
        };
        if cleaned.len() + kept.len_utf8() > bound {
            break;
        }
        cleaned.push(kept);
    }
    cleaned
}

/// What a source said, fit to be shown inside a message of ours: one line of at most `characters` characters,
/// without unfit characters and without addresses (which may carry keys).
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
        assert_eq!(clean("a\r\nb\tc\u{7}".into(), 100, Lines::Many), "a\nb\tc");
        assert_eq!(clean("a\r\nb\tc\u{7}".into(), 100, Lines::One), "a b c");
    }

    #[test]
    fn what_turns_the_text_around_it_is_removed_and_what_shapes_characters_stays() {
        let one = |text: &str| clean(text.into(), 100, Lines::One);
        assert_eq!(one("invoice\u{202e}fdp.exe\u{2066}x\u{2069}"), "invoicefdp.exex");
        assert_eq!(one("a\u{2028}b\u{2029}c\u{fffe}\u{ffff}"), "a b c");
        assert_eq!(clean("a\u{2028}b".into(), 100, Lines::Many), "a\nb");
        for whole in ["👩\u{200d}👩\u{200d}👧", "می\u{200c}خواهم", "א\u{200f}b\u{200e}", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "e\u{301}"]
        {
            assert_eq!(one(whole), whole);
        }
        assert_eq!(quote("a\u{202e}b", 10), "a b");
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(clean("搜索".into(), 5, Lines::One), "搜");
    }

    #[test]
    fn a_quotation_holds_no_address_and_no_line_break() {
        assert_eq!(quote("see\nhttps://host/?key=1 \u{1b}[31mnow", 200), "see … [31mnow");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn what_is_surely_fit_holds_nothing_else(character in any::<char>()) {
            let is_fit = character.to_string().bytes().all(is_surely_fit);
            prop_assert!(!is_fit || !is_unfit(character) && !is_break(character));
        }

        #[test]
        fn cleaned_text_is_bounded_and_free_of_controls(text in any::<String>(), bound in 0usize..40) {
            let cleaned = clean(text.clone(), bound, Lines::One);
            prop_assert!(cleaned.len() <= bound);
            prop_assert!(!cleaned.contains(is_unfit));
            prop_assert_eq!(clean(cleaned.clone(), bound, Lines::One), cleaned);
            let quoted = quote(&text, bound);
            prop_assert!(quoted.chars().count() <= bound);
            prop_assert!(!quoted.contains(is_unfit) && !quoted.contains("://"));
        }
    }
}
