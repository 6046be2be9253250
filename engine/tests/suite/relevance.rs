use std::collections::HashSet;
use std::sync::Arc;

use trawl_engine::relevance::Recency;
use trawl_engine::{Change, Document, HitPage, RankedPage, RankedScope, Scope, ScopeStart, Start};

use super::support::{
    BEST, commit, document, found, ids, index_of, news, next_page, page, put, ranked, remove,
};
use crate::engine_under_test::{Index, Snapshot};

fn with_brief(id: &str, display_time: i64, brief: &str) -> Document {
    Document { brief: brief.to_owned(), display_time, ..document(id, "") }
}

fn best(snapshot: &Snapshot, keyword: &str, limit: usize) -> HitPage {
    page(snapshot, keyword, BEST, limit)
}

/// Checks that all pages together are the total, without repetition.
#[track_caller]
fn read_all_pages(snapshot: &Snapshot, keyword: &str, length: usize) -> Vec<String> {
    let mut seen = Vec::new();
    let mut start = BEST;
    loop {
        let page = page(snapshot, keyword, start.clone(), length);
        start = next_page(&start, &page);
        let (total, more) = (page.total, page.more);
        seen.extend(ids(page));
        if !more {
            assert_eq!((seen.len() as u64, seen.iter().collect::<HashSet<_>>().len()), (total, seen.len()));
            return seen;
        }
    }
}

/// The engine's bounds use lengths of all scopes.
#[test]
fn long_texts_of_another_module_do_not_change_the_best() {
    let long = "filler words of a long article ".repeat(200);
    let long: Vec<Document> = (0..2_000)
        .map(|number| Document {
            scope: Scope::new(7, "article"),
            ..with_brief(&format!("a{number}"), number, &long)
        })
        .collect();
    let short: Vec<Document> = (0..5_000)
        .map(|number| {
            let text = match number {
                0..400 => "budget one two three four five".to_owned(),
                _ if number % 64 == 0 => "budget".to_owned(),
                400..3_000 => format!("budget budget {}", "x ".repeat(60)),
                _ => "other short text here".to_owned(),
            };
            with_brief(&format!("{number:05}"), -number, &text)
        })
        .collect();
    let mut alone = Vec::new();
    for documents in [short.clone(), [long, short].concat()] {
        let (index, _writer) = index_of(documents);
        let whole = ids(best(&index.snapshot(), "budget ", 10_000));
        assert_eq!(read_all_pages(&index.snapshot(), "budget ", 100), whole);
        assert_eq!(ids(best(&index.snapshot(), "budget ", 10)), whole[..10]);
        if alone.is_empty() {
            alone = whole;
        } else {
            assert_eq!(whole[..64], alone[..64]);
        }
    }
}

#[test]
fn equal_documents_are_ordered_by_time() {
    let words = ["harbour", "quarterly", "budget", "flow", "heat", "copper", "wing"];
    let text = |number: i64| -> String {
        let kept = |place: &usize| (number % 40) >> (place % 5) & 1 == 0;
        (0..words.len()).filter(kept).map(|place| words[place].to_owned() + " ").collect()
    };
    let documents = (0..4_000).map(|number| with_brief(&format!("{number:05}"), -number, &text(number)));
    let (index, _writer) = index_of(documents.collect());
    let keyword = words.join(" ");
    let whole = ids(best(&index.snapshot(), &keyword, 10_000));
    assert_eq!(read_all_pages(&index.snapshot(), &keyword, 50), whole);
    for group in 0..40 {
        let of_group = whole.iter().filter(|id| id.parse::<i64>().unwrap() % 40 == group);
        assert!(of_group.is_sorted(), "texts of group {group}");
    }
}

#[test]
fn word_typed_plain_and_quoted_is_required() {
    let text = |number: i64| if number % 100 == 0 { "report rare" } else { "report" };
    let documents = (0..5_000).map(|number| with_brief(&format!("{number:05}"), -number, text(number)));
    let (index, _writer) = index_of(documents.collect());
    assert_eq!(read_all_pages(&index.snapshot(), "report rare \"report\"", 1_000).len(), 5_000);
}

