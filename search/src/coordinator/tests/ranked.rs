//! Relevance order over several sources of the index and other systems.

use proptest::{collection::vec, prelude::*};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use trawl_engine::{
    Change, Engine, FacetFields, FieldCounts, Hit, HitPage, Request, Scope, View, correction::UnknownWords,
};
use trawl_index::EmbeddedEngine;

use super::*;
use crate::{
    settings::CacheSettings,
    source::{Position, PositionedItem, ResultItem, SourceFailure, SourcePage, SourceRequest},
    sources::builtin::{BuiltinSource, IndexPageCache, ServedIndex},
    testing::{commit, document, index},
    weight::Relevance,
};

const MODULES: [&str; 3] = ["news", "article", "feed"];
/// Titles of 1 to 5 words; the searched one is `word`.
const TITLES: [&str; 6] =
    ["word", "a word of many", "nothing", "word word word", "the other word here", "words of words"];

/// A system that sends its items in its own order.
#[derive(Clone, Debug)]
struct RankedSystem {
    id: &'static str,
    titles: Vec<&'static str>,
    page_size: usize,
}

#[async_trait::async_trait]
impl PagedSource for RankedSystem {
    fn id(&self) -> &str {
        self.id
    }

    fn name(&self) -> &str {
        self.id
    }

