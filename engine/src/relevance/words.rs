//! Weights of query words, and which words select matches.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::frequencies::{Frequencies, inverse_document_frequency};
use super::parameters::{
    JOINED_WEIGHT, MAX_PREFIX_WORDS, MAX_WEIGHTED_WORDS, MIN_COMMON_DOCUMENTS, MIN_COMMON_SHARE,
    MIN_QUESTION_WORDS, PREFIX_WEIGHT, REPETITION_SATURATION, SYNONYM_WEIGHT,
};
use super::titles::{WholeText, whole_texts};
use crate::query::{Query, QueryWord, SynonymMatch};
use crate::text::is_stop_word;

/// Words of a query in relevance order, before their frequencies are known.
pub struct TypedWords<'a> {
    /// Words without stop words, unless nothing else is typed.
    content: Vec<&'a QueryWord>,
    synonyms: &'a [SynonymMatch],
    prefix: Option<WordPrefix<'a>>,
    /// Whole titles and names that it may hold.
    whole_texts: Vec<WholeText>,
    keyword: &'a str,
}

/// The last word, which may be unfinished.
#[derive(Debug, Clone, Copy)]
pub struct WordPrefix<'a> {
    /// The word as if it were finished.
    pub stem: &'a str,
    /// The word as typed.
    pub start: &'a str,
}

/// Words of a query, weighed by their frequencies.
pub struct WeightedWords {
    /// Distinct.
    pub indexed: Vec<WeightedWord>,
    /// Neighbours in the query.
    pub pairs: Vec<WordPair>,
    /// Words that begin with the last word.
    pub prefix_words: Option<PrefixWords>,
    /// Whole titles and names that are indexed.
    pub whole_texts: Vec<WholeText>,
    /// The folded keyword, if it may be found in other spellings.
    pub(super) typed_spelling: Option<String>,
    /// Typed words and synonyms, any of which is enough; each by its places in `indexed`.
    pub(super) alternatives: Vec<Vec<Vec<usize>>>,
    /// Quoted words are required.
    requires_quotes: bool,
    has_words: bool,
}

/// A word of the query that is indexed.
pub struct WeightedWord {
    /// The term without the scope's prefix.
    pub term: String,
    /// Document frequency.
    pub documents: u64,
    /// Grows with repetition in the query.
    pub weight: f32,
    /// Inverse document frequency.
    pub idf: f32,
    /// Common words only weigh, unless alone.
    pub selects: bool,
}

/// Two neighbours, by their place in [`WeightedWords::indexed`].
#[derive(Debug, PartialEq, Eq)]
pub struct WordPair {
    /// Typed first.
    pub first: usize,
    /// Typed second.
    pub second: usize,
    /// Positions from the first to the second.
    pub distance: u32,
}

/// Words that begin with the last word.
pub struct PrefixWords {
    /// The most frequent ones.
    pub terms: Vec<String>,
    /// Sum of frequencies.
    pub documents: u64,
    /// Smaller if the last word itself is indexed.
    pub weight: f32,
}

impl<'a> TypedWords<'a> {
    /// Reads the words of a query.
    pub fn of(query: &'a Query) -> Self {
        let content = content_words(&query.words);
        let pieces = query.clauses.iter().filter(|clause| !clause.exclude).flat_map(|clause| &clause.pieces);
        let mut prefixes =
            pieces.filter_map(|piece| piece.prefix().map(|(stem, start)| WordPrefix { stem, start }));
        // Stop words are not expanded.
        let prefix =
            prefixes.next_back().filter(|prefix| content.iter().any(|word| word.term == prefix.stem));
        let whole_texts = whole_texts(&query.words);
        Self { content, synonyms: &query.synonyms, prefix, whole_texts, keyword: &query.typed }
    }

