//! Lines of a page: spaces between words, reading order, words that lines divide.

use std::{io::Write, mem::take};

use unicode_normalization::UnicodeNormalization;

use super::{
    super::{Stop, TextWriter},
    SPACE,
};

/// A step back above this share of the letter height is a space; kerning takes less.
const STEP_BACK: f64 = 0.4;

/// Single letters in a row that are one word set wide.
const WIDE_LETTERS: usize = 4;

/// Ideographs and kana in a row, where no word has spaces.
const WIDE_IDEOGRAPHS: usize = 2;

/// Gap in letter heights above which letters are apart.
const WIDEST_GAP: f64 = 1.5;

/// A gap between words of a wide heading, by its narrowest gap.
const WORD_GAP: f64 = 1.6;

/// Space in letter heights that a space character takes at least.
const SPACE_WIDTH: f64 = 0.2;

/// Words behind a hyphen that stands for another word: `Hafen- und Lotsengeld`.
const CONJUNCTIONS: [&str; 12] =
    ["und", "oder", "bzw", "sowie", "and", "och", "eller", "oraz", "lub", "или", "como", "atau"];

/// Such words that also end others.
const ENDINGS_OR_CONJUNCTIONS: [&str; 9] = ["or", "et", "ou", "en", "of", "og", "to", "bis", "ja"];

/// Words that others are put before with a hyphen.
const PREFIXES: [&str; 16] = [
    "self", "non", "well", "half", "cross", "high", "low", "long", "short", "full", "part", "semi", "multi",
    "anti", "ex", "co",
];

/// A glyph's character on its line.
#[derive(Debug)]
pub(super) struct Character {
    pub(super) text: String,
    /// Begin along the line.
    pub(super) at: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Gap to the glyph before, in letter heights.
    pub(super) gap: f64,
}

/// A visible character and the gap before it, in letter heights.
#[derive(Debug)]
struct Item {
    text: String,
    gap: f64,
}

/// Gathers a line, and holds back the line before it.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<Character>,
    before: String,
}

impl Lines {
    pub(super) fn push(&mut self, character: Character) {
        self.line.push(character);
    }

    pub(super) fn break_line<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        let line = shown(take(&mut self.line));
        if line.trim().is_empty() {
            return Ok(());
        }
        match joined(&self.before, &line) {
            Some(joined) => self.before = joined,
            None => text.push_line(&std::mem::replace(&mut self.before, line))?,
        }
        Ok(())
    }

    pub(super) fn end<W: Write>(&mut self, text: &mut TextWriter<W>) -> Result<(), Stop> {
        self.break_line(text)?;
        text.push_line(&take(&mut self.before))
    }
}

/// Two lines as one, where a word is divided by a hyphen.
///
/// A word with another hyphen keeps both, and so do numbers and names. A hyphen that may be the word's own stays: a search
/// finds such a word with and without it.
fn joined(before: &str, line: &str) -> Option<String> {
    let before = before.trim_end();
    let line = line.trim_start();
    let begun = before.strip_suffix(['-', '\u{2010}', '\u{ad}'])?;
    let word = begun.rsplit(|character: char| character.is_whitespace() || character == '(').next()?;
    let next = line.split(|character: char| !character.is_alphabetic()).next()?;
    let goes_on = next.chars().next().is_some_and(char::is_lowercase);
    let is_divided = word.chars().next_back().is_some_and(char::is_lowercase) && !word.contains('-');
    if !goes_on || !is_divided {
        return None;
    }
    if before.ends_with('\u{ad}') {
        return Some(format!("{begun}{line}"));
    }
    if CONJUNCTIONS.contains(&next) || next.chars().count() == 1 {
        return None;
    }
    let may_be_own =
        ENDINGS_OR_CONJUNCTIONS.contains(&next) || PREFIXES.contains(&word.to_lowercase().as_str());
    Some(if may_be_own { format!("{begun}-{line}") } else { format!("{begun}{line}") })
}

