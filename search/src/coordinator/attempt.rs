//! One search of a page for one keyword.

use std::sync::Arc;

use futures::future::join;

use super::PageContext;
use crate::{
    answer::{Facets, Relaxed, SearchFailure, SearchPage},
    cursor::{self, PageCursor, Rewrite},
    explanation,
    facets::{self, ModuleTotals},
    highlight,
    module::{ModuleSource, SearchableModule},
    pinned::Pinned,
    plan::plan,
    request::{PageRequest, PageStart, SearchContext, SearchOrder},
    rounds::SearchRounds,
};

impl PageContext {
    /// Searches for the keyword as typed. Later pages stay with the keyword of their cursor.
    pub(super) async fn search_as_typed(
        &self,
        module: &SearchableModule,
        page: &PageRequest,
    ) -> Result<SearchPage, SearchFailure> {
        self.attempt(module, page, None).await
    }

    /// Searches for another keyword; `None` if that finds nothing either.
    pub(super) async fn search_instead(
        &self,
        module: &SearchableModule,
        page: &PageRequest,
        rewrite: Rewrite,
    ) -> Option<SearchPage> {
        let answer = self.attempt(module, page, Some(rewrite)).await.ok()?;
        (answer.total > 0 || !answer.items.is_empty()).then_some(answer)
    }

    async fn attempt(
        &self,
        module: &SearchableModule,
        page: &PageRequest,
        rewrite: Option<Rewrite>,
    ) -> Result<SearchPage, SearchFailure> {
        let binding = cursor::binding(&self.search, &module.module.id, page)?;
        let opened = match (&page.start, &rewrite) {
            (PageStart::Cursor(text), None) => Some(PageCursor::open(text, &*self.cursor_key, &binding)?),
            _ => None,
        };
        let continued = opened.as_ref().map(|cursor| cursor.rewrite.clone());
        let rewrite = rewrite.or(continued).unwrap_or_default();
        let search = self.searched_for(&rewrite);
        let mut pinned = match &opened {
            Some(cursor) => Pinned { items: Vec::new(), marks: cursor.pinned.clone() },
            None => self.pinned(module, page, &search).await,
        };
        let mut plan = plan(&search.parameters, page, module, opened)?;
        plan.leave_out(&mut pinned);
        let sources: Vec<ModuleSource> = plan.lanes.iter().map(|lane| lane.source.clone()).collect();
        let mut rounds = SearchRounds::new(plan, Arc::clone(&search), self.source_pages);
        let selection = search.parameters.facets.clone();
        let modules = [module];
        let counting = facets::count_fields(&search, &selection, &modules, page.source.as_deref());
        let ((), counts) = join(rounds.run(), counting).await;
        let search = match rounds.ranked_query() {
            Some(query) => Arc::new(SearchContext { query: Arc::clone(query), ..(*search).clone() }),
            None => search,
        };
        let seal = |cursor| {
            let cursor = PageCursor { rewrite: rewrite.clone(), pinned: pinned.marks.clone(), ..cursor };
            cursor.seal(&*self.cursor_key, &binding)
        };
        let answer = rounds.finish(seal)?;
        let Rewrite { corrected, relaxation } = rewrite;
        let left_out = relaxation.map_or(Vec::new(), |relaxation| relaxation.left_out);
        let relaxed = (!left_out.is_empty()).then_some(Relaxed { left_out });
        if page.start != PageStart::Beginning {
            pinned.items.clear();
        }
        let mut answer = SearchPage { pinned, corrected, relaxed, ..answer };
        if !selection.is_empty() {
            let totals = ModuleTotals::answered(module, &answer);
            answer.facets = Some(Facets::new(&selection, &counts, &[totals]));
        }
        if search.parameters.explain {
            explanation::add(&mut answer, &search, &sources).await;
        }
        if !search.parameters.highlight {
            return Ok(answer);
        }
        let marked = match search.parameters.order {
            SearchOrder::Relevance => Arc::new(search.query.without_stop_words()),
            SearchOrder::Time => Arc::clone(&search.query),
        };
        Ok(highlight::add(answer, &marked).await?)
    }

    /// Those of the keyword as typed, whatever is searched for in its place.
    async fn pinned(&self, module: &SearchableModule, page: &PageRequest, search: &SearchContext) -> Pinned {
        let pins = self.search.vocabulary.pinned(&self.search.parameters.keyword);
        if pins.is_empty() || page.hides_pinned {
            return Pinned::default();
        }
        let sources: Vec<_> = module.builtin_sources(page.source.as_deref()).collect();
        Pinned::find(&sources, search, pins).await
    }
}
