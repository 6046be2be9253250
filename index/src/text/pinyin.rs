//! How a name written in ideographs is typed by its sound: 张三 as `zhangsan`, `zhang`, `san`, `zs`, `z` or `s`.

use std::ops::Range;

use pinyin::ToPinyinMulti;

use super::{Folded, Run, placed_runs};

/// The ideographs of a name, from its beginning, that are found by their sound.
const MOST_CHARS: usize = 64;
/// The ideographs beside each other whose sounds are joined.
const JOINED_CHARS: usize = 8;
/// In names of more ideographs each is found by its own sound only.
const MOST_JOINED_CHARS: usize = 16;
/// The ways to read a stretch that count; of characters with several readings (单: dan, chan, shan) the usual ones go first.
const MOST_WAYS: usize = 24;

/// A stretch of a folded name, and one way to type it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sound {
    /// In bytes of the folded text.
    pub(crate) place: Range<usize>,
    /// Letters of ASCII.
    pub(crate) word: String,
}

/// How the ideographs of a name are read: run by run the bytes that it takes in the folded text, and of each character where it
/// ends and its readings.
pub(crate) struct Readings {
    runs: Vec<(Range<usize>, Vec<Read>)>,
    /// How many characters beside each other are typed together.
    joined: usize,
}

/// A character as it is read: where it ends in the folded text, and its readings, the usual one first.
type Read = (usize, Vec<String>);

impl Readings {
    /// Reads the first characters of a name.
    pub(crate) fn of(name: &str, folded: &Folded) -> Self {
        let mut runs = Vec::new();
        let (mut left, mut ideographs) = (MOST_CHARS, 0);
        for (bytes, run) in placed_runs(&folded.text) {
            let Run::Ideographs(run) = run else { continue };
            ideographs += run.chars().count();
            let read = |(offset, character): (usize, char)| {
                let place = bytes.start + offset;
                // As it is written: 乾 may be read qián, which 干 never is.
                let written = name[folded.source_start(place)..].chars().next();
                let as_written = written.map(readings).filter(|readings| !readings.is_empty());
                (place + character.len_utf8(), as_written.unwrap_or_else(|| readings(character)))
            };
            let characters: Vec<Read> = run.char_indices().take(left).map(read).collect();
            left -= characters.len();
            runs.push((bytes, characters));
        }
        Self { runs, joined: if ideographs > MOST_JOINED_CHARS { 1 } else { JOINED_CHARS } }
    }

    /// The ways to type the stretches of these ideographs, in the order of where they begin; of these the shorter stretches
    /// first.
    pub(super) fn sounds(&self) -> Vec<Sound> {
        let mut sounds = Vec::new();
        for (bytes, characters) in &self.runs {
            let mut start = bytes.start;
            for (number, (end, _)) in characters.iter().enumerate() {
                let together = characters.len().min(number + self.joined);
                add_stretches(start, &characters[number..together], &mut sounds);
                start = *end;
            }
        }
        sounds
    }

    /// The ways to read all that stands in this part of the folded text, syllable by syllable; none where it is too long, or
    /// holds what has no sound.
    pub(super) fn syllables(&self, part: &Range<usize>) -> Vec<Vec<&str>> {
        let runs = self.runs.iter().filter(|(bytes, _)| part.start <= bytes.start && bytes.end <= part.end);
        let read: Vec<&Read> = runs.flat_map(|(_, characters)| characters).collect();
        if read.len() > self.joined || read.last().is_none_or(|(end, _)| *end < part.end) {
            return Vec::new();
        }
        let mut ways: Vec<(usize, Vec<&str>)> = vec![(0, Vec::new())];
        for (_, readings) in read {
            let mut read_on = Vec::with_capacity(ways.len() * readings.len());
            for (unusual, syllables) in &ways {
                for (further, reading) in readings.iter().enumerate() {
                    let mut syllables = syllables.clone();
                    syllables.push(reading.as_str());
                    read_on.push((unusual + further, syllables));
                }
            }
            ways = read_on;
            ways.sort_by_key(|(unusual, _)| *unusual);
            ways.truncate(MOST_WAYS);
        }
        ways.into_iter().map(|(_, syllables)| syllables).collect()
    }
}

/// One way to read a stretch: how far it is from the usual one, its syllables, and their first letters.
#[derive(Clone, Default)]
struct Way {
    unusual: usize,
    full: String,
    initials: String,
}

