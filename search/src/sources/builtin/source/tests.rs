use std::{fmt::Debug, time::Duration};

use proptest::{collection::vec, prelude::*, sample::select};
use tokio::time::Instant;
use trawl_engine::{Audience, Change, Document, RankedPage};
use trawl_index::EmbeddedEngine;

use super::super::ranked::{into_pages, start_of};
use super::*;
use crate::clock::this_hour;
use crate::{
    request::{Filters, SearchContext, SearchParameters, Viewer},
    settings::CacheSettings,
    testing::{commit, document, index, parameters, viewer},
};

const TENANTS: [i64; 2] = [1, 2];
const MODULES: [&str; 2] = ["article", "news"];
const WORDS: [&str; 3] = ["harbour", "quay", "crane"];
/// Single words may be searched inline.
const KEYWORDS: [&str; 4] = ["harbour ", "harbour quay ", "\"quay crane\"", "har"];
/// Principals of a document; none make it visible to the tenant.
const PRINCIPALS: [&[&str]; 4] = [&[], &["user:mei"], &["user:omar"], &["user:mei", "department:dock"]];

#[derive(Clone, Debug)]
struct Write {
    scope: (i64, &'static str),
    id: u8,
    /// `None` removes the document.
    words: Option<Vec<&'static str>>,
    audience: &'static [&'static str],
    display_time: i64,
}

#[derive(Clone, Debug)]
struct SearchStep {
    scope: (i64, &'static str),
    keyword: &'static str,
    principals: &'static [&'static str],
    by_relevance: bool,
    limit: usize,
    whole_ties: Option<usize>,
    to: Option<i64>,
    behind: usize,
}

#[derive(Clone, Debug)]
enum IndexStep {
    Write(Write),
    Search(SearchStep),
}

fn any_scope() -> impl Strategy<Value = (i64, &'static str)> {
    (select(TENANTS.to_vec()), select(MODULES.to_vec()))
}

fn any_step() -> impl Strategy<Value = IndexStep> {
    let words = prop::option::weighted(0.8, vec(select(WORDS.to_vec()), 1..4));
    let write = (any_scope(), 0_u8..6, words, select(PRINCIPALS.to_vec()), 0_i64..4).prop_map(
        |(scope, id, words, audience, display_time)| {
            IndexStep::Write(Write { scope, id, words, audience, display_time })
        },
    );
    let whole_ties = prop::option::of(1_usize..4);
    let search = (
        (any_scope(), select(KEYWORDS.to_vec()), select(PRINCIPALS.to_vec())),
        (any::<bool>(), 1_usize..4, whole_ties, prop::option::weighted(0.2, 1_i64..4), 0_usize..2),
    )
        .prop_map(|((scope, keyword, principals), (by_relevance, limit, whole_ties, to, behind))| {
            IndexStep::Search(SearchStep {
                scope,
                keyword,
                principals,
                by_relevance,
                limit,
                whole_ties,
                to,
                behind,
            })
        });
    prop_oneof![1 => write, 3 => search]
}

impl Write {
    fn into_change(self) -> Change {
        let (scope, id) = (Scope::new(self.scope.0, self.scope.1), self.id.to_string());
        let Some(words) = self.words else { return Change::Remove { scope, id } };
        let principals = self.audience.iter().map(|name| (*name).to_owned()).collect();
        let item = format!("{id} {words:?} {:?}", self.audience);
        let audience =
            if self.audience.is_empty() { Audience::Tenant } else { Audience::Principals(principals) };
        let document = document(scope, &id, &words.join(" "), item);
        Change::Put(Document { audience, display_time: self.display_time, ..document })
    }
}

impl SearchStep {
    fn request(&self) -> SourceRequest {
        let principals = self.principals.iter().map(|name| (*name).to_owned()).collect();
        let viewer = Viewer { tenant_id: self.scope.0, principals, ..viewer() };
        let parameters = SearchParameters {
            keyword: self.keyword.to_owned(),
            order: if self.by_relevance { SearchOrder::Relevance } else { SearchOrder::Time },
            filters: Filters { to: self.to, ..Filters::default() },
            limit: self.limit,
            ..parameters()
        };
        let search =
            SearchContext::new(viewer, parameters, Arc::default(), Instant::now() + Duration::from_mins(1));
        let whole_ties = self.whole_ties.filter(|_| !self.by_relevance);
        SourceRequest { search: Arc::new(search), whole_ties, before: None, recency: Recency::default() }
    }
}

fn content(page: &SourcePage) -> impl PartialEq + Debug + use<> {
    let items = page.items.iter().map(|item| (item.item.id.clone(), item.item.json.clone()));
    (items.collect::<Vec<_>>(), page.next.clone(), page.total, page.tie_cut)
}

proptest! {
    #![proptest_config(trawl_seeds::cases(48))]

    #[test]
    fn page_equals_the_current_one_for_any_writes_and_viewers(steps in vec(any_step(), 1..120)) {
        let (index, mut writer) = index();
        let served = Arc::new(ServedIndex::of(Arc::new(EmbeddedEngine::from(index.clone()))));
        let pages = IndexPageCache::new(CacheSettings { fresh_ms: 0, stale_ms: 0, bytes: 1 << 20 });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                IndexStep::Write(write) => {
                    commit(&mut writer, i64::try_from(number).unwrap(), vec![write.into_change()]);
                }
                IndexStep::Search(search) => {
                    let ((tenant, module), request) = (search.scope, search.request());
                    let source = BuiltinSource::new(Arc::clone(&served), pages.clone(), tenant, module, module);
                    let mut position = Position::Beginning;
                    for _ in 0..=search.behind {
                        let found = runtime.block_on(source.page(&request, &position)).unwrap();
                        let start = if search.by_relevance {
                            let Start::Relevance(list) = Start::relevance(0, this_hour()) else { unreachable!() };
                            Start::Relevance(RankedPage { start: start_of(&position), ..list })
                        } else {
                            start(&request, &position).unwrap()
                        };
                        let now = index.snapshot().search(&source.request(&request, start)).unwrap();
                        let now = if search.by_relevance {
                            into_pages(now, vec![start_of(&position)]).remove(0)
                        } else {
                            into_page(now, &request)
                        };
                        prop_assert_eq!(content(&found), content(&now), "{:?}", search);
                        let Some(next) = found.next else { break };
                        position = next;
                    }
                }
            }
        }
    }
}
