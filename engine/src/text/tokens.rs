//! Tokens of a query, each one word in any spelling: `ISO-27001`.

use std::ops::Range;

use super::amounts::Amount;
use super::compounds::Compound;
use super::dates::Date;
use super::numbers::PhoneNumber;
use super::segmentation::{PlacedRun, placed_runs};
use super::signs::SignedWord;
use super::{ScriptRun, is_stop_word, query_words, stem};

/// Words that stand together in a query.
#[derive(Debug)]
pub(crate) struct QueryToken {
    /// Bytes of the folded text.
    pub(crate) place: Range<usize>,
    pub(crate) joined: Option<JoinedToken>,
}

/// The one spelling of a compound, number or date.
#[derive(Debug)]
pub(crate) struct JoinedToken {
    /// Words at their positions in the token, not stemmed; several overlap.
    pub(crate) words: Vec<(usize, String)>,
    /// A code without signs, as one word.
    pub(crate) compact: Option<String>,
    /// The token's own words, which stand side by side in another spelling.
    pub(crate) apart: Vec<(usize, String)>,
    /// Its words alone are something else.
    pub(crate) is_exact: bool,
    /// Whether the last word may go on.
    pub(crate) may_be_unfinished: bool,
}

/// Tokens of a folded query, in order.
pub(crate) fn query_tokens(folded: &str) -> Vec<QueryToken> {
    let mut runs: Vec<PlacedRun<'_>> = placed_runs(folded).collect();
    let mut tokens = Vec::new();
    let mut next = 0;
    while next < runs.len() {
        let (token, end) = token_at(folded, &runs, next);
        next = end;
        // A date or an amount ends within a run of ideographs.
        if let Some((place, ScriptRun::Ideographs(run))) = runs.get_mut(end - 1)
            && token.place.end < place.end
        {
            *run = &run[token.place.end - place.start..];
            place.start = token.place.end;
            next -= 1;
        }
        tokens.push(token);
    }
    tokens
}

/// The token at a run, and the number of the run after it.
fn token_at(folded: &str, runs: &[PlacedRun<'_>], first: usize) -> (QueryToken, usize) {
    let to = |end: usize, joined: Option<JoinedToken>| {
        (QueryToken { place: runs[first].0.start..runs[end - 1].0.end, joined }, end)
    };
    let of_number = |word: String, place: Range<usize>, is_exact: bool, may_be_unfinished: bool| {
        let apart = query_words(&folded[place]);
        JoinedToken { words: vec![(0, word)], compact: None, apart, is_exact, may_be_unfinished }
    };
    let start = runs[first].0.start;
    if let Some(Amount { place, words, is_exact, end }) =
        Amount::beginning_in(folded, runs, first).into_iter().next()
    {
        if place.start > start {
            return (QueryToken { place: start..place.start, joined: None }, first + 1);
        }
        let word = words.into_iter().next().unwrap_or_default();
        let joined = of_number(word, place.clone(), is_exact, false);
        return (QueryToken { place, joined: Some(joined) }, end);
    }
    if !matches!(runs[first].1, ScriptRun::Word(_)) {
        return to(first + 1, None);
    }
    let compound = Compound::at(folded, runs, first);
    if let Some(date) = Date::at(folded, runs, first)
        && date.end >= compound.end
        && (date.place.end == runs[date.end - 1].0.end || date.end > compound.end)
    {
        let word = date.words().next().unwrap_or_default();
        let joined = of_number(word, date.place.clone(), date.day.is_some(), false);
        return (QueryToken { place: date.place, joined: Some(joined) }, date.end);
    }
    if let Some(number) = PhoneNumber::beginning_at(folded, runs, first)
        && number.end >= compound.end
        && let Some(word) = number.searched_form()
    {
        let place = runs[first].0.start..runs[number.end - 1].0.end;
        return to(number.end, Some(of_number(word, place, true, true)));
    }
    if compound.end == first + 1 {
        let signed = SignedWord::around(folded, &runs[first]);
        return signed.map_or_else(|| to(compound.end, None), |signed| (signed_token(signed), compound.end));
    }
    let (words, is_exact) = (compound.joined(), compound.is_exact());
    let is_joined = match words.as_slice() {
        [(_, word)] => !is_stop_word(&stem(word)),
        _ => is_exact,
    };
    let may_be_unfinished = compound.may_be_unfinished();
    let joined = is_joined.then(|| JoinedToken {
        words,
        compact: compound.without_dots(),
        apart: compound.apart(),
        is_exact,
        may_be_unfinished,
    });
    to(compound.end, joined)
}

/// A word that is another one without its signs.
fn signed_token(SignedWord { place, word }: SignedWord) -> QueryToken {
    let joined = JoinedToken {
        words: vec![(0, word)],
        compact: None,
        apart: Vec::new(),
        is_exact: true,
        may_be_unfinished: true,
    };
    QueryToken { place, joined: Some(joined) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::fold;
    use crate::text::folding::tests::odd_text;

    #[test]
    fn queries_have_one_form_of_exact_things() {
        let exact = |text: &str| -> Vec<String> {
            let joined = query_tokens(&fold(text)).into_iter().filter_map(|token| token.joined);
            joined
                .filter(|joined| joined.is_exact)
                .flat_map(|joined| joined.words)
                .map(|(_, word)| word)
                .collect()
        };
        for (text, expected) in [
            ("C-2052", &["c2052"][..]),
            ("2.13.1", &["2.13.1"]),
            ("v2.13.1", &["2.13.1"]),
            ("mei@acme.example", &["meiacmeexample"]),
            ("mei.chen@acme.example", &["meichenacme", "chenacmeexample"]),
            ("1,200", &["1200"]),
            ("2026年3月15日会议", &["20260315"]),
            ("follow-up", &[]),
            ("24/7", &[]),
            ("report.docx", &[]),
            ("wiki.acme.example", &["wikiacmeexample"]),
            ("U.K", &[]),
            ("HR/IT/Finance", &[]),
            ("2026-03", &[]),
            ("mp3-player", &[]),
            ("2026-03-15t10", &["2026.03.15", "03.15t", "15t10"]),
            ("ISO27001", &[]),
            ("C++, C#; .NET (F#) @home #safety", &["c++", "c#", "．net", "f#", "＠home", "＃safety"]),
            ("C++17, A+B, 3#, x@y.example, end. Next", &["c++", "xyexample"]),
            ("15 March 2026", &["20260315"]),
        ] {
            assert_eq!(exact(text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn query_tokens_cover_all_words(text in prop_oneof![odd_text(), "[a-c0-9.,@/ 年月日三百万点元-]{0,60}"]) {
            let folded = fold(&text);
            let in_tokens: String = query_tokens(&folded).into_iter().map(|token| folded[token.place].to_owned()).collect();
            let words = |text: &str| text.chars().filter(|character| character.is_alphanumeric()).collect::<String>();
            prop_assert_eq!(words(&in_tokens), words(&folded));
        }
    }
}
