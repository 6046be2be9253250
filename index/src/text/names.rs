//! Names: how else they are typed than they are written, and what tells the whole of a name from a part of a longer one.

use std::ops::Range;

use super::segmentation::is_ideograph;
use super::{Folded, Readings, Run, Sound, placed_runs, query_words, stem};

/// Words of a name that are typed as one (`Jean-Luc`, `O'Brien`, `mei.chen`, `Zhang Wei`).
const JOINED_WORDS: usize = 4;
/// The longest whole name that is told from others, in bytes.
const WHOLE_BYTES: usize = 128;
/// The ways to read a name as a whole that count; the usual ones go first.
const MOST_WAYS: usize = 8;

/// How many terms the names of one document may be found by beside the words that they are written in. Few names need a
/// hundred; of characters with many readings one name could have ten thousand.
#[derive(Debug)]
pub(crate) struct SoundBudget {
    left: usize,
}

impl SoundBudget {
    /// What a document has.
    const TERMS: usize = 2_000;

    /// Nothing is spent.
    pub(crate) fn new() -> Self {
        Self { left: Self::TERMS }
    }

    /// Takes so many terms, or nothing more from now on.
    fn spend(&mut self, terms: usize) -> bool {
        let remaining = self.left.checked_sub(terms);
        self.left = remaining.unwrap_or(0);
        remaining.is_some()
    }
}

/// The ways to type the stretches of a name that are not words of it as it is written: of ideographs their pinyin, of words that
/// stand together the one word. In the order of where they begin; of these the shorter stretches first. What is over the
/// budget is left out.
pub(crate) fn sounds(name: &str, folded: &Folded, budget: &mut SoundBudget) -> Vec<Sound> {
    all_sounds(folded, &Readings::of(name, folded), budget)
}

fn all_sounds(folded: &Folded, readings: &Readings, budget: &mut SoundBudget) -> Vec<Sound> {
    let mut sounds = readings.sounds();
    sounds.extend(joined_words(&folded.text));
    sounds.sort_by_key(|sound| (sound.place.start, sound.place.end));
    // A stem of its own is one term more.
    let within =
        sounds.iter().take_while(|sound| budget.spend(1 + usize::from(stem(&sound.word) != sound.word)));
    let within = within.count();
    sounds.truncate(within);
    sounds
}

/// How a name is typed: its stretches, and the whole of it, this only where the stretches are within the budget, as what is the
/// whole is found by them.
pub(crate) fn typed(name: &str, folded: &Folded, budget: &mut SoundBudget) -> (Vec<Sound>, Vec<String>) {
    if budget.left == 0 {
        return (Vec::new(), Vec::new());
    }
    let readings = Readings::of(name, folded);
    let sounds = all_sounds(folded, &readings, budget);
    if budget.left == 0 {
        return (sounds, Vec::new());
    }
    let wholes = wholes(&folded.text, &readings);
    let is_within = budget.spend(wholes.len());
    (sounds, if is_within { wholes } else { Vec::new() })
}

/// What the words of a query, by their stems, are when they are the whole of a name; none where there are too many, or no words.
pub(crate) fn whole<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut whole = String::new();
    for word in words {
        let is_joined = whole.ends_with(is_ideograph) && word.starts_with(is_ideograph);
        if !whole.is_empty() && !is_joined {
            whole.push(' ');
        }
        whole.push_str(word);
        if whole.len() > WHOLE_BYTES {
            return None;
        }
    }
    (!whole.is_empty()).then_some(whole)
}

