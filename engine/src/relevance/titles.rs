//! Whole titles and names within a question: `travel policy` in "who approves the travel policy".
//!
//! A title without stop words is one more term of its document, as names are. A question looks up each span of its words.

use super::parameters::WHOLE_NAME_WEIGHT;
use crate::query::{QueryWord, plain_words};
use crate::text::{WHOLE_NAME, WHOLE_TITLE, is_stop_word, whole_name};

/// Longer titles are no term.
const MAX_TITLE_WORDS: usize = 6;
const MAX_TITLE_BYTES: usize = 128;
/// Words of a question that begin a span.
const MAX_SPANNED_WORDS: usize = 10;

/// A whole title or name that a question may hold.
#[derive(Debug, Clone)]
pub struct WholeText {
    /// The term without the scope's prefix.
    pub term: String,
    /// Weight in multiples of the highest idf.
    pub weight: f32,
}

/// The term of a title; `None` if too long, or without a content word.
pub(crate) fn whole_title(title: &str) -> Option<String> {
    if title.len() > MAX_TITLE_BYTES {
        return None;
    }
    let words = plain_words(title);
    let words: Vec<&str> = words.iter().filter(|word| is_content(word)).map(as_str).collect();
    if words.len() > MAX_TITLE_WORDS { None } else { term_of(WHOLE_TITLE, &words) }
}

/// The whole question, and spans of at least two of its content words, by their share.
#[expect(clippy::cast_precision_loss, reason = "at most the words of a question")]
pub(super) fn whole_texts(typed: &[QueryWord]) -> Vec<WholeText> {
    let as_typed: Vec<&str> = typed.iter().filter(|word| !word.joined).map(as_str).collect();
    let content: Vec<&str> = typed.iter().filter(|word| is_content(word)).map(as_str).collect();
    let mut texts: Vec<WholeText> = Vec::new();
    let mut add = |sign: char, words: &[&str], weight: f32| {
        texts.extend(term_of(sign, words).map(|term| WholeText { term, weight }));
    };
    add(WHOLE_NAME, &as_typed, WHOLE_NAME_WEIGHT);
    add(WHOLE_TITLE, &content, WHOLE_NAME_WEIGHT);
    if content.len() < as_typed.len() {
        add(WHOLE_NAME, &content, WHOLE_NAME_WEIGHT);
    }
    for start in 0..content.len().min(MAX_SPANNED_WORDS) {
        let longest = MAX_TITLE_WORDS.min(content.len() - start);
        for span in (2..=longest).map(|length| &content[start..start + length]) {
            if span.len() < content.len() {
                let weight = WHOLE_NAME_WEIGHT * span.len() as f32 / content.len() as f32;
                add(WHOLE_TITLE, span, weight);
                add(WHOLE_NAME, span, weight);
            }
        }
    }
    texts
}

fn is_content(word: &QueryWord) -> bool {
    !word.joined && !is_stop_word(&word.term)
}

fn as_str(word: &QueryWord) -> &str {
    &word.term
}

fn term_of(sign: char, words: &[&str]) -> Option<String> {
    Some(format!("{sign}{}", whole_name(words.iter().copied())?))
}

#[cfg(test)]
mod tests {
    use super::{whole_texts, whole_title};
    use crate::query::Query;

    #[test]
    fn title_is_one_term_without_stop_words() {
        for (title, expected) in [
            ("The travel policy", Some("~travel polici")),
            ("Leave of absence", Some("~leav absenc")),
            ("报销流程", Some("~报销流程")),
            ("IT policy", Some("~IT polici")),
            ("Wi-Fi", Some("~wi fi")),
            ("Of the", None),
            ("one two three four five six seven", None),
            ("…", None),
        ] {
            assert_eq!(whole_title(title).as_deref(), expected, "{title}");
        }
    }

    #[test]
    fn question_holds_the_titles_of_its_spans() {
        let terms = |keyword: &str| -> Vec<String> {
            whole_texts(&Query::parse(keyword).words).into_iter().map(|text| text.term).collect()
        };
        assert_eq!(
            terms("who approves the travel policy "),
            [
                "=who approv the travel polici",
                "~approv travel polici",
                "=approv travel polici",
                "~approv travel",
                "=approv travel",
                "~travel polici",
                "=travel polici"
            ]
        );
        assert_eq!(terms("budget "), ["=budget", "~budget"]);
        assert!(terms("请问报销流程怎么走").contains(&"~报销流程".to_owned()));
        assert!(terms("周海岚的合同").contains(&"=周海岚".to_owned()));
        for keyword in ["a b c d e f g h i j k l m n o p q r s t u v w x y z", ""] {
            assert!(terms(keyword).len() <= 103, "{keyword}");
        }
    }
}
