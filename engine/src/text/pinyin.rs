//! Pinyin of names: 张三 as `zhangsan`, `zhang`, `san`, `zs`, `z` or `s`; 张三丰 as `zhangsf`, too.

mod titles;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use pinyin::ToPinyinMulti;

pub(crate) use self::titles::{PinyinWord, is_syllable, parts_syllables, title_readings};
use super::{Folded, ScriptRun, placed_runs};

const MAX_READ_CHARS: usize = 64;
const MAX_JOINED_CHARS: usize = 8;
/// Longer names are not joined.
const MAX_JOINED_NAME_CHARS: usize = 16;
/// Usual ones first (单: dan, chan, shan).
const MAX_PRONUNCIATIONS: usize = 24;
/// Pronunciations of an author's name.
const MAX_SPOKEN_FORMS: usize = 4;
/// Fewer initials say too little.
const MIN_INITIALS: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordVariant {
    /// Bytes of the folded text.
    pub(crate) place: Range<usize>,
    pub(crate) word: String,
}

impl WordVariant {
    /// Orders variants by start, then length.
    pub(super) fn in_order(&self, other: &Self) -> Ordering {
        let of = |variant: &Self| (variant.place.start, variant.place.end);
        of(self).cmp(&of(other)).then_with(|| self.word.cmp(&other.word))
    }
}

pub(crate) struct PinyinReadings {
    runs: Vec<(Range<usize>, Vec<CharacterReadings>)>,
    joined: usize,
}

/// A character's readings without tones, the usual one first.
type Readings = Cow<'static, [&'static str]>;

/// End in the folded text, and readings.
type CharacterReadings = (usize, Readings);

impl PinyinReadings {
    pub(crate) fn of(name: &str, folded: &Folded) -> Self {
        let runs: Vec<_> = read_runs(name, folded, MAX_READ_CHARS).collect();
        let ideographs: usize =
            runs.iter().map(|(bytes, _)| folded.text[bytes.clone()].chars().count()).sum();
        Self { runs, joined: if ideographs > MAX_JOINED_NAME_CHARS { 1 } else { MAX_JOINED_CHARS } }
    }

    /// Ordered by start and length.
    pub(super) fn variants(&self) -> Vec<WordVariant> {
        let mut variants = Vec::new();
        for (bytes, characters) in &self.runs {
            let mut start = bytes.start;
            for (number, (end, _)) in characters.iter().enumerate() {
                let together = characters.len().min(number + self.joined);
                add_spans(start, &characters[number..together], &mut variants);
                start = *end;
            }
        }
        variants
    }

    /// Readings by syllable; none if too long or unreadable.
    pub(super) fn syllables(&self, part: &Range<usize>) -> Vec<Vec<&str>> {
        let runs = self.runs.iter().filter(|(bytes, _)| part.start <= bytes.start && bytes.end <= part.end);
        let read: Vec<&CharacterReadings> = runs.flat_map(|(_, characters)| characters).collect();
        if read.len() > self.joined || read.last().is_none_or(|(end, _)| *end < part.end) {
            return Vec::new();
        }
        let mut pronunciations = vec![Pronunciation::default()];
        for (_, readings) in read {
            pronunciations = append(&pronunciations, readings);
        }
        pronunciations.into_iter().map(|pronunciation| pronunciation.syllables).collect()
    }
}

/// Runs of ideographs with their bytes and readings.
///
/// Of all characters, the first `left` are read.
fn read_runs(
    written: &str,
    folded: &Folded,
    mut left: usize,
) -> impl Iterator<Item = (Range<usize>, Vec<CharacterReadings>)> {
    placed_runs(&folded.text).filter_map(move |(bytes, run)| {
        let ScriptRun::Ideographs(run) = run else { return None };
        let read = |(offset, character): (usize, char)| {
            let place = bytes.start + offset;
            // 乾 may be qián, 干 never is.
            let written = written[folded.source_start(place)..].chars().next();
            let as_written = written.map(readings).filter(|readings| !readings.is_empty());
            (place + character.len_utf8(), as_written.unwrap_or_else(|| readings(character)))
        };
        let characters: Vec<CharacterReadings> = run.char_indices().take(left).map(read).collect();
        left -= characters.len();
        Some((bytes, characters))
    })
}

