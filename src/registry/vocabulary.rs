//! An operator's vocabulary as registered, and its rules (book: how-to/operate.md).

use std::{collections::HashSet, ops::RangeInclusive};

use serde::{Deserialize, Serialize};
use trawl_connectors::grouped;
use trawl_search::{PinnedItem, Vocabulary, normalise};

use super::forms::{is_code, required};
use crate::{
    error::{Error, Result},
    json::BoundedList,
};

/// Terms and items of all parts.
const MAX_ENTRIES: usize = 10_000;
const TEXT_CHARS: usize = 200;
const ID_BYTES: usize = 512;

const MAX_TERMS: usize = 20;
const MAX_PINS: usize = 20;

const GROUP: RangeInclusive<usize> = 2..=MAX_TERMS;
const MEANINGS: RangeInclusive<usize> = 1..=MAX_TERMS;
const PINS: RangeInclusive<usize> = 1..=MAX_PINS;

/// The vocabulary of a tenant; absent parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RegisteredVocabulary {
    /// Groups of 2 to 20 terms, each of which finds the others.
    pub synonyms: BoundedList<BoundedList<String, { MAX_TERMS }>, { MAX_ENTRIES }>,
    /// Terms that also find others, and are not found by them.
    pub one_way: BoundedList<OneWaySynonym, { MAX_ENTRIES }>,
    /// Words that are never corrected.
    pub never_correct: BoundedList<String, { MAX_ENTRIES }>,
    /// Items that searches for a keyword show first.
    pub pinned: BoundedList<PinnedKeyword, { MAX_ENTRIES }>,
}

/// A term that also finds others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct OneWaySynonym {
    /// The term that is searched for. Required.
    pub from: String,
    /// The 1 to 20 terms that it also finds. Required.
    pub to: BoundedList<String, { MAX_TERMS }>,
}

/// The items of a keyword in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct PinnedKeyword {
    /// The whole keyword, whatever its case and spaces. Required.
    pub keyword: String,
    /// 1 to 20 items. Required.
    pub items: BoundedList<PinnedReference, { MAX_PINS }>,
}

/// A built-in item by its content's code and its id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct PinnedReference {
    /// The content's code, as in `builtin:CODE`. Required.
    pub module: String,
    /// The item's id. Required.
    pub id: String,
}

impl RegisteredVocabulary {
    /// Trims all texts, and checks them.
    ///
    /// # Errors
    /// 400 that names the first wrong field.
    pub(super) fn checked(self) -> Result<Self> {
        let entries = self.entries();
        if entries > MAX_ENTRIES {
            let (most, entries) = (grouped(MAX_ENTRIES), grouped(entries));
            return Err(Error::bad_request(format!(
                "vocabulary: must hold at most {most} terms and items in all its parts, not {entries}"
            )));
        }
        let synonyms = self.synonyms.try_map(|place, terms| {
            let field = format!("synonyms[{place}]");
            check_count(&field, "terms", &terms, &GROUP)?;
            distinct_texts(&field, terms, None)
        })?;
        let one_way = self.one_way.try_map(|place, OneWaySynonym { from, to }| {
            let from = text(&format!("oneWay[{place}].from"), &from)?;
            let field = format!("oneWay[{place}].to");
            check_count(&field, "terms", &to, &MEANINGS)?;
            let to = distinct_texts(&field, to, Some(&from))?;
            Ok::<_, Error>(OneWaySynonym { from, to })
        })?;
        let word = |place: usize, word: String| text(&format!("neverCorrect[{place}]"), &word);
        let never_correct = self.never_correct.try_map(word)?;
        let mut keywords = HashSet::new();
        let pinned = self.pinned.try_map(|place, PinnedKeyword { keyword, items }| {
            let field = format!("pinned[{place}].keyword");
            let keyword = text(&field, &keyword)?;
            if !keywords.insert(normalise(&keyword)) {
                return Err(Error::bad_request(format!(
                    "{field}: is given twice; name all its items together"
                )));
            }
            let field = format!("pinned[{place}].items");
            check_count(&field, "items", &items, &PINS)?;
            Ok(PinnedKeyword { keyword, items: distinct_items(&field, items)? })
        })?;
        Ok(Self { synonyms, one_way, never_correct, pinned })
    }

    /// Compiles the vocabulary for searches.
    pub(super) fn compile(self) -> Vocabulary {
        let synonyms: Vec<Vec<String>> = self.synonyms.into_iter().map(Vec::from).collect();
        let one_way = self.one_way.into_iter().map(|OneWaySynonym { from, to }| (from, Vec::from(to)));
        let item = |PinnedReference { module, id }| PinnedItem { module, id };
        let pinned = self
            .pinned
            .into_iter()
            .map(|PinnedKeyword { keyword, items }| (keyword, items.into_iter().map(item).collect()));
        Vocabulary::new(&synonyms, &one_way.collect::<Vec<_>>(), &self.never_correct, pinned)
    }

    fn entries(&self) -> usize {
        let synonyms = self.synonyms.iter().map(|terms| terms.len());
        let one_way = self.one_way.iter().map(|synonym| 1 + synonym.to.len());
        let pinned = self.pinned.iter().map(|pinned| pinned.items.len());
        synonyms.chain(one_way).chain(pinned).sum::<usize>() + self.never_correct.len()
    }
}

fn check_count<T>(field: &str, unit: &str, list: &[T], bounds: &RangeInclusive<usize>) -> Result<()> {
    if bounds.contains(&list.len()) {
        return Ok(());
    }
    let (least, most, found) = (bounds.start(), bounds.end(), list.len());
    Err(Error::bad_request(format!("{field}: must have {least} to {most} {unit}, not {found}")))
}

fn text(field: &str, text: &str) -> Result<String> {
    let trimmed = text.trim();
    let is_blank = normalise(trimmed).is_empty();
    if is_blank || trimmed.chars().nth(TEXT_CHARS).is_some() || trimmed.chars().any(char::is_control) {
        return Err(Error::bad_request(format!(
            "{field}: is required, 1 to {TEXT_CHARS} characters without control characters"
        )));
    }
    Ok(trimmed.to_owned())
}

/// Terms that no search would tell apart are equal.
fn distinct_texts(
    field: &str,
    terms: BoundedList<String, { MAX_TERMS }>,
    beside: Option<&str>,
) -> Result<BoundedList<String, { MAX_TERMS }>> {
    let mut seen: HashSet<String> = beside.into_iter().map(normalise).collect();
    terms.try_map(|place, term| {
        let field = format!("{field}[{place}]");
        let term = text(&field, &term)?;
        if seen.insert(normalise(&term)) {
            Ok(term)
        } else {
            Err(Error::bad_request(format!("{field}: is given twice")))
        }
    })
}

fn distinct_items(
    field: &str,
    items: BoundedList<PinnedReference, { MAX_PINS }>,
) -> Result<BoundedList<PinnedReference, { MAX_PINS }>> {
    let mut seen = HashSet::new();
    items.try_map(|place, PinnedReference { module, id }| {
        let field = format!("{field}[{place}]");
        if !is_code(&module) {
            return Err(Error::bad_request(format!(
                "{field}.module: is required and must be 1 to 64 of a-z, 0-9, _ and -"
            )));
        }
        let id = required(&format!("{field}.id"), Some(id), ID_BYTES)?;
        let item = PinnedReference { module, id };
        if seen.insert(item.clone()) {
            Ok(item)
        } else {
            Err(Error::bad_request(format!("{field}: is given twice")))
        }
    })
}
