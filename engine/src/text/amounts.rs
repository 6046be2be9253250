//! Numbers and dates in Chinese words: `三百万`, `300万`, `1.5亿`, `百分之三十`, `第三`, `二〇二六年三月`.

use std::ops::Range;

use super::ScriptRun;
use super::dates::Date;
use super::segmentation::{PlacedRun, dictionary_words, digits_of, is_digits};

const TEN_THOUSAND: u64 = 10_000;
const HUNDRED_MILLION: u64 = 100_000_000;
/// Smaller ones are also holidays and parts of words, such as 十一.
const MIN_NUMBER: u64 = 20;
/// Numbers of fewer digits are also ordinary words.
const MIN_EXACT_DIGITS: usize = 5;
/// Digits of a number in digits.
const MAX_DIGITS: usize = 19;
/// Zeros of the largest unit, 万亿.
const MAX_ZEROS: u32 = 12;
/// Numerals of a month or day.
const MAX_DATE_NUMERALS: usize = 3;
const PERCENT: &str = "百分之";
const ORDINAL: &str = "第";
/// Greater ones are rare, and mostly part of a name.
const MAX_ORDINAL: u64 = 99;
/// Beginnings of what stands in one word of the dictionary with a number, such as 万元.
const COUNTED: [char; 14] =
    ['元', '人', '个', '名', '家', '吨', '户', '股', '次', '台', '辆', '件', '美', '欧'];

/// A number or date that has another spelling in digits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) place: Range<usize>,
    /// Spellings in digits; documents have all, queries look for the first.
    pub(super) words: Vec<String>,
    /// Its characters alone are something else.
    pub(super) is_exact: bool,
    /// Runs before this belong to it; it may end within the last.
    pub(super) end: usize,
}

impl Amount {
    fn from_number(word: String, place: Range<usize>, end: usize) -> Self {
        Self { place, is_exact: word.len() >= MIN_EXACT_DIGITS, words: vec![word], end }
    }

