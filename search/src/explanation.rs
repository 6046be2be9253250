//! `explain=true`: the words that found each item, and the parts of its score.

use std::sync::Arc;

use serde::Serialize;
use tokio::time::timeout_at;
use trawl_engine::{
    Highlighter, Query, Request, Text, Texts,
    correction::Correction,
    fold,
    query::{Clause, Piece, Target},
    relevance::MatchScore,
    text::{WHOLE_NAME, stem, written_signs, written_syllables},
};

use crate::{
    answer::SearchPage,
    module::ModuleSource,
    request::{SearchContext, SearchOrder},
    source::ResultItem,
};

/// Words that are looked up in texts that items do not show.
const MAX_LOOKED_UP: usize = 16;

/// Why an item was found.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Explanation {
    /// The score; estimated for items of external sources.
    ///
    /// The weight of the source is not in it.
    #[schema(required)]
    score: Option<f32>,
    /// The searched words that the item has.
    words: Vec<ExplainedWord>,
    /// Parts of the score: `((words + nearness) × completeness + feedback) × recency`.
    #[schema(required, value_type = Option<std::collections::BTreeMap<String, f32>>)]
    factors: Option<MatchScore>,
    /// Whether the operator pinned it to the keyword.
    pinned: bool,
}

/// A searched word in an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct ExplainedWord {
    /// The word, as searched for.
    word: String,
    /// The first field that has it.
    field: ExplainedField,
    /// How the field has it.
    #[serde(rename = "as")]
    matched_as: MatchKind,
}

/// A field of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ExplainedField {
    /// Title.
    Title,
    /// Subtitle.
    SubTitle,
    /// Brief.
    Brief,
    /// A text or name that the item does not show.
    Text,
    /// Author.
    Author,
}

/// How a word matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MatchKind {
    /// The word itself, in any spelling.
    Exact,
    /// A word that begins with it.
    Prefix,
    /// Another form of the word.
    Stem,
    /// An operator's synonym of a typed word.
    Synonym,
    /// A correction of a typed word.
    Corrected,
    /// A name that is read so.
    Pinyin,
}

/// Adds `explain` to each item. `sources` are those of the page's lanes.
pub(crate) async fn add(page: &mut SearchPage, search: &SearchContext, sources: &[ModuleSource]) {
    let words = SearchedWord::all_of(search, page.corrected.as_ref());
    let pinned = page.pinned.items.len();
    let mut found: Vec<Vec<ExplainedWord>> = page.shown().map(|item| shown_words(&words, item)).collect();
    add_hidden_words(&words, page, search, sources, &mut found).await;
    for (place, (item, words)) in page.shown_mut().zip(found).enumerate() {
        let (score, factors) = (item.score.map(|score| score.total()), item.score);
        let explanation = Explanation { score, words, factors, pinned: place < pinned };
        if let Ok(json) = serde_json::to_string(&explanation) {
            item.add_field("explain", &json);
        }
    }
}

/// A word, phrase or prefix of the query.
struct SearchedWord {
    word: String,
    piece: Piece,
    target: Target,
    highlighter: Highlighter,
    /// If it was not typed.
    origin: Option<MatchKind>,
}

impl SearchedWord {
    fn all_of(search: &SearchContext, corrected: Option<&Correction>) -> Vec<Self> {
        let query = &search.query;
        let required = query.clauses.iter().filter(|clause| !clause.exclude);
        // A name as one word is the typed one, too.
        let is_typed = |piece: &&Piece| terms_of(piece).iter().all(|term| !term.starts_with(WHOLE_NAME));
        let mut pieces: Vec<(Target, Piece)> = required
            .flat_map(|clause| {
                let pieces = clause.pieces.iter().flat_map(parts).filter(is_typed);
                pieces.map(|piece| (clause.target, piece.clone()))
            })
            .collect();
        if search.parameters.order == SearchOrder::Relevance {
            let typed = query.without_stop_words().words;
            let whole = typed.into_iter().filter(|word| word.part_of.is_none());
            pieces.extend(whole.map(|word| (Target::Text, Piece::Term(word.term))));
        }
        let folded = fold(&search.parameters.keyword);
        let typed: Vec<&str> = folded.split(|character: char| !character.is_alphanumeric()).collect();
        let mut words: Vec<Self> = Vec::with_capacity(pieces.len());
        for (target, piece) in pieces {
            // A finished word is the same as an unfinished one, and as its parts.
            let is_known = |known: &Self| {
                known.target == target && terms_of(&known.piece).concat() == terms_of(&piece).concat()
            };
            if !words.iter().any(is_known) {
                words.push(Self::new(piece, target, &typed, query, corrected));
            }
        }
        words
    }

