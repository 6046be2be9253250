//! An engine against a naive model.
//!
//! Few times, ids and words give many ties, upserts and matches. Tenants, modules and principals must stay apart.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use trawl_engine::{
    Audience, Change, Checkpoint, Document, HitPage, Query, Request, Scope, Start, TimePosition,
};

use super::support::next_page;
use crate::engine_under_test::{
    ANSWERS_AT_ONCE, KEEPS_SNAPSHOTS, SHOWS_COMMITS_ONLY, Snapshot, cases, empty_index,
};

const WORDS: [&str; 8] = ["alpha", "alphabet", "beta", "betray", "gamma", "中国", "上海", "人"];
const AUTHORS: [&str; 4] = ["Ann Lee", "Ann Poe", "王芳", ""];
const PRINCIPALS: [&str; 3] = ["u:1", "u:2", "d:1"];

type ModelKey = (i64, String, String);
type Model = BTreeMap<ModelKey, Document>;

#[derive(Debug, Clone)]
enum Step {
    Apply(Vec<Change>),
    Commit,
    Merge,
    Clear,
}

#[derive(Debug, Clone)]
struct SearchCase {
    scope: Scope,
    words: Vec<QueryPart>,
    principals: Vec<String>,
    from: Option<i64>,
    to: Option<i64>,
    author: Option<String>,
    limit: usize,
}

