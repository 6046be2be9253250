//! Counts of all matches by module, source, author and period.
//!
//! The index counts what the viewer may see. An external source tells its total alone.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use tokio::time::timeout_at;
use trawl_engine::{FieldCounts, MAX_FACET_VALUES, Request};

use crate::{
    answer::{FacetValue, Facets, SearchPage},
    module::{Module, SearchableModule},
    request::{FacetSelection, SearchContext, SearchOrder},
    sources::builtin::{self, BuiltinSource},
};

/// Totals of a module and its sources.
#[derive(Debug)]
pub(crate) struct ModuleTotals {
    code: String,
    total: u64,
    /// Ids of sources, with their totals as far as stated.
    sources: Vec<(String, Option<u64>)>,
    /// Whether a source did not answer.
    is_partial: bool,
}

impl ModuleTotals {
    pub(crate) fn answered(module: &SearchableModule, page: &SearchPage) -> Self {
        let total = page.total.saturating_add(page.pinned.marks.unmatched);
        let sources = page.sources.iter().map(|report| (report.id.clone(), report.total)).collect();
        Self { code: module.module.code.clone(), total, sources, is_partial: page.partial }
    }

    pub(crate) fn failed(module: &Module) -> Self {
        Self { code: module.code.clone(), total: 0, sources: Vec::new(), is_partial: true }
    }
}

/// Counts the matches of modules in the index; `source` limits them to one.
pub(crate) async fn count_fields(
    search: &SearchContext,
    selection: &FacetSelection,
    modules: &[&SearchableModule],
    source: Option<&str>,
) -> FieldCounts {
    let cut = || FieldCounts { is_cut: true, ..FieldCounts::default() };
    let Some(fields) = selection.fields() else { return FieldCounts::default() };
    let mut sources = modules.iter().flat_map(|module| module.builtin_sources(source));
    let Some(first) = sources.next() else { return FieldCounts::default() };
    // Modules may share a source.
    let requests: HashSet<Request> =
        modules.iter().flat_map(|module| requests(search, module, source)).collect();
    let requests: Arc<[Request]> = requests.into_iter().collect();
    let counted = timeout_at(search.deadline, first.count_fields(&search.viewer, &requests, fields)).await;
    // The search itself tells of failures.
    counted.map_or_else(|_| cut(), |counts| counts.unwrap_or_else(|_| cut()))
}

/// Makes the index's requests for a module like a search.
fn requests(search: &SearchContext, module: &SearchableModule, source: Option<&str>) -> Vec<Request> {
    let sources: Vec<&BuiltinSource> = module.builtin_sources(source).collect();
    let together = match search.parameters.order {
        SearchOrder::Relevance => 1,
        SearchOrder::Time => sources.len(),
    };
    sources.iter().take(together).map(|first| first.request_of_all(search, &sources)).collect()
}

impl Facets {
    /// Puts counts of the index beside the totals of all modules.
    pub(crate) fn new(selection: &FacetSelection, counts: &FieldCounts, modules: &[ModuleTotals]) -> Self {
        let sources = || modules.iter().flat_map(|module| &module.sources);
        let is_uncounted = |(id, total): &(String, Option<u64>)| !builtin::is_id(id) && *total != Some(0);
        let partial = counts.is_cut
            || modules.iter().any(|module| module.is_partial)
            || selection.fields().is_some() && sources().any(is_uncounted)
            || sources().any(|(_, total)| total.is_none());
        let mut ids = HashSet::new();
        let of_sources = sources()
            .filter(|(id, _)| ids.insert(id))
            .filter_map(|(id, total)| Some((id.clone(), (*total)?)));
        let of_modules = modules.iter().map(|module| (module.code.clone(), module.total));
        Self {
            module: selection.module.then(|| most(of_modules)),
            source: selection.source.then(|| most(of_sources)),
            author: selection.author.then(|| values(counts.authors())),
            time: selection.time.as_ref().map(|_| values(counts.periods())),
            partial,
        }
    }
}

/// Those with matches, the highest counts first.
fn most(counted: impl Iterator<Item = (String, u64)>) -> Vec<FacetValue> {
    let mut values = values(counted.filter(|(_, count)| *count > 0));
    values.sort_by_key(|value| Reverse(value.count));
    values.truncate(MAX_FACET_VALUES);
    values
}

fn values(counted: impl IntoIterator<Item = (String, u64)>) -> Vec<FacetValue> {
    counted.into_iter().map(|(value, count)| FacetValue { value, count }).collect()
}
