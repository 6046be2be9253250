//! Titles by sound: pairs of syllables, and threes of initials.
//!
//! 报销流程 has `bao xiao`, `xiao liu`, `liu cheng`, `bxl` and `xlc`. There are few such terms, however many titles have them.
//! A title may hold all terms of a word apart from each other, so its text is compared.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::sync::LazyLock;

use super::{IDEOGRAPHS, MIN_INITIALS, Readings, pronunciations, read_runs, readings};
use crate::text::{Folded, dictionary_words, parts_of_word};

/// Ideographs of a title that are read.
const MAX_READ_CHARS: usize = 128;
/// Pronunciations of a pair or a three.
const MAX_PRONUNCIATIONS: usize = 4;
/// Letters of `zhuang`.
const MAX_SYLLABLE: usize = 6;
/// Syllables and initials of a word that are asked for; a title's text tells the others.
const MAX_ASKED: usize = 8;
/// Ways to cut a word into syllables that are asked for.
const MAX_WAYS: usize = 16;

static SYLLABLES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let syllables = IDEOGRAPHS.into_iter().flatten().flat_map(|ideograph| readings(ideograph).into_owned());
    // 嗯 is read `n`, too.
    syllables.filter(|syllable| syllable.contains(['a', 'e', 'i', 'o', 'u', 'v'])).collect()
});

/// Calls `emit` with each term of a title, given as written and folded.
pub(crate) fn title_readings(title: &str, folded: &Folded, mut emit: impl FnMut(&str)) {
    for (_, characters) in read_title(title, folded) {
        for pair in characters.windows(2) {
            for syllables in pronunciations(pair, MAX_PRONUNCIATIONS) {
                emit(&syllables.join(" "));
            }
        }
        let initials: Vec<Vec<&str>> = characters.iter().map(|readings| initials_of(readings)).collect();
        for three in initials.windows(3) {
            for letters in pronunciations(three, MAX_PRONUNCIATIONS) {
                emit(&letters.concat());
            }
        }
    }
}

