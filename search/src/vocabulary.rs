//! A tenant's vocabulary, compiled for searches.

use std::collections::HashMap;

use trawl_engine::{correction::KnownWords, fold, query::Synonyms};

/// Synonyms, words that are never corrected, and pinned items.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    /// Terms that find each other.
    pub synonyms: Synonyms,
    known: KnownWords,
    /// Pinned items by normalised keyword.
    pinned: HashMap<String, Vec<PinnedItem>>,
}

/// A built-in item that a keyword shows first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedItem {
    /// Code of its content, as in `builtin:CODE`.
    pub module: String,
    /// Id.
    pub id: String,
}

impl Vocabulary {
    /// Single words of synonyms are not corrected either.
    pub fn new(
        groups: &[Vec<String>],
        one_way: &[(String, Vec<String>)],
        never_correct: &[String],
        pinned: impl IntoIterator<Item = (String, Vec<PinnedItem>)>,
    ) -> Self {
        let terms = groups.iter().flatten().chain(one_way.iter().map(|(from, _)| from));
        Self {
            synonyms: Synonyms::new(groups, one_way),
            known: KnownWords::new(never_correct, terms),
            pinned: pinned.into_iter().map(|(keyword, items)| (normalise(&keyword), items)).collect(),
        }
    }

    pub(crate) fn known(&self) -> &KnownWords {
        &self.known
    }

    /// The items of a keyword in the operator's order.
    pub fn pinned(&self, keyword: &str) -> &[PinnedItem] {
        if self.pinned.is_empty() {
            return &[];
        }
        self.pinned.get(&normalise(keyword)).map_or(&[], Vec::as_slice)
    }
}

/// A text folded and with single spaces; pinned keywords are compared so.
pub fn normalise(text: &str) -> String {
    fold(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyword_in_another_case_or_width_has_the_pinned_items() {
        let item = PinnedItem { module: "news".to_owned(), id: "1".to_owned() };
        let vocabulary = Vocabulary::new(&[], &[], &[], [(" Annual  Leave ".to_owned(), vec![item.clone()])]);
        for keyword in ["annual leave", "ANNUAL\u{3000}leave ", "ａｎｎｕａｌ leave"] {
            assert_eq!(vocabulary.pinned(keyword), std::slice::from_ref(&item), "{keyword}");
        }
        for keyword in ["annual", "annual leave policy", "annualleave", ""] {
            assert_eq!(vocabulary.pinned(keyword), [], "{keyword}");
        }
    }

    #[test]
    fn single_words_of_synonyms_are_known_parts_are_not() {
        let owned = |terms: &[&str]| terms.iter().map(|&term| term.to_owned()).collect::<Vec<String>>();
        let groups = [owned(&["Kombi", "station wagon"])];
        let one_way = [("Limo".to_owned(), owned(&["saloon"]))];
        let vocabulary = Vocabulary::new(&groups, &one_way, &owned(&["Trawler nets", "苏洲"]), []);
        for word in
            ["kombi", "KOMBI", "kombis", "limo", "trawler", "nets", "net", "苏洲", "苏洲仓库", "老蘇洲"]
        {
            assert!(vocabulary.known().contains(word), "{word}");
        }
        for word in ["station", "wagon", "saloon", "other", "洲", "苏州仓库"] {
            assert!(!vocabulary.known().contains(word), "{word}");
        }
    }
}
