//! Pages of random modules against a reference list. The server restarts meanwhile.

use std::cmp::Reverse;

use futures::{StreamExt, stream};
use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::Value;

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::Caller,
    items::{NEW_YEAR, item, word_of_case},
    lists::{CursorForm, Lists, Style},
};

const CASES: u32 = 24;
const RESTARTS: usize = 2;
const AT_ONCE: usize = 4;

/// Its paging if external, and its items' times.
#[derive(Clone, Debug)]
struct Drawn {
    style: Option<Style>,
    times: Vec<i64>,
}

#[derive(Clone, Debug)]
struct Case {
    sources: Vec<Drawn>,
    limits: Vec<usize>,
    pages: Vec<usize>,
}

fn any_style() -> impl Strategy<Value = Style> {
    let forms = vec![CursorForm::PageNumber, CursorForm::Offset, CursorForm::Token];
    (
        prop_oneof![1_usize..5, 1_usize..51],
        prop::sample::select(forms),
        prop_oneof![3 => Just(0_usize), 1 => 1_usize..3],
        prop_oneof![1 => Just(Vec::new()), 2 => vec(prop_oneof![1_usize..4, 1_usize..50], 1..6)],
        prop_oneof![3 => Just("time"), 1 => Just("relevance")],
    )
        .prop_map(|(page_size, cursor, empty_pages, lengths, order)| {
            let leads_to_items = cursor != CursorForm::PageNumber;
            let lengths = lengths.into_iter().filter(|_| leads_to_items).map(|length| length.min(page_size));
            Style { page_size, cursor, empty_pages, lengths: lengths.collect(), order }
        })
}

fn any_case() -> impl Strategy<Value = Case> {
    let times = prop_oneof![Just(0_i64..1), Just(0_i64..6), Just(0_i64..1_000)];
    let sources = times.prop_flat_map(|times| {
        let times = prop_oneof![3 => vec(times.clone(), 0..12), 2 => vec(times, 0..60)];
        let external = (any_style().prop_map(Some), times.clone());
        let built_in = (Just(None), times);
        let drawn = |(style, times)| Drawn { style, times };
        // Both built-in contents, one or none.
        (vec(external.prop_map(drawn), 0..7), vec(built_in.prop_map(drawn), 0..3))
            .prop_map(|(external, built_in)| [external, built_in].concat())
            .prop_filter("a module has a source", |sources| !sources.is_empty())
            .prop_shuffle()
    });
    let limits = vec(prop_oneof![1_usize..12, 1_usize..100], 1..4);
    (sources, limits, vec(1_usize..5, RESTARTS)).prop_map(|(sources, limits, pages)| Case {
        sources,
        limits,
        pages,
    })
}

/// Time, place of the source, and id of an item.
type Met = (Reverse<i64>, usize, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Cursor,
    Time,
    Relevance,
}

struct Module {
    case: Case,
    name: String,
    items: Vec<Vec<Value>>,
}

impl Module {
    fn draw(number: usize, runner: &mut TestRunner) -> Self {
        let case = any_case().new_tree(runner).unwrap().current();
        let name = word_of_case(number);
        let items = case.sources.iter().enumerate().map(|(place, source)| {
            let made = source.times.iter().enumerate().map(|(count, time)| {
                // Scrambled ids: their order is not the numerical one.
                item(&format!("{:03}/{place}/{name}-{count}", (count * 37) % 101), &name, NEW_YEAR + time)
            });
            let mut made: Vec<Value> = made.collect();
            match source.style.as_ref().map(|style| style.order) {
                None => made.sort_by_key(|item| (Reverse(time_of(item)), id_of(item))),
                Some("time") => made.sort_by_key(|item| Reverse(time_of(item))),
                Some(_) => {}
            }
            made
        });
        let items = items.collect();
        Self { case, name, items }
    }

