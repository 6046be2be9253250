use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use super::graphemes::{boundary_before, boundary_behind};
use super::marks::{Mark, MatchBits};
use crate::text::is_ideograph;

const PASSAGE_CHARS: usize = 200;
const LONG_WORD_CHARS: usize = 40;

/// A short text whole, else the best window, else the start.
pub(super) fn choose(text: &str, marks: &[Mark]) -> Range<usize> {
    if text.char_indices().nth(PASSAGE_CHARS).is_none() {
        return 0..text.len();
    }
    let best = best_window(text, marks);
    let (Some(first), Some(last)) = (marks[best.clone()].first(), marks[best].last()) else {
        return 0..end_of_passage(text, 0, PASSAGE_CHARS);
    };
    let matched = text[first.start..last.end].chars().count();
    let Some(around) = PASSAGE_CHARS.checked_sub(matched) else {
        return first.start..end_of_passage(text, first.start, PASSAGE_CHARS);
    };
    // Gives unused space to the other side.
    let rest = text[last.end..].chars().take(around).count();
    let before = (around / 2).max(around - rest);
    let start = start_of_passage(text, first.start, before);
    let left = PASSAGE_CHARS.saturating_sub(text[start..last.end].chars().count());
    outside_of_marks(start..end_of_passage(text, last.end, left), first.start..last.end, marks)
}

/// The window with the most distinct matches.
fn best_window(text: &str, marks: &[Mark]) -> Range<usize> {
    let mut counts = [0_u32; MatchBits::COUNT];
    let (mut distinct, mut most, mut best) = (0_usize, 0, 0..0);
    let (mut first, mut chars, mut end) = (0, 0, marks.first().map_or(0, |mark| mark.start));
    for (last, mark) in marks.iter().enumerate() {
        chars += text[end..mark.end].chars().count();
        end = mark.end;
        for number in mark.matched.numbers() {
            distinct += usize::from(counts[number] == 0);
            counts[number] += 1;
        }
        while first < last && chars > PASSAGE_CHARS {
            for number in marks[first].matched.numbers() {
                counts[number] -= 1;
                distinct -= usize::from(counts[number] == 0);
            }
            chars -= text[marks[first].start..marks[first + 1].start].chars().count();
            first += 1;
        }
        if distinct > most {
            (most, best) = (distinct, first..last + 1);
        }
    }
    best
}

/// At a word boundary.
fn start_of_passage(text: &str, from: usize, chars: usize) -> usize {
    let before = &text[..from];
    let Some((cut, last_cut)) = before.char_indices().rev().nth(chars) else { return 0 };
    let mut shown = &before[cut + last_cut.len_utf8()..];
    if is_of_word(last_cut) {
        let whole = shown.trim_start_matches(is_of_word);
        if shown[..shown.len() - whole.len()].chars().nth(LONG_WORD_CHARS).is_none() {
            shown = whole;
        }
    }
    boundary_behind(text, from - shown.trim_start().len()).min(from)
}

/// At a word boundary.
fn end_of_passage(text: &str, from: usize, chars: usize) -> usize {
    let rest = &text[from..];
    let Some((cut, first_cut)) = rest.char_indices().nth(chars) else { return text.len() };
    let mut shown = &rest[..cut];
    if is_of_word(first_cut) {
        let whole = shown.trim_end_matches(is_of_word);
        if shown[whole.len()..].chars().nth(LONG_WORD_CHARS).is_none() {
            shown = whole;
        }
    }
    boundary_before(text, from + shown.trim_end().len()).max(from)
}

/// Leaves out marks cut at either end, except `kept`.
fn outside_of_marks(passage: Range<usize>, kept: Range<usize>, marks: &[Mark]) -> Range<usize> {
    let cut_at = |place: usize| {
        let first = marks.partition_point(|mark| mark.end <= place);
        marks.get(first).filter(|mark| mark.start < place)
    };
    let start = cut_at(passage.start).map_or(passage.start, |mark| mark.end.min(kept.start));
    let end = cut_at(passage.end).map_or(passage.end, |mark| mark.start.max(kept.end));
    start..end
}

fn is_of_word(character: char) -> bool {
    !is_ideograph(character)
        && (character.is_alphanumeric() || is_combining_mark(character) || character == '\u{200d}')
}
