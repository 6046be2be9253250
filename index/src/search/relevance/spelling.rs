//! Raises the best matches that have the words as typed, where texts have other spellings, too.

use trawl_engine::Texts;
use trawl_engine::relevance::parameters::FEEDBACK_DOCUMENTS;
use trawl_engine::relevance::{RankPosition, RankedBy};

use super::RankedSearch;
use super::scored::{Scored, place_of, sort};
use crate::Error;
use crate::search::stored::read_hit;

/// The last of the sorted matches that a typed spelling may raise.
pub(super) fn find_last(search: &RankedSearch<'_>, sorted: &[Scored]) -> Result<Option<RankPosition>, Error> {
    if !search.ranking.words.prefers_a_spelling() {
        return Ok(None);
    }
    let last = sorted.iter().take(FEEDBACK_DOCUMENTS).next_back();
    last.map(|last| place_of(search.view, Some(last))).transpose()
}

pub(super) fn add(
    search: &RankedSearch<'_>,
    ranked_by: &RankedBy,
    rescored: &mut [Scored],
) -> Result<(), Error> {
    let Some(last) = &ranked_by.spelt_to else { return Ok(()) };
    for scored in rescored.iter_mut() {
        if !scored.is_behind(search.view, last)? {
            let item = read_hit(search.view, scored.found)?.item;
            scored.score.nearness += search.ranking.words.typed_spelling_score(&Texts::read(&item));
        }
    }
    sort(search.view, rescored)
}
