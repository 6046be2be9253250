//! Replaces words of a keyword and keeps everything else as typed.

use super::clauses::{RawClause, is_operator};
use super::{Query, Target, relaxation};
use crate::text::{Folded, PinyinWord, ScriptRun, fold, parts_syllables, placed_runs};

/// A part of a keyword that may be replaced.
pub(crate) enum Replaceable<'a> {
    /// A folded word.
    Word(ScriptRun<'a>),
    /// Words side by side that are syllables of pinyin. If it stays, they follow, each on its own.
    Syllables,
}

impl Query {
    /// The keyword with words replaced; `None` if unchanged.
    ///
    /// `replace` gets up to `limit` words, with what was typed. None is in an exact token or an operator such as `type:file`.
    pub(crate) fn with_words_replaced(
        keyword: &str,
        mut limit: usize,
        mut replace: impl FnMut(&str, Replaceable<'_>) -> Option<String>,
    ) -> Option<String> {
        let mut replaced = String::with_capacity(keyword.len());
        let mut changed = false;
        let mut rest = keyword;
        let mut behind_syllables = keyword.len();
        loop {
            let clause = rest.trim_start();
            replaced.push_str(&rest[..rest.len() - clause.len()]);
            if clause.is_empty() {
                break;
            }
            let (raw, after) = RawClause::read(clause);
            let consumed = &clause[..clause.len() - after.len()];
            let is_operator = !raw.quoted && is_operator(raw.text);
            let is_looked_for =
                raw.target == Target::Text && !raw.exclude && !raw.text.is_empty() && !is_operator;
            // Only a closing quote can follow.
            let inside = consumed.rfind(raw.text).filter(|_| is_looked_for).map(|start| (start, raw.text));
            let (start, text) = inside.unwrap_or((consumed.len(), ""));
            replaced.push_str(&consumed[..start]);
            // A quote is read as a whole, other syllables as far as they go.
            let beginning = if raw.quoted { text } else { &clause[start..] };
            // Part of longer ones is asked for as words.
            if clause.len() <= behind_syllables
                && let Some((typed, words)) = syllable_words(beginning)
                && words <= limit
                && (!raw.quoted || typed == text)
            {
                let end = start + typed.len();
                behind_syllables = clause.len() - end;
                if let Some(instead) = replace(typed, Replaceable::Syllables) {
                    let end = if raw.quoted { consumed.len() } else { end };
                    replaced.push_str(&instead);
                    replaced.push_str(&clause[start + typed.len()..end]);
                    rest = &clause[end..];
                    limit -= words;
                    changed = true;
                    continue;
                }
            }
            let exact: Vec<_> = relaxation::exact_tokens(text).collect();
            let mut unread = 0;
            let folded = Folded::new(text);
            let mut runs = placed_runs(&folded.text).peekable();
            while let Some((place, run)) = runs.next() {
                let (start, end) = (folded.source_start(place.start), folded.source_end(place.end));
                let next = runs.peek().map_or(text.len(), |(next, _)| folded.source_start(next.start));
                // Folding may part one character into several words.
                let is_single = unread <= start && end <= next;
                let is_exact = exact.iter().any(|token| token.contains(&start));
                if !is_single || is_exact || limit == 0 {
                    continue;
                }
                limit -= 1;
                let original = &text[start..end];
                if let Some(instead) = replace(original, Replaceable::Word(run)) {
                    replaced.push_str(&text[unread..start]);
                    replaced.push_str(&instead);
                    unread = end;
                    changed = true;
                }
            }
            replaced.push_str(&text[unread..]);
            replaced.push_str(&consumed[start + text.len()..]);
            rest = after;
        }
        changed.then_some(replaced)
    }
}

/// The first words of a text, if at least two are syllables of pinyin, and their number.
fn syllable_words(text: &str) -> Option<(&str, usize)> {
    let (mut rest, mut words, mut end) = (text, 0, 0);
    loop {
        let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
        let folded = fold(word);
        if !PinyinWord::read(&folded).is_some_and(|word| word.is_syllables()) {
            break;
        }
        words += folded.split(parts_syllables).count();
        end = text.len() - rest.len() + word.len();
        rest = rest[word.len()..].trim_start();
    }
    (words > 1).then(|| (&text[..end], words))
}
