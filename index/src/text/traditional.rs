//! Traditional characters as simplified ones, character by character, so that 國際 and 国际 are the same word.
//!
//! The table is that of `OpenCC`, which is written for conversion: where a traditional character stands for several
//! simplified ones (乾: 干, 乾), the usual one is taken wherever it stands. For a search it matters only that both
//! spellings of a word become one. Positions stay what they are, since every character stays one character.

use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("traditional.txt");

/// Characters that the table keeps, because they are simplified ones too, but that are written for these far more often:
/// 瞭解, 藉由 and 祇有 are 了解, 借由 and 只有.
const ALSO: [(char, char); 3] = [('瞭', '了'), ('藉', '借'), ('祇', '只')];

/// The ideographs of the table that are common enough to be looked up by their place: all of three bytes.
const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9fff;

static SIMPLIFIED: LazyLock<Simplified> = LazyLock::new(Simplified::read);

/// The simplified character for each traditional one.
pub(super) struct Simplified {
    /// For each from [`FIRST`] to [`LAST`].
    common: Box<[char]>,
    /// For the others that have one.
    rare: HashMap<char, char>,
}

impl Simplified {
    /// The table; read at the first call.
    pub(super) fn table() -> &'static Self {
        &SIMPLIFIED
    }

    fn read() -> Self {
        let mut common: Box<[char]> = (FIRST..=LAST).filter_map(char::from_u32).collect();
        let mut rare = HashMap::new();
        let pairs: HashMap<char, char> = TABLE.lines().filter_map(pair).chain(ALSO).collect();
        for (&traditional, &simplified) in &pairs {
            // 薴 is 苧, which in turn is 苎.
            let simplified = pairs.get(&simplified).copied().unwrap_or(simplified);
            match place(traditional).and_then(|place| common.get_mut(place)) {
                Some(entry) => *entry = simplified,
                None => {
                    rare.insert(traditional, simplified);
                }
            }
        }
        Self { common, rare }
    }

    /// What is written for the character in simplified Chinese; any other character stays what it is.
    pub(super) fn of(&self, character: char) -> char {
        match place(character).and_then(|place| self.common.get(place)) {
            Some(&simplified) => simplified,
            None if character > '\u{ffff}' => self.rare.get(&character).copied().unwrap_or(character),
            None => character,
        }
    }
}

fn place(character: char) -> Option<usize> {
    usize::try_from(u32::from(character).checked_sub(FIRST)?).ok()
}

fn pair(line: &str) -> Option<(char, char)> {
    let (traditional, simplified) = line.split_once('\t')?;
    Some((traditional.chars().next()?, simplified.chars().next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_pair_and_all_are_there() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let pairs: Vec<_> = lines.map(|line| pair(line).unwrap()).collect();
        assert!(pairs.len() > 4_000);
        for (traditional, simplified) in pairs {
            if traditional != simplified && traditional != '薴' {
                assert_eq!(Simplified::table().of(traditional), simplified);
            }
        }
    }

    #[test]
    fn what_is_simplified_stays_so() {
        let table = Simplified::table();
        for character in '\0'..=char::MAX {
            let simplified = table.of(character);
            assert_eq!(table.of(simplified), simplified, "{character}");
        }
    }

    #[test]
    fn several_become_one() {
        let simplify =
            |text: &str| text.chars().map(|character| Simplified::table().of(character)).collect::<String>();
        assert_eq!(simplify("國際後后乾干幹裡裏里著𡻕"), "国际后后干干干里里里着岁");
        assert_eq!(simplify("瞭解藉由祇有薴"), "了解借由只有苎");
        assert_eq!(simplify("国際経済ぁア한abc"), "国际経済ぁア한abc");
    }
}
