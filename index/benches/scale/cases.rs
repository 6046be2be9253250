//! Queries whose words are chosen by frequency in the smallest corpus.
//!
//! Larger corpora have the same mixture, so a query matches the same share.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tantivy::DocSet;
use tantivy::schema::{IndexRecordOption, Term};
use trawl_engine::{HitPage, Query, Request, Scope, Start, TimePosition};
use trawl_index::Snapshot;

use crate::mixer::{self, Mixer};

pub(crate) const LIMIT: usize = 10;
const FAR_PAGE: usize = 1_000;
/// Documents from which phrases and authors are chosen.
const SAMPLE: u64 = 40_000;
/// Groups of one viewer.
const MANY_GROUPS: u64 = 500;

#[derive(Debug, Clone, Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) keyword: String,
    pub(crate) author: Option<String>,
    pub(crate) principals: Vec<String>,
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    pub(crate) place: PageStart,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PageStart {
    #[default]
    First,
    /// Page [`FAR_PAGE`].
    Far,
    /// The middle of all times.
    Middle,
}

impl Case {
    fn new(name: &str, keyword: &str) -> Self {
        Self {
            name: format!("{name} `{}`", keyword.trim_end()),
            keyword: keyword.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn ask(&self, snapshot: &Snapshot, scope: &Scope, start: Start, limit: usize) -> HitPage {
        snapshot.search(&self.request(scope, start, limit)).unwrap()
    }

    fn request(&self, scope: &Scope, start: Start, limit: usize) -> Request {
        Request {
            scope: Arc::new(scope.clone()),
            query: Arc::new(Query::parse(&self.keyword)),
            principals: self.principals.clone().into(),
            from: self.from,
            to: self.to,
            author: self.author.clone(),
            start,
            limit,
        }
    }

    pub(crate) fn is_at_once(&self, snapshot: &Snapshot, scope: &Scope, start: &Start) -> bool {
        let request = self.request(scope, start.clone(), LIMIT);
        snapshot.search_at_once(&request).unwrap().is_some()
    }

    /// `None` if the index has no such page.
    pub(crate) fn start(&self, snapshot: &Snapshot, scope: &Scope) -> Option<Start> {
        let after = match self.place {
            PageStart::First => None,
            PageStart::Middle => Some(TimePosition { display_time: mixer::middle(), id: None }),
            PageStart::Far => {
                let first = Start::Time { after: None, whole_ties: None };
                let before = self.ask(snapshot, scope, first, (FAR_PAGE - 1) * LIMIT);
                let last = before.hits.last().filter(|_| before.more)?;
                Some(TimePosition { display_time: last.display_time, id: Some(last.id.clone()) })
            }
        };
        Some(Start::Time { after, whole_ties: None })
    }
}

pub(crate) fn choose(mixer: &Mixer, directory: &Path, snapshot: &Snapshot, scope: &Scope) -> Vec<Case> {
    let words = WordCounts::count(directory, scope);
    let everything = words.documents;
    let word = |share: f64, chinese: bool, than: &[&str]| {
        words.nearest(everything, share, chinese, than, snapshot, scope)
    };
    let [zh_common, en_common] = [word(0.1, true, &[]), word(0.1, false, &[])];
    let [zh_common_2, en_common_2] = [word(0.08, true, &[&zh_common]), word(0.08, false, &[&en_common])];
    let [zh_medium, en_medium] = [word(0.01, true, &[]), word(0.01, false, &[])];
    let [zh_rare, en_rare] = [word(0.0001, true, &[]), word(0.0001, false, &[])];
    let sample = Sample::take(mixer, scope);
    let (zh_phrase, en_phrase) = (sample.phrase(true, 0.005), sample.phrase(false, 0.01));
    let author = sample.author(0.01);
    let (viewer, many): (Vec<String>, Vec<String>) =
        (vec![mixer::group(7)], (0..MANY_GROUPS).map(|number| mixer::group(number * 3)).collect());
    let whole = |name: &str, word: &str| Case::new(name, &format!("{word} "));

    let mut cases = vec![
        whole("common, Chinese", &zh_common),
        whole("common, English", &en_common),
        whole("medium, Chinese", &zh_medium),
        whole("medium, English", &en_medium),
        whole("rare, Chinese", &zh_rare),
        whole("rare, English", &en_rare),
    ];
    for (place, name) in [(PageStart::Far, "page 1,000 of"), (PageStart::Middle, "from the middle of time,")]
    {
        cases.push(Case { place, ..whole(&format!("{name} common, English"), &en_common) });
    }
    for (name, first, second) in [
        ("common + common, Chinese", &zh_common, &zh_common_2),
        ("common + common, English", &en_common, &en_common_2),
        ("common + medium, Chinese", &zh_common, &zh_medium),
        ("common + rare, English", &en_common, &en_rare),
    ] {
        cases.push(whole(name, &format!("{first} {second}")));
    }
    cases.push(Case {
        place: PageStart::Far,
        ..whole("page 1,000 of common + common, English", &format!("{en_common} {en_common_2}"))
    });
    cases.push(whole(
        "eight words, English",
        &format!("what is {en_common} {en_medium} {en_common_2} of {en_rare} {zh_medium}"),
    ));
    cases.push(whole("common without common, English", &format!("{en_common} -{en_common_2}")));
    cases.push(Case::new("phrase, Chinese", &format!("\"{zh_phrase}\"")));
    cases.push(Case::new("phrase, English", &format!("\"{en_phrase}\"")));
    cases.push(Case::new("common as a beginning", &en_common));
    cases.push(Case::new("two letters of it", &en_common[..2]));
    cases.push(Case::new("medium as a beginning", &en_medium));
    cases.push(Case::new("common + medium as a beginning", &format!("{en_common} {en_medium}")));
    cases.push(Case { author: Some(author.clone()), ..whole("by an author, common, English", &en_common) });
    cases.push(Case::new("by an author alone", &format!("author:\"{author}\" ")));
    let (from, to) = mixer::month();
    cases.push(Case { from: Some(from), to: Some(to), ..whole("of one month, common, English", &en_common) });
    cases.push(Case {
        from: Some(from),
        to: Some(to),
        ..whole("of one month, common + common, English", &format!("{en_common} {en_common_2}"))
    });
    for (name, principals) in [("of one group", &viewer), ("of 500 groups", &many)] {
        let principals = principals.clone();
        cases.push(Case {
            principals: principals.clone(),
            ..whole(&format!("a viewer {name}, common, English"), &en_common)
        });
        cases.push(Case {
            principals: principals.clone(),
            ..whole(&format!("a viewer {name}, rare, English"), &en_rare)
        });
        cases.push(Case {
            principals,
            ..whole(
                &format!("a viewer {name}, common + common, English"),
                &format!("{en_common} {en_common_2}"),
            )
        });
    }
    cases
}

struct WordCounts {
    counts: Vec<(String, u64)>,
    documents: u64,
}

impl WordCounts {
    fn count(directory: &Path, scope: &Scope) -> Self {
        let engine = trawl_index::bare::open(directory).unwrap();
        let searcher = engine.reader().unwrap().searcher();
        let field = searcher.schema().get_field("open").unwrap();
        let prefix = format!("{:x}.{}\0", scope.tenant, scope.module);
        let mut counts: HashMap<String, u64> = HashMap::new();
        let mut documents = 0;
        for segment in searcher.segment_readers() {
            let index = segment.inverted_index(field).unwrap();
            let mut terms = index.terms().range().ge(prefix.as_bytes()).into_stream().unwrap();
            while terms.advance() {
                let Some(word) = terms.key().strip_prefix(prefix.as_bytes()) else { break };
                let word = std::str::from_utf8(word).unwrap().to_owned();
                *counts.entry(word).or_default() += u64::from(terms.value().doc_freq);
            }
            let marker = Term::from_field_text(field, &prefix);
            let all = index.read_postings(&marker, IndexRecordOption::Basic).unwrap();
            documents += all.map_or(0, |all| u64::from(all.size_hint()));
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable();
        Self { counts, documents }
    }

    /// The word of the nearest share that is typed as indexed.
    fn nearest(
        &self,
        of: u64,
        share: f64,
        chinese: bool,
        than: &[&str],
        snapshot: &Snapshot,
        scope: &Scope,
    ) -> String {
        let wanted = of as f64 * share;
        let is_ideograph = |character: char| ('\u{4e00}'..='\u{9fff}').contains(&character);
        let fits = |word: &str| {
            if chinese {
                word.chars().count() >= 2 && word.chars().all(is_ideograph)
            } else {
                word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase())
            }
        };
        let mut near: Vec<&(String, u64)> =
            self.counts.iter().filter(|(word, _)| fits(word) && !than.contains(&word.as_str())).collect();
        near.sort_by(|left, right| {
            let distance = |count: u64| (count as f64 - wanted).abs();
            distance(left.1).total_cmp(&distance(right.1)).then_with(|| left.0.cmp(&right.0))
        });
        let found = |word: &str| {
            let first = Start::Time { after: None, whole_ties: None };
            Case::new("", &format!("{word} ")).ask(snapshot, scope, first, 0).total
        };
        // Some stems are no words and find less.
        let kept = near.iter().take(200).find(|(word, count)| found(word) >= count * 9 / 10);
        kept.unwrap().0.clone()
    }
}

struct Sample {
    texts: Vec<String>,
    authors: HashMap<String, usize>,
}

impl Sample {
    fn take(mixer: &Mixer, scope: &Scope) -> Self {
        let documents =
            (0..SAMPLE).map(|number| mixer.document(number, 0)).filter(|document| document.scope == *scope);
        let mut sample = Self { texts: Vec::new(), authors: HashMap::new() };
        for document in documents {
            sample.texts.push(format!("{} {}", document.title, document.brief));
            *sample.authors.entry(document.author).or_default() += 1;
        }
        sample
    }

    /// Chooses a phrase whose share of documents is nearest to `share`.
    fn phrase(&self, chinese: bool, share: f64) -> String {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for text in &self.texts {
            let mut pairs: Vec<String> = if chinese {
                let characters: Vec<char> = text.chars().collect();
                let is_word = |four: &&[char]| four.iter().all(|c| ('\u{4e00}'..='\u{9fff}').contains(c));
                characters.windows(4).filter(is_word).map(String::from_iter).collect()
            } else {
                let words: Vec<&str> = text.split(' ').collect();
                let is_word = |pair: &&[&str]| {
                    pair.iter()
                        .all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()) && word.len() > 1)
                };
                words.windows(2).filter(is_word).map(|pair| pair.join(" ")).collect()
            };
            pairs.sort_unstable();
            pairs.dedup();
            for pair in pairs {
                *counts.entry(pair).or_default() += 1;
            }
        }
        self.nearest(counts, share)
    }

    fn author(&self, share: f64) -> String {
        self.nearest(self.authors.clone(), share)
    }

    fn nearest(&self, counts: HashMap<String, usize>, share: f64) -> String {
        let wanted = self.texts.len() as f64 * share;
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable();
        let distance = |count: usize| (count as f64 - wanted).abs();
        let nearest = counts.into_iter().min_by(|left, right| distance(left.1).total_cmp(&distance(right.1)));
        nearest.unwrap().0
    }
}
