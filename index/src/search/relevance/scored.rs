use std::cmp::{Ordering, Reverse};

use tantivy::DocId;
use trawl_engine::relevance::{MatchScore, RankKey, RankPosition};

use crate::Error;
use crate::schema::TextFields;
use crate::search::stored::Match;
use crate::view::IndexView;

#[derive(Clone, Copy)]
pub(super) struct Scored {
    pub(super) score: MatchScore,
    /// Whether it is one of the best, whose scores are refined.
    pub(super) is_rescored: bool,
    pub(super) found: Match,
    pub(super) texts: TextFields,
    /// Its place in the request.
    pub(super) scope: usize,
}

impl Scored {
    pub(super) fn key(&self) -> RankKey {
        RankKey { is_rescored: self.is_rescored, score: self.score.total().into() }
    }

    /// Whether it comes behind a place; the id is read only for ties.
    pub(super) fn is_behind(&self, view: &IndexView, place: &RankPosition) -> Result<bool, Error> {
        let by_score = place.key.cmp(&self.key());
        Ok(match by_score.then_with(|| place.display_time.cmp(&self.found.display_time)) {
            Ordering::Equal => id(view, self.found)? > place.id,
            order => order.is_gt(),
        })
    }

    /// The score that a hit shows: at most `least`, that of the last rescored one, unless rescored.
    pub(super) fn shown_score(&self, least: f32) -> MatchScore {
        let words = if self.is_rescored { self.score.words } else { self.score.words.min(least) };
        MatchScore { words, ..self.score }
    }
}

/// The place of a match; the first of all without one.
pub(super) fn place_of(view: &IndexView, scored: Option<&Scored>) -> Result<RankPosition, Error> {
    let Some(scored) = scored else { return Ok(RankPosition::default()) };
    let display_time = scored.found.display_time;
    Ok(RankPosition { key: scored.key(), display_time, id: id(view, scored.found)? })
}

/// Sorts by score, time and id, which is read only for ties.
pub(super) fn sort(view: &IndexView, scored: &mut [Scored]) -> Result<(), Error> {
    let order = |scored: &Scored| (Reverse(scored.key()), Reverse(scored.found.display_time));
    let by_value = |left: &Scored, right: &Scored| order(left).cmp(&order(right));
    scored.sort_by(by_value);
    for equals in scored.chunk_by_mut(|left, right| by_value(left, right).is_eq()) {
        let [first, .., _] = equals else { continue };
        let segment = first.found.segment;
        if equals.iter().all(|scored| scored.found.segment == segment) {
            let ordinals = &view.segments[segment].opened.id_ordinals;
            equals.sort_by_cached_key(|scored| ordinals.get_val(scored.found.document));
            continue;
        }
        let mut failure = None;
        equals.sort_by_cached_key(|scored| {
            id(view, scored.found).unwrap_or_else(|error| {
                failure = Some(error);
                String::new()
            })
        });
        failure.map_or(Ok(()), Err)?;
    }
    Ok(())
}

fn id(view: &IndexView, found: Match) -> Result<String, Error> {
    let segment = &view.segments[found.segment].opened;
    let mut id = String::new();
    segment.ids.ord_to_str(segment.id_ordinals.get_val(found.document), &mut id)?;
    Ok(id)
}

/// Documents of a scope in a segment's half, with their index among the matches.
pub(super) struct SegmentGroup {
    pub(super) segment: usize,
    pub(super) texts: TextFields,
    pub(super) scope: usize,
    pub(super) documents: Vec<(DocId, usize)>,
}

pub(super) fn group_by_segment(scored: &[Scored]) -> Vec<SegmentGroup> {
    let mut groups: Vec<SegmentGroup> = Vec::new();
    for (place, &Scored { found, texts, scope, .. }) in scored.iter().enumerate() {
        let is_of = |group: &SegmentGroup| {
            group.segment == found.segment && group.scope == scope && group.texts.body == texts.body
        };
        let at = groups.iter().position(is_of).unwrap_or_else(|| {
            groups.push(SegmentGroup { segment: found.segment, texts, scope, documents: Vec::new() });
            groups.len() - 1
        });
        groups[at].documents.push((found.document, place));
    }
    for group in &mut groups {
        group.documents.sort_unstable();
    }
    groups
}
