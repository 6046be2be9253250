//! Typed variants of names, and whole names.
//!
//! Each character starts terms of pinyin, in full and by initials. Words are joined (`obrien`). A whole name
//! is one more term, which ranks equal names first and no query for words reaches. All these terms count in
//! the length of a name.

use std::ops::Range;

use super::pinyin::initials;
use super::segmentation::is_ideograph;
use super::{
    Folded, PinyinReadings, ScriptRun, WordVariant, compound_variants, fold, placed_runs, query_words,
    spoken_forms, stem,
};

/// Words that are joined, as in `Jean-Luc`, `O'Brien`, `mei.chen`, `Zhang Wei`.
const MAX_JOINED_WORDS: usize = 4;
const MAX_WHOLE_NAME_BYTES: usize = 128;
/// Pronunciations that are indexed, usual readings first.
const MAX_PRONUNCIATIONS: usize = 8;

/// Few names need a hundred; many readings could make ten thousand and block the indexing thread.
#[derive(Debug)]
pub(crate) struct VariantBudget {
    left: usize,
}

impl VariantBudget {
    const TERMS: usize = 2_000;

    pub(crate) fn new() -> Self {
        Self { left: Self::TERMS }
    }

    /// Empties the budget if the terms do not fit.
    fn spend(&mut self, terms: usize) -> bool {
        let remaining = self.left.checked_sub(terms);
        self.left = remaining.unwrap_or(0);
        remaining.is_some()
    }
}

/// Ordered by start and length.
pub(crate) fn name_variants(name: &str, folded: &Folded, budget: &mut VariantBudget) -> Vec<WordVariant> {
    all_variants(name, folded, &PinyinReadings::of(name, folded), budget)
}

fn all_variants(
    name: &str,
    folded: &Folded,
    readings: &PinyinReadings,
    budget: &mut VariantBudget,
) -> Vec<WordVariant> {
    let mut variants = readings.variants();
    let runs: Vec<_> = placed_runs(&folded.text).collect();
    variants.extend(compound_variants(name, folded, &runs));
    variants.extend(joined_words(&folded.text));
    variants.sort_by(WordVariant::in_order);
    variants.dedup();
    // A different stem is one more term.
    let within = variants
        .iter()
        .take_while(|variant| budget.spend(1 + usize::from(stem(&variant.word) != variant.word)));
    let within = within.count();
    variants.truncate(within);
    variants
}

pub(crate) fn indexed_forms(
    name: &str,
    folded: &Folded,
    budget: &mut VariantBudget,
) -> (Vec<WordVariant>, Vec<String>) {
    if budget.left == 0 {
        return (Vec::new(), Vec::new());
    }
    let readings = PinyinReadings::of(name, folded);
    let variants = all_variants(name, folded, &readings, budget);
    if budget.left == 0 {
        return (variants, Vec::new());
    }
    let whole_names = whole_names(&folded.text, &readings);
    let is_within = budget.spend(whole_names.len());
    (variants, if is_within { whole_names } else { Vec::new() })
}

/// `None` if too long or empty.
pub fn whole_name<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut whole = String::new();
    for word in words {
        let is_joined = whole.ends_with(is_ideograph) && word.starts_with(is_ideograph);
        if !whole.is_empty() && !is_joined {
            whole.push(' ');
        }
        whole.push_str(word);
        if whole.len() > MAX_WHOLE_NAME_BYTES {
            return None;
        }
    }
    (!whole.is_empty()).then_some(whole)
}

