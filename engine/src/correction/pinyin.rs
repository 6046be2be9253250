//! Words that are typed by their pinyin: baoxiao for 报销.

use std::collections::BTreeMap;

use super::{Context, CorrectableWord, by_likelihood};
use crate::query::{Piece, Target};
use crate::text::PinyinWord;
use crate::{Hit, Query, Texts};

/// A word that may be the pinyin of a part of a title.
#[derive(Debug)]
pub(super) struct SpelledWord<'a> {
    typed: &'a str,
    pinyin: PinyinWord,
    /// Finds the titles that may hold it.
    piece: Piece,
}

impl CorrectableWord {
    /// Whether it can be cut into several syllables.
    pub(super) fn has_syllables(&self) -> bool {
        PinyinWord::read(&self.word).is_some_and(|pinyin| pinyin.has_several_syllables())
    }

    /// Reads it as pinyin, with its last syllable as typed, then unfinished.
    pub(super) fn spelled(&self) -> Vec<SpelledWord<'_>> {
        let pinyin = PinyinWord::read(&self.word);
        let spelled = pinyin.into_iter().flat_map(|pinyin| [pinyin.clone(), pinyin.unfinished()]);
        spelled
            .filter_map(|pinyin| {
                let of_way = |terms: Vec<String>| terms.into_iter().map(Piece::Term).collect();
                let ways: Vec<Vec<Piece>> = pinyin.readings().into_iter().map(of_way).collect();
                (!ways.is_empty()).then(|| SpelledWord {
                    typed: &self.word,
                    pinyin,
                    piece: Piece::Either(ways),
                })
            })
            .collect()
    }
}

impl SpelledWord<'_> {
    /// Queries whose newest [`MAX_SPELLED`](super::MAX_SPELLED) hits tell what is meant: beside the words around it, then alone.
    pub(super) fn queries(&self, context: &Context<'_>) -> Vec<Query> {
        let alone = || Target::Reading.query(vec![self.piece.clone()]);
        let beside = context.neighbour_pieces().map(|pieces| {
            let mut query = Target::Text.query(pieces);
            query.clauses.extend(alone().clauses);
            query
        });
        beside.into_iter().chain([alone()]).collect()
    }

    /// Parts of the titles of hits that it spells, the likeliest first.
    ///
    /// If some part is whole dictionary words, all are.
    pub(super) fn parts_of<'a>(&self, hits: impl IntoIterator<Item = &'a Hit>) -> Vec<String> {
        let mut parts: [BTreeMap<String, u64>; 2] = Default::default();
        for hit in hits {
            let texts = Texts::read(&hit.item);
            for (part, is_words) in texts.title.iter().flat_map(|title| self.pinyin.parts_of(&title.0)) {
                *parts[usize::from(is_words)].entry(part).or_insert(0) += 1;
            }
        }
        let [others, words] = parts;
        by_likelihood(self.typed, if words.is_empty() { &others } else { &words })
    }
}
