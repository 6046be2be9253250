use std::collections::HashSet;

use proptest::prelude::*;
use trawl_engine::{PrefixPlace, fold};

use super::{Candidate, rank};
use crate::coordinator::suggestions::{Suggestion, SuggestionKind};

fn candidate(place: PrefixPlace, kind: SuggestionKind, text: &str, display_time: i64) -> Candidate {
    let suggestion = Suggestion { text: text.to_owned(), kind, module: None, id: None };
    Candidate { place, display_time, suggestion }
}

fn texts(candidates: &[Candidate], limit: usize) -> Vec<String> {
    rank(candidates.to_vec(), limit).into_iter().map(|suggestion| suggestion.text).collect()
}

#[test]
fn text_start_ranks_before_word_start_then_shorter_then_newer() {
    use PrefixPlace::{TextStart, WordStart};
    use SuggestionKind::Title;
    let candidates = [
        candidate(WordStart, Title, "My plan", 9),
        candidate(TextStart, Title, "Plan of old", 1),
        candidate(TextStart, Title, "Planning it", 2),
        candidate(TextStart, Title, "Plans", 0),
    ];
    assert_eq!(texts(&candidates, 8), ["Plans", "Planning it", "Plan of old", "My plan"]);
}

#[test]
fn kinds_take_turns() {
    use PrefixPlace::TextStart;
    use SuggestionKind::{Author, Person, Title};
    let candidates = [
        candidate(TextStart, Person, "Li 1", 0),
        candidate(TextStart, Person, "Li 2", 0),
        candidate(TextStart, Person, "Li 3", 0),
        candidate(TextStart, Title, "Liability", 0),
        candidate(TextStart, Title, "Liability of all", 0),
        candidate(TextStart, Author, "Li 1", 5),
    ];
    assert_eq!(texts(&candidates, 4), ["Li 1", "Liability", "Li 2", "Liability of all"]);
    assert_eq!(rank(candidates.to_vec(), 1)[0].kind, Person, "of equal texts the person is suggested");
}

fn any_candidate() -> impl Strategy<Value = Candidate> {
    use SuggestionKind::{Author, Department, Module, Person, Title};
    let place = prop::sample::select(vec![PrefixPlace::TextStart, PrefixPlace::WordStart]);
    let kind = prop::sample::select(vec![Author, Department, Module, Person, Title]);
    (place, kind, "[aAbé年國国]{1,3}", 0..3_i64)
        .prop_map(|(place, kind, text, time)| candidate(place, kind, &text, time))
}

proptest! {
    #![proptest_config(trawl_seeds::cases(500))]

    #[test]
    fn every_folded_text_is_there_once(candidates in prop::collection::vec(any_candidate(), 0..40)) {
        let ranked = texts(&candidates, usize::MAX);
        let folded: HashSet<String> = ranked.iter().map(|text| fold(text).into_owned()).collect();
        let expected: HashSet<String> =
            candidates.iter().map(|candidate| fold(&candidate.suggestion.text).into_owned()).collect();
        prop_assert_eq!(folded.len(), ranked.len());
        prop_assert_eq!(folded, expected);
    }

    #[test]
    fn order_does_not_depend_on_the_order_before_nor_on_the_limit(
        (candidates, shuffled) in prop::collection::vec(any_candidate(), 0..40)
            .prop_flat_map(|candidates| (Just(candidates.clone()), Just(candidates).prop_shuffle())),
        limit in 0_usize..20,
    ) {
        let mut all = texts(&shuffled, usize::MAX);
        all.truncate(limit);
        prop_assert_eq!(texts(&candidates, limit), all);
    }

    #[test]
    fn text_that_starts_with_the_prefix_is_never_behind(candidates in prop::collection::vec(any_candidate(), 0..40)) {
        let starts: HashSet<String> = candidates
            .iter()
            .filter(|candidate| candidate.place == PrefixPlace::TextStart)
            .map(|candidate| fold(&candidate.suggestion.text).into_owned())
            .collect();
        let ranked = texts(&candidates, usize::MAX);
        prop_assert!(ranked[..starts.len()].iter().all(|text| starts.contains(&*fold(text))));
    }
}
