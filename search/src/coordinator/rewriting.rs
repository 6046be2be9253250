//! Policy of keywords: as typed, then corrected, then with fewer words.
//!
//! Each is searched by an attempt of its own, until one finds something.

use std::pin::pin;

use futures::future::{Either, select};
use tokio::time::timeout_at;
use trawl_engine::{
    Texts,
    correction::{Correction, UnknownWords},
    fold,
    text::stem,
};

use super::PageContext;
use crate::{
    answer::{Relaxed, SearchFailure, SearchPage},
    cursor::Rewrite,
    module::SearchableModule,
    relaxation::{MatchCounter, relax},
    request::{PageRequest, PageStart, SearchContext, SearchOrder},
    source::{ResultItem, Status},
    sources::builtin::BuiltinSource,
};

impl PageContext {
    /// Corrects words that nothing shows, then leaves out words that no item holds together.
    pub(super) async fn answer(
        &self,
        module: &SearchableModule,
        page: &PageRequest,
    ) -> Result<SearchPage, SearchFailure> {
        if matches!(page.start, PageStart::Cursor(_)) || self.search.parameters.exact {
            return self.search_as_typed(module, page).await;
        }
        let asks_external = module.asks_external(page.source.as_deref());
        let (unknown, typed) = {
            let (looking_up, searching) =
                (pin!(self.unknown_words()), pin!(self.search_as_typed(module, page)));
            match select(looking_up, searching).await {
                Either::Left((unknown, _)) if !asks_external && unknown.correction.is_some() => {
                    (unknown, None)
                }
                Either::Left((unknown, searching)) => (unknown, Some(searching.await?)),
                Either::Right((typed, looking_up)) => (looking_up.await, Some(typed?)),
            }
        };
        let UnknownWords { correction, uncorrected } = unknown;
        let answer = match typed {
            Some(typed) if correction.is_none() && !finds_nothing(&typed) => typed,
            // Boxed, as it is rare and larger than all else.
            typed => Box::pin(self.answer_rewritten(module, page, correction, typed)).await?,
        };
        Ok(self.naming_unknown_words(answer, &uncorrected))
    }

    /// `typed`: the answer for the keyword as typed, if it is known.
    async fn answer_rewritten(
        &self,
        module: &SearchableModule,
        page: &PageRequest,
        correction: Option<Correction>,
        typed: Option<SearchPage>,
    ) -> Result<SearchPage, SearchFailure> {
        let asks_external = module.asks_external(page.source.as_deref());
        let corrected = match (correction, &typed) {
            (Some(correction), Some(typed)) if asks_external => {
                self.without_shown_words(&correction, module, page, typed).await
            }
            (correction, _) => correction,
        };
        let rewrite = Rewrite { corrected, relaxation: None };
        if rewrite.corrected.is_some()
            && let Some(corrected) = self.search_instead(module, page, rewrite.clone()).await
        {
            return Ok(corrected);
        }
        let typed = match typed {
            Some(typed) => typed,
            None => self.search_as_typed(module, page).await?,
        };
        let sources = module.builtin_sources(page.source.as_deref()).collect();
        if finds_nothing(&typed)
            && let Some(rewrite) = self.relax(sources, rewrite).await
            && let Some(relaxed) = self.search_instead(module, page, rewrite).await
        {
            return Ok(relaxed);
        }
        Ok(typed)
    }

    /// Decides by the first page, as for all later ones.
    async fn without_shown_words(
        &self,
        correction: &Correction,
        module: &SearchableModule,
        page: &PageRequest,
        typed: &SearchPage,
    ) -> Option<Correction> {
        if page.start == PageStart::Beginning {
            return self.without_words_of(correction, &typed.items);
        }
        let first = PageRequest { start: PageStart::Beginning, ..page.clone() };
        let typed = self.search_as_typed(module, &first).await.ok()?;
        self.without_words_of(correction, &typed.items)
    }

    /// Keeps words as typed that items show, which only external sources can have.
    pub(super) fn without_words_of<'a>(
        &self,
        correction: &Correction,
        items: impl IntoIterator<Item = &'a ResultItem>,
    ) -> Option<Correction> {
        let shown = ShownTexts::of(items);
        correction.without(&self.search.parameters.keyword, |word| shown.hold(word))
    }

    /// Names words that nothing holds, which relevance order leaves out by itself.
    pub(super) fn naming_unknown_words(&self, answer: SearchPage, words: &[String]) -> SearchPage {
        let is_complete = words.is_empty() || answer.relaxed.is_some() || !answer.shows_a_match();
        if is_complete || self.search.parameters.order == SearchOrder::Time {
            return answer;
        }
        let shown = ShownTexts::of(answer.shown());
        let left_out: Vec<String> = words.iter().filter(|word| !shown.hold(word)).cloned().collect();
        let relaxed = (!left_out.is_empty()).then_some(Relaxed { left_out });
        SearchPage { relaxed, ..answer }
    }

    /// Looks up words that no built-in content of the tenant shows.
    pub(super) async fn unknown_words(&self) -> UnknownWords {
        let SearchContext { viewer, parameters, deadline, .. } = &*self.search;
        if parameters.exact {
            return UnknownWords::default();
        }
        let known = self.search.vocabulary.known();
        let looking_up = self.spelling.unknown_words(viewer, &parameters.keyword, known);
        timeout_at(*deadline, looking_up).await.unwrap_or_default()
    }

    /// Leaves out words, by what the index counts. Relevance order requires none.
    pub(super) async fn relax(&self, sources: Vec<&BuiltinSource>, corrected: Rewrite) -> Option<Rewrite> {
        let SearchContext { parameters, deadline, .. } = &*self.search;
        if parameters.order == SearchOrder::Relevance {
            return None;
        }
        let keyword = corrected.keyword().unwrap_or(&parameters.keyword);
        let matches = IndexMatches { search: &self.search, sources };
        let relaxation = timeout_at(*deadline, relax(keyword, &matches)).await.ok().flatten()?;
        Some(Rewrite { relaxation: Some(relaxation), ..corrected })
    }
}

/// Matches in the index, which alone counts them.
struct IndexMatches<'a> {
    search: &'a SearchContext,
    sources: Vec<&'a BuiltinSource>,
}

#[async_trait::async_trait]
impl MatchCounter for IndexMatches<'_> {
    async fn count(&self, keyword: String) -> u64 {
        let search = self.search.with_keyword(&keyword);
        let mut count = 0;
        for source in &self.sources {
            count += source.count(search.clone()).await.unwrap_or(0);
        }
        count
    }
}

/// Folded texts of items.
struct ShownTexts(String);

impl ShownTexts {
    fn of<'a>(items: impl IntoIterator<Item = &'a ResultItem>) -> Self {
        let mut shown = String::new();
        for item in items {
            shown.extend(Texts::read(&item.json).beginning(usize::MAX).flat_map(|text| [text, "\n"]));
        }
        Self(fold(&shown).into_owned())
    }

    fn hold(&self, word: &str) -> bool {
        self.0.contains(&*stem(&fold(word)))
    }
}

/// Tells whether all sources answered with a total of 0.
///
/// Without a total, a source cannot prove it.
pub(super) fn finds_nothing(page: &SearchPage) -> bool {
    let mut answered = page.sources.iter().filter(|source| source.status == Status::Ok);
    page.total == 0 && page.items.is_empty() && !page.partial && answered.all(|source| source.total.is_some())
}
