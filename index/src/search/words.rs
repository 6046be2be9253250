//! The words of a query as relevance order takes them: which of them find documents, and how much each one says.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tantivy::query::Bm25StatisticsProvider;

use super::expansion;
use super::parameters::{
    COMMON_FROM_DOCUMENTS, COMMON_FROM_SHARE, MAX_BEGUN, MAX_WEIGHED, PREFIX_WEIGHT, QUESTION_FROM_WORDS,
    REPETITION,
};
use super::plan::Sight;
use super::statistics::ScopeStatistics;
use super::work::{Stop, Work};
use crate::query::{AskedWord, Piece, Query};
use crate::text::{WHOLE, is_idle, whole};

/// The words of one query in one scope.
pub(super) struct Words {
    /// Those that are in the index, each once.
    pub(super) known: Vec<Word>,
    /// Words that were typed one after the other.
    pub(super) pairs: Vec<Pair>,
    /// What the last word may be the beginning of.
    pub(super) begun: Option<Begun>,
    /// The term of names that are all of what was typed, where there are any.
    pub(super) whole: Option<String>,
    /// Some stand in quotes, and are required as they stand there.
    quoted: bool,
    /// The query asks for words at all, be they in the index or not.
    asked: bool,
}

/// One word.
pub(super) struct Word {
    pub(super) term: String,
    /// In how many documents of the scope it stands.
    pub(super) documents: u64,
    /// How much it counts among the others, by how often it was typed.
    pub(super) weight: f32,
    /// How much it tells: the rarer, the more (BM25's inverse document frequency).
    pub(super) rarity: f32,
    /// A document that has it is a match. A word that is nearly everywhere only weighs, where there are others.
    pub(super) finds: bool,
}

/// Two words that were typed one after the other, by their places among the words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) first: usize,
    pub(super) second: usize,
    /// How many positions the second stands behind the first.
    pub(super) distance: u32,
}

/// The words that the last one may be the beginning of; they count as one.
pub(super) struct Begun {
    pub(super) terms: Vec<String>,
    /// In how many documents they stand, added up.
    pub(super) documents: u64,
    pub(super) weight: f32,
}

impl Words {
    /// Looks the words of the query up in its scope.
    pub(super) fn read(
        query: &Query,
        sight: &Sight<'_>,
        statistics: &ScopeStatistics<'_>,
        work: &mut Work,
    ) -> Result<Self, Stop> {
        let asked = telling(&query.words);
        let quoted = are_quotes_required(&asked);
        let mut words: Vec<Word> = Vec::new();
        for word in &asked {
            if words.iter().any(|known| known.term == word.term) {
                continue;
            }
            let is_required = quoted && asked.iter().any(|other| other.quoted && other.term == word.term);
            let documents = statistics.doc_freq(&sight.term(sight.view.fields.open.body, &word.term))?;
            if documents > 0 {
                let times = asked.iter().filter(|other| other.term == word.term).count();
                words.push(Word {
                    term: word.term.clone(),
                    documents,
                    weight: repeated(times),
                    rarity: rarity(documents, statistics.documents()),
                    finds: is_required || !is_common(documents, statistics.documents()),
                });
            }
        }
        keep_the_most_telling(&mut words);
        let begun = Begun::read(query, &asked, sight, &words, work)?;
        if begun.is_none() && words.iter().all(|word| !word.finds) {
            for word in &mut words {
                word.finds = true;
            }
        }
        let whole = whole(query.words.iter().map(|word| word.term.as_str()));
        let whole = whole.map(|whole| format!("{WHOLE}{whole}"));
        let whole = match whole {
            Some(term) if statistics.doc_freq(&sight.term(sight.view.fields.open.body, &term))? > 0 => {
                Some(term)
            }
            _ => None,
        };
        let pairs = pairs(&asked, &words);
        Ok(Self { known: words, pairs, begun, whole, quoted, asked: !asked.is_empty() })
    }

    /// Whether nothing can match, for want of every word that was asked for.
    pub(super) fn is_nothing(&self) -> bool {
        self.asked && self.known.is_empty() && self.begun.is_none() && self.whole.is_none()
    }

