//! Cleaning and bounding of texts that others wrote, so that none can break a page, a log line or a terminal.

/// Which line structure a text may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// One line: line breaks and tabs become spaces.
    One,
    /// Line feeds and tabs stay.
    Many,
}

/// `text` without control characters and of at most `bound` bytes, cut between characters.
pub(crate) fn clean(text: String, bound: usize, lines: Lines) -> String {
    if text.len() <= bound && !text.contains(char::is_control) {
        return text;
    }
    let mut cleaned = String::with_capacity(text.len().min(bound));
    for character in text.chars() {
        let kept = match character {
            '\n' | '\t' if lines == Lines::Many => character,
            '\n' | '\t' => ' ',
            control if control.is_control() => continue,
            other => other,
        };
        if cleaned.len() + kept.len_utf8() > bound {
            break;
        }
        cleaned.push(kept);
    }
    cleaned
}

/// What a source said, fit to be shown inside a message of ours: one line of at most `characters` characters,
/// without control characters and without addresses (which may carry keys).
pub(crate) fn quote(text: &str, characters: usize) -> String {
    let words: Vec<&str> = text
        .split(|character: char| character.is_whitespace() || character.is_control())
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
    fn a_cut_never_splits_a_character() {
        assert_eq!(clean("搜索".into(), 5, Lines::One), "搜");
    }

    #[test]
    fn a_quotation_holds_no_address_and_no_line_break() {
        assert_eq!(quote("see\nhttps://host/?key=1 \u{1b}[31mnow", 200), "see … [31mnow");
    }

    proptest! {
        #[test]
        fn cleaned_text_is_bounded_and_free_of_controls(text in any::<String>(), bound in 0usize..40) {
            let cleaned = clean(text.clone(), bound, Lines::One);
            prop_assert!(cleaned.len() <= bound);
            prop_assert!(!cleaned.contains(char::is_control));
            prop_assert_eq!(clean(cleaned.clone(), bound, Lines::One), cleaned);
            let quoted = quote(&text, bound);
            prop_assert!(quoted.chars().count() <= bound);
            prop_assert!(!quoted.contains(char::is_control) && !quoted.contains("://"));
        }
    }
}
