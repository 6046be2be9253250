use tantivy::DocId;
use trawl_engine::relevance::MatchScore;

use crate::Error;
use crate::schema::TextFields;
use crate::search::stored::Match;
use crate::view::IndexView;

#[derive(Clone, Copy)]
pub(super) struct Scored {
    pub(super) score: MatchScore,
    pub(super) found: Match,
    pub(super) texts: TextFields,
    /// Its place in the request.
    pub(super) scope: usize,
}

/// Sorts by score, time and id, which is read only for ties.
pub(super) fn sort(view: &IndexView, scored: &mut [Scored]) -> Result<(), Error> {
    let by_value = |left: &Scored, right: &Scored| {
        let by_score = left.score.descending(&right.score);
        by_score.then_with(|| right.found.display_time.cmp(&left.found.display_time))
    };
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