#[test]
fn totals_follow_the_selecting_words() {
    let text = |number: i64| match number {
        0..10 => "gamma",
        _ if number % 500 == 0 => "alpha beta",
        _ => "beta",
    };
    let keyword = "alpha beta -gamma ";
    let first = (0..5_000).map(|number| with_brief(&format!("{number:05}"), -number, text(number)));
    let (index, mut writer) = index_of(first.collect());
    assert_eq!(read_all_pages(&index.snapshot(), keyword, 1_000).len(), 9);
    let second = (0..30_000).map(|number| with_brief(&format!("n{number:05}"), -number, "alpha"));
    let removed = (0..70).map(|number| remove(&format!("{:05}", 51 + number)));
    commit(&mut writer, second.map(Change::Put).chain(removed).collect());
    assert_eq!(read_all_pages(&index.snapshot(), keyword, 1_000).len(), 4_990 - 70);
}

#[test]
fn title_ranks_first_then_the_newest() {
    let mut in_brief = document("a", "something else");
    in_brief.brief = "whales".to_owned();
    let mut newer = document("c", "whales at sea");
    newer.display_time = 5;
    let (index, _writer) =
        index_of(vec![in_brief, document("b", "whales at sea"), newer, document("d", "fish")]);
    assert_eq!(ranked(&index, "whales "), ["c", "b", "a"]);
}

#[test]
fn question_matches_any_content_word_and_ranks_by_coverage() {
    let (index, _writer) = index_of(vec![
        document("a", "how the quarterly budget of the harbour was decided"),
        document("b", "quarterly report"),
        document("c", "what is it"),
        document("d", "harbour lights"),
    ]);
    let keyword = "what was the quarterly budget of the harbour ";
    let found = page(&index.snapshot(), keyword, BEST, 10);
    let ids: Vec<&str> = found.hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids[0], "a");
    assert_eq!((ids.len(), found.total), (3, 3));
    // Stop words count if there are no others.
    assert_eq!(page(&index.snapshot(), "what is ", BEST, 10).total, 1);
}

#[test]
fn recency_decides_between_equal_documents_only() {
    let at = |id: &str, title: &str, days: i64| Document {
        display_time: days * 86_400_000,
        ..document(id, title)
    };
    let (index, _writer) = index_of(vec![
        at("old", "budget of the harbour", 0),
        at("new", "budget of the harbour", 1_000),
        at("newest", "a harbour without anything to spend", 1_000),
    ]);
    let start = Start::relevance(0, 1_000 * 86_400_000);
    assert_eq!(ids(page(&index.snapshot(), "harbour budget ", start, 10)), ["new", "old", "newest"]);
}

#[test]
fn recency_of_the_request_sets_the_gain_of_new_documents() {
    const NOW: i64 = 1_000 * 86_400_000;
    let documents =
        [("worse", "budget of the old harbour by the sea", 1_000), ("better", "harbour budget draft", 990)];
    let scope = |id: &str| Scope::new(7, if id == "worse" { "news" } else { "article" });
    let documents = documents.map(|(id, title, days)| Document {
        scope: scope(id),
        display_time: days * 86_400_000,
        ..document(id, title)
    });
    let (index, _writer) = index_of(documents.to_vec());
    let found = |percent, half_life_days| {
        let beside = vec![RankedScope { scope: Arc::new(scope("better")), start: ScopeStart::default() }];
        let recency = Recency { percent, half_life_days };
        let Start::Relevance(list) = BEST else { unreachable!() };
        let start = Start::Relevance(RankedPage { beside, now: NOW, recency, ..list });
        let hits = page(&index.snapshot(), "harbour budget ", start, 10).hits;
        hits.into_iter().map(|hit| (hit.id, hit.score.unwrap().recency)).collect::<Vec<_>>()
    };
    let of = |id: &str, factor: f32| (id.to_owned(), factor);
    assert_eq!(found(0, 1), [of("better", 1.0), of("worse", 1.0)]);
    assert_eq!(found(100, 10), [of("better", 1.5), of("worse", 2.0)]);
    assert_eq!(found(100, 2), [of("worse", 2.0), of("better", 1.0 + 1.0 / 6.0)]);
}

