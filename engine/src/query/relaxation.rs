//! Words that a search by time may leave out.

use std::ops::Range;

use super::Target;
use super::clauses::{RawClause, reads_acronyms};
use crate::text::{
    Folded, ScriptRun, SyllableWord, fold, is_acronym, is_stop_word, parts_of_word, placed_runs,
    query_tokens, query_words,
};

/// Letters and digits of a code, or digits of a number. `N95` and `2026` are words.
const MIN_EXACT_CHARS: usize = 5;
/// Digits of a code; `iOS17` and `11ultra` are names.
const MIN_CODE_DIGITS: usize = 3;

/// A keyword, parted into words that may be left out and the rest.
///
/// Quotes, exclusions, authors and exact tokens such as `C-2052` stay. Stop words are not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelaxableKeyword {
    parts: Vec<Part>,
    /// The last word may be unfinished.
    is_open: bool,
    has_stop_words: bool,
    /// A quote or an exact token.
    has_fixed_text: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Word {
        text: String,
        /// The word that it is a part of.
        whole: Option<String>,
    },
    Fixed(String),
}

impl Part {
    fn word(text: String) -> Self {
        Self::Word { text, whole: None }
    }
}

impl RelaxableKeyword {
    /// Parts any keyword.
    pub fn read(keyword: &str) -> Self {
        let (mut parts, mut has_stop_words, mut has_fixed_text) = (Vec::new(), false, false);
        let mut ends_with_stop_word = false;
        let reads_acronyms = reads_acronyms(keyword);
        let mut rest = keyword.trim_start();
        while !rest.is_empty() {
            let (raw, after) = RawClause::read(rest);
            if raw.target == Target::Text && !raw.exclude && !raw.quoted {
                for KeywordToken { place, is_exact, is_one_word } in tokens(raw.text) {
                    let text = &raw.text[place];
                    if is_exact {
                        (has_fixed_text, ends_with_stop_word) = (true, false);
                        parts.push(Part::Fixed(text.to_owned()));
                    } else if is_one_word || reads_acronyms && is_acronym(text) {
                        ends_with_stop_word = false;
                        parts.push(Part::word(text.to_owned()));
                    } else {
                        for (word, is_stop_word) in words_of(text) {
                            has_stop_words |= is_stop_word;
                            ends_with_stop_word = is_stop_word;
                            if !is_stop_word {
                                parts.push(Part::word(word));
                            }
                        }
                    }
                }
            } else {
                has_fixed_text |= raw.target == Target::Text && !raw.exclude;
                parts.push(Part::Fixed(rest[..rest.len() - after.len()].trim_end().to_owned()));
            }
            rest = after.trim_start();
        }
        let is_open = !keyword.ends_with(char::is_whitespace) && !ends_with_stop_word;
        Self { parts, is_open, has_stop_words, has_fixed_text }
    }

    /// Some of [`Self::words`] replaced by their parts; `None` if none has any.
    pub fn parted(&self, is_parted: impl Fn(usize) -> bool) -> Option<Self> {
        let (mut number, mut parts) = (0, Vec::with_capacity(self.parts.len()));
        for part in &self.parts {
            let Part::Word { text: word, .. } = part else {
                parts.push(part.clone());
                continue;
            };
            let folded = fold(word);
            let smaller = if is_parted(number) { parts_of_word(&folded) } else { Vec::new() };
            number += 1;
            if smaller.is_empty() {
                parts.push(part.clone());
            }
            let part_of_word =
                |(_, text): (usize, &str)| Part::Word { text: text.to_owned(), whole: Some(word.clone()) };
            parts.extend(smaller.into_iter().map(part_of_word));
        }
        (parts.len() > self.parts.len()).then(|| Self { parts, ..self.clone() })
    }

    /// Whether there are stop words, which are never kept.
    pub fn has_stop_words(&self) -> bool {
        self.has_stop_words
    }

