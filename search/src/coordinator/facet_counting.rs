//! Counts of all modules' matches in the index, beside their search.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;
use trawl_engine::FieldCounts;

use super::{ModuleAnswer, PageContext};
use crate::{
    answer::Facets,
    cursor::Rewrite,
    facets::{ModuleTotals, count_fields},
    module::SearchableModule,
    request::FacetSelection,
};

pub(super) struct FacetCounting {
    selection: FacetSelection,
    /// None without a selection.
    modules: Vec<Arc<SearchableModule>>,
    counting: Option<AbortOnDropHandle<FieldCounts>>,
    totals: Vec<ModuleTotals>,
}

impl FacetCounting {
    pub(super) fn new(selection: FacetSelection, modules: &[Arc<SearchableModule>]) -> Self {
        let modules = if selection.is_empty() { Vec::new() } else { modules.to_vec() };
        Self { selection, modules, counting: None, totals: Vec::new() }
    }

    /// Counts for the keyword that the modules are searched for.
    pub(super) fn start(&mut self, context: &PageContext, rewrite: &Rewrite) {
        if self.selection.is_empty() {
            return;
        }
        let search = context.searched_for(rewrite);
        let (selection, modules) = (self.selection.clone(), self.modules.clone());
        let counting = async move {
            let modules: Vec<&SearchableModule> = modules.iter().map(Arc::as_ref).collect();
            count_fields(&search, &selection, &modules, None).await
        };
        self.counting = Some(AbortOnDropHandle::new(tokio::spawn(counting.in_current_span())));
    }

    pub(super) fn add(&mut self, answer: &ModuleAnswer) {
        let searched = answer.place.and_then(|place| self.modules.get(place));
        self.totals.extend(searched.map(|searched| match &answer.result {
            Ok(page) => ModuleTotals::answered(searched, page),
            Err(_) => ModuleTotals::failed(&answer.module),
        }));
    }

    pub(super) async fn finish(&mut self) -> Option<Facets> {
        let counts = self.counting.take()?.await;
        let counts = counts.unwrap_or_else(|_| FieldCounts { is_cut: true, ..FieldCounts::default() });
        Some(Facets::new(&self.selection, &counts, &self.totals))
    }
}
