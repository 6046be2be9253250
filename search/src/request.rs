use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use trawl_connectors::TraceContext;
use trawl_engine::{FacetFields, Query, TimeZone};
use trawl_fair::Asker;

use crate::vocabulary::Vocabulary;

/// Items of one time that a page keeps together (book: explanation/cursors.md).
pub(crate) const LARGEST_TIE: usize = 10_000;

/// Checked parameters.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub struct SearchParameters {
    /// Search text.
    pub keyword: String,
    /// Order.
    pub order: SearchOrder,
    /// Filters.
    pub filters: Filters,
    /// Items of a page, 1 to 1,000.
    pub limit: usize,
    /// Whether matches are marked.
    pub highlight: bool,
    /// Whether the keyword is searched as typed, even if it finds nothing.
    pub exact: bool,
    /// Whether items tell why they were found.
    pub explain: bool,
    /// Counts of all matches.
    pub facets: FacetSelection,
    /// Time until the deadline.
    pub timeout: Duration,
    /// Whether the keyword is still being typed.
    pub typing: bool,
    /// Position of a requested change that is not indexed yet.
    pub missing_change: Option<i64>,
    /// Caller's trace.
    pub trace: Option<TraceContext>,
}

/// A search of one module.
#[derive(Clone, Debug)]
pub struct ModuleSearch {
    /// Id or code.
    pub module: String,
    /// Page.
    pub page: PageRequest,
    /// Parameters.
    pub parameters: SearchParameters,
}

/// One page of a module, by default the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Single source, by id or name.
    pub source: Option<String>,
    /// Position.
    pub start: PageStart,
    /// `paging=cursor`: groups of equal times are split.
    pub is_exact: bool,
    /// Whether an operator's pinned items are left out.
    pub hides_pinned: bool,
}

/// Position of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PageStart {
    /// The first match.
    #[default]
    Beginning,
    /// Below this time.
    Before(i64),
    /// The cursor of an earlier answer.
    Cursor(String),
}

/// The order of an answer's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum SearchOrder {
    /// `displayTime` descending.
    Time,
    /// Best first.
    Relevance,
}

/// The filters of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Earliest time, inclusive.
    pub from: Option<i64>,
    /// Latest time, exclusive.
    pub to: Option<i64>,
    /// Author.
    pub author: Option<String>,
}

/// The facets that a search asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FacetSelection {
    /// Whether matches are counted by module.
    pub module: bool,
    /// Whether matches are counted by source.
    pub source: bool,
    /// Whether matches are counted by the author's name.
    pub author: bool,
    /// The time zone in which matches are counted by period.
    pub time: Option<TimeZone>,
}

impl FacetSelection {
    /// Whether none is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The facets that the index counts.
    pub(crate) fn fields(&self) -> Option<FacetFields> {
        let fields = FacetFields { author: self.author, time: self.time.clone() };
        (fields != FacetFields::default()).then_some(fields)
    }
}

/// Searching person or application.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// Tenant.
    pub tenant_id: i64,
    /// None for an application.
    pub user_id: Option<String>,
    /// The application that asks, or by which the person does.
    pub client_id: Arc<str>,
    /// Principals that open restricted items.
    pub principals: Arc<[String]>,
}

/// A person or application that has a share of a tenant's searches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SearcherKey {
    Person(String),
    Application(Arc<str>),
}

/// A person or application of a tenant, which has a share of all searches.
pub(crate) type Searcher = Asker<i64, SearcherKey>;

impl Viewer {
    pub(crate) fn searcher(&self) -> Searcher {
        let member = match &self.user_id {
            Some(person) => SearcherKey::Person(person.clone()),
            None => SearcherKey::Application(Arc::clone(&self.client_id)),
        };
        Searcher { group: self.tenant_id, member }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SearchContext {
    pub(crate) viewer: Viewer,
    pub(crate) parameters: SearchParameters,
    pub(crate) query: Arc<Query>,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) deadline: Instant,
}

impl SearchContext {
    pub(crate) fn new(
        viewer: Viewer,
        parameters: SearchParameters,
        vocabulary: Arc<Vocabulary>,
        deadline: Instant,
    ) -> Self {
        let query = Query::parse(&parameters.keyword);
        let in_all_spellings = |query: Query| query.with_synonyms(&vocabulary.synonyms).with_spellings();
        let query = match parameters.order {
            _ if parameters.exact => query.exactly(),
            // Words that only ask are not required; relevance order weighs them by itself.
            SearchOrder::Time => in_all_spellings(query).without_question_words(),
            SearchOrder::Relevance => in_all_spellings(query),
        };
        Self { viewer, parameters, query: Arc::new(query), vocabulary, deadline }
    }

    /// The same search for another keyword.
    pub(crate) fn with_keyword(&self, keyword: &str) -> Self {
        let parameters = SearchParameters { keyword: keyword.to_owned(), ..self.parameters.clone() };
        Self::new(self.viewer.clone(), parameters, Arc::clone(&self.vocabulary), self.deadline)
    }
}