/// Runs of ideographs, folded, with the readings of the characters as written.
fn read_title<'a>(
    title: &'a str,
    folded: &'a Folded,
) -> impl Iterator<Item = (&'a str, Vec<Readings>)> + use<'a> {
    read_runs(title, folded, MAX_READ_CHARS).map(|(bytes, characters)| {
        (&folded.text[bytes], characters.into_iter().map(|(_, readings)| readings).collect())
    })
}

/// Boundaries of the dictionary words of a run, and of their parts.
fn word_ends(run: &str) -> Vec<usize> {
    let (mut ends, mut end) = (vec![0], 0);
    for word in dictionary_words(run) {
        let parts: Vec<&str> = parts_of_word(word).into_iter().map(|(_, part)| part).collect();
        for part in if parts.is_empty() { vec![word] } else { parts } {
            end += part.len();
            ends.push(end);
        }
    }
    ends
}

fn initials_of(readings: &[&'static str]) -> Vec<&'static str> {
    let mut initials: Vec<&str> = Vec::with_capacity(readings.len());
    for initial in readings.iter().filter_map(|reading| reading.get(..1)) {
        if !initials.contains(&initial) {
            initials.push(initial);
        }
    }
    initials
}

pub(crate) fn is_syllable(word: &str) -> bool {
    SYLLABLES.contains(word)
}

/// Whether syllables end at a character: `xi'an`.
pub(crate) fn parts_syllables(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '’')
}

/// Letters that may be the pinyin of a part of a title.
#[derive(Debug, Clone)]
pub(crate) struct PinyinWord {
    letters: String,
    /// Places between syllables, as blanks tell.
    breaks: Vec<usize>,
    /// Whether only the beginning of its last syllable is typed.
    is_unfinished: bool,
}

impl PinyinWord {
    /// Reads small letters, maybe with blanks or apostrophes between syllables.
    pub(crate) fn read(word: &str) -> Option<Self> {
        let (mut letters, mut breaks) = (String::new(), Vec::new());
        for part in word.split(parts_syllables) {
            if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return None;
            }
            breaks.extend((!letters.is_empty()).then_some(letters.len()));
            letters.push_str(part);
        }
        Some(Self { letters, breaks, is_unfinished: false })
    }

    /// The same with an unfinished last syllable.
    pub(crate) fn unfinished(&self) -> Self {
        Self { is_unfinished: true, ..self.clone() }
    }

    /// Whether it is syllables and nothing else.
    pub(crate) fn is_syllables(&self) -> bool {
        self.beginnings_of_rests()[0]
    }

    pub(crate) fn has_several_syllables(&self) -> bool {
        self.ways().iter().any(|way| way.len() > 1)
    }

    /// Terms of the titles that may hold it, for each way to read it.
    pub(crate) fn readings(&self) -> Vec<Vec<String>> {
        let pairs = |way: Vec<&str>| way.windows(2).map(|pair| pair.join(" ")).collect();
        let mut readings: Vec<Vec<String>> =
            self.ways().into_iter().filter(|way| way.len() > 1).map(pairs).collect();
        if self.may_be_initials() {
            let asked = &self.letters[..self.letters.len().min(MAX_ASKED)];
            readings.push((3..=asked.len()).map(|end| asked[end - 3..end].to_owned()).collect());
        }
        readings
    }

    /// Parts of a title that it spells, folded.
    ///
    /// Each has with it whether it is whole dictionary words.
    pub(crate) fn parts_of(&self, title: &str) -> Vec<(String, bool)> {
        let mut parts = Vec::new();
        let folded = Folded::new(title);
        for (run, characters) in read_title(title, &folded) {
            let places: Vec<usize> = run.char_indices().map(|(place, _)| place).chain([run.len()]).collect();
            let word_ends = LazyCell::new(|| word_ends(run));
            for start in 0..characters.len() {
                let ends =
                    [self.end_by_syllables(&characters[start..]), self.end_by_initials(&characters[start..])];
                let ends = ends.into_iter().flatten();
                parts.extend(ends.map(|length| {
                    let (start, end) = (places[start], places[start + length]);
                    let is_words = [start, end].iter().all(|place| word_ends.contains(place));
                    (run[start..end].to_owned(), is_words)
                }));
            }
        }
        parts
    }

    /// Number of the first characters whose syllables it is.
    fn end_by_syllables(&self, characters: &[Readings]) -> Option<usize> {
        let mut reached = vec![0];
        for (number, readings) in characters.iter().enumerate() {
            let mut ends: Vec<usize> = Vec::new();
            for (start, reading) in
                reached.iter().flat_map(|start| readings.iter().map(move |reading| (*start, *reading)))
            {
                let rest = &self.letters[start..];
                let is_last = self.is_unfinished && !rest.is_empty() && reading.starts_with(rest);
                let end = start + if is_last { rest.len() } else { reading.len() };
                if (is_last || rest.starts_with(reading))
                    && !self.is_broken(start, end)
                    && !ends.contains(&end)
                {
                    ends.push(end);
                }
            }
            if number > 0 && ends.contains(&self.letters.len()) {
                return Some(number + 1);
            }
            reached = ends;
        }
        None
    }

    /// Number of the first characters whose initials it is.
    fn end_by_initials(&self, characters: &[Readings]) -> Option<usize> {
        let characters = characters.get(..self.letters.len()).filter(|_| self.may_be_initials())?;
        let mut letters = self.letters.chars().zip(characters);
        letters
            .all(|(letter, readings)| readings.iter().any(|reading| reading.starts_with(letter)))
            .then_some(characters.len())
    }

    /// No syllable begins with `i`, `u` or `v`.
    fn may_be_initials(&self) -> bool {
        self.breaks.is_empty()
            && !self.is_unfinished
            && self.letters.len() >= MIN_INITIALS
            && !self.letters.contains(['i', 'u', 'v'])
    }

    /// First syllables of each way to cut the word, the longest first.
    ///
    /// They are fewer than [`MAX_ASKED`] if there were more than [`MAX_WAYS`].
    fn ways(&self) -> Vec<Vec<&str>> {
        let begins_rest = self.beginnings_of_rests();
        let whole = self.letters.len();
        let mut ways = Vec::from_iter(begins_rest[0].then(|| (0, Vec::new())));
        for _ in 0..MAX_ASKED {
            let mut longer = Vec::new();
            for (start, way) in &ways {
                // The longest comes first.
                for end in self.ends_of_syllables(*start).rev().filter(|end| begins_rest[*end]) {
                    longer.push((end, [way.as_slice(), &[&self.letters[*start..end]]].concat()));
                }
                if *start == whole || self.is_unfinished_from(*start) {
                    longer.push((whole, way.clone()));
                }
            }
            if longer.len() > MAX_WAYS {
                break;
            }
            ways = longer;
        }
        ways.into_iter().map(|(_, way)| way).collect()
    }

    /// Tells of each place whether the letters from there on are syllables.
    fn beginnings_of_rests(&self) -> Vec<bool> {
        let mut begins = vec![false; self.letters.len()];
        begins.push(!self.is_unfinished);
        for start in (0..self.letters.len()).rev() {
            begins[start] =
                self.is_unfinished_from(start) || self.ends_of_syllables(start).any(|end| begins[end]);
        }
        begins
    }

    /// Whether an unfinished last syllable begins at a place.
    fn is_unfinished_from(&self, start: usize) -> bool {
        let rest = &self.letters[start..];
        self.is_unfinished
            && (1..=MAX_SYLLABLE).contains(&rest.len())
            && !self.is_broken(start, self.letters.len())
            && SYLLABLES.iter().any(|syllable| syllable.starts_with(rest))
    }

    fn ends_of_syllables(&self, start: usize) -> impl DoubleEndedIterator<Item = usize> {
        let last = self.letters.len().min(start + MAX_SYLLABLE);
        (start + 1..=last)
            .filter(move |end| !self.is_broken(start, *end) && SYLLABLES.contains(&self.letters[start..*end]))
    }

    fn is_broken(&self, start: usize, end: usize) -> bool {
        self.breaks.iter().any(|place| start < *place && *place < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(title: &str) -> Vec<String> {
        let mut terms = Vec::new();
        title_readings(title, &Folded::new(title), |term| terms.push(term.to_owned()));
        terms
    }

    fn word(typed: &str) -> PinyinWord {
        PinyinWord::read(typed).unwrap()
    }

    fn parts_of(typed: &str, title: &str) -> Vec<String> {
        word(typed).parts_of(title).into_iter().map(|(part, _)| part).collect()
    }

    #[test]
    fn title_has_pairs_of_syllables_and_threes_of_initials() {
        assert_eq!(
            terms("2026 年报销流程, Travel"),
            ["nian bao", "ning bao", "bao xiao", "xiao liu", "liu cheng", "nbx", "bxl", "xlc"]
        );
        assert!(
            terms("重庆").contains(&"chong qing".to_owned())
                && terms("重庆").contains(&"zhong qing".to_owned())
        );
        assert!(terms("女士").contains(&"nv shi".to_owned()) && terms("女士").contains(&"nu shi".to_owned()));
        assert_eq!(terms("乾隆"), ["qian long", "gan long"]);
        assert_eq!(terms("报 销, カナ Travel"), [""; 0]);
        assert!(terms(&"重单解曾仇朴长行".repeat(100)).len() <= 2 * MAX_READ_CHARS * MAX_PRONUNCIATIONS);
    }

    #[test]
    fn word_is_cut_into_syllables_in_all_ways() {
        assert_eq!(word("lianxi").readings(), [vec!["lian xi"], vec!["li an", "an xi"]]);
        assert_eq!(
            word("fangan").readings(),
            [vec!["fang an"], vec!["fan gan"], vec!["fan", "ang", "nga", "gan"]]
        );
        assert_eq!(word("xian").readings(), [["xi an"]]);
        assert_eq!(word("lcsm").readings(), [["lcs", "csm"]]);
        assert_eq!(word("liu cheng").readings(), [["liu cheng"]]);
        assert_eq!(word("xian shi").readings(), [vec!["xian shi"], vec!["xi an", "an shi"]]);
        assert_eq!(word("test").readings(), [["tes", "est"]]);
    }

    #[test]
    fn parts_of_a_title_are_those_that_a_word_spells() {
        for (typed, title, parts) in [
            ("baoxiaoliucheng", "2026 年报销流程说明", &["报销流程"][..]),
            ("bxlc", "报销流程", &["报销流程"]),
            ("xian", "先到西安", &["西安"]),
            ("fangan", "反感的方案", &["反感", "方案"]),
            ("xi an", "西安现有", &["西安"]),
            ("fan gan", "反感的方案", &["反感"]),
            ("chongqing", "重庆", &["重庆"]),
            ("lvshi", "律师", &["律师"]),
            ("qianlong", "清乾隆", &["干隆"]),
            ("xiaoliu", "报销, 流程", &[]),
            ("shi", "事实", &[]),
        ] {
            assert_eq!(parts_of(typed, title), parts, "{typed}");
        }
    }

    #[test]
    fn unfinished_syllable_is_not_asked_for_and_begins_a_character() {
        for (typed, parts) in [
            ("bao xiao liu che", &["报销流程"][..]),
            ("bao xiao liu chen", &["报销流程"]),
            ("baoxiaoliuch", &["报销流程"]),
            ("bao xiao liu xi", &[]),
        ] {
            let word = word(typed).unfinished();
            let asked = word.readings();
            assert!(
                asked.contains(&vec!["bao xiao".to_owned(), "xiao liu".to_owned()]),
                "{typed}: {asked:?}"
            );
            let found: Vec<String> = word.parts_of("报销流程").into_iter().map(|(part, _)| part).collect();
            assert_eq!(found, parts, "{typed}");
        }
    }

    #[test]
    fn word_of_many_ways_is_asked_for_by_fewer_syllables() {
        let word = word("xianpinganfangandanganlianxi");
        let ways = word.ways();
        assert!(ways.len() <= MAX_WAYS, "{ways:?}");
        for beginning in [&["xian", "ping"][..], &["xi", "an", "ping", "an", "fang", "an"]] {
            assert!(
                ways.iter().any(|way| beginning.starts_with(way) || way.starts_with(beginning)),
                "{ways:?}"
            );
        }
        // Two syllables are always asked for.
        let beginnings = |syllable: &&&str| {
            (1..=syllable.len()).filter(|end| SYLLABLES.contains(&syllable[..*end])).count()
        };
        assert!(SYLLABLES.iter().all(|syllable| beginnings(&syllable).pow(2) <= MAX_WAYS));
    }

    #[test]
    fn long_words_are_read_in_bounded_time() {
        for typed in ["xian".repeat(64), "a".repeat(256), "fangan".repeat(40)] {
            let readings = word(&typed).readings();
            assert!(readings.len() <= MAX_WAYS + 1 && readings.iter().all(|terms| terms.len() < MAX_ASKED));
            word(&typed).unfinished().readings();
            parts_of(&typed, &"啊安反方案干".repeat(40));
        }
    }

    proptest::proptest! {
        #[test]
        fn each_part_of_a_title_is_found_by_its_pinyin(title in "[报销流程西安方案重庆女士长行解曾朴,a]{2,12}", start in 0_usize..12, length in 2_usize..9) {
            let folded = Folded::new(&title);
            for (run, characters) in read_title(&title, &folded) {
                let typed: String = characters.iter().skip(start).take(length).map(|readings| readings[0]).collect();
                let part: String = run.chars().skip(start).take(length).collect();
                if part.chars().count() < 2 {
                    continue;
                }
                let terms = terms(&title);
                proptest::prop_assert!(parts_of(&typed, &title).contains(&part), "{typed} in {title}");
                let found = word(&typed).readings().iter().any(|reading| reading.iter().all(|term| terms.contains(term)));
                proptest::prop_assert!(found, "{typed} in {title}: {:?}", word(&typed).readings());
            }
        }
    }
}
