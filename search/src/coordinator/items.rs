//! Single items, as a viewer may see them.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use serde::Deserialize;
use tokio::time::timeout;
use trawl_engine::{Highlighter, Hit, Query, Request};

use super::Coordinator;
use crate::{
    error::{Error, Result},
    highlight::Highlight,
    module::{ModuleSource, SearchableModule, TenantModules, builtin_sources},
    request::Viewer,
    source::{PagedSource, ResultItem, SourceFailure},
    sources::builtin::{BuiltinSource, request_of_id},
};

/// An item of a module.
#[derive(Clone, Debug)]
pub struct ItemRequest {
    /// Id or code.
    pub module: String,
    /// Single source, by id or name; the first with such an item, if absent.
    pub source: Option<String>,
    /// Id of the item.
    pub id: String,
    /// Time until the deadline.
    pub timeout: Duration,
}

/// An item that the viewer may see.
#[derive(Debug)]
pub struct FoundItem {
    /// Code of the module that was asked.
    pub module: String,
    /// Id of its source.
    pub source: String,
    /// Module code of built-in content; `None` for an external item.
    pub content: Option<String>,
    /// The item.
    pub item: ResultItem,
}

/// A module's code and an item's id.
pub type ModuleItemKey = (String, String);

/// Items read for each wanted one of an author.
///
/// Others share words of the name.
const NAMESAKES: usize = 4;

#[derive(Deserialize)]
struct Stated {
    author: Option<String>,
}

impl Coordinator {
    /// Finds an item. External systems are not called: their items are those of the last searches.
    ///
    /// # Errors
    /// [`Error::NoSuchModule`], [`Error::NoSuchSource`], [`Error::TooManySearches`], [`Error::Unavailable`].
    pub async fn find_item(&self, viewer: &Viewer, request: &ItemRequest) -> Result<Option<FoundItem>> {
        let ItemRequest { module, source, id, timeout: most } = request;
        let (modules, _permit) = self.admit(viewer, *most).await?;
        let module = modules.find(module).ok_or(Error::NoSuchModule)?;
        let sources: Vec<&ModuleSource> = module.sources(source.as_deref()).collect();
        if let Some(source) = source.as_ref().filter(|_| sources.is_empty()) {
            return Err(Error::NoSuchSource(source.clone()));
        }
        within(*most, find_in(module, &sources, viewer, id)).await
    }

    /// Finds built-in items by their keys, each at its key's place.
    ///
    /// Items that the viewer may not see are `None`. Others come with the code of a module that shows them.
    ///
    /// # Errors
    /// [`Error::TooManySearches`], [`Error::Unavailable`].
    pub async fn find_builtin_items(
        &self,
        viewer: &Viewer,
        keys: &[ModuleItemKey],
        most: Duration,
    ) -> Result<Vec<Option<(String, ResultItem)>>> {
        let (modules, _permit) = self.admit(viewer, most).await?;
        let sources: Vec<&BuiltinSource> = builtin_sources(modules.list()).collect();
        let Some(any) = sources.first() else { return Ok(keys.iter().map(|_| None).collect()) };
        let source_of = |content: &str| sources.iter().find(|source| source.scope().module == content);
        let shown_by: Vec<Option<&&BuiltinSource>> =
            keys.iter().map(|(content, _)| source_of(content)).collect();
        let requests = keys.iter().zip(&shown_by);
        let requests = requests
            .filter_map(|((_, id), source)| source.map(|source| request_of_id(source.scope(), viewer, id)));
        let mut found = within(most, any.newest(viewer, &requests.collect())).await?.into_iter();
        let mut next = |source: &BuiltinSource| {
            let hit = found.next()?.into_iter().next()?;
            Some((module_of(&modules, source)?.to_owned(), ResultItem::from(hit)))
        };
        Ok(shown_by.into_iter().map(|source| next(source?)).collect())
    }

    /// Finds an author's newest built-in items that the viewer may see.
    ///
    /// The newest comes first. Each has the code of a module that shows it.
    ///
    /// # Errors
    /// [`Error::TooManySearches`], [`Error::Unavailable`].
    pub async fn newest_of_author(
        &self,
        viewer: &Viewer,
        author: &str,
        limit: usize,
        most: Duration,
    ) -> Result<Vec<(ModuleItemKey, ResultItem)>> {
        let (modules, _permit) = self.admit(viewer, most).await?;
        let sources: Vec<&BuiltinSource> = builtin_sources(modules.list()).collect();
        let query = Arc::new(Query::by_author(author));
        let Some(any) = sources.first().filter(|_| !query.is_empty()) else { return Ok(Vec::new()) };
        let request = |source: &&BuiltinSource| Request {
            limit: limit * NAMESAKES,
            ..Request::total_of(source.scope(), &viewer.principals, Arc::clone(&query))
        };
        let found = within(most, any.newest(viewer, &sources.iter().map(request).collect())).await?;
        let is_theirs = |hit: &Hit| {
            let stated = serde_json::from_str::<Stated>(&hit.item);
            stated.is_ok_and(|stated| stated.author.as_deref() == Some(author))
        };
        let in_modules = sources.iter().zip(found).flat_map(|(source, hits)| {
            let module = module_of(&modules, source);
            hits.into_iter()
                .filter(is_theirs)
                .filter_map(move |hit| Some(((module?.to_owned(), hit.id.clone()), ResultItem::from(hit))))
        });
        let mut items: Vec<(ModuleItemKey, ResultItem)> = in_modules.collect();
        items.sort_by_key(|(_, item)| Reverse(item.display_time));
        items.truncate(limit);
        Ok(items)
    }

    /// Marks the matches of a keyword in an item and in its text.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn highlight_item(
        &self,
        viewer: &Viewer,
        item: &ResultItem,
        text: &str,
        keyword: &str,
    ) -> Result<Highlight> {
        let modules = self.directory.modules_of(viewer.tenant_id).await?;
        let query = Query::parse(keyword).with_synonyms(&modules.vocabulary().synonyms);
        let query = query.with_spellings().without_stop_words();
        Ok(Highlight::of(item, text, &Highlighter::new(&query)))
    }
}

/// Returns the code of a module that shows a source's content.
///
/// That is the module of the content itself, else the first.
fn module_of<'a>(modules: &'a TenantModules, source: &BuiltinSource) -> Option<&'a str> {
    let content = &source.scope().module;
    let shows = |module: &&Arc<SearchableModule>| module.sources(Some(source.id())).next().is_some();
    let of_content = modules.find(content).filter(shows);
    of_content.or_else(|| modules.list().iter().find(shows)).map(|module| module.module.code.as_str())
}

async fn find_in(
    module: &SearchableModule,
    sources: &[&ModuleSource],
    viewer: &Viewer,
    id: &str,
) -> Result<Option<FoundItem>, SourceFailure> {
    for source in sources {
        if let Some(item) = source.find_item(viewer, id).await? {
            return Ok(Some(FoundItem {
                module: module.module.code.clone(),
                source: source.id().to_owned(),
                content: match source {
                    ModuleSource::Builtin(source) => Some(source.scope().module.clone()),
                    ModuleSource::External(_) => None,
                },
                item,
            }));
        }
    }
    Ok(None)
}

pub(super) async fn within<T>(
    most: Duration,
    work: impl Future<Output = Result<T, SourceFailure>>,
) -> Result<T> {
    let result = timeout(most, work).await.unwrap_or_else(|_| Err(SourceFailure::timed_out(most)));
    result.map_err(|failure| Error::Unavailable(failure.message))
}
