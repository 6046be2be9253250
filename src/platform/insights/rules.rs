//! Keywords that may be counted, weeks, and the bits of people.

use aws_lc_rs::digest::{SHA256, digest};
use unicode_normalization::UnicodeNormalization;

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Milliseconds of a week.
pub(super) const WEEK: i64 = 7 * DAY;

const MAX_CHARS: usize = 100;
/// Digits that may be a telephone, customer or card number.
const LONG_NUMBER: usize = 7;
/// Keywords of fewer people are never shown.
const MIN_PEOPLE: u32 = 3;

/// A keyword as it is counted; `None` if it may name a person.
pub(super) fn countable(keyword: &str) -> Option<String> {
    let folded: String = keyword.nfkc().flat_map(char::to_lowercase).collect();
    let keyword = folded.split_whitespace().collect::<Vec<_>>().join(" ");
    let digits = keyword.chars().filter(|character| character.is_numeric()).count();
    let is_countable = (1..=MAX_CHARS).contains(&keyword.chars().count())
        && !keyword.contains('@')
        && digits < LONG_NUMBER
        && !keyword.chars().any(char::is_control);
    is_countable.then_some(keyword)
}

/// The start of the week (UTC, from Monday) that holds a time.
pub(super) fn week_of(time: i64) -> i64 {
    // 1970 began on a Thursday.
    const MONDAY: i64 = 4 * DAY;
    (time - MONDAY).div_euclid(WEEK) * WEEK + MONDAY
}

/// One of 64 bits, by the salted hash of a person.
pub(super) fn bit_of(person: &str, salt: &[u8]) -> i64 {
    let hash = digest(&SHA256, &[salt, person.as_bytes()].concat());
    let number = hash.as_ref().first().map_or(0, |byte| byte % 64);
    1 << number
}

/// Whether at least three people set the bits.
pub(super) fn may_be_shown(people: i64) -> bool {
    people.count_ones() >= MIN_PEOPLE
}

/// About how many people set the bits, by linear counting.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 311")]
pub(super) fn estimate(people: i64) -> u32 {
    // All bits set tell no upper bound.
    let unset = f64::from(people.count_zeros()).max(0.5);
    (64.0 * (64.0 / unset).ln()).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyword_is_counted_folded_unless_it_may_name_a_person() {
        for (keyword, counted) in [
            ("  Annual\u{3000}LEAVE ", Some("annual leave")),
            ("ＶＰＮ ﬁle", Some("vpn file")),
            ("年假", Some("年假")),
            ("iso 27001", Some("iso 27001")),
            ("mei.chen@acme.example", None),
            ("+49 170 1234567", None),
            ("６２１７ ００１２", None),
            ("a\u{0}b", None),
            (" \n", None),
        ] {
            assert_eq!(countable(keyword).as_deref(), counted, "{keyword:?}");
        }
        assert_eq!(countable(&"é".repeat(100)), Some("é".repeat(100)));
        assert_eq!(countable(&"é".repeat(101)), None);
    }

    #[test]
    fn weeks_begin_on_monday() {
        const NEW_YEAR_OF_2024: i64 = 1_704_067_200_000;
        assert_eq!(week_of(NEW_YEAR_OF_2024), NEW_YEAR_OF_2024);
        assert_eq!(week_of(NEW_YEAR_OF_2024 + WEEK - 1), NEW_YEAR_OF_2024);
        assert_eq!(week_of(NEW_YEAR_OF_2024 - 1), NEW_YEAR_OF_2024 - WEEK);
        assert_eq!(week_of(0), -3 * DAY);
    }

    #[test]
    fn people_are_estimated_and_never_fewer_than_the_bits() {
        for count in [3_u32, 10, 40, 100] {
            let bits = (0..count).fold(0, |bits, person| bits | bit_of(&person.to_string(), b"salt"));
            let estimated = estimate(bits);
            assert!(estimated >= bits.count_ones(), "{estimated}");
            assert!((count / 2..=count * 2).contains(&estimated), "{estimated} for {count}");
        }
        assert_eq!((estimate(0), estimate(-1)), (0, 311));
        assert!(!may_be_shown(0b11) && may_be_shown(0b111));
    }
}