    /// Whether the query asks for no word: only for authors, or only without something.
    pub(super) fn are_none(&self) -> bool {
        !self.asked
    }

    /// Whether some stand in quotes and are required. They find every match by themselves.
    pub(super) fn are_quoted(&self) -> bool {
        self.quoted
    }

    /// The words any of which makes a document a match.
    pub(super) fn finding(&self) -> impl Iterator<Item = &str> {
        let begun = self.begun.iter().flat_map(|begun| &begun.terms).map(String::as_str);
        let known = self.known.iter().filter(|word| word.finds).map(|word| word.term.as_str());
        known.chain(begun).chain(self.whole.as_deref())
    }
}

impl Begun {
    fn read(
        query: &Query,
        asked: &[&AskedWord],
        sight: &Sight<'_>,
        words: &[Word],
        work: &mut Work,
    ) -> Result<Option<Self>, Stop> {
        let pieces = query.clauses.iter().filter(|clause| !clause.exclude).flat_map(|clause| &clause.pieces);
        let mut prefix = pieces.filter_map(|piece| match piece {
            Piece::Prefix { stem, start } => Some((stem, start)),
            _ => None,
        });
        let Some((stem, start)) = prefix.next_back() else { return Ok(None) };
        // What only asks is not looked for, nor what it may be the beginning of.
        if !asked.iter().any(|word| word.term == *stem) {
            return Ok(None);
        }
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for texts in sight.halves() {
            let expansion = expansion::words(sight.view, texts.body, &sight.prefix, start, stem, work)?;
            for term in expansion.begun() {
                let value = term.value();
                let begun = value.as_str().and_then(|text| text.strip_prefix(&sight.prefix));
                *found.entry(begun.unwrap_or_default().to_owned()).or_insert(0) +=
                    sight.view.document_frequency(term)?;
            }
        }
        if found.is_empty() {
            return Ok(None);
        }
        let mut found: Vec<(String, u64)> = found.into_iter().collect();
        // In their order already, and the sort keeps it among equals.
        found.sort_by_key(|(_, documents)| Reverse(*documents));
        found.truncate(MAX_BEGUN);
        let is_known = words.iter().any(|word| word.term == *stem);
        Ok(Some(Self {
            documents: found.iter().map(|(_, documents)| documents).sum(),
            terms: found.into_iter().map(|(word, _)| word).collect(),
            weight: if is_known { PREFIX_WEIGHT } else { 1.0 },
        }))
    }
}

/// The words that say what is looked for: without those that only make a question of it, where there are others.
fn telling(asked: &[AskedWord]) -> Vec<&AskedWord> {
    let telling: Vec<&AskedWord> = asked.iter().filter(|word| word.quoted || !is_idle(&word.term)).collect();
    if telling.is_empty() { asked.iter().collect() } else { telling }
}

/// Whether what stands in quotes is required. In a long question it is a title or a term among many words, and the whole is
/// what is asked for; there it only weighs, and more where it stands together.
fn are_quotes_required(telling: &[&AskedWord]) -> bool {
    let outside = telling.iter().filter(|word| !word.quoted).count();
    outside < QUESTION_FROM_WORDS && telling.iter().any(|word| word.quoted)
}

/// How much a word counts that was typed so many times; 1 for one time.
#[expect(clippy::cast_precision_loss, reason = "at most the terms of a query")]
fn repeated(times: usize) -> f32 {
    let times = times as f32;
    times * (REPETITION + 1.0) / (times + REPETITION)
}

/// BM25's inverse document frequency.
#[expect(clippy::cast_precision_loss, reason = "a statistic")]
pub(super) fn rarity(documents: u64, of: u64) -> f32 {
    let rest = of.saturating_sub(documents) as f32;
    (1.0 + (rest + 0.5) / (documents as f32 + 0.5)).ln()
}

fn is_common(documents: u64, of: u64) -> bool {
    documents > COMMON_FROM_DOCUMENTS && documents * COMMON_FROM_SHARE > of
}

