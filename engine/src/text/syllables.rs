//! Hangul, and scripts without spaces: Thai, Khmer, Lao, Burmese.
//!
//! Documents have each syllable (grapheme cluster) and each two side by side, so that any part of a text is found
//! whatever its words are. Only queries are split into words: a phrase of pairs for each.

use std::sync::LazyLock;

use icu_segmenter::options::LineBreakOptions;
use icu_segmenter::{LineSegmenter, LineSegmenterBorrowed};
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::cut_to_length;

/// Dictionaries of words, far faster than the networks.
///
/// Lines of these scripts break between words. The segmenter of words brings two megabytes of Chinese and Japanese, too.
static DICTIONARIES: LazyLock<LineSegmenterBorrowed<'static>> =
    LazyLock::new(|| LineSegmenter::new_dictionary(LineBreakOptions::default()));

/// Particles of Korean nouns; longer ones come first.
const PARTICLES: &[&str] = &[
    "에서부터",
    "으로부터",
    "에게서는",
    "에서는",
    "에서도",
    "에서의",
    "에게서",
    "에게는",
    "에게도",
    "으로는",
    "으로도",
    "으로서",
    "으로써",
    "로부터",
    "까지는",
    "까지도",
    "부터는",
    "이라는",
    "이라도",
    "이지만",
    "들에게",
    "들에서",
    "에서",
    "에게",
    "에는",
    "에도",
    "으로",
    "로서",
    "로써",
    "까지",
    "부터",
    "보다",
    "처럼",
    "만큼",
    "한테",
    "께서",
    "이나",
    "이라",
    "이란",
    "들은",
    "들이",
    "들을",
    "들의",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "의",
    "에",
    "와",
    "과",
    "로",
];
/// Shorter rests are words of their own, such as `회의`.
const MIN_NOUN_SYLLABLES: usize = 2;

/// Which of these scripts a character is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyllableScript {
    Hangul,
    /// Spaces stand between sentences.
    Unspaced,
}

impl SyllableScript {
    pub(super) fn of(character: char) -> Option<Self> {
        match character {
            '\u{1100}'..='\u{11ff}'
            | '\u{3130}'..='\u{318f}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}' => Some(Self::Hangul),
            // Thai, Lao; Burmese; Khmer; scripts of the Tai.
            '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{a9e0}'..='\u{a9ff}'
            | '\u{aa60}'..='\u{aadf}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{1950}'..='\u{19df}'
            | '\u{1a20}'..='\u{1aaf}' => Some(Self::Unspaced),
            _ => None,
        }
        .filter(|_| character.is_alphanumeric() || is_combining_mark(character))
    }
}

/// Tells whether a character is of a syllable.
pub(crate) fn is_syllabic(character: char) -> bool {
    SyllableScript::of(character).is_some()
}

/// Syllables of a run, and the places where they start.
pub(crate) fn syllables(run: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    run.grapheme_indices(true)
}

/// The term of a syllable, or of two.
pub(crate) fn syllable_term(syllables: &str) -> &str {
    cut_to_length(syllables)
}

/// A word within a run of syllables.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyllableWord<'a> {
    /// Syllables before it.
    pub(crate) position: usize,
    pub(crate) text: &'a str,
    /// A particle of the word before it, which a text may lack.
    pub(crate) is_particle: bool,
}

impl<'a> SyllableWord<'a> {
    /// Words of a run, in the likeliest segmentation.
    pub(crate) fn all_of(run: &'a str) -> Vec<Self> {
        let ends = match run.chars().next().and_then(SyllableScript::of) {
            Some(SyllableScript::Unspaced) => ends_of_words(run),
            _ => noun_of(run).into_iter().map(str::len).collect(),
        };
        let has_particle = !ends.is_empty()
            && run.starts_with(|first| SyllableScript::of(first) == Some(SyllableScript::Hangul));
        let mut words: Vec<Self> = Vec::new();
        let (mut start, mut first, mut count) = (0, 0, 0);
        for (place, _) in syllables(run).skip(1).chain([(run.len(), "")]) {
            count += 1;
            if place == run.len() || ends.binary_search(&place).is_ok() {
                let is_particle = has_particle && start > 0;
                words.push(Self { position: first, text: &run[start..place], is_particle });
                (start, first) = (place, count);
            }
        }
        words
    }

    /// Terms of the fewest syllables and pairs that make it up, at their offsets.
    pub(crate) fn terms(&self) -> Vec<(usize, String)> {
        let starts: Vec<usize> =
            syllables(self.text).map(|(start, _)| start).chain([self.text.len()]).collect();
        let last = starts.len() - 1;
        if last < 2 {
            return vec![(0, syllable_term(self.text).to_owned())];
        }
        let pairs = (0..last - 1).step_by(2).chain((last % 2 == 1).then_some(last - 2));
        pairs
            .map(|first| (first, syllable_term(&self.text[starts[first]..starts[first + 2]]).to_owned()))
            .collect()
    }
}

