//! Pages by relevance of replicas, whose commits and segments differ.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use trawl_engine::relevance::RankKey;
use trawl_engine::{Change, Document, HitPage, RankedPage, Start};
use trawl_index::{Index, Writer};

use crate::engine_under_test::{cases, empty_index};
use crate::suite::support::{BEST, commit, document, next_page, page, remove};

/// Documents that nobody changes while pages are read.
const KEPT: usize = 400;
const KEYWORDS: [&str; 6] =
    ["heat ", "heat flow in copper ", "copp", "wi fi ", "author:ann", "\"flow copper\" -granite "];

/// What a replica learns between two pages.
#[derive(Debug, Clone)]
struct Write {
    replica: usize,
    documents: Vec<(usize, bool)>,
}

fn write() -> impl Strategy<Value = Write> {
    let documents = vec((0..200usize, any::<bool>()), 0..40);
    (0..2usize, documents).prop_map(|(replica, documents)| Write { replica, documents })
}

/// Makes a document with 0 to 4 occurrences of each word, in a text of some length.
fn made(id: &str, number: usize) -> Document {
    let words = [("heat ", 5), ("flow ", 7), ("copper ", 11), ("wi fi ", 3), ("wifi ", 4), ("sea ", 50)];
    let repeated = words.map(|(word, of)| word.repeat(number * number % of % 5)).concat();
    // Rare words of the best matches raise others.
    let rare = ["granite", "basalt", "marble", "slate"][number % 4];
    let rare = if number.is_multiple_of(5) { rare } else { "" };
    let brief = format!("{repeated}{rare} {}", "and other words ".repeat(number % 13));
    Document {
        display_time: i64::try_from(number / 3).unwrap(),
        author: "Ann".to_owned(),
        item: format!(r#"{{"brief":"{brief}"}}"#),
        brief,
        ..document(id, ["heat", "flow of heat", "copper", "notes"][number % 4])
    }
}

fn kept(number: usize) -> Document {
    made(&format!("kept{number:03}"), number)
}

fn changed(number: usize, seed: usize) -> Document {
    made(&format!("changed{number}"), number * 31 + seed)
}

/// A replica whose index took the documents in commits of some length, after others that are removed.
fn replica(length: usize) -> (Index, Writer) {
    let (index, mut writer) = empty_index();
    commit(&mut writer, (0..length).map(|number| Change::Put(changed(number, 7))).collect());
    let documents: Vec<Document> = (0..KEPT).map(kept).collect();
    for part in documents.chunks(length) {
        commit(&mut writer, part.iter().cloned().map(Change::Put).collect());
    }
    commit(&mut writer, (0..length / 2).map(|number| remove(&format!("changed{number}"))).collect());
    (index, writer)
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn pages_of_any_replica_make_one_list_while_documents_are_written(
        lengths in (20..90usize, 100..400usize),
        writes in vec(write(), 200),
        limit in 5..70usize,
    ) {
        let mut replicas = [replica(lengths.0), replica(lengths.1)];
        for keyword in KEYWORDS {
            let whole = page(&replicas[0].0.snapshot(), keyword, BEST, 10 * KEPT);
            let expected = whole.hits.iter().filter(|hit| hit.id.starts_with("kept")).count();
            prop_assert!(expected > 0, "{}", keyword);
            let mut shown: BTreeMap<String, usize> = BTreeMap::new();
            let mut start: Start = BEST;
            for (number, Write { replica, documents }) in writes.iter().enumerate() {
                let (index, _) = &replicas[number % 2];
                let page = page(&index.snapshot(), keyword, start.clone(), limit);
                start = next_page(&start, &page);
                for hit in page.hits {
                    *shown.entry(hit.id).or_default() += 1;
                }
                if !page.more {
                    break;
                }
                let change = |&(of, is_put): &(usize, bool)| {
                    if is_put { Change::Put(changed(of, number)) } else { remove(&format!("changed{of}")) }
                };
                commit(&mut replicas[*replica].1, documents.iter().map(change).collect());
            }
            let kept = shown.iter().filter(|(id, _)| id.starts_with("kept"));
            let repeated: Vec<_> = kept.clone().filter(|(_, times)| **times > 1).collect();
            prop_assert!(repeated.is_empty(), "{keyword}: {repeated:?}");
            prop_assert_eq!(kept.count(), expected, "{}", keyword);
        }
    }
}

/// The engine sums the scores of words in an order that depends on the segment.
#[test]
fn score_of_a_match_is_the_same_in_any_replica() {
    const WORDS: [&str; 4] = ["heat", "flow", "copper", "sea"];
    // Each has the words by its octal digits.
    let text = |number: usize| {
        let times = |place: usize| number >> (3 * place) & 7;
        let words = WORDS.iter().enumerate().map(|(place, word)| format!("{word} ").repeat(times(place)));
        words.collect::<String>() + &"other ".repeat(number * 31 % 97)
    };
    let made = |number| Document { brief: text(number), ..document(&format!("{number:04}"), "sea of heat") };
    let documents: Vec<Document> = (0..4_000).map(made).collect();
    let (one, mut one_writer) = empty_index();
    commit(&mut one_writer, documents.iter().cloned().map(Change::Put).collect());
    let (many, mut many_writer) = empty_index();
    for first in 0..29 {
        let part = documents.iter().skip(first).step_by(29);
        commit(&mut many_writer, part.cloned().map(Change::Put).collect());
    }
    let ranks = |page: &HitPage| -> Vec<(String, Option<RankKey>)> {
        page.hits.iter().map(|hit| (hit.id.clone(), hit.rank)).collect()
    };
    // Words that repeat have other weights.
    for repeated in 0..16 {
        let words = WORDS.iter().enumerate();
        let keyword: String =
            words.map(|(place, word)| format!("{word} ").repeat(1 + (repeated >> place & 1))).collect();
        let of_one = page(&one.snapshot(), &keyword, BEST, documents.len());
        let Start::Relevance(list) = BEST else { unreachable!() };
        let again = Start::Relevance(RankedPage { ranked_by: of_one.ranked_by.clone(), ..list });
        let of_many = page(&many.snapshot(), &keyword, again, documents.len());
        assert_eq!(of_one.hits.len(), documents.len());
        for (left, right) in ranks(&of_one).into_iter().zip(ranks(&of_many)) {
            assert_eq!(left, right, "{keyword}");
        }
    }
}
