//! Substring filter over texts folded like search, without wildcards.

use trawl_engine::fold;

use crate::error::{Error, Result};

/// Prevents matches across texts.
const BETWEEN_TEXTS: char = '\u{1f}';

/// Folds and joins texts.
pub fn fold_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut folded = String::new();
    for text in texts {
        if !folded.is_empty() {
            folded.push(BETWEEN_TEXTS);
        }
        folded.extend(fold(text).chars().map(apart));
    }
    folded
}

/// Folds a keyword; `None` if blank.
pub fn fold_keyword(keyword: Option<String>, most_chars: usize) -> Result<Option<String>> {
    let Some(keyword) = keyword.filter(|keyword| !keyword.trim().is_empty()) else { return Ok(None) };
    if keyword.chars().count() > most_chars {
        return Err(Error::bad_request(format!("keyword: must be at most {most_chars} characters")));
    }
    Ok(Some(fold(&keyword).chars().map(apart).collect()))
}

fn apart(character: char) -> char {
    if character == BETWEEN_TEXTS { ' ' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(texts: &[&str], keyword: &str) -> bool {
        fold_all(texts.iter().copied())
            .contains(&fold_keyword(Some(keyword.to_owned()), 20).unwrap().unwrap())
    }

    #[test]
    fn substring_matches_in_any_spelling() {
        for keyword in ["harbour", "ARBO", "r Ca", "ｃａｆé", "Σοφος", "国际", "100%", "_", "\\"] {
            assert!(holds(&["x", "Harbour Café 國際 σΟΦΟΣ 100%_\\"], keyword), "{keyword}");
        }
        for keyword in ["harb%", "h_rbour", "café国际"] {
            assert!(!holds(&["Harbour Café 國際"], keyword), "{keyword}");
        }
    }

    #[test]
    fn keyword_does_not_match_across_texts() {
        assert!(holds(&["har bour\u{1f}quay"], "r\u{1f}quay"));
        for keyword in ["har bour", "harbour", "har\u{1f}bour"] {
            assert!(!holds(&["har", "bour"], keyword), "{keyword:?}");
        }
    }

    #[test]
    fn blank_keyword_is_none_and_long_one_is_refused() {
        assert_eq!(fold_keyword(Some(" ".to_owned()), 20).unwrap(), None);
        assert_eq!(fold_keyword(None, 20).unwrap(), None);
        let refused = fold_keyword(Some("x".repeat(21)), 20).unwrap_err();
        assert!(refused.message.starts_with("keyword: "), "{refused}");
    }
}