/// All forms of a whole name, by parts in two scripts, too (`Chen Mei 陈梅`).
///
/// Each word of a form is also indexed by itself.
fn whole_names(folded: &str, readings: &PinyinReadings) -> Vec<String> {
    if is_number(folded) {
        return Vec::new();
    }
    let mut whole_names: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| {
        let stems: Vec<_> = words.iter().map(|word| stem(word)).collect();
        whole_names.extend(whole_name(stems.iter().map(AsRef::as_ref)));
    };
    let parts = parts(folded);
    if parts.len() > 1 {
        add(&as_typed(folded).iter().map(String::as_str).collect::<Vec<_>>());
    }
    for part in parts {
        let written = &folded[part.clone()];
        add(&as_typed(written).iter().map(String::as_str).collect::<Vec<_>>());
        if written.starts_with(is_ideograph) {
            for syllables in readings.syllables(&part).iter().take(MAX_PRONUNCIATIONS) {
                add_syllables(syllables, &mut add);
            }
        } else {
            for joined_by in [Joint::Sign, Joint::SignOrSpace] {
                let joined = joined_together(written, joined_by);
                add(&joined.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
    }
    whole_names.sort_unstable();
    whole_names.dedup();
    whole_names
}

/// Numbers match as they are.
fn is_number(folded: &str) -> bool {
    folded.bytes().all(|byte| byte.is_ascii_digit())
}

/// 张三丰 as `zhangsanfeng`, `zsf`, `zhang san feng`, `zhang sanfeng`, `sanfeng zhang`, `zhangsan feng`.
fn add_syllables(syllables: &[&str], add: &mut impl FnMut(&[&str])) {
    add(&[&syllables.concat()]);
    add(&[&initials(syllables)]);
    add(syllables);
    // Surnames have one or two characters.
    for length in 1..syllables.len().min(3) {
        let (surname, given) = syllables.split_at(length);
        let (surname, given) = (surname.concat(), given.concat());
        add(&[&surname, &given]);
        // Two are rare in names of three.
        if length == 1 || syllables.len() > 3 {
            add(&[&given, &surname]);
        }
    }
}

fn as_typed(text: &str) -> Vec<String> {
    query_words(text).into_iter().map(|(_, word)| word).collect()
}

fn parts(folded: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<(bool, Range<usize>)> = Vec::new();
    for (bytes, run) in placed_runs(folded) {
        let is_ideographs = matches!(run, ScriptRun::Ideographs(_));
        match parts.last_mut() {
            Some((of_last, part)) if *of_last == is_ideographs => part.end = bytes.end,
            _ => parts.push((is_ideographs, bytes)),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// Separators of words.
#[derive(Clone, Copy)]
enum Joint {
    /// Signs (`O'Brien`).
    Sign,
    /// Signs or a space (`Zhang Wei`).
    SignOrSpace,
}

impl Joint {
    fn joins(self, between: &str) -> bool {
        let mut characters = between.chars();
        let is_sign = |sign| matches!(sign, '\'' | '’' | 'ʼ' | '`' | '-' | '‐' | '–' | '.' | '_' | '·');
        match (characters.next(), characters.next()) {
            (Some(' '), None) => matches!(self, Self::SignOrSpace),
            (Some(sign), None) => is_sign(sign),
            _ => false,
        }
    }
}

fn chains(folded: &str, joined_by: Joint) -> Vec<Vec<(Range<usize>, &str)>> {
    let mut chains: Vec<Vec<(Range<usize>, &str)>> = Vec::new();
    for (bytes, run) in placed_runs(folded) {
        let ScriptRun::Word(word) = run else { continue };
        let is_joined = |(last, _): &(Range<usize>, &str)| joined_by.joins(&folded[last.end..bytes.start]);
        match chains.last_mut() {
            Some(chain) if chain.len() < MAX_JOINED_WORDS && chain.last().is_some_and(is_joined) => {
                chain.push((bytes, word));
            }
            _ => chains.push(vec![(bytes, word)]),
        }
    }
    chains
}

/// Joins words, from each word of a chain on.
fn joined_words(folded: &str) -> Vec<WordVariant> {
    let mut variants = Vec::new();
    for chain in chains(folded, Joint::SignOrSpace) {
        for (first, (place, word)) in chain.iter().enumerate() {
            let mut joined = (*word).to_owned();
            for (last, word) in &chain[first + 1..] {
                joined.push_str(word);
                variants.push(WordVariant { place: place.start..last.end, word: joined.clone() });
            }
        }
    }
    variants
}

/// Each part of a name as one stemmed pinyin word: `majun`.
pub(crate) fn names_as_words(name: &str) -> Vec<String> {
    let folded = fold(name);
    let of_part = |part: Range<usize>| match &folded[part] {
        ideographs if ideographs.starts_with(is_ideograph) => spoken_forms(ideographs).into_iter().collect(),
        words => joined_together(words, Joint::SignOrSpace),
    };
    parts(&folded).into_iter().flat_map(of_part).map(|word| stem(&word).into_owned()).collect()
}

fn joined_together(text: &str, joined_by: Joint) -> Vec<String> {
    let join = |chain: Vec<(Range<usize>, &str)>| chain.into_iter().map(|(_, word)| word).collect();
    chains(text, joined_by).into_iter().map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole_names_of(name: &str) -> Vec<String> {
        indexed_forms(name, &Folded::new(name), &mut VariantBudget::new()).1
    }

    #[track_caller]
    fn are_whole(name: &str, expected: &[&str]) {
        let whole_names = whole_names_of(name);
        for whole in expected {
            assert!(whole_names.iter().any(|known| known == whole), "{name} as {whole:?}: {whole_names:?}");
        }
    }

    #[test]
    fn whole_name_has_every_typed_form() {
        are_whole("张伟", &["张伟", "zhangwei", "zhang wei", "wei zhang", "zw"]);
        are_whole(
            "张三丰",
            &[
                "张三丰",
                "zhangsanfeng",
                "zhang sanfeng",
                "sanfeng zhang",
                "zhangsan feng",
                "zhang san feng",
                "zsf",
            ],
        );
        are_whole("歐陽娜娜", &["欧阳娜娜", "ouyang nana", "nana ouyang"]);
        are_whole("单雄信", &["shan xiongxin", "shanxiongxin"]);
        are_whole("Chen Mei 陈梅", &["chen mei 陈梅", "chen mei", "陈梅", "chenmei"]);
        are_whole("Jean-Luc Picard", &["jean luc picard", "jeanluc picard"]);
        are_whole("Sinéad O’Brien", &["sinead o brien", "sinead obrien", "sineadobrien"]);
        are_whole("阿不都·热合曼", &["阿不都热合曼"]);
        assert_eq!(whole_names_of("—"), [""; 0]);
        assert_eq!(whole_names_of("13812345678"), [""; 0]);
    }

    #[test]
    fn adjacent_words_are_joined() {
        let joined = |name: &str| -> Vec<String> {
            joined_words(name).into_iter().map(|variant| variant.word).collect()
        };
        assert_eq!(joined("o'brien"), ["obrien"]);
        assert_eq!(joined("a-b.c"), ["ab", "abc", "bc"]);
        assert_eq!(joined("Zhang wei"), ["Zhangwei"]);
        assert_eq!(joined("a - b, c@d  e"), [""; 0]);
        assert_eq!(joined("a-b-c-d-e-f").len(), 7);
    }

    #[test]
    fn ideographs_of_a_whole_name_are_joined() {
        assert_eq!(whole_name(["张", "伟"].into_iter()).as_deref(), Some("张伟"));
        assert_eq!(whole_name(["chen", "陈", "梅", "x"].into_iter()).as_deref(), Some("chen 陈梅 x"));
        assert_eq!(whole_name(std::iter::empty()), None);
        assert_eq!(whole_name(std::iter::repeat_n("long", 100)), None);
    }
}
