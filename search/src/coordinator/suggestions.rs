//! Completions of what a person types, from the built-in sources.

mod ranking;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use trawl_engine::{CompletedPart, Hit, PrefixPlace, Query, Request, Scope, TypedPrefix};

use self::ranking::{Candidate, rank};
use super::{Coordinator, items::within};
use crate::{
    error::{Error, Result},
    module::{SearchableModule, builtin_sources},
    request::Viewer,
    source::SourceFailure,
    sources::builtin::BuiltinSource,
};

/// Newest documents of a module that are read for each part.
const DOCUMENTS: usize = 32;

/// A typed prefix, and the modules that may complete it.
#[derive(Clone, Debug)]
pub struct SuggestionRequest {
    /// The prefix as typed.
    pub prefix: String,
    /// Id or code; `None` for every module.
    pub module: Option<String>,
    /// At most so many suggestions.
    pub limit: usize,
    /// Time until the deadline.
    pub timeout: Duration,
}

/// A completion, and the owner of its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Suggestion {
    /// The title or name.
    pub text: String,
    /// Owner of the text.
    pub kind: SuggestionKind,
    /// Code of the item's content, or of the module itself; null for an author.
    #[schema(required)]
    pub module: Option<String>,
    /// Id of the item or the module; null for an author.
    #[schema(required)]
    pub id: Option<String>,
}

/// Owner of a suggested text. Of equal texts, the first kind is suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SuggestionKind {
    /// A person of the directory.
    Person,
    /// A department.
    Department,
    /// A search module.
    Module,
    /// Any other item.
    Title,
    /// The author of items.
    Author,
}

impl Coordinator {
    /// Completes a prefix by titles, names, authors and modules that the viewer may see.
    ///
    /// # Errors
    /// [`Error::NoSuchModule`], [`Error::TooManySearches`], [`Error::Unavailable`].
    pub async fn suggest(&self, viewer: &Viewer, request: &SuggestionRequest) -> Result<Vec<Suggestion>> {
        let SuggestionRequest { prefix, module, limit, timeout: most } = request;
        let (modules, _permit) = self.admit(viewer, *most).await?;
        let searched: Vec<&Arc<SearchableModule>> = match module {
            Some(module) => vec![modules.find(module).ok_or(Error::NoSuchModule)?],
            None => modules.list().iter().collect(),
        };
        let Some(prefix) = TypedPrefix::new(prefix) else { return Ok(Vec::new()) };
        let mut candidates = within(*most, candidates_of_index(&searched, viewer, &prefix)).await?;
        if module.is_none() {
            candidates.extend(searched.iter().filter_map(|module| candidate_of_module(module, &prefix)));
        }
        Ok(rank(candidates, *limit))
    }
}

async fn candidates_of_index(
    modules: &[&Arc<SearchableModule>],
    viewer: &Viewer,
    prefix: &TypedPrefix,
) -> Result<Vec<Candidate>, SourceFailure> {
    let sources: Vec<&BuiltinSource> = builtin_sources(modules.iter().copied()).collect();
    let Some(first) = sources.first() else { return Ok(Vec::new()) };
    let queries: Vec<(CompletedPart, Arc<Query>)> =
        prefix.queries().into_iter().map(|(part, query)| (part, Arc::new(query))).collect();
    let (mut asked, mut requests) = (Vec::new(), Vec::new());
    for source in &sources {
        for (part, query) in &queries {
            asked.push((source.scope(), *part));
            let total = Request::total_of(source.scope(), &viewer.principals, Arc::clone(query));
            requests.push(Request { limit: DOCUMENTS, ..total });
        }
    }
    let found = first.newest(viewer, &requests.into()).await?;
    let found = asked.into_iter().zip(found);
    let candidates = found.flat_map(|((scope, part), hits)| {
        hits.into_iter().filter_map(move |hit| candidate_of_hit(scope, part, hit, prefix))
    });
    Ok(candidates.collect())
}

/// Fields of an item.
#[derive(Deserialize)]
struct NamedItem {
    title: Option<String>,
    author: Option<String>,
}

fn candidate_of_hit(scope: &Scope, part: CompletedPart, hit: Hit, prefix: &TypedPrefix) -> Option<Candidate> {
    let item: NamedItem = serde_json::from_str(&hit.item).ok()?;
    let text = match part {
        CompletedPart::Author => item.author?,
        CompletedPart::Title | CompletedPart::Name => item.title?,
    };
    let kind = match (part, scope.module.as_str()) {
        (CompletedPart::Author, _) => SuggestionKind::Author,
        (_, "people") => SuggestionKind::Person,
        (_, "department") => SuggestionKind::Department,
        _ => SuggestionKind::Title,
    };
    let place = match (part, kind) {
        // The `t` of `T-7003` begins every id.
        (CompletedPart::Name, SuggestionKind::Title) if !prefix.has_digits() => return None,
        (CompletedPart::Name, _) => PrefixPlace::TextStart,
        (CompletedPart::Title | CompletedPart::Author, _) => prefix.place_in(&text)?,
    };
    let (module, id) = match part {
        CompletedPart::Author => (None, None),
        CompletedPart::Title | CompletedPart::Name => (Some(scope.module.clone()), Some(hit.id)),
    };
    let suggestion = Suggestion { text, kind, module, id };
    Some(Candidate { place, display_time: hit.display_time, suggestion })
}

fn candidate_of_module(searchable: &SearchableModule, prefix: &TypedPrefix) -> Option<Candidate> {
    let module = &searchable.module;
    let place = prefix.place_in(&module.name)?;
    let suggestion = Suggestion {
        text: module.name.clone(),
        kind: SuggestionKind::Module,
        module: Some(module.code.clone()),
        id: Some(module.id.clone()),
    };
    Some(Candidate { place, display_time: 0, suggestion })
}