fn shown(mut line: Vec<Character>) -> String {
    let is_right_to_left = line.iter().any(|character| is_right_to_left(&character.text));
    if is_right_to_left {
        line.sort_by(|one, other| one.at.total_cmp(&other.at));
        let mut end = f64::NAN;
        for character in &mut line {
            character.gap = (character.at - end) / character.height.max(f64::MIN_POSITIVE);
            end = character.at + character.width;
        }
    }
    let mut items = items(line);
    let uncertain = close_wide_words(&mut items);
    if is_right_to_left {
        items = in_reading_order(items);
    }
    let mut shown = String::new();
    for item in items {
        if (item.gap > SPACE || item.gap < -STEP_BACK) && !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(&item.text);
    }
    for word in uncertain {
        shown.push(' ');
        shown.push_str(&word);
    }
    if shown.contains(is_presentation_form) { shown.nfkc().collect() } else { shown }
}

/// Visible characters; white space widens the gap.
fn items(line: Vec<Character>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut space = 0.0;
    for character in line {
        let gap = if character.gap.is_finite() { character.gap } else { 0.0 };
        if character.text.trim().is_empty() {
            let width = character.width / character.height.max(f64::MIN_POSITIVE);
            space += gap.max(0.0) + width.max(SPACE_WIDTH);
        } else {
            let gap = if space > 0.0 { take(&mut space) + gap.max(0.0) } else { gap };
            items.push(Item { text: character.text, gap });
        }
    }
    items
}