#[test]
fn relevance_ignores_other_tenants() {
    let documents = || {
        let texts = ["whale", "whale fish", "fish fish whale sea", "whale whale fish", "sea"];
        texts.iter().enumerate().map(|(number, text)| document(&number.to_string(), text)).collect::<Vec<_>>()
    };
    let order = |index: &Index| ranked(index, "whale fish ");
    let (index, mut writer) = index_of(documents());
    let alone = order(&index);
    let foreign = |number: usize| Document {
        scope: Scope::new(8, "news"),
        ..document(&number.to_string(), &"fish ".repeat(number))
    };
    put(&mut writer, (0..50).map(foreign).collect());
    assert_eq!(order(&index), alone);
}

#[test]
fn title_outranks_repeated_words_of_a_text() {
    let named =
        |id: &str, title: &str, text: &str| Document { text: Some(text.into()), ..document(id, title) };
    let filling = "tide and quay and crane ".repeat(2_000);
    let (index, _writer) = index_of(vec![
        named("says it often", "minutes", &"harbour ".repeat(500)),
        named("is called so, long", "harbour report", &filling),
        named("is called so, empty", "plan of the old harbour", ""),
        named("says it once", "letter", &format!("{filling} harbour")),
    ]);
    let best = page(&index.snapshot(), "harbour", BEST, 10);
    let ids: Vec<&str> = best.hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids[2..], ["says it often", "says it once"], "{ids:?}");
    assert_eq!(best.total, 4);
    assert_eq!(found(&index, "\"quay and crane\"").len(), 2, "a phrase of a text");
    assert_eq!(found(&index, "\"report tide\"").len(), 0, "none that begins in the title");
}

/// Matches that each engine ranks by the statistics of the request's scopes alone.
const ALIKE: usize = 400;

/// Documents with 0 to 4 occurrences of three words, in texts of differing lengths.
fn spread_documents(scope_of: impl Fn(usize) -> Scope) -> Vec<Document> {
    let text = |number: usize| {
        let words = [("heat ", 5), ("flow ", 7), ("copper ", 11)];
        let repeated: String = words.map(|(word, of)| word.repeat(number * number % of % 5)).concat();
        format!("{repeated}{}", "and other words ".repeat(number % 13))
    };
    let of = |number: usize| Document {
        scope: scope_of(number),
        item: format!(r#"{{"brief":"{}"}}"#, text(number)),
        ..with_brief(&format!("{number:04}"), -i64::try_from(number).unwrap(), &text(number))
    };
    (0..700).map(of).collect()
}

#[test]
fn modules_ranked_together_rank_like_one() {
    let together =
        |number: usize| Scope::new(7, ["news", "article", "feed"][(number % 10).saturating_sub(7)]);
    let (one, _one_writer) = index_of(spread_documents(|_| news()));
    let (three, _three_writer) = index_of(spread_documents(together));
    for (keyword, length) in [("heat flow in copper ", 90), ("copp", 41), ("flow -heat ", 300)] {
        let expected = page(&one.snapshot(), keyword, BEST, 1_000);
        let (mut seen, mut scores) = (Vec::new(), Vec::new());
        let Start::Relevance(list) = BEST else { unreachable!() };
        let beside = ["article", "feed"].map(|module| RankedScope {
            scope: Arc::new(Scope::new(7, module)),
            start: ScopeStart::default(),
        });
        let mut start = Start::Relevance(RankedPage { beside: beside.to_vec(), ..list });
        loop {
            let page = page(&three.snapshot(), keyword, start.clone(), length);
            start = next_page(&start, &page);
            assert_eq!(page.total + page.totals_beside.iter().sum::<u64>(), expected.total, "{keyword}");
            for hit in &page.hits {
                assert_eq!(together(hit.id.parse().unwrap()).module, ["news", "article", "feed"][hit.scope]);
                seen.push(hit.id.clone());
                scores.push(hit.score.unwrap().total());
            }
            if !page.more {
                break;
            }
        }
        assert!(scores.is_sorted_by(|left, right| left >= right), "{keyword}");
        let mut expected = ids(expected);
        let best = seen.len().min(ALIKE);
        assert_eq!(seen[..best], expected[..best], "{keyword}");
        seen.sort();
        expected.sort();
        assert_eq!(seen, expected, "{keyword}");
    }
}
