//! Texts, and queries of their words.

use std::collections::HashMap;

use crate::texts;

/// Different queries of a kind, so that no engine answers from a cache.
const VARIANTS: usize = 100;
const MIN_LETTERS: usize = 5;
/// Each further row is a second later.
const FIRST_TIME: i64 = 1_400_000_000_000;

pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) title: String,
    /// Epoch milliseconds, ascending.
    pub(crate) time: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Newest,
    Best,
}

#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// All required.
    pub(crate) words: Vec<String>,
    /// Side by side.
    pub(crate) is_phrase: bool,
    pub(crate) order: Order,
}

pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) queries: Vec<Query>,
}

/// Commit titles and news items, repeated when they run out.
pub(crate) fn rows(count: usize) -> Vec<Row> {
    let texts = texts::english();
    let row = |number: usize| Row {
        id: format!("text-{number:08}"),
        title: texts[number % texts.len()].clone(),
        time: FIRST_TIME + i64::try_from(number).unwrap() * 1_000,
    };
    (0..count).map(row).collect()
}

/// Words of small letters that are found with whatever ending a stemmer cuts.
pub(crate) fn kinds(rows: &[Row]) -> Vec<Kind> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut pairs: HashMap<(&str, &str), usize> = HashMap::new();
    for row in rows {
        let words: Vec<&str> = row.title.split(' ').collect();
        for word in words.iter().filter(|word| is_plain(word)) {
            *counts.entry(word).or_default() += 1;
        }
        for pair in words.windows(2) {
            if is_plain(pair[0]) && is_plain(pair[1]) {
                *pairs.entry((pair[0], pair[1])).or_default() += 1;
            }
        }
    }
    let near = |share: usize| {
        let wanted = rows.len() / share;
        let mut words: Vec<(&str, usize)> = counts.iter().map(|(word, count)| (*word, *count)).collect();
        words.sort_by_key(|(word, count)| (count.abs_diff(wanted), *word));
        words.truncate(VARIANTS);
        words.into_iter().map(|(word, _)| word.to_owned()).collect::<Vec<String>>()
    };
    let mut pairs: Vec<((&str, &str), usize)> = pairs.into_iter().collect();
    pairs.sort_by_key(|(pair, count)| (std::cmp::Reverse(*count), *pair));
    pairs.truncate(VARIANTS);
    let pairs: Vec<Vec<String>> =
        pairs.into_iter().map(|((first, second), _)| vec![first.to_owned(), second.to_owned()]).collect();
    let alone = |words: Vec<String>| words.into_iter().map(|word| vec![word]).collect::<Vec<_>>();
    let kind = |name, words: &[Vec<String>], is_phrase, order| {
        let query = |words: &Vec<String>| Query { words: words.clone(), is_phrase, order };
        Kind { name, queries: words.iter().map(query).collect() }
    };
    let (common, rare) = (alone(near(100)), alone(near(10_000)));
    vec![
        kind("common word, newest", &common, false, Order::Newest),
        kind("rare word, newest", &rare, false, Order::Newest),
        kind("two words, newest", &pairs, false, Order::Newest),
        kind("phrase, newest", &pairs, true, Order::Newest),
        kind("common word, best", &common, false, Order::Best),
        kind("two words, best", &pairs, false, Order::Best),
    ]
}

fn is_plain(word: &str) -> bool {
    word.len() >= MIN_LETTERS && word.bytes().all(|byte| byte.is_ascii_lowercase())
}
