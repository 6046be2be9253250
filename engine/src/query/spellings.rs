//! Words in one or apart: `data base` and `database`, `ThinkPad X1` and `ThinkPadX1`.
//!
//! By time a word is found in the spellings that its neighbours allow, too. By relevance it is searched joined, and apart
//! if something holds it so.

use super::pieces::word_piece;
use super::{MAX_TERMS, Piece, Query, QueryWord, Target};
use crate::text::{is_stop_word, stem};

/// Longer keywords are questions, whose words stand for themselves.
const MAX_SPELT_WORDS: usize = 6;
/// Longer keywords have no words that are split.
const MAX_SPLIT_WORDS: usize = 4;
/// Letters of a word that is split into parts.
///
/// Documents have the joined form of shorter parts.
const SPLIT_CHARS: std::ops::RangeInclusive<usize> = 6..=16;
const MIN_PART_CHARS: usize = 3;
const MAX_JOINED_CHARS: usize = 24;

/// A word, as if it were written apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WordSplit {
    position: usize,
    /// Stems of both parts, for each place.
    parts: Vec<[String; 2]>,
}

impl WordSplit {
    /// `None` for numbers, codes, short and long words.
    fn of(word: &QueryWord) -> Option<Self> {
        let written = word.written.as_ref()?;
        let is_split =
            SPLIT_CHARS.contains(&written.len()) && written.bytes().all(|byte| byte.is_ascii_lowercase());
        if !is_split {
            return None;
        }
        let places = MIN_PART_CHARS..=written.len() - MIN_PART_CHARS;
        let parts = places.map(|place| {
            let (before, after) = written.split_at(place);
            [before, after].map(|part| stem(part).into_owned())
        });
        let parts = parts.filter(|parts| !parts.iter().any(|part| is_stop_word(part)));
        Some(Self { position: word.position, parts: parts.collect() })
    }

    fn pieces(&self) -> impl Iterator<Item = Piece> {
        self.parts.iter().map(|[before, after]| Piece::Phrase(vec![(0, before.clone()), (1, after.clone())]))
    }

    /// Finds it written apart.
    pub(super) fn query(&self) -> Query {
        Target::Text.query(vec![Piece::Either(self.pieces().map(|piece| vec![piece]).collect())])
    }

    /// Its parts as words of a query.
    pub(super) fn words(&self) -> impl Iterator<Item = QueryWord> {
        self.parts.iter().enumerate().flat_map(move |(number, parts)| {
            parts.iter().map(move |part| QueryWord {
                position: self.position,
                term: part.clone(),
                quoted: false,
                joined: true,
                // Positions are smaller.
                part_of: Some((self.position + 1) * MAX_TERMS * MAX_TERMS + number),
                written: None,
            })
        })
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.parts.iter().flatten().map(|part| size_of::<String>() + part.len()).sum::<usize>()
    }
}

impl Query {
    /// Finds plain words in other spellings, too; not those of synonyms.
    #[must_use]
    pub fn with_spellings(mut self) -> Self {
        let typed: Vec<QueryWord> =
            self.words.iter().filter(|word| word.written.is_some()).cloned().collect();
        if typed.len() > MAX_SPELT_WORDS {
            return self;
        }
        let joined: Vec<Option<String>> = typed.windows(2).map(joined).collect();
        let splits = typed.iter().map(|word| {
            WordSplit::of(word).filter(|split| typed.len() <= MAX_SPLIT_WORDS && !split.parts.is_empty())
        });
        let splits: Vec<Option<WordSplit>> = splits.collect();
        let terms = self.clauses.iter().flat_map(|clause| &clause.pieces).map(Piece::terms).sum::<usize>();
        let mut terms_left = MAX_TERMS.saturating_sub(terms);
        let last = self.open_word();
        let is_open = |word: &QueryWord| last.is_some() && word.written == last;
        for clause in self.clauses.iter_mut().filter(|clause| clause.is_plain()) {
            for piece in &mut clause.pieces {
                let Some(number) = typed.iter().position(|word| piece.is_word(&word.term)) else { continue };
                let before = number.checked_sub(1).and_then(|before| joined[before].as_deref());
                let before = before.map(|joined| word_piece(joined, is_open(&typed[number])));
                let behind = joined.get(number).and_then(Option::as_deref);
                let behind = behind.map(|joined| word_piece(joined, is_open(&typed[number + 1])));
                let apart = splits[number].iter().flat_map(WordSplit::pieces);
                let others = before.into_iter().chain(behind).chain(apart);
                let mut alternatives = vec![vec![piece.clone()]];
                for other in others {
                    let Some(left) = terms_left.checked_sub(other.terms()) else { break };
                    terms_left = left;
                    alternatives.push(vec![other]);
                }
                if alternatives.len() > 1 {
                    *piece = Piece::Either(alternatives);
                }
            }
        }
        let in_one = typed.iter().zip(&joined).filter_map(|(word, joined)| {
            let term = stem(joined.as_deref()?).into_owned();
            Some(QueryWord { term, joined: true, written: None, ..word.clone() })
        });
        let room = MAX_TERMS.saturating_sub(self.words.len());
        self.words.extend(in_one.take(room));
        self.splits = splits.into_iter().flatten().collect();
        self
    }

