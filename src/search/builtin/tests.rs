//! Pages that are kept are those that the index would give now.

use std::fmt::Debug;

use proptest::{collection::vec, prelude::*, sample::select};
use tokio::time::Instant;
use trawl_index::{Audience, Change, Checkpoint, Document, Index, Options, Query, Scope};

use super::*;
use crate::{
    config,
    search::request::{Filters, Viewer},
};

const TENANTS: [i64; 2] = [1, 2];
const MODULES: [&str; 2] = ["article", "news"];
const WORDS: [&str; 3] = ["harbour", "quay", "crane"];
/// One of one word is answered at once where it may be, all others are kept.
const KEYWORDS: [&str; 4] = ["harbour ", "harbour quay ", "\"quay crane\"", "har"];
/// What a person carries, and what a document names; without any, the whole tenant.
const PRINCIPALS: [&[&str]; 4] = [&[], &["user:mei"], &["user:omar"], &["user:mei", "department:dock"]];

/// Puts a document into the index, or takes it away.
#[derive(Clone, Debug)]
struct Write {
    scope: (i64, &'static str),
    id: u8,
    /// Its words; `None` takes it away.
    words: Option<Vec<&'static str>>,
    audience: &'static [&'static str],
    display_time: i64,
}

/// A search of one page.
#[derive(Clone, Debug)]
struct Search {
    scope: (i64, &'static str),
    keyword: &'static str,
    principals: &'static [&'static str],
    by_relevance: bool,
    limit: usize,
    whole_ties: Option<usize>,
    to: Option<i64>,
    /// The page is the one behind the first of so many.
    behind: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Write(Write),
    Search(Search),
}

fn any_scope() -> impl Strategy<Value = (i64, &'static str)> {
    (select(TENANTS.to_vec()), select(MODULES.to_vec()))
}

fn any_step() -> impl Strategy<Value = Step> {
    let words = prop::option::weighted(0.8, vec(select(WORDS.to_vec()), 1..4));
    let write = (any_scope(), 0_u8..6, words, select(PRINCIPALS.to_vec()), 0_i64..4).prop_map(
        |(scope, id, words, audience, display_time)| {
            Step::Write(Write { scope, id, words, audience, display_time })
        },
    );
    let whole_ties = prop::option::of(1_usize..4);
    let search = (
        (any_scope(), select(KEYWORDS.to_vec()), select(PRINCIPALS.to_vec())),
        (any::<bool>(), 1_usize..4, whole_ties, prop::option::weighted(0.2, 1_i64..4), 0_usize..2),
    )
        .prop_map(|((scope, keyword, principals), (by_relevance, limit, whole_ties, to, behind))| {
            Step::Search(Search { scope, keyword, principals, by_relevance, limit, whole_ties, to, behind })
        });
    prop_oneof![1 => write, 3 => search]
}

impl Write {
    fn into_change(self) -> Change {
        let (scope, id) = (Scope::new(self.scope.0, self.scope.1), self.id.to_string());
        let Some(words) = self.words else { return Change::Remove { scope, id } };
        let principals = self.audience.iter().map(|name| (*name).to_owned()).collect();
        Change::Put(Document {
            // The item tells one version of a document from another.
            item: format!("{id} {words:?} {:?}", self.audience),
            scope,
            id,
            display_time: self.display_time,
            title: words.join(" "),
            title_is_name: false,
            other_names: Vec::new(),
            text: None,
            sub_title: String::new(),
            brief: String::new(),
            author: String::new(),
            audience: if self.audience.is_empty() {
                Audience::Tenant
            } else {
                Audience::Principals(principals)
            },
        })
    }
}

/// What the index is asked, written down without the code under test.
fn request<'a>(scope: &'a index::Scope, ask: &'a Ask, start: index::Start) -> index::Request<'a> {
    index::Request {
        scope,
        query: &ask.query,
        principals: &ask.viewer.principals,
        from: ask.filters.from,
        to: ask.filters.to,
        author: ask.filters.author.as_deref(),
        start,
        limit: ask.limit,
    }
}

impl Search {
    fn ask(&self) -> Arc<Ask> {
        let principals = self.principals.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(Ask {
            viewer: Viewer { tenant_id: self.scope.0, user_id: None, principals },
            keyword: self.keyword.to_owned(),
            query: Arc::new(Query::parse(self.keyword)),
            filters: Filters { to: self.to, ..Filters::default() },
            order: if self.by_relevance { Order::Relevance } else { Order::Time },
            limit: self.limit,
            whole_ties: self.whole_ties.filter(|_| !self.by_relevance),
            before: None,
            deadline: Instant::now() + Duration::from_mins(1),
            trace: None,
        })
    }
}

/// Without the positions, which follow from the items.
fn told(page: &Page) -> impl PartialEq + Debug + use<> {
    let items = page.entries.iter().map(|entry| (entry.item.id.clone(), entry.item.json.clone()));
    (items.collect::<Vec<_>>(), page.next.clone(), page.total, page.tie_cut)
}

proptest! {
    #![proptest_config(trawl_seeds::cases(48))]

    #[test]
    fn whoever_searches_whatever_is_written_in_between_a_page_is_the_one_of_now(steps in vec(any_step(), 1..120)) {
        let (index, mut writer) =
            Index::in_memory(&Options { writer_memory_bytes: 15 << 20, ..Options::default() }).unwrap();
        let served = Arc::new(Served::of(index.clone()));
        let pages = BuiltInPages::new(config::Cache { fresh_ms: 0, stale_ms: 0, bytes: 1 << 20 });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Write(write) => {
                    writer.apply(vec![write.into_change()]).unwrap();
                    let position = i64::try_from(number).unwrap();
                    let checkpoint = Checkpoint { store: "test".to_owned(), position, complete: true };
                    writer.commit(&checkpoint).unwrap();
                }
                Step::Search(search) => {
                    let ((tenant, module), ask) = (search.scope, search.ask());
                    let source = BuiltinSource::new(Arc::clone(&served), pages.clone(), tenant, module, module);
                    let mut position = Position::Beginning;
                    for _ in 0..=search.behind {
                        let found = runtime.block_on(source.page(&ask, &position)).unwrap();
                        let Some(start) = start(&ask, &position) else { break };
                        let now = index.snapshot().search(&request(&source.scope, &ask, start.clone())).unwrap();
                        prop_assert_eq!(told(&found), told(&into_page(now, &ask, &start)), "{:?}", search);
                        let Some(next) = found.next else { break };
                        position = next;
                    }
                }
            }
        }
    }
}