/// Rank 0 is the usual one.
#[derive(Clone, Default)]
struct Pronunciation<'a> {
    rank: usize,
    syllables: Vec<&'a str>,
}

/// Appends each reading to each pronunciation, and keeps the usual ones.
fn append<'a>(pronunciations: &[Pronunciation<'a>], readings: &[&'a str]) -> Vec<Pronunciation<'a>> {
    let mut appended = Vec::with_capacity(pronunciations.len() * readings.len());
    for pronunciation in pronunciations {
        for (rank, reading) in readings.iter().enumerate() {
            let mut syllables = pronunciation.syllables.clone();
            syllables.push(*reading);
            appended.push(Pronunciation { rank: pronunciation.rank + rank, syllables });
        }
    }
    appended.sort_by_key(|pronunciation| pronunciation.rank);
    appended.truncate(MAX_PRONUNCIATIONS);
    appended
}

/// The usual pronunciations of characters, by the readings of each.
fn pronunciations<'a>(characters: &[impl AsRef<[&'a str]>], most: usize) -> Vec<Vec<&'a str>> {
    let only = |readings: &[&'a str]| match readings {
        [only] => Some(*only),
        _ => None,
    };
    // Most characters have one reading.
    if let Some(syllables) = characters.iter().map(|readings| only(readings.as_ref())).collect() {
        return vec![syllables];
    }
    let mut pronunciations = vec![Pronunciation::default()];
    for readings in characters {
        pronunciations = append(&pronunciations, readings.as_ref());
    }
    pronunciations.into_iter().take(most).map(|pronunciation| pronunciation.syllables).collect()
}

pub(super) fn initials(syllables: &[&str]) -> String {
    syllables.iter().filter_map(|syllable| syllable.chars().next()).collect()
}

/// `zhangsf`, of names of three or four characters.
fn surname_and_initials(syllables: &[&str]) -> Option<String> {
    let (surname, given) = syllables.split_first()?;
    (2..=3).contains(&given.len()).then(|| format!("{surname}{}", initials(given)))
}

fn add_spans(start: usize, characters: &[CharacterReadings], variants: &mut Vec<WordVariant>) {
    let mut pronunciations = vec![Pronunciation::default()];
    for (end, readings) in characters {
        pronunciations = append(&pronunciations, readings);
        let forms =
            |Pronunciation { syllables, .. }: &Pronunciation<'_>| [syllables.concat(), initials(syllables)];
        let mut words: Vec<String> = pronunciations.iter().flat_map(forms).collect();
        words.extend(pronunciations.first().and_then(|usual| surname_and_initials(&usual.syllables)));
        words.sort_unstable();
        words.dedup();
        variants.extend(words.into_iter().map(|word| WordVariant { place: start..*end, word }));
    }
}

/// Usual pronunciations of a text, and initials of a longer one. All characters need a reading.
pub(crate) fn spoken_forms(text: &str) -> BTreeSet<String> {
    let characters: Vec<Readings> = text.chars().take(MAX_READ_CHARS).map(readings).collect();
    let forms = |syllables: Vec<&str>| {
        let by_initials = (syllables.len() >= MIN_INITIALS).then(|| initials(&syllables));
        std::iter::once(syllables.concat()).chain(by_initials)
    };
    let forms = pronunciations(&characters, MAX_SPOKEN_FORMS).into_iter().flat_map(forms);
    forms.filter(|form| !form.is_empty()).collect()
}