    async fn page(&self, _: &SourceRequest, position: &Position) -> Result<SourcePage, SourceFailure> {
        let start = if let Position::AfterRank(start) = position { *start } else { 0 };
        let end = self.titles.len().min(start + self.page_size);
        let positioned = |rank: usize| {
            let id = format!("{}{rank}", self.id);
            let json = json!({"id": id, "title": self.titles[rank]}).to_string();
            PositionedItem {
                item: ResultItem { id, json, ..ResultItem::default() },
                after: Position::AfterRank(rank + 1),
                relevance: Relevance::default(),
            }
        };
        Ok(SourcePage {
            items: (start..end).map(positioned).collect(),
            next: (end < self.titles.len()).then_some(Position::AfterRank(end)),
            total: Some(self.titles.len() as u64),
            ..SourcePage::default()
        })
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// A source of the index for each module. Titles go to the modules by number.
fn sources_of_index(documents: &[(usize, &'static str)]) -> Vec<ModuleSource> {
    let (index, mut writer) = index();
    let put = |(number, (module, title)): (usize, &(usize, &'static str))| {
        let id = format!("{}{number}", MODULES[*module]);
        let item = json!({"id": id, "title": title}).to_string();
        Change::Put(document(Scope::new(1, MODULES[*module]), &id, title, item))
    };
    commit(&mut writer, 1, documents.iter().enumerate().map(put).collect());
    sources_over(ServedIndex::of(Arc::new(EmbeddedEngine::from(index))))
}

fn sources_over(served: ServedIndex) -> Vec<ModuleSource> {
    let served = Arc::new(served);
    let cache = IndexPageCache::new(CacheSettings { fresh_ms: 0, stale_ms: 0, bytes: 1 << 20 });
    let source = |module: &&str| BuiltinSource::new(Arc::clone(&served), cache.clone(), 1, module, module);
    MODULES.iter().map(|module| ModuleSource::Builtin(Arc::new(source(module)))).collect()
}

/// An index that never answers a search.
struct SilentIndex;

#[async_trait::async_trait]
impl Engine for SilentIndex {
    fn view(&self) -> Arc<dyn View> {
        Arc::new(Self)
    }

    async fn documents(&self) -> Result<u64, trawl_engine::Failure> {
        Ok(0)
    }

    async fn bytes(&self) -> Result<u64, trawl_engine::Failure> {
        Ok(0)
    }
}

#[async_trait::async_trait]
impl View for SilentIndex {
    async fn search(&self, _: &Arc<Request>) -> Result<HitPage, trawl_engine::Failure> {
        std::future::pending().await
    }

    async fn newest(&self, _: &Arc<[Request]>) -> Result<Vec<Vec<Hit>>, trawl_engine::Failure> {
        Ok(Vec::new())
    }

    async fn count_fields(
        &self,
        _: &Arc<[Request]>,
        _: FacetFields,
    ) -> Result<FieldCounts, trawl_engine::Failure> {
        Ok(FieldCounts::default())
    }

    async fn unknown_words(
        &self,
        _: &Arc<[Arc<Scope>]>,
        _: &Arc<[String]>,
        _: &str,
    ) -> Result<UnknownWords, trawl_engine::Failure> {
        Ok(UnknownWords::default())
    }

    fn generation(&self) -> u64 {
        1
    }
}

fn by_relevance(limit: usize) -> TestSearch {
    TestSearch { order: SearchOrder::Relevance, timeout: Duration::from_mins(1), ..request(limit) }
}

#[test]
fn poor_first_hit_stands_below_every_better_one() {
    let documents = [(0, "word"), (1, "word of honour"), (1, "another word"), (2, "nothing"), (2, "a word")];
    let system = |id, titles: &[&'static str]| RankedSystem { id, titles: titles.to_vec(), page_size: 2 };
    let mut sources = sources_of_index(&documents);
    sources.extend(shared(vec![
        system("poor", &["nothing", "nothing else"]),
        system("good", &["the word", "one more word", "nothing"]),
    ]));
    let page = runtime().block_on(search(&sources, &by_relevance(20))).unwrap();
    assert_eq!(page.items.len(), 9);
    let found = ids(&[page]);
    let place = |id: &str| found.iter().position(|found| found == id).unwrap();
    for good in ["news0", "article1", "article2", "feed4", "good0", "good1"] {
        for poor in ["poor0", "poor1", "good2"] {
            assert!(place(good) < place(poor), "{good} stands below {poor}: {found:?}");
        }
    }
}

#[test]
fn items_of_systems_do_not_need_the_index() {
    for (served, status) in [
        (ServedIndex::default(), Status::Unavailable),
        (ServedIndex::of(Arc::new(SilentIndex)), Status::Timeout),
    ] {
        let mut sources = sources_over(served);
        let titles = vec!["nothing", "a word"];
        sources.extend(shared(vec![
            RankedSystem { id: "x", titles: titles.clone(), page_size: 1 },
            RankedSystem { id: "y", titles: titles.into_iter().rev().collect(), page_size: 1 },
        ]));
        let page = paused_runtime().block_on(search(&sources, &by_relevance(10))).unwrap();
        assert!(page.partial, "{status:?}");
        assert_eq!(page.sources.iter().filter(|source| source.status == status).count(), MODULES.len());
        let (from_x, from_y): (Vec<String>, Vec<String>) =
            ids(&[page]).into_iter().partition(|id| id.starts_with('x'));
        assert_eq!(
            (from_x.as_slice(), from_y[0].as_str()),
            (&["x0", "x1"].map(str::to_owned)[..], "y0"),
            "{status:?}"
        );
    }
}

proptest! {
    #![proptest_config(trawl_seeds::cases(64))]

    #[test]
    fn pages_of_any_length_join_to_the_whole_list(
        documents in vec((0usize..3, prop::sample::select(&TITLES[..])), 0..60),
        systems in vec((vec(prop::sample::select(&TITLES[..]), 0..20), 1usize..7), 0..3),
        limits in vec(1usize..9, 1..4),
    ) {
        let mut sources = sources_of_index(&documents);
        let systems = systems.into_iter().zip(["x", "y", "z"]);
        sources.extend(shared(
            systems.map(|((titles, page_size), id)| RankedSystem { id, titles, page_size }).collect(),
        ));
        let runtime = runtime();
        let whole = runtime.block_on(search(&sources, &by_relevance(1_000))).unwrap();
        let total = whole.total;
        let pages = runtime.block_on(follow_cursor(&sources, by_relevance(1), &limits));
        prop_assert!(pages.iter().all(|page| !page.partial && page.total == total));
        let found = ids(&pages);
        prop_assert_eq!(&found, &ids(&[whole]));
        prop_assert_eq!(found.len() as u64, total);
    }

    #[test]
    fn pages_of_another_replica_go_on_with_the_same_list(
        documents in vec((0usize..3, prop::sample::select(&TITLES[..])), 1..60),
        newer in vec((0usize..3, prop::sample::select(&TITLES[..])), 0..60),
        systems in vec((vec(prop::sample::select(&TITLES[..]), 0..20), 1usize..7), 0..2),
        limits in vec(1usize..9, 1..4),
    ) {
        let known = documents.len();
        let all: Vec<_> = documents.iter().chain(&newer).copied().collect();
        let systems = systems.into_iter().zip(["x", "y"]);
        let systems = shared(systems.map(|((titles, page_size), id)| RankedSystem { id, titles, page_size }).collect());
        let replicas = [&documents, &all].map(|documents| [sources_of_index(documents), systems.clone()].concat());
        let mut asked = replicas.iter().map(Vec::as_slice).cycle();
        let pages = follow_cursor_of(Duplicates::Keep, &mut asked, by_relevance(1), &limits);
        let found = ids(&runtime().block_on(pages));
        let is_newer = |id: &String| MODULES.iter().any(|module| {
            id.strip_prefix(module).is_some_and(|number| number.parse::<usize>().is_ok_and(|number| number >= known))
        });
        let mut found: Vec<String> = found.into_iter().filter(|id| !is_newer(id)).collect();
        let mut expected = ids(&[runtime().block_on(search(&replicas[0], &by_relevance(1_000))).unwrap()]);
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}