/// Ligatures of Latin and forms of Arabic letters.
fn is_presentation_form(character: char) -> bool {
    matches!(character, '\u{fb00}'..='\u{fb06}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Closes the gaps of words whose letters are set apart.
///
/// Returns what may be such a word, or a list of letters, since what stands beside it is as near as they are.
fn close_wide_words(items: &mut [Item]) -> Vec<String> {
    let is_apart = |gap: f64| gap > SPACE;
    let mut uncertain = Vec::new();
    let mut begin = 0;
    while begin < items.len() {
        let is_ideographic = is_ideograph(&items[begin].text);
        let gap_before = if begin == 0 { f64::INFINITY } else { items[begin].gap };
        let length = items[begin..]
            .iter()
            .enumerate()
            .take_while(|(place, item)| {
                let next_gap = items.get(begin + place + 1).map_or(f64::INFINITY, |next| next.gap);
                is_letter(&item.text)
                    && is_ideograph(&item.text) == is_ideographic
                    && is_apart(if *place == 0 { gap_before } else { item.gap })
                    && (*place == 0 || item.gap < 3.0 * WIDEST_GAP)
                    && is_apart(next_gap)
            })
            .count();
        let end = begin + length;
        if length >= if is_ideographic { WIDE_IDEOGRAPHS } else { WIDE_LETTERS } {
            let narrowest = items[begin + 1..end].iter().map(|item| item.gap).fold(f64::INFINITY, f64::min);
            let is_near = |gap: Option<f64>, text: Option<&Item>| {
                gap.is_some_and(|gap| gap <= narrowest * WORD_GAP)
                    && text.is_some_and(|item| item.text.chars().all(char::is_alphanumeric))
            };
            let before = begin.checked_sub(1).and_then(|place| items.get(place));
            let is_near_before = is_near(Some(gap_before), before);
            let is_near_behind = is_near(items.get(end).map(|item| item.gap), items.get(end));
            if !is_ideographic && (is_near_before || is_near_behind) {
                uncertain.push(items[begin..end].iter().map(|item| item.text.as_str()).collect());
            } else {
                close_gaps(&mut items[begin + 1..end], narrowest);
            }
        }
        begin += length.max(1);
    }
    uncertain
}

fn close_gaps(items: &mut [Item], narrowest: f64) {
    if narrowest > WIDEST_GAP {
        return;
    }
    for item in items {
        if item.gap <= narrowest * WORD_GAP {
            item.gap = 0.0;
        }
    }
}

fn is_letter(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(char::is_alphabetic) && characters.next().is_none()
}

fn is_ideograph(text: &str) -> bool {
    text.chars()
        .next()
        .is_some_and(|character| matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'))
}

fn is_right_to_left(text: &str) -> bool {
    text.chars().any(|character| {
        matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}')
            // Digits of Arabic run from the left.
            && !matches!(character, '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}')
    })
}

fn is_left_to_right(text: &str) -> bool {
    !is_right_to_left(text) && text.chars().any(char::is_alphanumeric)
}

/// Characters as they are read, of a line as it stands from left to right.
fn in_reading_order(mut items: Vec<Item>) -> Vec<Item> {
    let count = |is: fn(&str) -> bool| items.iter().filter(|item| is(&item.text)).count();
    // Digits say nothing about a line's direction.
    let is_letter_from_left = |text: &str| is_left_to_right(text) && text.chars().any(char::is_alphabetic);
    let runs_from_right = count(is_right_to_left) >= count(is_letter_from_left);
    if runs_from_right {
        reverse(&mut items);
    }
    let is_against = if runs_from_right { is_left_to_right } else { is_right_to_left };
    let mut begin = 0;
    while begin < items.len() {
        let length = length_of_run(&items[begin..], is_against);
        reverse(&mut items[begin..begin + length]);
        begin += length.max(1);
    }
    items
}

/// Characters against the line's direction, with what stands between them.
fn length_of_run(items: &[Item], is_against: fn(&str) -> bool) -> usize {
    let is_with = |text: &str| !is_against(text) && (is_left_to_right(text) || is_right_to_left(text));
    if !items.first().is_some_and(|item| is_against(&item.text)) {
        return 0;
    }
    let end = items.iter().position(|item| is_with(&item.text)).unwrap_or(items.len());
    items[..end].iter().rposition(|item| is_against(&item.text)).map_or(0, |last| last + 1)
}

/// Reverses characters; each gap stays between the same two, the first one before all.
fn reverse(items: &mut [Item]) {
    let Some(first) = items.first().map(|item| item.gap) else { return };
    let gaps: Vec<f64> = items.iter().skip(1).rev().map(|item| item.gap).collect();
    items.reverse();
    for (item, gap) in items.iter_mut().zip(std::iter::once(first).chain(gaps)) {
        item.gap = gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters of one height and half its width; `gap` lies between each two.
    fn line(text: &str, gap: f64) -> Vec<Character> {
        let at = |place: usize| f64::from(u32::try_from(place).unwrap()) * (0.5 + gap);
        let character = |(place, character): (usize, char)| Character {
            text: character.to_string(),
            at: at(place),
            width: 0.5,
            height: 1.0,
            gap,
        };
        text.chars().enumerate().map(character).collect()
    }

    #[test]
    fn letters_set_wide_are_words() {
        for (text, gap, read) in [
            ("CONTRACT", 0.5, "CONTRACT"),
            ("OF THE SEA", 0.5, "OF THE SEA"),
            ("C O N T R A C T", 0.0, "CONTRACT"),
            ("C O N D   O F   S A L E", 0.0, "COND OF SALE"),
            ("合 同 书", 0.0, "合同书"),
            ("plan a b to c", 0.0, "plan a b to c"),
            ("1 2 3 4 5", 0.0, "1 2 3 4 5"),
            ("Type A B C D", 0.0, "Type A B C D ABCD"),
            ("Type   D U E S", 0.0, "Type DUES"),
            ("§ 1 D U E S :", 0.0, "§ 1 D U E S : DUES"),
            ("ABCDE", 2.0, "A B C D E"),
        ] {
            assert_eq!(shown(line(text, gap)), read, "{text} {gap}");
        }
    }

    #[test]
    fn right_to_left_is_read_from_the_right() {
        for (drawn, read) in [
            ("םולש", "שלום"),
            ("םלוע םולש", "שלום עולם"),
            ("2026 תנש", "שנת 2026"),
            ("12.5 ריחמ", "מחיר 12.5"),
            ("see the םולש port here", "see the שלום port here"),
        ] {
            assert_eq!(shown(line(drawn, 0.0)), read, "{drawn}");
        }
        assert_eq!(shown(line("\u{fed3}\u{fe8e}\u{fb01}", 0.0)).chars().count(), 4, "forms are letters");
    }

    #[test]
    fn divided_word_is_joined() {
        for (before, line, read) in [
            ("the quar-", "terly fee", Some("the quarterly fee")),
            ("the quar\u{ad}", "terly fee", Some("the quarterly fee")),
            ("state-of-the-", "art", None),
            ("Müller-", "Schmidt", None),
            ("2025-", "2026", None),
            ("a –", "dash", None),
            ("from X-", "ray", None),
            ("Hafen-", "oder Lotsengeld", None),
            ("the (self-", "employed pilot", Some("the (self-employed pilot")),
            ("zeven- en", "", None),
            ("bau-", "en und", Some("bau-en und")),
            ("und\u{ad}", "oder", Some("undoder")),
            ("", "fee", None),
        ] {
            assert_eq!(joined(before, line).as_deref(), read, "{before} {line}");
        }
    }
}
