//! Completions of prefixes of one to six characters, beside a plain page.

use std::sync::Arc;
use std::time::Instant;

use trawl_engine::{Query, Request, Scope, TypedPrefix};
use trawl_index::{Index, Snapshot};

use crate::cases::Case;
use crate::mixer::{self, Mixer, Random};
use crate::shared::Percentiles;

/// Of each length and language.
const PREFIXES: usize = 200;
const LONGEST: usize = 6;
/// As the coordinator reads.
const DOCUMENTS: usize = 32;
/// Of a new tenant; the first two have documents.
const MODULES: [&str; 11] = [
    mixer::LARGE.1,
    mixer::SIBLING.1,
    "news",
    "todo",
    "done",
    "people",
    "department",
    "group",
    "file",
    "favorite",
    "message",
];
/// Groups of the viewer.
const GROUPS: u64 = 20;

pub(crate) fn run(mixer: &Mixer, index: &Index, documents: u64) {
    let snapshot = index.snapshot();
    println!("## Completions in {documents} documents, {} segments\n", snapshot.segments());
    println!(
        "All queries of a prefix in {} modules, two of them with documents, for a viewer of {GROUPS} groups. First: with empty caches. The page is of the same word in one \
         module. Microseconds, median / p99.\n",
        MODULES.len()
    );
    println!("| prefixes | first | again | page, first | page, again |");
    println!("|---|---|---|---|---|");
    for (language, is_chinese) in [("English", false), ("Chinese", true)] {
        for length in 1..=LONGEST {
            row(
                mixer,
                &snapshot,
                &format!("{language}, {length} characters"),
                documents,
                (length, is_chinese),
            );
        }
    }
    println!();
}

fn row(mixer: &Mixer, snapshot: &Snapshot, name: &str, documents: u64, kind: (usize, bool)) {
    let prefixes = prefixes(mixer, documents, kind);
    let scopes = MODULES.map(|module| Arc::new(Scope::new(mixer::LARGE.0, module)));
    let principals: Arc<[String]> = (0..GROUPS).map(|number| mixer::group(number * 97)).collect();
    let complete = |prefix: &str| {
        let started = Instant::now();
        let queries = TypedPrefix::new(prefix).map(|prefix| prefix.queries()).unwrap_or_default();
        let queries: Vec<Arc<Query>> = queries.into_iter().map(|(_, query)| Arc::new(query)).collect();
        let of_scope = |scope| {
            let (queries, principals) = (&queries, &principals);
            queries.iter().map(move |query| Request {
                limit: DOCUMENTS,
                ..Request::total_of(scope, principals, Arc::clone(query))
            })
        };
        let requests: Vec<Request> = scopes.iter().flat_map(of_scope).collect();
        std::hint::black_box(snapshot.newest(&requests).unwrap());
        started.elapsed()
    };
    let page = |prefix: &str| {
        let case = Case { keyword: format!("{prefix} "), principals: principals.to_vec(), ..Case::default() };
        case.time_page(snapshot, &scopes[0])
    };
    let first = |work: &dyn Fn(&str) -> _| {
        let each = prefixes.iter().map(|prefix| {
            trawl_index::bare::clear_caches(snapshot);
            work(prefix)
        });
        Percentiles::of(each.collect())
    };
    let again = |work: &dyn Fn(&str) -> _| {
        Percentiles::of(
            prefixes.iter().chain(&prefixes).map(|prefix| work(prefix)).skip(prefixes.len()).collect(),
        )
    };
    println!(
        "| {name} | {} | {} | {} | {} |",
        first(&complete),
        again(&complete),
        first(&page),
        again(&page)
    );
}

/// Beginnings of titles and of words in them, in turn.
fn prefixes(mixer: &Mixer, documents: u64, (length, is_chinese): (usize, bool)) -> Vec<String> {
    let mut random = Random::new(length as u64, 7);
    let scope = Scope::new(mixer::LARGE.0, mixer::LARGE.1);
    let mut prefixes = Vec::with_capacity(PREFIXES);
    while prefixes.len() < PREFIXES {
        let title = mixer.document_in(scope.clone(), random.below(documents), 0).title;
        let words: Vec<&str> = title.split(' ').collect();
        let first = usize::try_from(random.below(words.len() as u64)).unwrap();
        let start = if prefixes.len() % 2 == 0 { 0 } else { first };
        let prefix: String = words[start..].join(" ").chars().take(length).collect();
        if prefix.chars().all(char::is_alphanumeric)
            && prefix.chars().count() == length
            && prefix.is_ascii() != is_chinese
        {
            prefixes.push(prefix);
        }
    }
    prefixes
}