/// The text of a phrase of syllables and pairs, which may overlap; `None` for other words.
pub fn written_syllables(phrase: &[(usize, String)]) -> Option<String> {
    let (mut written, mut end) = (String::new(), 0_usize);
    for (offset, term) in phrase {
        if !term.starts_with(is_syllabic) {
            return None;
        }
        written.extend(syllables(term).skip(end.saturating_sub(*offset)).map(|(_, syllable)| syllable));
        end = offset + syllables(term).count();
    }
    Some(written)
}

/// The run without its particle, if it has one.
fn noun_of(run: &str) -> Option<&str> {
    let noun = PARTICLES.iter().find_map(|particle| run.strip_suffix(particle))?;
    (syllables(noun).count() >= MIN_NOUN_SYLLABLES).then_some(noun)
}

/// Ends of dictionary words.
fn ends_of_words(run: &str) -> Vec<usize> {
    let (written, places) = with_vowel_am(run);
    let ends = DICTIONARIES.segment_str(&written).filter(|end| *end > 0);
    ends.filter_map(|end| {
        places.binary_search_by_key(&end, |(written, _)| *written).ok().map(|at| places[at].1)
    })
    .collect()
}

/// Writes the vowel `ำ` of Thai and Lao as one character.
fn with_vowel_am(run: &str) -> (String, Vec<(usize, usize)>) {
    let mut written = String::with_capacity(run.len());
    let mut places = Vec::with_capacity(run.len() / 2);
    for (place, character) in run.char_indices() {
        let composed = match character {
            '\u{e32}' if written.ends_with('\u{e4d}') => Some('\u{e33}'),
            '\u{eb2}' if written.ends_with('\u{ecd}') => Some('\u{eb3}'),
            _ => None,
        };
        if composed.is_some() {
            written.pop();
            places.pop();
        }
        places.push((written.len(), if composed.is_some() { place - '\u{e4d}'.len_utf8() } else { place }));
        written.push(composed.unwrap_or(character));
    }
    places.push((written.len(), run.len()));
    (written, places)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::fold;

    fn words(text: &str) -> Vec<String> {
        SyllableWord::all_of(&fold(text)).into_iter().map(|word| word.text.to_owned()).collect()
    }

    #[test]
    fn unspaced_text_is_split_into_dictionary_words() {
        for (text, expected) in [
            ("คณะกรรมการบริษัทประชุม", "คณะ กรรมการ บริษัท ประชุม"),
            ("ประเทศกัมพูชา", "ประเทศ กัมพูชา"),
            ("ប្រទេសកម្ពុជាមានប្រជាជន", "ប្រទេស កម្ពុជា មាន ប្រជាជន"),
            ("ປະຊາຊົນລາວ", "ປະຊາຊົນ ລາວ"),
            ("မြန်မာနိုင်ငံတော်အစည်းအဝေး", "မြန်မာနိုင်ငံ တော် အစည်းအဝေး"),
        ] {
            let expected: Vec<String> = expected.split(' ').map(|word| fold(word).into_owned()).collect();
            assert_eq!(words(text), expected);
        }
        assert_eq!(words("น้ำดื่ม"), [fold("น้ำ"), fold("ดื่ม")]);
    }

    #[test]
    fn particle_is_split_from_a_noun() {
        for (text, expected) in [
            ("회사의", &["회사", "의"][..]),
            ("정책을", &["정책", "을"]),
            ("데이터베이스에서는", &["데이터베이스", "에서는"]),
            ("회의", &["회의"]),
            ("아이", &["아이"]),
            ("정책", &["정책"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn word_consists_of_the_fewest_pairs() {
        let terms = |text| SyllableWord { position: 0, text, is_particle: false }.terms();
        let of = |expected: &[(usize, &str)]| -> Vec<(usize, String)> {
            expected.iter().map(|(at, term)| (*at, (*term).to_owned())).collect()
        };
        assert_eq!(terms("집"), of(&[(0, "집")]));
        assert_eq!(terms("회사"), of(&[(0, "회사")]));
        assert_eq!(terms("대한민"), of(&[(0, "대한"), (1, "한민")]));
        assert_eq!(terms("대한민국"), of(&[(0, "대한"), (2, "민국")]));
        assert_eq!(terms("데이터베이"), of(&[(0, "데이"), (2, "터베"), (3, "베이")]));
        assert_eq!(written_syllables(&terms("데이터베이")).as_deref(), Some("데이터베이"));
        assert_eq!(written_syllables(&of(&[(0, "data")])), None);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn words_cover_every_syllable_once(run in "[ก-ฮะาิีำ่้เแ]{1,30}|[က-ဠါိုး်]{1,30}|[가-힣]{1,20}|[ກ-ຮະາິຳ]{1,20}") {
            let run = fold(&run).into_owned();
            let words = SyllableWord::all_of(&run);
            prop_assert_eq!(words.iter().map(|word| word.text).collect::<String>(), run.as_str());
            let mut position = 0;
            for word in words {
                prop_assert_eq!(word.position, position);
                position += syllables(word.text).count();
            }
        }
    }
}
