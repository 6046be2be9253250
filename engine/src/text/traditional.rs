//! Simplifies traditional characters one by one: 國際 becomes 国际.
//!
//! A character may have several forms in the table of `OpenCC` (乾: 干, 乾). The usual one is taken; both spellings
//! only need to agree.

use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("traditional.txt");

/// Mostly written for others: 瞭解, 藉由 and 祇有 mean 了解, 借由 and 只有.
const ALSO: [(char, char); 3] = [('瞭', '了'), ('藉', '借'), ('祇', '只')];

/// Looked up by index.
const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9fff;

static SIMPLIFIED: LazyLock<SimplifiedTable> = LazyLock::new(SimplifiedTable::read);

pub(super) struct SimplifiedTable {
    common: Box<[char]>,
    rare: HashMap<char, char>,
}

impl SimplifiedTable {
    pub(super) fn table() -> &'static Self {
        &SIMPLIFIED
    }

    fn read() -> Self {
        let mut common: Box<[char]> = (FIRST..=LAST).filter_map(char::from_u32).collect();
        let mut rare = HashMap::new();
        let pairs: HashMap<char, char> = TABLE.lines().filter_map(pair).chain(ALSO).collect();
        for (&traditional, &simplified) in &pairs {
            // 薴 is 苧, which is 苎.
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

    /// Other characters stay.
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
    fn every_table_line_is_a_pair() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let pairs: Vec<_> = lines.map(|line| pair(line).unwrap()).collect();
        assert!(pairs.len() > 4_000);
        for (traditional, simplified) in pairs {
            if traditional != simplified && traditional != '薴' {
                assert_eq!(SimplifiedTable::table().of(traditional), simplified);
            }
        }
    }

    #[test]
    fn simplification_is_idempotent() {
        let table = SimplifiedTable::table();
        for character in '\0'..=char::MAX {
            let simplified = table.of(character);
            assert_eq!(table.of(simplified), simplified, "{character}");
        }
    }

    #[test]
    fn variants_map_to_one_character() {
        let simplify = |text: &str| {
            text.chars().map(|character| SimplifiedTable::table().of(character)).collect::<String>()
        };
        assert_eq!(simplify("國際後后乾干幹裡裏里著𡻕"), "国际后后干干干里里里着岁");
        assert_eq!(simplify("瞭解藉由祇有薴"), "了解借由只有苎");
        assert_eq!(simplify("国際経済ぁア한abc"), "国际経済ぁア한abc");
    }
}