    /// Whether a search without any of [`Self::words`] has a text to find.
    pub fn has_fixed_text(&self) -> bool {
        self.has_fixed_text
    }

    /// The words, as typed.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Word { text, .. } => Some(text.as_str()),
            Part::Fixed(_) => None,
        })
    }

    /// The typed words that [`Self::keeping`] does not require as they are.
    pub fn left_out(&self, is_kept: impl Fn(usize) -> bool) -> Vec<String> {
        let mut left_out: Vec<String> = Vec::new();
        let words = self.parts.iter().filter_map(|part| match part {
            Part::Word { text, whole } => Some((text, whole)),
            Part::Fixed(_) => None,
        });
        for (number, (text, whole)) in words.enumerate() {
            let typed = whole.as_ref().or((!is_kept(number)).then_some(text));
            left_out.extend(typed.filter(|typed| whole.is_none() || left_out.last() != Some(typed)).cloned());
        }
        left_out
    }

    /// The keyword with some of [`Self::words`], by their number.
    pub fn keeping(&self, is_kept: impl Fn(usize) -> bool) -> String {
        let mut keyword = String::new();
        let (mut number, mut ends_early) = (0, true);
        for part in &self.parts {
            let (text, stays) = match part {
                Part::Fixed(text) => (text, true),
                Part::Word { text: word, .. } => {
                    number += 1;
                    (word, is_kept(number - 1))
                }
            };
            if stays {
                keyword.push_str(text);
                keyword.push(' ');
            }
            ends_early = !stays;
        }
        if self.is_open && !ends_early {
            keyword.pop();
        }
        keyword
    }
}

struct KeywordToken {
    /// Bytes of the clause.
    place: Range<usize>,
    /// A long number, a code or an e-mail address.
    is_exact: bool,
    /// A compound such as `follow-up`.
    is_one_word: bool,
}

fn tokens(clause: &str) -> Vec<KeywordToken> {
    let folded = Folded::new(clause);
    let mut end = 0;
    let tokens = query_tokens(&folded.text).into_iter().map(|token| {
        // Folding may part one character into several words.
        let start = folded.source_start(token.place.start).max(end);
        end = folded.source_end(token.place.end).max(start);
        let is_one_word = token.joined.is_some_and(|joined| joined.words.len() == 1);
        KeywordToken { place: start..end, is_exact: is_exact(&clause[start..end]), is_one_word }
    });
    tokens.collect()
}

/// Byte ranges of long numbers, codes and e-mail addresses.
pub(super) fn exact_tokens(clause: &str) -> impl Iterator<Item = Range<usize>> {
    tokens(clause).into_iter().filter(|token| token.is_exact).map(|token| token.place)
}

/// Whether a token is a long number, a code or an e-mail address.
fn is_exact(token: &str) -> bool {
    let count = |is: fn(&char) -> bool| token.chars().filter(is).count();
    let (digits, letters) = (count(char::is_ascii_digit), count(char::is_ascii_alphabetic));
    let is_address = token.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
    let is_code = letters > 0 && digits >= MIN_CODE_DIGITS && letters + digits >= MIN_EXACT_CHARS;
    is_address || is_code || digits >= MIN_EXACT_CHARS
}

/// Words of a text, and whether each is a stop word.
///
/// They are as typed where folding keeps the number of characters.
fn words_of(text: &str) -> Vec<(String, bool)> {
    let folded = Folded::new(text);
    let (mut words, mut end) = (Vec::new(), 0);
    for (place, run) in placed_runs(&folded.text) {
        // Folding may part one character into several words.
        let start = folded.source_start(place.start).max(end);
        end = folded.source_end(place.end).max(start);
        words.extend(words_of_run(&text[start..end], run));
    }
    words
}