/// Whether two words differ in one character, which has the same usual reading without tones.
pub(crate) fn are_homophones(word: &str, other: &str) -> bool {
    let sound_alike = |(left, right): &(char, char)| {
        readings(*left).first().is_some_and(|usual| readings(*right).first() == Some(usual))
    };
    let different: Vec<_> = word.chars().zip(other.chars()).filter(|(left, right)| left != right).collect();
    word.chars().count() == other.chars().count() && different.len() == 1 && different.iter().all(sound_alike)
}

const IDEOGRAPHS: [RangeInclusive<char>; 4] =
    ['〇'..='〇', '\u{3400}'..='\u{4dbf}', '\u{4e00}'..='\u{9fff}', '\u{20000}'..='\u{3134f}'];

/// Ideographs by their usual readings without tones.
static BY_USUAL_READING: LazyLock<HashMap<&'static str, Vec<char>>> = LazyLock::new(|| {
    let mut by_reading: HashMap<&str, Vec<char>> = HashMap::new();
    for ideograph in IDEOGRAPHS.into_iter().flatten() {
        if let Some(&usual) = readings(ideograph).first() {
            by_reading.entry(usual).or_default().push(ideograph);
        }
    }
    by_reading
});

/// All words that are homophones of a word.
pub(crate) fn homophones_of(word: &str) -> Vec<String> {
    let mut homophones = Vec::new();
    for (place, character) in word.char_indices() {
        let (before, after) = (&word[..place], &word[place + character.len_utf8()..]);
        let usual = readings(character).first().copied();
        let alike = usual.and_then(|usual| BY_USUAL_READING.get(usual)).map_or(&[][..], Vec::as_slice);
        let others = alike.iter().filter(|other| **other != character);
        homophones.extend(others.map(|other| [before, other.encode_utf8(&mut [0; 4]), after].concat()));
    }
    homophones
}

const COMMON: RangeInclusive<char> = '\u{4e00}'..='\u{9fff}';

static COMMON_READINGS: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| COMMON.map(read).collect());

fn readings(character: char) -> Readings {
    let place = (character as usize).wrapping_sub(*COMMON.start() as usize);
    COMMON_READINGS.get(place).map_or_else(|| read(character).into(), Cow::from)
}