/// The stretches that begin with the first of these characters, each given with where it ends and how it is read.
fn add_stretches(start: usize, characters: &[Read], sounds: &mut Vec<Sound>) {
    let mut ways = vec![Way::default()];
    for (end, readings) in characters {
        let with = |way: &Way, (unusual, reading): (usize, &String)| Way {
            unusual: way.unusual + unusual,
            full: format!("{}{reading}", way.full),
            initials: way.initials.chars().chain(reading.chars().take(1)).collect(),
        };
        ways = ways
            .iter()
            .flat_map(|way| readings.iter().enumerate().map(move |reading| with(way, reading)))
            .collect();
        ways.sort_by_key(|way| way.unusual);
        ways.truncate(MOST_WAYS);
        let mut words: Vec<String> =
            ways.iter().flat_map(|way| [way.full.clone(), way.initials.clone()]).collect();
        words.sort_unstable();
        words.dedup();
        sounds.extend(words.into_iter().map(|word| Sound { place: start..*end, word }));
    }
}

/// How a character is read, without tones, the usual reading first; `ü` both as `v` and as `u`, as it is typed.
fn readings(character: char) -> Vec<String> {
    let mut readings = Vec::new();
    let sounds = character.to_pinyin_multi().into_iter().flatten();
    for reading in sounds.map(pinyin::Pinyin::plain) {
        if reading.is_ascii() {
            if !readings.iter().any(|known| known == reading) {
                readings.push(reading.to_owned());
            }
            continue;
        }
        let reading = reading.replace('ê', "e");
        for typed in [reading.replace('ü', "v"), reading.replace('ü', "u")] {
            if !readings.contains(&typed) {
                readings.push(typed);
            }
        }
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sounds(name: &str, folded: &Folded) -> Vec<Sound> {
        Readings::of(name, folded).sounds()
    }

    fn typed(name: &str, stretch: &str) -> Vec<String> {
        let folded = Folded::new(name);
        let of_stretch = |sound: &Sound| {
            folded.source_start(sound.place.start) == name.find(stretch).unwrap()
                && folded.source_end(sound.place.end) == name.find(stretch).unwrap() + stretch.len()
        };
        sounds(name, &folded).into_iter().filter(of_stretch).map(|sound| sound.word).collect()
    }

    #[test]
    fn each_stretch_is_typed_in_full_and_by_initials() {
        assert_eq!(typed("张三丰", "张"), ["z", "zhang"]);
        assert_eq!(typed("张三丰", "张三"), ["zhangsan", "zs"]);
        assert_eq!(typed("张三丰", "张三丰"), ["zhangsanfeng", "zsf"]);
        assert_eq!(typed("张三丰", "三丰"), ["sanfeng", "sf"]);
        assert_eq!(typed("Ann 张 (三)", "三"), ["s", "san"]);
        assert_eq!(typed("張三", "張三"), ["zhangsan", "zs"]);
    }

    #[test]
    fn every_usual_reading_counts() {
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
            let typed = typed(name, name);
            assert!(words.iter().all(|word| typed.iter().any(|typed| typed == word)), "{name}: {typed:?}");
        }
    }

    #[test]
    fn what_has_no_sound_ends_a_stretch() {
        assert_eq!(sounds("カナ abc", &Folded::new("カナ abc")), []);
        assert_eq!(typed("山々川", "山"), ["s", "shan"]);
        assert_eq!(typed("山々川", "山々川"), [""; 0]);
        assert_eq!(typed("山々川", "川"), ["c", "chuan"]);
    }

    #[test]
    fn the_sounds_of_long_names_are_not_joined() {
        let name = "港风物流集团有限公司财务部薪酬组";
        assert_eq!(name.chars().count(), MOST_JOINED_CHARS);
        assert_eq!(typed(name, "风物流"), ["fengwuliu", "fwl"]);
        let longer = format!("{name}一");
        assert_eq!(typed(&longer, "风物流"), [""; 0]);
        assert_eq!(typed(&longer, "风"), ["f", "feng"]);
        // Whatever parts them.
        assert_eq!(typed(&name.replace('财', "，才A财"), "风物流"), [""; 0]);
    }

    #[test]
    fn long_names_of_many_readings_are_bounded() {
        let name = "重单解曾仇朴，".repeat(100);
        let sounds = sounds(&name, &Folded::new(&name));
        assert!(sounds.len() <= MOST_CHARS * 2 * MOST_WAYS);
        assert!(sounds.iter().all(|sound| sound.word.bytes().all(|byte| byte.is_ascii_lowercase())));
        assert!(sounds.is_sorted_by_key(|sound| (sound.place.start, sound.place.end)));
    }
}