    /// The unfinished last word, as typed.
    fn open_word(&self) -> Option<String> {
        let pieces = self.clauses.iter().filter(|clause| clause.is_plain()).flat_map(|clause| &clause.pieces);
        pieces.rev().find_map(|piece| match piece {
            Piece::Prefix { start, .. } => Some(start.clone()),
            _ => None,
        })
    }
}

/// Two words side by side in one; numbers stay apart.
fn joined(words: &[QueryWord]) -> Option<String> {
    let [
        QueryWord { written: Some(first), position, .. },
        QueryWord { written: Some(second), position: next, .. },
    ] = words
    else {
        return None;
    };
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_joined = position + 1 == *next && !(is_number(first) && is_number(second)) && first != second;
    let joined = format!("{first}{second}");
    (is_joined && joined.chars().nth(MAX_JOINED_CHARS).is_none()).then_some(joined)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alternatives(keyword: &str) -> Vec<String> {
        let query = Query::parse(keyword).with_spellings();
        let words = query.clauses.iter().flat_map(|clause| &clause.pieces).map(|piece| match piece {
            Piece::Either(alternatives) => {
                let one = |pieces: &Vec<Piece>| {
                    pieces.iter().flat_map(Piece::words).collect::<Vec<&str>>().join(" ")
                };
                alternatives.iter().map(one).collect::<Vec<String>>().join("|")
            }
            piece => piece.words().join(" "),
        });
        words.collect()
    }

    #[test]
    fn words_are_joined_with_their_neighbours_and_split() {
        assert_eq!(alternatives("wi fi "), ["wi|wifi", "fi|wifi"]);
        assert_eq!(alternatives("office wi fi "), ["offic|officewi|off ice", "wi|officewi|wifi", "fi|wifi"]);
        assert_eq!(
            alternatives("thinkpad x1 "),
            ["thinkpad|thinkpadx1|thi nkpad|thin kpad|think pad", "x1|thinkpadx1"]
        );
        assert_eq!(alternatives("database "), ["databa|dat aba|data base|datab ase"]);
        assert_eq!(alternatives("2024 2025 "), ["2024", "2025"]);
        for keyword in
            ["\"wi fi\"", "-database", "author:database", "a of ", "budget-plan ", "第三 季度", "short"]
        {
            let query = Query::parse(keyword);
            assert_eq!(query.clone().with_spellings().clauses, query.clauses, "{keyword}");
        }
    }

    #[test]
    fn word_apart_is_searched_by_relevance_only_if_held() {
        let query = Query::parse("database ").with_spellings();
        let words = |query: &Query| query.words.iter().map(|word| word.term.clone()).collect::<Vec<_>>();
        assert_eq!(words(&query), ["databa"]);
        let whole_tokens = query.whole_token_queries();
        assert_eq!(whole_tokens.len(), 1);
        assert_eq!(words(&query.with_parts_of(&whole_tokens)), ["databa"]);
        assert!(words(&query.with_parts_of(&[])).contains(&"base".to_owned()));
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn any_keyword_stays_bounded(keyword in "[a-c]{1,20}( [a-z]{1,20}){0,80}|([a-z]{6,16} ){1,5}|\\PC{0,40}") {
            super::super::tests::check_bounds(&Query::parse(&keyword).with_spellings())?;
        }
    }
}
