//! Counts of all matches by author and day.

use std::collections::{BTreeMap, HashMap};

use tantivy::columnar::StrColumn;
use tantivy::{DocId, DocSet};
use tokio_util::sync::CancellationToken;
use trawl_engine::{Days, FacetFields, FieldCounts, Request, Start};

use super::budget::{SearchError, StepBudget};
use super::execute::until;
use super::matches::{Matches, SegmentMatches};
use super::plan::Plan;
use super::relevance;
use super::viewer_scope::ViewerScope;
use crate::Error;
use crate::schema::AUTHOR_COLUMN;
use crate::view::{IndexView, Segment};

pub(crate) fn count_fields(
    view: &IndexView,
    requests: &[Request],
    fields: FacetFields,
    cancelled: &CancellationToken,
) -> Result<FieldCounts, Error> {
    until(cancelled, |budget| {
        let mut authors: Vec<Option<AuthorCounts>> = Vec::with_capacity(view.segments.len());
        for segment in &view.segments {
            authors.push(if fields.author { AuthorCounts::open(segment)? } else { None });
        }
        let mut days = DayCounts { zone: fields.time.map(Days::new), ..DayCounts::default() };
        for request in requests.iter().filter(|request| !request.query.is_empty()) {
            for plan in plans(view, request, budget)? {
                let matches = Matches::new(view, &plan, request.from, request.to, budget)?;
                for part in &matches.parts {
                    count_part(view, part, authors[part.ordinal].as_mut(), &mut days, budget)?;
                }
            }
        }
        let mut counts = FieldCounts { days: days.finish(), ..FieldCounts::default() };
        for authors in authors.into_iter().flatten() {
            authors.add_to(&mut counts.authors)?;
        }
        Ok(counts)
    })
}

/// Plans of the matches, one for each scope.
fn plans(view: &IndexView, request: &Request, budget: &mut StepBudget) -> Result<Vec<Plan>, SearchError> {
    if let Start::Relevance(list) = &request.start {
        return relevance::plans(view, request, &list.beside, budget);
    }
    let scope = ViewerScope::new(view, &request.scope, &request.principals)?;
    Ok(vec![Plan::new(&scope, request, None, budget)?])
}

fn count_part(
    view: &IndexView,
    part: &SegmentMatches<'_>,
    mut authors: Option<&mut AuthorCounts>,
    days: &mut DayCounts,
    budget: &mut StepBudget,
) -> Result<(), SearchError> {
    let mut documents = part.documents(view, part.range.start, budget)?;
    let mut document = documents.doc();
    while document < part.range.end {
        if part.is_alive(document) {
            days.add(part.segment, document);
            if let Some(authors) = &mut authors {
                authors.add(document);
            }
        }
        document = documents.advance_within(budget)?;
    }
    Ok(())
}

/// Matches of a segment by the ordinal of their author.
struct AuthorCounts {
    names: StrColumn,
    counts: Vec<u64>,
}

impl AuthorCounts {
    /// `None` if no document has an author.
    fn open(segment: &Segment) -> Result<Option<Self>, Error> {
        let names = segment.reader.fast_fields().str(AUTHOR_COLUMN)?;
        Ok(names.map(|names| Self { counts: vec![0; names.num_terms()], names }))
    }

    fn add(&mut self, document: DocId) {
        let ordinal = self.names.ords().first(document).and_then(|ordinal| usize::try_from(ordinal).ok());
        if let Some(count) = ordinal.and_then(|ordinal| self.counts.get_mut(ordinal)) {
            *count += 1;
        }
    }

    fn add_to(self, authors: &mut HashMap<String, u64>) -> Result<(), Error> {
        let mut name = String::new();
        for (ordinal, count) in (0..).zip(self.counts).filter(|(_, count)| *count > 0) {
            if self.names.ord_to_str(ordinal, &mut name)? {
                *authors.entry(std::mem::take(&mut name)).or_default() += count;
            }
        }
        Ok(())
    }
}

/// Counts matches by day.
///
/// Documents of a segment are sorted by time. So many in a row are of one day.
#[derive(Default)]
struct DayCounts {
    /// None counts nothing.
    zone: Option<Days>,
    days: BTreeMap<i64, u64>,
    latest: Option<(i64, u64)>,
}

impl DayCounts {
    fn add(&mut self, segment: &Segment, document: DocId) {
        let Some(zone) = &mut self.zone else { return };
        let day = zone.day_of(segment.opened.times.get_val(document));
        match &mut self.latest {
            Some((latest, count)) if *latest == day => *count += 1,
            latest => {
                if let Some((day, count)) = latest.replace((day, 1)) {
                    *self.days.entry(day).or_default() += count;
                }
            }
        }
    }

    fn finish(mut self) -> BTreeMap<i64, u64> {
        if let Some((day, count)) = self.latest {
            *self.days.entry(day).or_default() += count;
        }
        self.days
    }
}
