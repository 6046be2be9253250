//! Documents in any number, mixed from real texts with their word frequencies and lengths.
//!
//! A document consists of clauses of one language, up to the length of a real row. It depends on seed, number
//! and version alone.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};

use trawl_engine::{Audience, Document, Scope};

use crate::shared::text_folder;

/// Raised whenever documents or merges change, so that older indexes are rebuilt.
pub(crate) const VERSION: u32 = 3;

const CHINESE: [&str; 3] = ["zh_weibo_hot_search", "zh_news_xwlb", "zh_todo_changelogs"];
const ENGLISH: [&str; 4] =
    ["en_news_twir_items", "en_feed_ietf_comments", "en_feed_git_commits", "en_todo_ietf_issues"];

/// 2023-11-14.
const FIRST_TIME: u64 = 1_700_000_000_000;
/// Two years.
const TIMES: u64 = 2 * 365 * 86_400_000;
/// One document in this many shares the time of a whole hour.
const ON_THE_HOUR: u64 = 20;
const HOUR: u64 = 3_600_000;
/// One document in this many has principals.
const RESTRICTED: u64 = 20;
const GROUPS: u64 = 2_000;

/// Searched scope, and its percentage of documents.
pub(crate) const LARGE: (i64, &str, u64) = (1, "feed", 60);
pub(crate) const SIBLING: (i64, &str, u64) = (1, "article", 10);
/// They share the rest.
const OTHER_TENANTS: std::ops::RangeInclusive<u64> = 2..=9;

/// `SplitMix64`.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut random =
            Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let place = self.below(of.len() as u64);
        &of[usize::try_from(place).unwrap()]
    }
}

#[derive(Default)]
struct Language {
    clauses: Vec<String>,
    /// Characters of title and text.
    lengths: Vec<(usize, usize)>,
    authors: Vec<String>,
    between: &'static str,
}

pub(crate) struct Mixer {
    languages: [Language; 2],
    seed: u64,
}

impl Mixer {
    /// `None` without the texts.
    pub(crate) fn open(seed: u64) -> Option<Self> {
        let directory = text_folder()?;
        let language = |files: &[&str], between| {
            let mut language = Language { between, ..Language::default() };
            for file in files {
                let file = std::fs::File::open(directory.join(format!("{file}.jsonl.zst"))).ok()?;
                for line in BufReader::new(zstd::Decoder::new(file).ok()?).lines() {
                    language.add(&serde_json::from_str(&line.ok()?).ok()?);
                }
            }
            Some(language)
        };
        Some(Self { languages: [language(&CHINESE, "，")?, language(&ENGLISH, ". ")?], seed })
    }

    /// Other versions have other texts and later times.
    pub(crate) fn document(&self, number: u64, version: u64) -> Document {
        let scope = match Random::new(self.seed, number).below(100) {
            share if share < LARGE.2 => Scope::new(LARGE.0, LARGE.1),
            share if share < LARGE.2 + SIBLING.2 => Scope::new(SIBLING.0, SIBLING.1),
            share => {
                let tenants = OTHER_TENANTS.end() - OTHER_TENANTS.start() + 1;
                Scope::new(i64::try_from(OTHER_TENANTS.start() + share % tenants).unwrap(), LARGE.1)
            }
        };
        let mut random = Random::new(self.seed, number ^ (version << 48) ^ (1 << 40));
        let language = random.pick(&self.languages);
        let &(title, text) = random.pick(&language.lengths);
        let (title, text) = (language.text(&mut random, title), language.text(&mut random, text));
        let author = random.pick(&language.authors).clone();
        let mut time = FIRST_TIME + random.below(TIMES) + version;
        if random.below(ON_THE_HOUR) == 0 {
            time -= time % HOUR;
        }
        let audience = if random.below(RESTRICTED) == 0 {
            let groups = 1 + random.below(3);
            Audience::Principals((0..groups).map(|_| group(random.below(GROUPS))).collect())
        } else {
            Audience::Tenant
        };
        let id = format!("{:010x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24);
        let item = serde_json::json!({
            "id": id, "title": title, "brief": text, "author": author, "displayTime": time,
            "url": format!("https://intranet.example.org/items/{id}"),
        });
        Document {
            scope,
            id,
            display_time: i64::try_from(time).unwrap(),
            title,
            brief: text,
            author,
            audience,
            item: item.to_string(),
            ..Document::default()
        }
    }
}

pub(crate) fn group(number: u64) -> String {
    format!("g:{number}")
}

impl Language {
    fn add(&mut self, row: &serde_json::Value) {
        let of = |name: &str| row[name].as_str().unwrap_or_default();
        for text in [of("title"), of("text")] {
            let is_end = |character: char| {
                matches!(character, '，' | '。' | '；' | '！' | '？' | '\n' | ';' | '!' | '?')
            };
            for part in text.split(is_end).flat_map(|part| part.split(". ")) {
                let clause = part.trim();
                if !clause.is_empty() {
                    self.clauses.push(clause.to_owned());
                }
            }
        }
        self.lengths.push((of("title").chars().count(), of("text").chars().count()));
        self.authors.push(of("author").to_owned());
    }

    /// Whole clauses of at least this many characters.
    fn text(&self, random: &mut Random, characters: usize) -> String {
        let mut text = String::new();
        let mut length = 0;
        while length < characters {
            let clause = random.pick(&self.clauses);
            let between = if text.is_empty() { "" } else { self.between };
            let _ = write!(text, "{between}{clause}");
            length += clause.chars().count();
        }
        text
    }
}

pub(crate) fn middle() -> i64 {
    i64::try_from(FIRST_TIME + TIMES / 2).unwrap()
}

/// A month, a year before the end.
pub(crate) fn month() -> (i64, i64) {
    let from = i64::try_from(FIRST_TIME + TIMES / 2).unwrap();
    (from, from + 30 * 86_400_000)
}