    async fn register(&self, operator: &Caller, lists: &Lists, next: &mut usize) -> Vec<&[Value]> {
        let mut names = Vec::new();
        let mut built_in = Vec::new();
        for (place, source) in self.case.sources.iter().enumerate() {
            if let Some(style) = &source.style {
                let id = format!("{}-{place}", self.name);
                let registration = lists.registration(*next, &id, style);
                *next += 1;
                operator.post("/admin/v1/sources", &registration).await.ok();
                names.push(id);
            } else {
                names.push(format!("builtin:{}", CONTENT[built_in.len()]));
                built_in.push(self.items[place].as_slice());
            }
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        operator.register_module(&self.name, &names).await;
        built_in
    }

    fn is_ordered_by_time(&self) -> bool {
        self.case.sources.iter().all(|source| source.style.as_ref().is_none_or(|style| style.order == "time"))
    }

    fn ways(&self) -> Vec<Way> {
        // Unordered sources are paged exactly by the opaque cursor only.
        let by_time = self.is_ordered_by_time().then_some(Way::Time);
        [Way::Cursor, Way::Relevance].into_iter().chain(by_time).collect()
    }

    fn all(&self) -> impl Iterator<Item = (usize, usize, &Value)> {
        let of = |(place, items): (usize, &'_ Vec<Value>)| (place, items.len());
        let places = self.items.iter().enumerate().map(of).collect::<Vec<_>>();
        places
            .into_iter()
            .flat_map(move |(place, length)| (0..length).map(move |rank| (place, rank)))
            .map(|(place, rank)| (place, rank, &self.items[place][rank]))
    }

    fn by_time(&self) -> Vec<Met> {
        let mut list: Vec<Met> =
            self.all().map(|(place, _, item)| (Reverse(time_of(item)), place, id_of(item))).collect();
        list.sort();
        list
    }

    /// Rank, then place at equal weights. Built-in items of one text are in time order.
    /// Each source by rank.
    fn by_relevance(&self) -> Vec<String> {
        let mut list: Vec<_> = self.all().map(|(place, rank, item)| (place, rank, id_of(item))).collect();
        list.sort();
        list.into_iter().map(|(.., id)| id).collect()
    }
}

const CONTENT: [&str; 2] = ["article", "news"];

fn time_of(item: &Value) -> i64 {
    item["displayTime"].as_i64().unwrap()
}

fn id_of(item: &Value) -> String {
    item["id"].as_str().unwrap().to_owned()
}

fn place_of(id: &str) -> usize {
    id.split('/').nth(1).unwrap().parse().unwrap()
}

struct Chain<'a> {
    module: &'a Module,
    way: Way,
    next: Option<String>,
    pages: Vec<Answer>,
}

impl Chain<'_> {
    async fn go_on(&mut self, caller: &Caller, pages: usize) {
        for _ in 0..pages {
            let Some(cursor) = &self.next else { return };
            let limits = &self.module.case.limits;
            let limit = limits[self.pages.len() % limits.len()];
            let limit_text = limit.to_string();
            let name = self.module.name.as_str();
            let mut parameters = vec![("keyword", name), ("moduleId", name), ("limit", &limit_text)];
            parameters.extend(Some(("cursor", cursor.as_str())).filter(|(_, cursor)| !cursor.is_empty()));
            match self.way {
                Way::Cursor => parameters.push(("paging", "cursor")),
                Way::Relevance => parameters.push(("sort", "relevance")),
                Way::Time => {}
            }
            let page = caller.search(&parameters).await.ok();
            assert_eq!(page.body["partial"], false, "{}", page.body["sources"]);
            let is_last = page.cursor().is_none();
            let length = page.items().len();
            assert!(length == limit || is_last || self.way == Way::Time && length > limit, "{}", page.text);
            self.next = match self.way {
                Way::Time => page.items().last().map(|item| time_of(item).to_string()),
                Way::Cursor | Way::Relevance => page.cursor(),
            };
            self.pages.push(page);
        }
        assert!(pages < usize::MAX, "the walk does not end");
    }

    fn ids(&self) -> Vec<String> {
        self.pages.iter().flat_map(|page| page.items()).map(id_of).collect()
    }