    /// Terms whose frequencies decide the weights; may repeat.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        let synonyms = self.synonyms.iter().flat_map(|found| &found.synonyms).flatten();
        let typed = self.content.iter().map(|word| word.term.as_str());
        typed.chain(synonyms.map(|(_, word)| word.as_str()))
    }

    /// Further terms whose frequencies tell whether they are indexed, in whole texts only.
    pub fn whole_texts(&self) -> impl Iterator<Item = &str> {
        self.whole_texts.iter().map(|text| text.term.as_str())
    }

    /// The last word, if what begins with it counts too.
    pub fn prefix(&self) -> Option<WordPrefix<'a>> {
        self.prefix
    }

    /// Weighs the words. `expansion` holds frequencies of words that begin with [`Self::prefix`].
    pub fn weigh(self, frequencies: &Frequencies, expansion: BTreeMap<String, u64>) -> WeightedWords {
        let typed = self.content;
        let whole_texts = self.whole_texts.into_iter();
        let quoted = are_quotes_required(&typed);
        let mut words: Vec<WeightedWord> = Vec::new();
        for word in &typed {
            if words.iter().any(|indexed| indexed.term == word.term) {
                continue;
            }
            let is_required = quoted && typed.iter().any(|other| other.quoted && other.term == word.term);
            let documents = frequencies.of(&word.term);
            let parts = PartsOfWord::around(word, &typed);
            if documents > 0 && !(word.joined && parts.is_one_missing(frequencies)) {
                let same = || typed.iter().filter(|other| other.term == word.term);
                let times = same().count();
                let spelling = if same().all(|word| word.joined) { JOINED_WEIGHT } else { 1.0 };
                words.push(WeightedWord {
                    term: word.term.clone(),
                    documents,
                    weight: repetition_weight(times) * spelling / parts.count(),
                    idf: inverse_document_frequency(documents, frequencies.documents),
                    selects: is_required
                        || !is_common(documents, frequencies.documents)
                            && parts.are_rarest(documents, frequencies),
                });
            }
        }
        // Documents have joined forms of words apart, so that a word alone may be found in any spelling.
        let is_alone = matches!(typed.as_slice(), [QueryWord { written: Some(_), .. }]);
        let is_spelt_otherwise = is_alone
            || typed.iter().any(|word| word.joined && words.iter().any(|indexed| indexed.term == word.term));
        let no_typed_selects = words.iter().all(|word| !word.selects);
        for found in self.synonyms {
            add_synonyms(found, frequencies, &mut words);
        }
        keep_most_informative(&mut words);
        let prefix_words = self.prefix.and_then(|prefix| PrefixWords::of(prefix, expansion, &words));
        if prefix_words.is_none() && (no_typed_selects || words.iter().all(|word| !word.selects)) {
            for word in &mut words {
                word.selects = true;
            }
        }
        let in_sequence = typed.iter().filter(|typed| !typed.joined);
        let mut pairs = pairs(in_sequence.map(|typed| (typed.position, typed.term.as_str())), &words);
        for synonym in self.synonyms.iter().flat_map(|found| &found.synonyms) {
            pairs.extend(self::pairs(synonym.iter().map(|(at, word)| (*at, word.as_str())), &words));
        }
        WeightedWords {
            alternatives: self.synonyms.iter().filter_map(|found| alternatives(found, &words)).collect(),
            indexed: words,
            pairs,
            prefix_words,
            whole_texts: whole_texts.filter(|text| frequencies.of(&text.term) > 0).collect(),
            typed_spelling: is_spelt_otherwise.then(|| self.keyword.to_owned()),
            requires_quotes: quoted,
            has_words: !typed.is_empty(),
        }
    }
}

/// Parts of one typed word. A match of the word has all, so the rarest selects.
struct PartsOfWord<'a>(Vec<&'a str>);

impl<'a> PartsOfWord<'a> {
    fn around(word: &'a QueryWord, typed: &[&'a QueryWord]) -> Self {
        let parts = typed.iter().filter(|other| other.part_of.is_some() && other.part_of == word.part_of);
        Self(parts.map(|other| other.term.as_str()).collect())
    }

    #[expect(clippy::cast_precision_loss, reason = "at most the terms of a query")]
    fn count(&self) -> f32 {
        self.0.len().max(1) as f32
    }

    fn is_one_missing(&self, frequencies: &Frequencies) -> bool {
        self.0.iter().any(|term| frequencies.of(term) == 0)
    }

    fn are_rarest(&self, documents: u64, frequencies: &Frequencies) -> bool {
        let others = self.0.iter().map(|term| frequencies.of(term)).filter(|documents| *documents > 0);
        others.min().is_none_or(|rarest| documents <= rarest)
    }
}

impl WeightedWords {
    /// Whether words are typed and none of them is indexed.
    pub fn cannot_match(&self) -> bool {
        let is_indexed =
            !self.indexed.is_empty() || self.prefix_words.is_some() || !self.whole_texts.is_empty();
        self.has_words && !is_indexed
    }

    /// Whether no word is typed.
    pub fn is_empty(&self) -> bool {
        !self.has_words
    }