    /// Amounts that begin in this run, in order.
    pub(super) fn beginning_in(folded: &str, runs: &[PlacedRun<'_>], first: usize) -> Vec<Self> {
        match &runs[first] {
            (_, ScriptRun::Word(_)) => Self::from_digits(folded, runs, first).into_iter().collect(),
            (_, ScriptRun::Syllables(_)) => Vec::new(),
            (_, ScriptRun::Ideographs(run)) if !run.contains(is_numeral) && !run.ends_with(ORDINAL) => {
                Vec::new()
            }
            (place, ScriptRun::Ideographs(run)) => {
                let dates = run.match_indices('年').filter_map(|(year, _)| date(run, year, first + 1));
                let mut amounts: Vec<Self> = dates.collect();
                amounts.extend(run.match_indices(PERCENT).filter_map(|(start, _)| {
                    let start_of_number = start + PERCENT.len();
                    let numerals = leading_numerals(&run[start_of_number..]);
                    let end = start_of_number + numerals.len();
                    let value = value_of(numerals).filter(|_| !run[end..].starts_with('点'))?;
                    Some(Self::from_number(value.to_string(), start..end, first + 1))
                }));
                let numbers = numbers(run).into_iter();
                amounts.extend(
                    numbers.map(|(number, place)| Self::from_number(number.to_string(), place, first + 1)),
                );
                amounts.extend(ordinals(run, runs, first));
                // The first and longest of overlapping amounts stays.
                amounts.sort_by_key(|amount| (amount.place.start, std::cmp::Reverse(amount.place.end)));
                let mut end = 0;
                amounts.retain(|amount| {
                    let is_apart = amount.place.start >= end;
                    end = end.max(amount.place.end);
                    is_apart
                });
                for amount in &mut amounts {
                    amount.place = place.start + amount.place.start..place.start + amount.place.end;
                }
                amounts
            }
        }
    }

    /// `300万`, `1.5亿` or `3,000万`.
    fn from_digits(folded: &str, runs: &[PlacedRun<'_>], first: usize) -> Option<Self> {
        let between = |before: usize| folded.get(runs[before].0.end..runs.get(before + 1)?.0.start);
        let is_joined = |before: usize| between(before).is_some_and(|sign| matches!(sign, "." | ","));
        let mut whole = digits_of(runs, first)?.to_owned();
        if first.checked_sub(1).is_some_and(is_joined) {
            return None;
        }
        let mut next = first + 1;
        while between(next - 1) == Some(",") {
            whole.push_str(digits_of(runs, next).filter(|thousands| thousands.len() == 3)?);
            next += 1;
        }
        let mut fraction = "";
        if between(next - 1) == Some(".") {
            fraction = digits_of(runs, next)?;
            next += 1;
        }
        let (place, ScriptRun::Ideographs(run)) = runs.get(next)? else { return None };
        if !run.starts_with(is_unit) || !between(next - 1)?.trim().is_empty() {
            return None;
        }
        let end = place.start + leading(&dictionary_words(run), is_unit);
        let units = &folded[place.start..end];
        let zeros: u32 = units.chars().filter_map(unit_of).map(u64::ilog10).sum();
        let is_followed = folded[end..].starts_with(|next: char| next.is_ascii_digit() || is_numeral(next));
        if is_followed || zeros > MAX_ZEROS || !units.ends_with(['万', '亿']) {
            return None;
        }
        let word = shifted(&whole, fraction, usize::try_from(zeros).ok()?)?;
        Some(Self::from_number(word, runs[first].0.start..end, next + 1))
    }
}

/// The decimal number times a power of ten.
fn shifted(whole: &str, fraction: &str, zeros: usize) -> Option<String> {
    let (moved, left) = fraction.split_at(zeros.min(fraction.len()));
    let digits = format!("{whole}{moved:0<zeros$}");
    let digits = digits.trim_start_matches('0');
    let left = left.trim_end_matches('0');
    let is_number = is_digits(digits) && digits.len() <= MAX_DIGITS;
    is_number.then(|| if left.is_empty() { digits.to_owned() } else { format!("{digits}.{left}") })
}

/// Numbers that are whole words of a run of ideographs.
fn numbers(run: &str) -> Vec<(u64, Range<usize>)> {
    if !run.contains(is_unit) {
        return Vec::new();
    }
    let words = dictionary_words(run);
    let mut numbers = Vec::new();
    let (mut next, mut start) = (0, 0);
    while next < words.len() {
        let length = leading(&words[next..], is_numeral);
        let place = start..start + length;
        let is_rough = run[..start].ends_with(['几', '数', '点'])
            || run[place.end..].starts_with(['几', '多', '余', '来', '点']);
        let value = value_of(&run[place.clone()]).filter(|value| *value >= MIN_NUMBER && !is_rough);
        numbers.extend(value.map(|value| (value, place.clone())));
        while start < place.end.max(place.start + 1) {
            start += words[next].len();
            next += 1;
        }
    }
    numbers
}

/// `第三` or `第3`, as `3.`.
fn ordinals(run: &str, runs: &[PlacedRun<'_>], first: usize) -> Vec<Amount> {
    let ordinal = |(start, sign): (usize, &str)| {
        let numerals = leading_numerals(&run[start + sign.len()..]);
        let end = start + sign.len() + numerals.len();
        let (value, end, runs_end) = if end == start + sign.len() && end == run.len() {
            let (digits, _) = runs.get(first + 1)?;
            let is_near = digits.start == runs[first].0.end;
            let value = digits_of(runs, first + 1).filter(|_| is_near)?.parse().ok()?;
            (value, digits.end - runs[first].0.start, first + 2)
        } else {
            (value_of(numerals)?, end, first + 1)
        };
        let word = (1..=MAX_ORDINAL).contains(&value).then(|| format!("{value}."))?;
        Some(Amount { place: start..end, words: vec![word], is_exact: false, end: runs_end })
    };
    run.match_indices(ORDINAL).filter_map(ordinal).collect()
}

/// Length of such characters at the beginning: 三百万 of 三百万元.
///
/// They end with a word, or before a unit of counting.
fn leading(words: &[&str], is_leading: impl Fn(char) -> bool) -> usize {
    let mut length = 0;
    for word in words {
        let end = word.find(|character| !is_leading(character)).unwrap_or(word.len());
        if word[end..].is_empty() || word[end..].starts_with(COUNTED) {
            length += end;
        }
        if end < word.len() {
            break;
        }
    }
    length
}

fn leading_numerals(text: &str) -> &str {
    &text[..text.find(|character| !is_numeral(character)).unwrap_or(text.len())]
}

/// `二〇二六年三月十五日`, or without the day; `year` is the place of 年.
fn date(run: &str, year: usize, end: usize) -> Option<Amount> {
    let mut before = run[..year].char_indices().rev();
    let mut digits: Vec<(usize, u64)> = Vec::new();
    for (place, numeral) in before.by_ref().take(4) {
        digits.push((place, digit_of(numeral)?));
    }
    let is_longer = before.next().is_some_and(|(_, numeral)| digit_of(numeral).is_some());
    let start = digits.get(3).filter(|_| !is_longer)?.0;
    let number = digits.iter().rev().fold(0, |number, (_, digit)| number * 10 + digit);
    let after_year = year + '年'.len_utf8();
    let (month, after_month) = number_before(run, after_year, &['月'])?;
    let day = number_before(run, after_month, &['日', '号']);
    let place = start..day.map_or(after_month, |(_, after_day)| after_day);
    let date = Date::new([number, month], day.map(|(day, _)| day), place, end)?;
    let (words, is_exact) = (date.words().collect(), date.day.is_some());
    Some(Amount { place: date.place, words, is_exact, end })
}

/// A small number before one of these units, and the end of the unit.
fn number_before(run: &str, start: usize, units: &[char]) -> Option<(u64, usize)> {
    let numerals = leading_numerals(&run[start..]);
    let end = start + numerals.len();
    let unit = run[end..].chars().next().filter(|unit| units.contains(unit))?;
    let is_small = numerals.chars().nth(MAX_DATE_NUMERALS).is_none();
    Some((value_of(numerals).filter(|_| is_small)?, end + unit.len_utf8()))
}

fn is_numeral(character: char) -> bool {
    digit_of(character).is_some() || is_unit(character)
}

fn is_unit(character: char) -> bool {
    unit_of(character).is_some()
}

fn digit_of(character: char) -> Option<u64> {
    Some(match character {
        '〇' | '零' => 0,
        '一' | '壹' => 1,
        '二' | '两' | '贰' => 2,
        '三' | '叁' => 3,
        '四' | '肆' => 4,
        '五' | '伍' => 5,
        '六' | '陆' => 6,
        '七' | '柒' => 7,
        '八' | '捌' => 8,
        '九' | '玖' => 9,
        _ => return None,
    })
}

fn unit_of(character: char) -> Option<u64> {
    Some(match character {
        '十' | '拾' => 10,
        '百' | '佰' => 100,
        '千' | '仟' => 1_000,
        '万' => TEN_THOUSAND,
        '亿' => HUNDRED_MILLION,
        _ => return None,
    })
}

/// Value of a number in words, also as spoken: 一万二 is 12,000.
fn value_of(numerals: &str) -> Option<u64> {
    let (mut whole, mut section, mut last_unit) = (0, 0, 1);
    let (mut digit, mut is_after_zero) = (None, false);
    for numeral in numerals.chars() {
        let Some(unit) = unit_of(numeral) else {
            let next = digit_of(numeral)?;
            if digit.is_some() {
                return None;
            }
            is_after_zero |= next == 0;
            digit = Some(next).filter(|next| *next > 0);
            continue;
        };
        if unit < TEN_THOUSAND {
            // 十二 has no digit before.
            let times = digit.take().or((unit == 10 && section == 0).then_some(1))?;
            if section % (unit * 10) != 0 {
                return None;
            }
            section += times * unit;
        } else {
            section += digit.take().unwrap_or(0);
            let is_first = if unit == HUNDRED_MILLION { whole < unit } else { whole % HUNDRED_MILLION == 0 };
            if !is_first || section == 0 && (unit == TEN_THOUSAND || whole == 0) {
                return None;
            }
            whole = if unit == HUNDRED_MILLION { (whole + section) * unit } else { whole + section * unit };
            section = 0;
        }
        (last_unit, is_after_zero) = (unit, false);
    }
    let spoken = if is_after_zero || last_unit < 100 { 1 } else { last_unit / 10 };
    let value = whole + section + digit.unwrap_or(0) * spoken;
    (value > 0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::placed_runs;

    fn words(text: &str) -> Vec<String> {
        let runs: Vec<_> = placed_runs(text).collect();
        let amounts = (0..runs.len()).flat_map(|first| Amount::beginning_in(text, &runs, first));
        amounts.map(|amount| format!("{} {}", &text[amount.place], amount.words.join(" "))).collect()
    }

    #[test]
    fn number_in_words_has_its_value() {
        for (numerals, value) in [
            ("三百万", 3_000_000),
            ("两千五百", 2_500),
            ("一万二", 12_000),
            ("三百五", 350),
            ("一万零五百", 10_500),
            ("一千零一", 1_001),
            ("十二", 12),
            ("二十一", 21),
            ("十二万五", 125_000),
            ("一亿二千三百四十五万六千七百八十九", 123_456_789),
            ("三万亿", 3_000_000_000_000),
            ("叁佰万", 3_000_000),
            ("七", 7),
        ] {
            assert_eq!(value_of(numerals), Some(value), "{numerals}");
        }
        for numerals in
            ["", "零", "百万", "万一", "三四", "五一", "二三十", "一十百", "三万万", "千千万万", "一百千"]
        {
            assert_eq!(value_of(numerals), None, "{numerals}");
        }
    }

    #[test]
    fn amount_is_found_in_a_text() {
        for (text, expected) in [
            ("预算三百万元", &["三百万 3000000"][..]),
            ("一千五百万元、三百亿元", &["一千五百万 15000000", "三百亿 30000000000"]),
            ("叁佰万元整", &["叁佰万 3000000"]),
            ("共300万元", &["300万 3000000"]),
            ("300 万", &["300 万 3000000"]),
            ("1.5亿美元和3,000万", &["1.5亿 150000000", "3,000万 30000000"]),
            ("0.5亿", &["0.5亿 50000000"]),
            ("1.23456万", &["1.23456万 12345.6"]),
            ("5千万和2万亿", &["5千万 50000000", "2万亿 2000000000000"]),
            ("奖金两千五百元", &["两千五百 2500"]),
            ("增长百分之三十左右", &["百分之三十 30"]),
            ("百分之五", &["百分之五 5"]),
            ("二〇二六年三月召开", &["二〇二六年三月 2026.03"]),
            ("二零二六年十二月十五日会议", &["二零二六年十二月十五日 20261215 2026.12"]),
            ("一百人和二十人", &["一百 100", "二十 20"]),
            ("第三季度和第3季度", &["第三 3.", "第3 3."]),
            ("第二十一届，第 3 名", &["第二十一 21."]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn ordinary_word_is_no_amount() {
        let ordinary = "一定 万一 三明治 千万别 一些 十分 百度 九寨沟 五一 十一 双十一 统一百货 几十万 一百多万 数百万 三点二十分 三分之二 \
            3万5千 3万五千 1万万亿 2万科 5万能充电器 1.5 3.2.5万能 二〇二六年 二〇二六年十三月 三月 百分之百 百分之三点五 \
            亿万富翁 成千上万 第 3 第0";
        for text in ordinary.split(' ') {
            assert_eq!(words(text), [""; 0], "{text}");
        }
    }
}
