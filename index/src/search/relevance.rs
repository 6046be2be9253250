//! A page in order of relevance: the best scores, then the newest, then the smallest ids.
//!
//! First all matches are ranked by their words (`best`), which the engine does without reading those that cannot be among the
//! best. Then the best of them are looked at closely (`closely`, `feedback`). How many these are does not depend on the page
//! that is asked for, so pages join without a seam.

mod best;
mod closely;
mod feedback;

use tantivy::DocId;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, Term};

use self::best::Scored;
use self::closely::Closely;
use super::parameters::{FRESHNESS_HALVES_AFTER, FRESHNESS_WEIGHT, LENGTH, LOOKED_AT_CLOSELY, SATURATION};
use super::plan::Sight;
use super::statistics::ScopeStatistics;
use super::words::Words;
use super::work::{Stop, Work};
use super::{Found, Request};
use crate::schema::TextFields;
use crate::text::HEADING;

/// What the documents of one scope are ranked by.
pub(super) struct Ranking<'a> {
    pub(super) words: Words,
    statistics: ScopeStatistics<'a>,
}

impl<'a> Ranking<'a> {
    /// Looks up the words of the request.
    pub(super) fn read(sight: &Sight<'a>, request: &Request<'_>, work: &mut Work) -> Result<Self, Stop> {
        let statistics = ScopeStatistics::collect(sight.view, &sight.prefix)?;
        let words = Words::read(request.query, sight, &statistics, work)?;
        Ok(Self { words, statistics })
    }
}

/// Reads the hits behind the first `skip`, at the time `now`.
pub(super) fn collect(
    sight: &Sight<'_>,
    ranking: &Ranking<'_>,
    request: &Request<'_>,
    skip: usize,
    now: i64,
    work: &mut Work,
) -> Result<Vec<Found>, Stop> {
    if request.limit == 0 || ranking.words.is_nothing() {
        return Ok(Vec::new());
    }
    let wanted = skip.saturating_add(request.limit).max(LOOKED_AT_CLOSELY);
    let mut best = best::collect(sight, ranking, request, wanted, work)?;
    if skip < LOOKED_AT_CLOSELY {
        let count = best.len().min(LOOKED_AT_CLOSELY);
        let looked_at = &mut best[..count];
        Closely::new(sight, ranking).score(looked_at)?;
        best::sort(sight.view, looked_at)?;
        feedback::add(sight, ranking, looked_at)?;
        for scored in looked_at.iter_mut() {
            scored.score *= freshness(now, scored.found.display_time);
        }
        best::sort(sight.view, looked_at)?;
    }
    Ok(best.into_iter().skip(skip).take(request.limit).map(|scored| scored.found).collect())
}

/// What a score is multiplied with for the document's age.
#[expect(clippy::cast_precision_loss, reason = "an age")]
fn freshness(now: i64, display_time: i64) -> f32 {
    let age = now.saturating_sub(display_time).max(0) as f32;
    1.0 + FRESHNESS_WEIGHT / (1.0 + age / FRESHNESS_HALVES_AFTER)
}

/// Numbers by word, where the scope's own would be counted anew.
struct WordStatistics<'a> {
    scope: &'a ScopeStatistics<'a>,
    words: &'a Words,
    prefix: &'a str,
}

impl Bm25StatisticsProvider for WordStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.scope.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.scope.total_num_docs()
    }

    /// That of the word in the whole text, for its title too; words that the last one begins count as one. The whole of a name
    /// is as rare as can be, however many bear it.
    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let value = term.value();
        let word = value.as_str().and_then(|text| text.strip_prefix(self.prefix)).unwrap_or_default();
        if self.words.whole.as_deref() == Some(word) {
            return Ok(1);
        }
        let word = word.strip_prefix(HEADING).unwrap_or(word);
        let known = self.words.known.iter().find(|known| known.term == word);
        let begun = self.words.begun.as_ref().map_or(1, |begun| begun.documents);
        Ok(known.map_or(begun, |known| known.documents).min(self.scope.documents()))
    }
}

/// BM25 of occurrences, for words of the same rarity and weight: 1 for one in a text of mean length.
struct Saturation {
    mean_length: f32,
}

impl Saturation {
    #[expect(clippy::cast_precision_loss, reason = "lengths and counts of one document")]
    fn of(&self, occurrences: u32, length: u32) -> f32 {
        let occurrences = occurrences as f32;
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * length as f32 / self.mean_length);
        occurrences * (SATURATION + 1.0) / (occurrences + norm)
    }
}

/// The documents of one half of one segment, ascending, with their places among those that are looked at.
struct Group {
    segment: usize,
    texts: TextFields,
    documents: Vec<(DocId, usize)>,
}

/// Puts together what is read together.
fn groups(scored: &[Scored]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (place, Scored { found, texts, .. }) in scored.iter().enumerate() {
        let is_of = |group: &Group| group.segment == found.segment && group.texts.body == texts.body;
        let at = groups.iter().position(is_of).unwrap_or_else(|| {
            groups.push(Group { segment: found.segment, texts: *texts, documents: Vec::new() });
            groups.len() - 1
        });
        groups[at].documents.push((found.document, place));
    }
    for group in &mut groups {
        group.documents.sort_unstable();
    }
    groups
}