    fn new(
        piece: Piece,
        target: Target,
        typed: &[&str],
        query: &Query,
        corrected: Option<&Correction>,
    ) -> Self {
        let terms = terms_of(&piece);
        let as_typed =
            |term: &str| typed.iter().find(|word| stem(word) == term).map(|word| (*word).to_owned());
        let shown = terms.iter().map(|term| as_typed(term).unwrap_or_else(|| written_signs(term)));
        let separator = if terms.iter().all(|term| term.is_ascii()) { " " } else { "" };
        let is_typed = |term: &&str| query.words.iter().any(|word| word.term == **term);
        let synonyms = || query.synonyms.iter().flat_map(|found| &found.synonyms).flatten();
        let is_synonym = |term: &&str| !is_typed(term) && synonyms().any(|(_, word)| word == *term);
        let is_correction = |term: &&str| {
            let mut words = corrected.iter().flat_map(|corrected| &corrected.words);
            words.any(|word| word.to == **term || stem(&word.to) == **term)
        };
        let origin = if terms.iter().any(is_synonym) {
            Some(MatchKind::Synonym)
        } else {
            terms.iter().any(is_correction).then_some(MatchKind::Corrected)
        };
        let syllables = if let Piece::Phrase(terms) = &piece { written_syllables(terms) } else { None };
        let word = match (&piece, syllables) {
            (Piece::Prefix { start, .. }, _) => written_signs(start),
            (_, Some(written)) => written,
            _ => shown.collect::<Vec<String>>().join(separator),
        };
        let highlighter = Highlighter::new(&text_query(piece.clone()));
        Self { word, piece, target, highlighter, origin }
    }

    fn found(&self, field: ExplainedField, matched_as: MatchKind) -> ExplainedWord {
        ExplainedWord { word: self.word.clone(), field, matched_as: self.origin.unwrap_or(matched_as) }
    }

    /// Tells the kind by the text that matched.
    fn kind_of(&self, matched: &str) -> MatchKind {
        let letters =
            |text: &str| text.chars().filter(|character| character.is_alphanumeric()).collect::<String>();
        let (matched, word) = (letters(&fold(matched)), letters(&fold(&self.word)));
        match &self.piece {
            _ if matched == word => MatchKind::Exact,
            Piece::Prefix { stem: own, .. } if matched.starts_with(&word) && *own != stem(&matched) => {
                MatchKind::Prefix
            }
            _ if is_latin(&word) && !matched.is_ascii() => MatchKind::Pinyin,
            _ if !is_latin(&word) => MatchKind::Exact,
            _ => MatchKind::Stem,
        }
    }

    /// Tells the kind of a match in an unshown text.
    fn kind_unseen(&self) -> MatchKind {
        match &self.piece {
            Piece::Term(term) if *term != self.word => MatchKind::Stem,
            Piece::Prefix { .. } => MatchKind::Prefix,
            _ => MatchKind::Exact,
        }
    }
}

/// The words that an item shows.
fn shown_words(words: &[SearchedWord], item: &ResultItem) -> Vec<ExplainedWord> {
    let Texts { title, sub_title, brief } = Texts::read(&item.json);
    let fields = [
        (ExplainedField::Title, title, item.title_is_name),
        (ExplainedField::SubTitle, sub_title, false),
        (ExplainedField::Brief, brief, false),
    ];
    let found = |word: &SearchedWord| {
        if word.target == Target::Author {
            // It is required of every item but the pinned ones.
            return (!item.is_pinned).then(|| word.found(ExplainedField::Author, MatchKind::Exact));
        }
        fields.iter().find_map(|(field, text, is_name)| {
            let Text(text) = text.as_ref()?;
            let matched = word.highlighter.first_match(text, *is_name)?;
            Some(word.found(*field, word.kind_of(matched)))
        })
    };
    words.iter().filter_map(found).collect()
}

/// Looks up the other words; none is added if the index fails or is late.
async fn add_hidden_words(
    words: &[SearchedWord],
    page: &SearchPage,
    search: &SearchContext,
    sources: &[ModuleSource],
    found: &mut [Vec<ExplainedWord>],
) {
    let (mut places, mut requests) = (Vec::new(), Vec::new());
    let mut index = None;
    for (place, item) in page.shown().enumerate() {
        let source = item.lane.and_then(|lane| sources.get(lane));
        let Some(ModuleSource::Builtin(source)) = source else { continue };
        index = index.or(Some(source));
        let is_hidden = |word: &&SearchedWord| {
            word.target == Target::Text && !found[place].iter().any(|shown| shown.word == word.word)
        };
        for word in words.iter().filter(is_hidden).take(MAX_LOOKED_UP) {
            let query = Arc::new(text_query(word.piece.clone()).for_item(&item.id));
            requests.push(Request { query, ..source.request_of_item(search, &item.id) });
            places.push((place, word));
        }
    }
    let Some(index) = index.filter(|_| !requests.is_empty()) else { return };
    let requests = requests.into();
    let Ok(Ok(hits)) = timeout_at(search.deadline, index.newest(&search.viewer, &requests)).await else {
        return;
    };
    for ((place, word), hits) in places.into_iter().zip(hits) {
        if !hits.is_empty() {
            found[place].push(word.found(ExplainedField::Text, word.kind_unseen()));
        }
    }
}

fn text_query(piece: Piece) -> Query {
    let pieces = vec![piece];
    Clause { exclude: false, target: Target::Text, quoted: true, exact: false, pieces }.into()
}

/// Words, phrases and prefixes of a piece.
fn parts(piece: &Piece) -> Vec<&Piece> {
    match piece {
        Piece::Either(alternatives) => alternatives.iter().flatten().flat_map(parts).collect(),
        part => vec![part],
    }
}

fn is_latin(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn terms_of(piece: &Piece) -> Vec<&str> {
    match piece {
        Piece::Term(term) | Piece::Prefix { stem: term, .. } => vec![term],
        Piece::Phrase(terms) => terms.iter().map(|(_, term)| term.as_str()).collect(),
        Piece::Either(alternatives) => alternatives.iter().flatten().flat_map(terms_of).collect(),
    }
}
