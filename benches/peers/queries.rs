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

/// The texts' language, for which each engine has its analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Chinese,
}

impl Language {
    /// What stands between words.
    pub(crate) fn space(self) -> &'static str {
        match self {
            Self::English => " ",
            Self::Chinese => "",
        }
    }

    /// The text for an engine that splits at spaces alone: of ideographs, each two side by side.
    pub(crate) fn spaced(self, text: &str) -> String {
        match self {
            Self::English => text.to_owned(),
            Self::Chinese => {
                let split = text.split(|character: char| !character.is_alphanumeric());
                split.flat_map(pairs_of).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// Each two ideographs side by side, and what stands between ideographs whole.
fn pairs_of(run: &str) -> Vec<String> {
    let characters: Vec<char> = run.chars().collect();
    let mut words = Vec::new();
    for part in characters.chunk_by(|left, right| is_ideograph(*left) == is_ideograph(*right)) {
        if part.len() > 1 && is_ideograph(part[0]) {
            words.extend(part.windows(2).map(String::from_iter));
        } else {
            words.push(part.iter().collect());
        }
    }
    words
}

fn is_ideograph(character: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&character)
}

#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) language: Language,
    /// All required for the newest, any for the best.
    pub(crate) words: Vec<String>,
    /// Side by side.
    pub(crate) is_phrase: bool,
    pub(crate) order: Order,
}

impl Query {
    /// The words, or the phrase.
    pub(crate) fn joined(&self) -> String {
        self.words.join(if self.is_phrase { self.language.space() } else { " " })
    }

    /// The same for an engine that splits at spaces alone.
    pub(crate) fn spaced(&self) -> String {
        self.language.spaced(&self.joined())
    }
}

pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) queries: Vec<Query>,
}

/// Commit titles and news items, or feeds of some eleven ideographs, repeated when they run out.
pub(crate) fn rows(language: Language, count: usize) -> Vec<Row> {
    let texts = match language {
        Language::English => texts::english(),
        Language::Chinese => texts::chinese(),
    };
    let row = |number: usize| Row {
        id: format!("text-{number:08}"),
        title: texts[number % texts.len()].clone(),
        time: FIRST_TIME + i64::try_from(number).unwrap() * 1_000,
    };
    (0..count).map(row).collect()
}

/// Queries of English words in small letters, which are found with whatever ending a stemmer cuts, or of two ideographs.
pub(crate) fn kinds(language: Language, rows: &[Row]) -> Vec<Kind> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut pairs: HashMap<(&str, &str), usize> = HashMap::new();
    for row in rows {
        // Steps of two words that do not overlap.
        let (words, step) = match language {
            Language::English => (row.title.split(' ').collect(), 1),
            Language::Chinese => (two_side_by_side(&row.title), 2),
        };
        let is_plain = |word: &str| match language {
            Language::English => {
                word.len() >= MIN_LETTERS && word.bytes().all(|byte| byte.is_ascii_lowercase())
            }
            Language::Chinese => word.chars().all(is_ideograph),
        };
        for (place, word) in words.iter().enumerate().filter(|(_, word)| is_plain(word)) {
            *counts.entry(word).or_default() += 1;
            if let Some(next) = words.get(place + step).filter(|next| is_plain(next)) {
                *pairs.entry((word, next)).or_default() += 1;
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
        let query = |words: &Vec<String>| Query { language, words: words.clone(), is_phrase, order };
        Kind { name, queries: words.iter().map(query).collect() }
    };
    let (common, rare) = (alone(near(100)), alone(near(10_000)));
    vec![
        kind("common word, newest", &common, false, Order::Newest),
        kind("rare word, newest", &rare, false, Order::Newest),
        kind("two words, newest", &pairs, false, Order::Newest),
        kind("phrase, newest", &pairs, true, Order::Newest),
        kind("common word, best", &common, false, Order::Best),
        kind("any of two words, best", &pairs, false, Order::Best),
    ]
}

/// Each two characters side by side.
fn two_side_by_side(text: &str) -> Vec<&str> {
    let places: Vec<usize> = text.char_indices().map(|(place, _)| place).chain([text.len()]).collect();
    places.windows(3).map(|places| &text[places[0]..places[2]]).collect()
}