/// The ways to type all of a name. A name in two scripts is two names (`Chen Mei 陈梅`), and the both of them.
///
/// What is typed in one of these ways has no word that the name is not found by.
fn wholes(folded: &str, readings: &Readings) -> Vec<String> {
    if is_number(folded) {
        return Vec::new();
    }
    let mut wholes: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| {
        let stems: Vec<_> = words.iter().map(|word| stem(word)).collect();
        wholes.extend(whole(stems.iter().map(AsRef::as_ref)));
    };
    let parts = parts(folded);
    if parts.len() > 1 {
        add(&as_typed(folded).iter().map(String::as_str).collect::<Vec<_>>());
    }
    for part in parts {
        let written = &folded[part.clone()];
        add(&as_typed(written).iter().map(String::as_str).collect::<Vec<_>>());
        if written.starts_with(is_ideograph) {
            for syllables in readings.syllables(&part).iter().take(MOST_WAYS) {
                add_sounds(syllables, &mut add);
            }
        } else {
            for joined_by in [Between::Sign, Between::SignOrSpace] {
                let joined = joined_together(written, joined_by);
                add(&joined.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
    }
    wholes.sort_unstable();
    wholes.dedup();
    wholes
}

/// Whether it is a number, which is looked for as it is and is the whole of nobody's name. There are many of them.
fn is_number(folded: &str) -> bool {
    folded.bytes().all(|byte| byte.is_ascii_digit())
}

/// 张三丰 as `zhangsanfeng`, `zsf`, `zhang san feng`, `zhang sanfeng`, `sanfeng zhang`, `zhangsan feng`.
fn add_sounds(syllables: &[&str], add: &mut impl FnMut(&[&str])) {
    let initials: String = syllables.iter().filter_map(|syllable| syllable.chars().next()).collect();
    add(&[&syllables.concat()]);
    add(&[&initials]);
    add(syllables);
    // A surname has one character, or two.
    for length in 1..syllables.len().min(3) {
        let (surname, given) = syllables.split_at(length);
        let (surname, given) = (surname.concat(), given.concat());
        add(&[&surname, &given]);
        // Few surnames have two, so of a name of three this order is worth no term.
        if length == 1 || syllables.len() > 3 {
            add(&[&given, &surname]);
        }
    }
}

/// The words of a text as a query would have them.
fn as_typed(text: &str) -> Vec<String> {
    query_words(text).into_iter().map(|(_, word)| word).collect()
}

/// The parts of a folded name, each of runs of one script.
fn parts(folded: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<(bool, Range<usize>)> = Vec::new();
    for (bytes, run) in placed_runs(folded) {
        let is_ideographs = matches!(run, Run::Ideographs(_));
        match parts.last_mut() {
            Some((of_last, part)) if *of_last == is_ideographs => part.end = bytes.end,
            _ => parts.push((is_ideographs, bytes)),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// What stands between words that are typed as one.
#[derive(Clone, Copy)]
enum Between {
    /// They are written together (`O'Brien`).
    Sign,
    /// The same, or a space (`Zhang Wei`).
    SignOrSpace,
}

impl Between {
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

/// The words of a folded text with their places, in chains of such that are typed as one.
fn chains(folded: &str, joined_by: Between) -> Vec<Vec<(Range<usize>, &str)>> {
    let mut chains: Vec<Vec<(Range<usize>, &str)>> = Vec::new();
    for (bytes, run) in placed_runs(folded) {
        let Run::Word(word) = run else { continue };
        let is_joined = |(last, _): &(Range<usize>, &str)| joined_by.joins(&folded[last.end..bytes.start]);
        match chains.last_mut() {
            Some(chain) if chain.len() < JOINED_WORDS && chain.last().is_some_and(is_joined) => {
                chain.push((bytes, word));
            }
            _ => chains.push(vec![(bytes, word)]),
        }
    }
    chains
}

/// Words that are typed as one word, from each of them on.
fn joined_words(folded: &str) -> Vec<Sound> {
    let mut sounds = Vec::new();
    for chain in chains(folded, Between::SignOrSpace) {
        for (first, (place, word)) in chain.iter().enumerate() {
            let mut joined = (*word).to_owned();
            for (last, word) in &chain[first + 1..] {
                joined.push_str(word);
                sounds.push(Sound { place: place.start..last.end, word: joined.clone() });
            }
        }
    }
    sounds
}

/// The words of a text, those that are typed as one joined.
fn joined_together(text: &str, joined_by: Between) -> Vec<String> {
    let join = |chain: Vec<(Range<usize>, &str)>| chain.into_iter().map(|(_, word)| word).collect();
    chains(text, joined_by).into_iter().map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wholes_of(name: &str) -> Vec<String> {
        typed(name, &Folded::new(name), &mut SoundBudget::new()).1
    }

    #[track_caller]
    fn are_whole(name: &str, expected: &[&str]) {
        let wholes = wholes_of(name);
        for whole in expected {
            assert!(wholes.iter().any(|known| known == whole), "{name} as {whole:?}: {wholes:?}");
        }
    }

    #[test]
    fn a_name_is_typed_in_many_ways() {
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
        assert_eq!(wholes_of("—"), [""; 0]);
        assert_eq!(wholes_of("13812345678"), [""; 0]);
    }

    #[test]
    fn words_that_stand_together_are_one_word_too() {
        let joined =
            |name: &str| -> Vec<String> { joined_words(name).into_iter().map(|sound| sound.word).collect() };
        assert_eq!(joined("o'brien"), ["obrien"]);
        assert_eq!(joined("a-b.c"), ["ab", "abc", "bc"]);
        assert_eq!(joined("Zhang wei"), ["Zhangwei"]);
        assert_eq!(joined("a - b, c@d  e"), [""; 0]);
        assert_eq!(joined("a-b-c-d-e-f").len(), 7);
    }

    #[test]
    fn ideographs_stand_together_however_they_are_cut() {
        assert_eq!(whole(["张", "伟"].into_iter()).as_deref(), Some("张伟"));
        assert_eq!(whole(["chen", "陈", "梅", "x"].into_iter()).as_deref(), Some("chen 陈梅 x"));
        assert_eq!(whole(std::iter::empty()), None);
        assert_eq!(whole(std::iter::repeat_n("long", 100)), None);
    }
}
