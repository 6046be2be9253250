//! A page in order of relevance: the best scores, then the newest, then the smallest ids.

use std::cmp::Ordering;

use tantivy::Score;

use super::Found;
use super::matches::{Part, Parts};
use crate::Error;
use crate::view::View;

/// By how much, relatively, an upper bound may fall short of the score that it bounds.
const ROUNDING: Score = 1e-5;

/// Reads the hits behind the first `skip`.
pub(super) fn collect(
    view: &View,
    parts: &Parts<'_>,
    skip: usize,
    limit: usize,
) -> Result<Vec<Found>, Error> {
    let wanted = skip.saturating_add(limit);
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut best = Best { view, wanted, kept: Vec::new(), threshold: Score::MIN, failure: None };
    for part in &parts.parts {
        best.read(part)?;
    }
    let kept = best.finish()?;
    Ok(kept.into_iter().skip(skip).map(|scored| scored.found).collect())
}

#[derive(Clone, Copy)]
struct Scored {
    score: Score,
    found: Found,
}

/// Keeps the best documents, in bounded memory.
struct Best<'a> {
    view: &'a View,
    wanted: usize,
    kept: Vec<Scored>,
    /// Scores that are not above this cannot be among the best.
    threshold: Score,
    failure: Option<Error>,
}

impl Best<'_> {
    fn read(&mut self, part: &Part<'_>) -> Result<(), Error> {
        let Some(weight) = part.weight() else { return Ok(()) };
        weight.for_each_pruning(self.threshold, &part.segment.reader, &mut |document, score| {
            if part.range.contains(&document) && part.is_alive(document) {
                let display_time = part.segment.opened.times.get_val(document);
                self.push(Scored { score, found: Found { segment: part.ordinal, document, display_time } });
            }
            self.threshold
        })?;
        self.failure.take().map_or(Ok(()), Err)
    }

    fn push(&mut self, scored: Scored) {
        self.kept.push(scored);
        if self.kept.len() >= self.wanted.saturating_mul(2) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let Self { view, kept, failure, .. } = self;
        kept.sort_by(|left, right| {
            compare(view, left, right).unwrap_or_else(|error| {
                *failure = Some(error);
                Ordering::Equal
            })
        });
        kept.truncate(self.wanted);
        if let Some(worst) = kept.last()
            && kept.len() == self.wanted
        {
            // An equal score may still win by its time, and the engine's upper bounds are rounded.
            self.threshold = (worst.score - worst.score.abs() * ROUNDING).next_down();
        }
    }

    fn finish(mut self) -> Result<Vec<Scored>, Error> {
        self.shrink();
        self.failure.map_or(Ok(self.kept), Err)
    }
}

fn compare(view: &View, left: &Scored, right: &Scored) -> Result<Ordering, Error> {
    let by_value = right
        .score
        .total_cmp(&left.score)
        .then_with(|| right.found.display_time.cmp(&left.found.display_time));
    if by_value.is_ne() {
        return Ok(by_value);
    }
    if left.found.segment == right.found.segment {
        let ordinals = &view.segments[left.found.segment].opened.id_ordinals;
        return Ok(ordinals.get_val(left.found.document).cmp(&ordinals.get_val(right.found.document)));
    }
    Ok(id(view, left.found)?.cmp(&id(view, right.found)?))
}

fn id(view: &View, found: Found) -> Result<String, Error> {
    let segment = &view.segments[found.segment].opened;
    let mut id = String::new();
    segment.ids.ord_to_str(segment.id_ordinals.get_val(found.document), &mut id)?;
    Ok(id)
}