/// Drops the words that tell least, where there are too many. The others stay in the order in which they were typed.
fn keep_the_most_telling(words: &mut Vec<Word>) {
    if words.len() <= MAX_WEIGHED {
        return;
    }
    let worth = |word: &Word| word.weight * word.rarity;
    let mut worths: Vec<f32> = words.iter().map(worth).collect();
    worths.sort_by(|left, right| right.total_cmp(left));
    let least = worths[MAX_WEIGHED - 1];
    words.retain(|word| worth(word) >= least);
    words.truncate(MAX_WEIGHED);
}

/// The pairs of neighbours, each once.
fn pairs(asked: &[&AskedWord], words: &[Word]) -> Vec<Pair> {
    let place = |asked: &AskedWord| words.iter().position(|word| word.term == asked.term);
    let known: Vec<(usize, usize)> =
        asked.iter().filter_map(|asked| Some((place(asked)?, asked.position))).collect();
    let mut pairs: Vec<Pair> = Vec::new();
    for neighbours in known.windows(2) {
        let [(first, at), (second, behind)] = *neighbours else { continue };
        let is_new = !pairs.iter().any(|pair| (pair.first, pair.second) == (first, second));
        if first != second && is_new {
            pairs.push(Pair { first, second, distance: u32::try_from(behind - at).unwrap_or(u32::MAX) });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(keyword: &str) -> Vec<String> {
        let query = Query::parse(keyword);
        telling(&query.words).into_iter().map(|word| word.term.clone()).collect()
    }

    fn word(term: &str, documents: u64) -> Word {
        Word {
            term: term.to_owned(),
            documents,
            weight: 1.0,
            rarity: rarity(documents, 1_000_000),
            finds: true,
        }
    }

    #[test]
    fn what_only_asks_is_left_out_unless_there_is_nothing_else() {
        assert_eq!(told("What is the cost of flight?"), ["cost", "flight"]);
        assert_eq!(told("请问北京的天气如何"), ["北京", "天气"]);
        assert_eq!(told("to be or not to be").len(), 6);
        assert_eq!(told("\"to be\" hamlet"), ["to", "be", "hamlet"]);
    }

    #[test]
    fn quotes_bind_a_few_words_and_not_a_question() {
        let required = |keyword: &str| are_quotes_required(&telling(&Query::parse(keyword).words));
        assert!(required("\"heat flow\""));
        assert!(required("\"heat flow\" copper 1970"));
        assert!(!required("heat flow copper"));
        assert!(!required("articles describing how copper conducts heat, such as \"heat flow\" 1970"));
    }

    #[test]
    fn of_many_words_the_rarest_stay_in_their_order() {
        let mut words: Vec<Word> = (1..=MAX_WEIGHED as u64 + 3)
            .map(|number| word(&number.to_string(), number * 7 % 41 + 1))
            .collect();
        let mut by_documents: Vec<u64> = words.iter().map(|word| word.documents).collect();
        by_documents.sort_unstable();
        keep_the_most_telling(&mut words);
        assert_eq!(words.len(), MAX_WEIGHED);
        assert!(words.iter().all(|word| word.documents <= by_documents[MAX_WEIGHED - 1]));
        assert!(words.is_sorted_by_key(|word| word.term.parse::<u64>().unwrap()));
    }

    #[test]
    fn neighbours_are_those_that_are_left() {
        let query = Query::parse("heat of the flow heat flow heat");
        let asked = telling(&query.words);
        let pairs = pairs(&asked, &[word("flow", 3), word("heat", 5)]);
        let pair = |first, second, distance| Pair { first, second, distance };
        assert_eq!(pairs, [pair(1, 0, 3), pair(0, 1, 1)]);
    }

    #[test]
    fn a_word_that_is_nearly_everywhere_is_common_in_large_scopes_only() {
        assert!(is_common(300_000, 1_000_000));
        assert!(!is_common(200_000, 1_000_000));
        assert!(!is_common(19, 20));
    }
}