#[derive(Debug, Clone)]
enum QueryPart {
    Plain(&'static str),
    Phrase(&'static str, &'static str),
    Not(&'static str),
    Author(&'static str),
    /// Always the last.
    Prefix(&'static str),
}

impl SearchCase {
    fn keyword(&self) -> String {
        let word = |word: &QueryPart| match word {
            QueryPart::Plain(word) => format!("{word} "),
            QueryPart::Phrase(first, second) => format!("\"{first} {second}\" "),
            QueryPart::Not(word) => format!("-{word} "),
            QueryPart::Author(name) => format!("author:\"{name}\" "),
            QueryPart::Prefix(start) => (*start).to_owned(),
        };
        self.words.iter().map(word).collect()
    }

    /// Relevance order requires any word, or none beside a phrase.
    fn matches(&self, document: &Document, by_relevance: bool) -> bool {
        let text = document.text.as_deref().unwrap_or_default();
        let texts = [document.title.as_str(), &document.sub_title, &document.brief, text];
        let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
        let has = |wanted: &str| words.iter().flatten().any(|&word| word == wanted);
        let by = |name: &str| {
            let names: Vec<&str> = document.author.split(' ').collect();
            name.split(' ').all(|name| names.contains(&name))
        };
        let fits = |word: &QueryPart| match word {
            QueryPart::Plain(word) => has(word),
            QueryPart::Phrase(first, second) => {
                words.iter().any(|words| words.windows(2).any(|pair| pair == [*first, *second]))
            }
            QueryPart::Not(word) => !has(word),
            QueryPart::Author(name) => by(name),
            QueryPart::Prefix(start) => words.iter().flatten().any(|word| word.starts_with(start)),
        };
        let (weighed, mut required): (Vec<&QueryPart>, Vec<&QueryPart>) =
            self.words.iter().partition(|word| matches!(word, QueryPart::Plain(_) | QueryPart::Prefix(_)));
        let has_phrase = self.words.iter().any(|word| matches!(word, QueryPart::Phrase(..)));
        let found = weighed.is_empty() || weighed.iter().any(|word| fits(word));
        if !by_relevance {
            required.extend(&weighed);
        }
        let matched = required.into_iter().all(fits) && (found || has_phrase);
        let visible = match &document.audience {
            Audience::Tenant => true,
            Audience::Principals(allowed) => {
                allowed.iter().any(|principal| self.principals.contains(principal))
            }
        };
        matched
            && visible
            && document.scope == self.scope
            && self.from.is_none_or(|from| document.display_time >= from)
            && self.to.is_none_or(|to| document.display_time < to)
            && self.author.as_deref().is_none_or(by)
    }

    fn expected(&self, model: &Model, by_relevance: bool) -> Vec<(i64, String)> {
        let mut expected: Vec<(i64, String)> = model
            .values()
            .filter(|document| self.matches(document, by_relevance))
            .map(|document| (document.display_time, document.id.clone()))
            .collect();
        expected.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
        expected
    }

    fn search(&self, snapshot: &Snapshot, start: Start) -> HitPage {
        let query = Query::parse(&self.keyword());
        snapshot.search(&self.request(query, start)).unwrap()
    }

    fn request(&self, query: Query, start: Start) -> Request {
        Request {
            scope: Arc::new(self.scope.clone()),
            query: Arc::new(query),
            principals: self.principals.clone().into(),
            from: self.from,
            to: self.to,
            author: self.author.clone(),
            start,
            limit: self.limit,
        }
    }
}

fn scope() -> impl Strategy<Value = Scope> {
    // One tenant's number, and one module's code, starts with the other's.
    (select(vec![1, 17]), select(vec!["news", "newsletter"]))
        .prop_map(|(tenant, module)| Scope::new(tenant, module))
}

fn id() -> impl Strategy<Value = String> {
    (0..24_u32).prop_map(|number| format!("id{number}"))
}

fn text(most: usize) -> impl Strategy<Value = String> {
    vec(select(WORDS.to_vec()), 0..most).prop_map(|words| words.join(" "))
}

fn principals() -> impl Strategy<Value = Vec<String>> {
    vec(select(PRINCIPALS.to_vec()).prop_map(str::to_owned), 0..3)
}

fn document() -> impl Strategy<Value = Document> {
    let audience = prop_oneof![3 => Just(Audience::Tenant), 2 => principals().prop_map(Audience::Principals)];
    let texts = (text(3), text(2), text(4), prop::option::weighted(0.3, text(6)));
    (scope(), id(), -2..3_i64, texts, select(AUTHORS.to_vec()), audience, any::<u32>()).prop_map(
        |(scope, id, display_time, (title, sub_title, brief, text), author, audience, mark)| Document {
            item: format!("{{\"mark\": {mark}}}"),
            scope,
            id,
            display_time,
            title,
            text: text.map(Into::into),
            sub_title,
            brief,
            author: author.to_owned(),
            audience,
            ..Document::default()
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let change = prop_oneof![
        50 => document().prop_map(Change::Put),
        10 => (scope(), id()).prop_map(|(scope, id)| Change::Remove { scope, id }),
        1 => scope().prop_map(|Scope { tenant, .. }| Change::RemoveTenant { tenant }),
        3 => (scope(), select(PRINCIPALS.to_vec()))
            .prop_map(|(scope, principal)| Change::RemoveSeenBy { scope, principal: principal.to_owned() }),
    ];
    prop_oneof![
        8 => vec(change, 1..40).prop_map(Step::Apply),
        4 => Just(Step::Commit),
        1 => Just(Step::Merge),
        1 => Just(Step::Clear),
    ]
}

fn case() -> impl Strategy<Value = SearchCase> {
    let word = prop_oneof![
        5 => select(WORDS.to_vec()).prop_map(QueryPart::Plain),
        1 => (select(WORDS.to_vec()), select(WORDS.to_vec())).prop_map(|(first, second)| QueryPart::Phrase(first, second)),
        2 => select(WORDS.to_vec()).prop_map(QueryPart::Not),
        1 => select(vec!["Ann", "Ann Lee", "王芳"]).prop_map(QueryPart::Author),
    ];
    // No stop word such as `be`, which relevance order drops.
    let prefix =
        prop::option::weighted(0.3, select(vec!["al", "alpha", "bet", "gam"]).prop_map(QueryPart::Prefix));
    let words = (vec(word, 0..3), prefix).prop_map(|(mut words, prefix)| {
        words.extend(prefix);
        words
    });
    let words = words.prop_filter("an empty query has its own test", |words| !words.is_empty());
    let author = prop::option::weighted(0.2, select(vec!["Ann", "Poe", "王芳"]).prop_map(str::to_owned));
    let time = || prop::option::weighted(0.2, -3..4_i64);
    (scope(), words, principals(), time(), time(), author, 1..9_usize).prop_map(
        |(scope, words, principals, from, to, author, limit)| SearchCase {
            scope,
            words,
            principals,
            from,
            to,
            author,
            limit,
        },
    )
}

fn run(steps: Vec<Step>) -> (Snapshot, Model) {
    let mut last = None;
    run_watched(steps, |snapshot, model| {
        last = Some((snapshot, model.clone()));
        Ok(())
    })
    .unwrap();
    last.unwrap()
}

fn run_watched(
    mut steps: Vec<Step>,
    mut watch: impl FnMut(Snapshot, &Model) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    if !SHOWS_COMMITS_ONLY {
        steps.push(Step::Commit);
    }
    let (index, mut writer) = empty_index();
    let mut model = Model::new();
    let mut committed = Model::new();
    let mut position = 0;
    for step in steps {
        let is_watched = SHOWS_COMMITS_ONLY || matches!(step, Step::Commit);
        match step {
            Step::Apply(changes) => {
                for change in &changes {
                    match change.clone() {
                        Change::Put(document) => {
                            let key =
                                (document.scope.tenant, document.scope.module.clone(), document.id.clone());
                            model.insert(key, document);
                        }
                        Change::Remove { scope, id } => {
                            model.remove(&(scope.tenant, scope.module, id));
                        }
                        Change::RemoveSeenBy { scope, principal } => {
                            model.retain(|_, document| {
                                let names = match &document.audience {
                                    Audience::Tenant => false,
                                    Audience::Principals(principals) => principals.contains(&principal),
                                };
                                document.scope != scope || !names
                            });
                        }
                        Change::RemoveTenant { tenant } => {
                            model.retain(|(of_tenant, _, _), _| *of_tenant != tenant);
                        }
                    }
                }
                writer.apply(changes).unwrap();
            }
            Step::Commit => {
                position += 1;
                writer.commit(&Checkpoint { store: "s".to_owned(), position, complete: true }).unwrap();
                committed.clone_from(&model);
            }
            Step::Merge => writer.merge_all().unwrap(),
            Step::Clear => {
                writer.clear().unwrap();
                model.clear();
            }
        }
        if is_watched {
            watch(index.snapshot(), &committed)?;
        }
    }
    watch(index.snapshot(), &committed)
}

fn check_items(page: &HitPage, case: &SearchCase, model: &Model) -> Result<(), TestCaseError> {
    for hit in &page.hits {
        let key = (case.scope.tenant, case.scope.module.clone(), hit.id.clone());
        prop_assert_eq!(&hit.item, &model[&key].item);
    }
    Ok(())
}

fn ids(page: &HitPage) -> impl Iterator<Item = (i64, String)> + '_ {
    page.hits.iter().map(|hit| (hit.display_time, hit.id.clone()))
}

fn check_exact_pages(snapshot: &Snapshot, case: &SearchCase, model: &Model) -> Result<(), TestCaseError> {
    let expected = case.expected(model, false);
    let mut after = None;
    let mut seen: Vec<(i64, String)> = Vec::new();
    loop {
        let page = case.search(snapshot, Start::Time { after: after.clone(), whole_ties: None });
        seen.extend(ids(&page));
        prop_assert_eq!(page.total, expected.len() as u64);
        prop_assert_eq!(page.more, seen.len() < expected.len());
        prop_assert!(!page.cut);
        check_items(&page, case, model)?;
        if !page.more {
            break;
        }
        prop_assert_eq!(page.hits.len(), case.limit);
        after = seen.last().map(|(time, id)| TimePosition { display_time: *time, id: Some(id.clone()) });
    }
    prop_assert_eq!(seen, expected);
    Ok(())
}

fn check_first_page(snapshot: &Snapshot, case: &SearchCase, model: &Model) -> Result<(), TestCaseError> {
    let expected = case.expected(model, false);
    let first = Start::Time { after: None, whole_ties: None };
    let page = case.search(snapshot, first.clone());
    let query = Query::parse(&case.keyword());
    let at_once = snapshot.search_at_once(&case.request(query, first)).unwrap();
    prop_assert_eq!(at_once.is_some(), ANSWERS_AT_ONCE, "so few documents are little work");
    for page in at_once.iter().chain([&page]) {
        prop_assert_eq!(page.total, expected.len() as u64);
        prop_assert!(ids(page).eq(expected.iter().take(case.limit).cloned()));
    }
    Ok(())
}

/// A cut tie continues after its last id.
fn check_whole_ties(
    snapshot: &Snapshot,
    case: &SearchCase,
    model: &Model,
    cap: usize,
) -> Result<(), TestCaseError> {
    let expected = case.expected(model, false);
    let mut after: Option<TimePosition> = None;
    let mut seen: Vec<(i64, String)> = Vec::new();
    loop {
        let page = case.search(snapshot, Start::Time { after: after.clone(), whole_ties: Some(cap) });
        let fresh: Vec<(i64, String)> = ids(&page).collect();
        prop_assert_eq!(page.total, expected.len() as u64);
        seen.extend(fresh.iter().cloned());
        prop_assert_eq!(page.more, seen.len() < expected.len());
        if let Some((time, _)) = fresh.last() {
            let of_last = fresh.iter().filter(|(other, _)| other == time).count();
            prop_assert!(fresh.len() - of_last < case.limit, "the last time was not needed");
            let left = expected[seen.len()..].iter().filter(|(other, _)| other == time).count();
            prop_assert_eq!(page.cut, left > 0);
            prop_assert!(!page.cut || of_last >= cap);
        }
        if !page.more {
            break;
        }
        prop_assert!(fresh.len() >= case.limit.min(cap));
        after = seen
            .last()
            .map(|(time, id)| TimePosition { display_time: *time, id: page.cut.then(|| id.clone()) });
    }
    prop_assert_eq!(seen, expected);
    Ok(())
}

fn check_relevance(snapshot: &Snapshot, case: &SearchCase, model: &Model) -> Result<(), TestCaseError> {
    let mut expected = case.expected(model, true);
    let whole = SearchCase { limit: 1_000, ..case.clone() }.search(snapshot, Start::relevance(0, 0));
    let whole: Vec<(i64, String)> = ids(&whole).collect();
    let mut seen = Vec::new();
    let mut start = Start::relevance(0, 0);
    loop {
        let page = case.search(snapshot, start.clone());
        start = next_page(&start, &page);
        seen.extend(ids(&page));
        prop_assert_eq!(page.total, expected.len() as u64);
        prop_assert_eq!(page.more, seen.len() < expected.len());
        check_items(&page, case, model)?;
        if !page.more {
            break;
        }
    }
    prop_assert_eq!(&seen, &whole);
    seen.sort();
    expected.sort();
    prop_assert_eq!(seen, expected);
    Ok(())
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn pages_equal_the_model(
        mut steps in vec(step(), 1..24),
        cases in vec(case(), 12),
        cap in 1..12_usize,
    ) {
        steps.push(Step::Commit);
        let (snapshot, model) = run(steps);
        prop_assert_eq!(snapshot.documents(), model.len() as u64);
        for case in &cases {
            check_exact_pages(&snapshot, case, &model)?;
            check_whole_ties(&snapshot, case, &model, cap)?;
            check_relevance(&snapshot, case, &model)?;
        }
    }

    #[test]
    fn snapshot_shows_committed_documents_only(
        steps in vec(step(), 1..16),
        case in case(),
    ) {
        let (snapshot, model) = run(steps);
        prop_assert_eq!(snapshot.documents(), model.len() as u64);
        check_exact_pages(&snapshot, &case, &model)?;
    }

    #[test]
    fn cached_totals_stay_correct_across_commits(
        steps in vec(step(), 1..32),
        cases in vec(case(), 6),
    ) {
        let mut earlier: Option<(Snapshot, Model)> = None;
        run_watched(steps, |snapshot, model| {
            for (snapshot, model) in [Some((snapshot.clone(), model.clone())), earlier.clone()].into_iter().flatten() {
                for case in &cases {
                    check_first_page(&snapshot, case, &model)?;
                }
            }
            earlier = KEEPS_SNAPSHOTS.then(|| (snapshot, model.clone()));
            Ok(())
        })?;
    }
}