/// Lists readings. It writes `ü` as `v` and `u`.
fn read(character: char) -> Vec<&'static str> {
    let mut readings = Vec::new();
    for reading in character.to_pinyin_multi().into_iter().flatten().map(pinyin::Pinyin::plain) {
        let (spelling, other) = match reading {
            "lü" => ("lv", Some("lu")),
            "lüe" => ("lve", Some("lue")),
            "nü" => ("nv", Some("nu")),
            "nüe" => ("nve", Some("nue")),
            "ê" => ("e", None),
            plain => (plain, None),
        };
        for spelling in [Some(spelling), other].into_iter().flatten() {
            if !readings.contains(&spelling) {
                readings.push(spelling);
            }
        }
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(name: &str, folded: &Folded) -> Vec<WordVariant> {
        PinyinReadings::of(name, folded).variants()
    }

    fn forms(name: &str, span: &str) -> Vec<String> {
        let folded = Folded::new(name);
        let of_span = |variant: &WordVariant| {
            folded.source_start(variant.place.start) == name.find(span).unwrap()
                && folded.source_end(variant.place.end) == name.find(span).unwrap() + span.len()
        };
        variants(name, &folded).into_iter().filter(of_span).map(|variant| variant.word).collect()
    }

    #[test]
    fn spans_are_typed_in_full_and_by_initials() {
        assert_eq!(forms("张三丰", "张"), ["z", "zhang"]);
        assert_eq!(forms("张三丰", "张三"), ["zhangsan", "zs"]);
        assert_eq!(forms("张三丰", "张三丰"), ["zhangsanfeng", "zhangsf", "zsf"]);
        assert_eq!(forms("张三丰", "三丰"), ["sanfeng", "sf"]);
        assert_eq!(forms("Ann 张 (三)", "三"), ["s", "san"]);
        assert_eq!(forms("張三", "張三"), ["zhangsan", "zs"]);
    }

    #[test]
    fn every_usual_reading_is_indexed() {
        for (name, words) in [
            ("重庆", &["chongqing", "zhongqing"][..]),
            ("单雄信", &["shanxiongxin", "danxiongxin", "sxx"]),
            ("曾国藩", &["zengguofan"]),
            ("解缙", &["xiejin"]),
            ("仇英", &["qiuying"]),
            ("吕布", &["lvbu", "lubu", "lb"]),
            ("李乾", &["liqian", "ligan"]),
            ("欧阳女", &["ouyangnv"]),
        ] {
            let forms = forms(name, name);
            assert!(words.iter().all(|word| forms.iter().any(|form| form == word)), "{name}: {forms:?}");
        }
    }

    #[test]
    fn homophones_have_the_usual_readings_of_each_other() {
        for (word, other) in [("苏洲", "苏州"), ("报肖", "报销"), ("女士", "女式")] {
            assert!(are_homophones(word, other) && are_homophones(other, word), "{word} {other}");
        }
        for (word, other) in [
            ("苏州", "苏州"),
            ("苏洲", "苏港"),
            ("可灵", "可怜"),
            ("租号", "句号"),
            ("苏洲", "酥州"),
            ("苏洲", "苏州市"),
            ("カナ", "カニ"),
            ("ab", "ac"),
        ] {
            assert!(!are_homophones(word, other), "{word} {other}");
        }
    }

    #[test]
    fn homophones_are_all_words_with_one_other_character() {
        let nearest = homophones_of("苏洲");
        assert!(nearest.contains(&"苏州".to_owned()) && nearest.contains(&"酥洲".to_owned()), "{nearest:?}");
        assert!(nearest.iter().all(|other| are_homophones("苏洲", other)), "{nearest:?}");
        assert!(!nearest.contains(&"酥州".to_owned()), "two other characters");
        assert!(homophones_of("零点").contains(&"〇点".to_owned()));
        assert_eq!(["カナ", "ab", ""].map(homophones_of), [const { Vec::<String>::new() }; 3]);
    }

    proptest::proptest! {
        #[test]
        fn homophones_of_a_word_equal_those_told_by_comparison(
            word in "[苏酥州洲周粥女式士〇零aカ]{1,2}",
            other in "[苏酥州洲周粥女式士〇零aカ]{1,2}",
        ) {
            proptest::prop_assert_eq!(homophones_of(&word).contains(&other), are_homophones(&word, &other));
        }
    }

    #[test]
    fn character_without_reading_ends_a_span() {
        assert_eq!(variants("カナ abc", &Folded::new("カナ abc")), []);
        assert_eq!(forms("山々川", "山"), ["s", "shan"]);
        assert_eq!(forms("山々川", "山々川"), [""; 0]);
        assert_eq!(forms("山々川", "川"), ["c", "chuan"]);
    }

    #[test]
    fn readings_of_long_names_are_not_joined() {
        let name = "港风物流集团有限公司财务部薪酬组";
        assert_eq!(name.chars().count(), MAX_JOINED_NAME_CHARS);
        assert_eq!(forms(name, "风物流"), ["fengwl", "fengwuliu", "fwl"]);
        let longer = format!("{name}一");
        assert_eq!(forms(&longer, "风物流"), [""; 0]);
        assert_eq!(forms(&longer, "风"), ["f", "feng"]);
        assert_eq!(forms(&name.replace('财', "，才A财"), "风物流"), [""; 0]);
    }

    #[test]
    fn long_names_of_many_readings_are_bounded() {
        let name = "重单解曾仇朴，".repeat(100);
        let variants = variants(&name, &Folded::new(&name));
        assert!(variants.len() <= MAX_READ_CHARS * 2 * MAX_PRONUNCIATIONS);
        assert!(variants.iter().all(|variant| variant.word.bytes().all(|byte| byte.is_ascii_lowercase())));
        assert!(variants.is_sorted_by_key(|variant| (variant.place.start, variant.place.end)));
    }
}