    /// Required quotes select all matches.
    pub fn requires_quotes(&self) -> bool {
        self.requires_quotes
    }

    /// Terms of which a match has one.
    pub fn matching_terms(&self) -> impl Iterator<Item = &str> {
        let prefix_word =
            self.prefix_words.iter().flat_map(|prefix_word| &prefix_word.terms).map(String::as_str);
        let indexed = self.indexed.iter().filter(|word| word.selects).map(|word| word.term.as_str());
        indexed.chain(prefix_word).chain(self.whole_texts.iter().map(|text| text.term.as_str()))
    }
}

impl PrefixWords {
    fn of(prefix: WordPrefix<'_>, expansion: BTreeMap<String, u64>, words: &[WeightedWord]) -> Option<Self> {
        if expansion.is_empty() {
            return None;
        }
        let mut found: Vec<(String, u64)> = expansion.into_iter().collect();
        // The stable sort keeps the lexicographic order.
        found.sort_by_key(|(_, documents)| Reverse(*documents));
        found.truncate(MAX_PREFIX_WORDS);
        let is_indexed = words.iter().any(|word| word.term == prefix.stem);
        Some(Self {
            documents: found.iter().map(|(_, documents)| documents).sum(),
            terms: found.into_iter().map(|(word, _)| word).collect(),
            weight: if is_indexed { PREFIX_WEIGHT } else { 1.0 },
        })
    }
}

/// Drops unquoted stop words, unless nothing remains.
fn content_words(typed: &[QueryWord]) -> Vec<&QueryWord> {
    let content_words: Vec<&QueryWord> =
        typed.iter().filter(|word| word.quoted || !is_stop_word(&word.term)).collect();
    if content_words.iter().all(|word| word.joined) { typed.iter().collect() } else { content_words }
}

/// Long questions only weigh quotes, such as titles.
fn are_quotes_required(content_words: &[&QueryWord]) -> bool {
    let outside = content_words.iter().filter(|word| !word.quoted).count();
    outside < MIN_QUESTION_WORDS && content_words.iter().any(|word| word.quoted)
}

/// 1 for once.
#[expect(clippy::cast_precision_loss, reason = "at most the terms of a query")]
fn repetition_weight(times: usize) -> f32 {
    let times = times as f32;
    times * (REPETITION_SATURATION + 1.0) / (times + REPETITION_SATURATION)
}

fn is_common(documents: u64, total: u64) -> bool {
    documents > MIN_COMMON_DOCUMENTS && documents * MIN_COMMON_SHARE > total
}

/// Keeps the highest weights, in typed order.
fn keep_most_informative(words: &mut Vec<WeightedWord>) {
    if words.len() <= MAX_WEIGHTED_WORDS {
        return;
    }
    let worth = |word: &WeightedWord| word.weight * word.idf;
    let mut worths: Vec<f32> = words.iter().map(worth).collect();
    worths.sort_by(|left, right| right.total_cmp(left));
    let least = worths[MAX_WEIGHTED_WORDS - 1];
    words.retain(|word| worth(word) >= least);
    words.truncate(MAX_WEIGHTED_WORDS);
}

/// Adds the words of synonyms, each of which selects by its rarest word.
///
/// A synonym of several words is worth no more than the typed words.
fn add_synonyms(found: &SynonymMatch, frequencies: &Frequencies, words: &mut Vec<WeightedWord>) {
    let idf = |term: &str| match frequencies.of(term) {
        0 => 0.0,
        documents => inverse_document_frequency(documents, frequencies.documents),
    };
    let typed: f32 = found.typed.iter().filter(|term| !is_stop_word(term)).map(|term| idf(term)).sum();
    for synonym in &found.synonyms {
        let all: f32 = synonym.iter().map(|(_, term)| idf(term)).sum();
        let share = if typed > 0.0 { (typed / all).min(1.0) } else { 1.0 };
        let rarest =
            synonym.iter().map(|(_, term)| frequencies.of(term)).filter(|documents| *documents > 0).min();
        for (_, term) in synonym {
            let documents = frequencies.of(term);
            if documents > 0 && !words.iter().any(|indexed| indexed.term == *term) {
                words.push(WeightedWord {
                    term: term.clone(),
                    documents,
                    weight: SYNONYM_WEIGHT * share,
                    idf: idf(term),
                    selects: Some(documents) == rarest && !is_common(documents, frequencies.documents),
                });
            }
        }
    }
}