fn words_of_run(typed: &str, run: ScriptRun<'_>) -> Vec<(String, bool)> {
    match run {
        ScriptRun::Word(_) if typed.is_empty() => Vec::new(),
        ScriptRun::Word(word) => {
            let words = query_words(word);
            vec![(typed.to_owned(), matches!(words.as_slice(), [(_, word)] if is_stop_word(word)))]
        }
        ScriptRun::Syllables(run) => {
            let words = SyllableWord::all_of(run).into_iter();
            words.map(|word| (word.text.to_owned(), word.is_particle)).collect()
        }
        ScriptRun::Ideographs(run) => words_of_ideographs(typed, run),
    }
}

fn words_of_ideographs(typed: &str, run: &str) -> Vec<(String, bool)> {
    let words = query_words(run);
    let (typed, folded): (Vec<char>, Vec<char>) = (typed.chars().collect(), run.chars().collect());
    let shown = if typed.len() == folded.len() { typed } else { folded };
    let is_single = |word: &str| word.chars().nth(1).is_none();
    // Characters outside the dictionary are a phrase, as in a search.
    words
        .chunk_by(|(_, left), (_, right)| is_single(left) && is_single(right))
        .filter_map(|chunk| {
            let start = chunk.first()?.0;
            let length: usize = chunk.iter().map(|(_, word)| word.chars().count()).sum();
            let is_stop_word = matches!(chunk, [(_, word)] if is_stop_word(word));
            Some((shown.get(start..start + length)?.iter().collect(), is_stop_word))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::RelaxableKeyword;

    #[test]
    fn only_plain_words_may_be_left_out() {
        let words = |keyword: &str| {
            RelaxableKeyword::read(keyword).words().map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(words("when is the Budget due"), ["Budget", "due"]);
        assert_eq!(words("报销流程怎么走"), ["报销", "流程", "走"]);
        assert_eq!(words("state-of-the-art 2026 \"of the\" -draft author:chen"), ["state", "art", "2026"]);
        assert_eq!(words("Follow-up on the Wi-Fi"), ["Follow-up", "Wi-Fi"]);
        assert_eq!(words("how does IT help"), ["IT", "help"]);
        assert_eq!(words("C-2052 XK7702B 138-0013-8000 a.b@example.com iOS17 N95"), ["iOS17", "N95"]);
        assert_eq!(words("138 0013 8000 of Chen"), ["Chen"]);
        assert_eq!(words("2026年3月15日会议"), ["会议"]);
        assert_eq!(
            words("公共交通需佩戴N95口罩，MH370的碎片"),
            ["公共交通", "需", "佩戴", "N95", "口罩", "碎片"]
        );
        assert_eq!(words("½ﬁ ｶﾅ國際"), ["½", "ﬁ", "ｶﾅ", "國際"]);
        assert_eq!(words(""), [""; 0]);
    }

    #[test]
    fn dictionary_words_are_parted_on_request() {
        let keyword = RelaxableKeyword::read("联通公司的人工智能合同 -draft");
        let parted = keyword.parted(|number| number == 0).unwrap();
        assert!(parted.words().eq(["联通", "公司", "人工智能", "合同"]));
        assert_eq!(parted.keeping(|number| number != 1), "联通 人工智能 合同 -draft");
        assert_eq!(parted.left_out(|number| number != 1), ["联通公司"]);
        assert_eq!(parted.left_out(|number| number < 2), ["联通公司", "人工智能", "合同"]);
        assert_eq!(keyword.parted(|number| number == 2), None);
    }

    #[test]
    fn kept_words_stand_between_what_stays() {
        let keyword = RelaxableKeyword::read("blue -draft state-of-the-art \"the plan\" har");
        assert_eq!(keyword.keeping(|_| true), "blue -draft state art \"the plan\" har");
        assert_eq!(keyword.keeping(|number| number == 2), "-draft art \"the plan\" ");
        assert_eq!(keyword.keeping(|number| number == 3), "-draft \"the plan\" har");
        assert_eq!(RelaxableKeyword::read("报销流程 ").keeping(|number| number == 1), "流程 ");
        assert_eq!(RelaxableKeyword::read("the plan of").keeping(|_| true), "plan ");
    }
}