    /// Ties within a source are sorted by id: pages may split them in the source's order.
    fn met(&self) -> Vec<Met> {
        let items = self.pages.iter().flat_map(|page| page.items());
        let mut met: Vec<Met> = items
            .map(|item| (Reverse(time_of(item)), place_of(item["id"].as_str().unwrap()), id_of(item)))
            .collect();
        for group in met.chunk_by_mut(|left, right| (left.0, left.1) == (right.0, right.1)) {
            group.sort();
        }
        met
    }

    fn check(&self) {
        let Self { module, way, .. } = self;
        let reference = module.by_time();
        match way {
            Way::Cursor => {
                let mut met = self.met();
                if !module.is_ordered_by_time() {
                    met.sort();
                }
                assert_eq!(met, reference, "{:?}", module.case);
            }
            Way::Time => {
                let reference: Vec<String> = reference.into_iter().map(|(.., id)| id).collect();
                assert_eq!(self.ids(), reference, "{:?}", module.case);
                let times = |page: &Answer| -> Vec<i64> { page.items().iter().map(time_of).collect() };
                let split = |pages: &[Answer]| times(&pages[0]).last() == times(&pages[1]).first();
                assert!(
                    !self.pages.windows(2).any(split) || reference.is_empty(),
                    "a page splits a millisecond: {:?}",
                    module.case
                );
            }
            Way::Relevance => {
                let mut ids = self.ids();
                ids.sort_by_key(|id| place_of(id));
                assert_eq!(ids, module.by_relevance(), "{:?}", module.case);
            }
        }
    }
}

async fn the_pages_are_the_list(keeps_answers: bool) {
    let mut runner = TestRunner::new(trawl_seeds::cases(CASES));
    let cases = usize::try_from(trawl_seeds::count(CASES)).unwrap();
    let modules: Vec<Module> = (0..cases).map(|number| Module::draw(number, &mut runner)).collect();
    let external = modules.iter().flat_map(|module| module.case.sources.iter().zip(&module.items));
    let lists =
        Lists::start(external.filter_map(|(source, items)| Some((items.clone(), source.style.clone()?))));
    let lists = lists.await;

    let mut app = TestApp::start_with(|config| {
        // Time paging over single-item pages reads many of them.
        config.search.source_pages = 1_000;
        if keeps_answers {
            (config.cache.fresh_ms, config.cache.stale_ms) = (60_000, 60_000);
        }
    })
    .await;
    let acme = app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    let (mut kept, mut next) = ([Vec::new(), Vec::new()], 0);
    for module in &modules {
        for (kept, items) in kept.iter_mut().zip(module.register(&operator, &lists, &mut next).await) {
            kept.extend_from_slice(items);
        }
    }
    for (code, items) in CONTENT.iter().zip(&kept) {
        app.put_contents(&acme.caller, code, items).await;
    }

    let token = acme.caller.token.clone();
    // Idle connections delay a restart.
    drop((acme, operator));
    let chain = |module, way| Chain { module, way, next: Some(String::new()), pages: Vec::new() };
    let mut chains: Vec<Chain<'_>> = modules
        .iter()
        .flat_map(|module| module.ways().into_iter().map(move |way| chain(module, way)))
        .collect();
    for restart in 0..=RESTARTS {
        let caller = app.caller(&token);
        stream::iter(&mut chains)
            .for_each_concurrent(AT_ONCE, async |chain| {
                let pages = chain.module.case.pages.get(restart).copied();
                chain.go_on(&caller, pages.unwrap_or(usize::MAX)).await;
            })
            .await;
        drop(caller);
        if restart < RESTARTS {
            app = app.restart().await;
        }
    }
    chains.iter().for_each(Chain::check);
    let went_on = chains.iter().filter(|chain| chain.pages.len() > chain.module.case.pages[0]).count();
    assert!(went_on > 0, "no walk spanned a restart");
}

#[tokio::test(flavor = "multi_thread")]
async fn random_modules_are_paged_completely_over_restarts() {
    the_pages_are_the_list(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_modules_are_paged_completely_with_a_cache() {
    the_pages_are_the_list(true).await;
}