/// The typed words and each synonym that are indexed whole; `None` if fewer than two are.
fn alternatives(found: &SynonymMatch, words: &[WeightedWord]) -> Option<Vec<Vec<usize>>> {
    let place = |term: &String| words.iter().position(|word| word.term == *term);
    let typed: Option<Vec<usize>> =
        found.typed.iter().filter(|term| !is_stop_word(term)).map(place).collect();
    let synonyms = found.synonyms.iter().map(|synonym| synonym.iter().map(|(_, term)| place(term)).collect());
    let indexed: Vec<Vec<usize>> = std::iter::once(typed).chain(synonyms).flatten().collect();
    let indexed: Vec<Vec<usize>> = indexed.into_iter().filter(|places| !places.is_empty()).collect();
    (indexed.len() > 1).then_some(indexed)
}

/// Neighbours among words at their positions.
fn pairs<'w>(typed: impl Iterator<Item = (usize, &'w str)>, words: &[WeightedWord]) -> Vec<WordPair> {
    let place = |term: &str| words.iter().position(|word| word.term == term);
    let indexed: Vec<(usize, usize)> = typed.filter_map(|(at, term)| Some((place(term)?, at))).collect();
    let mut pairs: Vec<WordPair> = Vec::new();
    for neighbours in indexed.windows(2) {
        let [(first, at), (second, next)] = *neighbours else { continue };
        let is_new = !pairs.iter().any(|pair| (pair.first, pair.second) == (first, second));
        if first != second && is_new {
            pairs.push(WordPair { first, second, distance: u32::try_from(next - at).unwrap_or(u32::MAX) });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content_words_of(keyword: &str) -> Vec<String> {
        let query = Query::parse(keyword);
        content_words(&query.words).into_iter().map(|word| word.term.clone()).collect()
    }

    fn word(term: &str, documents: u64) -> WeightedWord {
        WeightedWord {
            term: term.to_owned(),
            documents,
            weight: 1.0,
            idf: inverse_document_frequency(documents, 1_000_000),
            selects: true,
        }
    }

    #[test]
    fn stop_words_have_no_weight_unless_alone() {
        assert_eq!(content_words_of("What is the cost of flight?"), ["cost", "flight"]);
        assert_eq!(content_words_of("请问北京的天气如何"), ["北京", "天气"]);
        assert_eq!(content_words_of("to be or not to be").len(), 6);
        assert_eq!(content_words_of("\"to be\" hamlet"), ["to", "be", "hamlet"]);
    }

    #[test]
    fn quotes_are_required_in_short_queries_only() {
        let required = |keyword: &str| are_quotes_required(&content_words(&Query::parse(keyword).words));
        assert!(required("\"heat flow\""));
        assert!(required("\"heat flow\" copper 1970"));
        assert!(!required("heat flow copper"));
        assert!(!required("articles describing how copper conducts heat, such as \"heat flow\" 1970"));
    }

    #[test]
    fn rarest_words_are_kept_in_typed_order() {
        let mut words: Vec<WeightedWord> = (1..=MAX_WEIGHTED_WORDS as u64 + 3)
            .map(|number| word(&number.to_string(), number * 7 % 41 + 1))
            .collect();
        let mut by_documents: Vec<u64> = words.iter().map(|word| word.documents).collect();
        by_documents.sort_unstable();
        keep_most_informative(&mut words);
        assert_eq!(words.len(), MAX_WEIGHTED_WORDS);
        assert!(words.iter().all(|word| word.documents <= by_documents[MAX_WEIGHTED_WORDS - 1]));
        assert!(words.is_sorted_by_key(|word| word.term.parse::<u64>().unwrap()));
    }

    #[test]
    fn pairs_skip_dropped_words() {
        let query = Query::parse("heat of the flow heat flow heat");
        let typed =
            content_words(&query.words).into_iter().map(|typed| (typed.position, typed.term.as_str()));
        let pairs = pairs(typed, &[word("flow", 3), word("heat", 5)]);
        let pair = |first, second, distance| WordPair { first, second, distance };
        assert_eq!(pairs, [pair(1, 0, 3), pair(0, 1, 1)]);
    }

    #[test]
    fn frequent_word_is_common_in_large_scopes_only() {
        assert!(is_common(300_000, 1_000_000));
        assert!(!is_common(200_000, 1_000_000));
        assert!(!is_common(19, 20));
    }
}
