use proptest::prelude::*;

use super::*;

fn text(pieces: Vec<Piece>) -> Clause {
    Clause { exclude: false, target: Target::Text, quoted: false, exact: false, pieces }
}

fn quoted(pieces: Vec<Piece>) -> Clause {
    Clause { quoted: true, ..text(pieces) }
}

fn term(word: &str) -> Piece {
    Piece::Term(word.to_owned())
}

fn phrase_of(words: &[(usize, &str)]) -> Piece {
    Piece::Phrase(words.iter().map(|&(offset, word)| (offset, word.to_owned())).collect())
}

fn prefix(stem: &str, start: &str) -> Piece {
    Piece::Prefix { stem: stem.to_owned(), start: start.to_owned() }
}

fn clauses(keyword: &str) -> Vec<Clause> {
    Query::parse(keyword).clauses
}

#[test]
fn words_are_stemmed_and_the_last_is_a_prefix() {
    assert_eq!(clauses("Running dogs"), [text(vec![term("run")]), text(vec![prefix("dog", "dogs")])]);
    assert_eq!(clauses("running dogs "), [text(vec![term("run")]), text(vec![term("dog")])]);
    assert_eq!(clauses("a b"), [text(vec![term("a")]), text(vec![term("b")])]);
}

#[test]
fn phrases_exclusions_and_authors_are_parsed() {
    assert_eq!(clauses("\"red cars\""), [quoted(vec![phrase_of(&[(0, "red"), (1, "car")])])]);
    let excluded = |pieces| Clause { exclude: true, ..text(pieces) };
    assert_eq!(clauses("-red "), [excluded(vec![term("red")])]);
    assert_eq!(clauses("-red"), [excluded(vec![term("red")])]);
    assert_eq!(
        clauses("-\"red car"),
        [Clause { quoted: true, ..excluded(vec![phrase_of(&[(0, "red"), (1, "car")])]) }]
    );
    let author = |pieces| Clause { target: Target::Author, ..text(pieces) };
    assert_eq!(
        clauses("Author:\"Ann Lee\""),
        [Clause { quoted: true, ..author(vec![term("ann"), term("lee")]) }]
    );
    let ann = || author(vec![Piece::Either(vec![vec![term("ann")], vec![term("=ann")]])]);
    assert_eq!(clauses("author:Ann"), [ann()], "a name may be one word");
    assert_eq!(clauses("-author:ann"), [Clause { exclude: true, ..ann() }]);
}

#[test]
fn full_width_syntax_equals_ascii_syntax() {
    assert_eq!(clauses("“red cars”"), clauses("\"red cars\""));
    assert_eq!(clauses("「red cars」"), clauses("\"red cars\""));
    assert_eq!(clauses("－ｒｅｄ"), clauses("-red"));
    assert_eq!(clauses("author：ann"), clauses("author:ann"));
    assert_eq!(clauses("red　cars"), clauses("red cars"));
}

#[test]
fn punctuation_is_not_syntax() {
    assert_eq!(clauses("red,blue "), [text(vec![term("red"), term("blue")])]);
    assert_eq!(clauses("- red "), clauses("red "));
    assert_eq!(clauses("author: red "), [text(vec![term("author")]), text(vec![term("red")])]);
    assert_eq!(clauses("--red"), clauses("-red"));
    for keyword in ["", "  ", "-", "\"", "\"\"", "!?", "-\"", "\u{ad}", "author:\"\""] {
        assert!(Query::parse(keyword).is_empty(), "{keyword:?}");
    }
}

#[test]
fn single_ideographs_form_a_phrase() {
    assert_eq!(clauses("中国人民"), [text(vec![term("中国"), term("人民")])]);
    assert_eq!(clauses("\"中国人民\""), [quoted(vec![phrase_of(&[(0, "中国"), (2, "人民")])])]);
    assert_eq!(
        clauses("カナの国際"),
        [text(vec![phrase_of(&[(0, "カ"), (1, "ナ"), (2, "の")]), term("国际")])]
    );
    assert_eq!(clauses("iphone手机"), [text(vec![term("iphon"), term("手机")])]);
}

#[test]
fn ideographs_outside_the_dictionary_are_exact_only_alone() {
    let name = phrase_of(&[(0, "周"), (1, "海"), (2, "岚")]);
    let exact = Clause { exact: true, ..quoted(vec![name.clone()]) };
    assert_eq!(clauses("周海岚 合同"), [exact.clone(), text(vec![term("合同")])]);
    assert_eq!(clauses("周海岚"), [exact]);
    assert_eq!(clauses("周海岚合同"), [text(vec![name, term("合同")])]);
    assert!(clauses("我的").iter().all(|clause| !clause.exact), "stop words are no name");
}

#[test]
fn quote_inside_a_word_starts_a_phrase() {
    assert_eq!(
        clauses("big\"red cars\"x "),
        [text(vec![term("big")]), quoted(vec![phrase_of(&[(0, "red"), (1, "car")])]), text(vec![term("x")]),]
    );
}

#[test]
fn clauses_and_terms_over_the_bounds_are_ignored() {
    let many: String = (0..MAX_CLAUSES + 10).map(|number| format!("w{number} ")).collect::<Vec<_>>().concat();
    assert_eq!(clauses(&many).len(), MAX_CLAUSES);
    let long = "\"".to_owned() + &"word ".repeat(1_000);
    assert!(matches!(&clauses(&long)[0].pieces[..], [Piece::Phrase(words)] if words.len() == MAX_TERMS));
}

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn any_string_is_a_bounded_query(keyword in any::<String>()) {
        check_bounds(&Query::parse(&keyword))?;
    }

    #[test]
    fn any_soup_of_syntax_is_a_bounded_query(
        keyword in trawl_seeds::concatenated("\"|“|」|「|-|－|author:|author：| |　|word|中国人|é|🦀|カ|x-y|İ|ﬁ", 0..200)
    ) {
        check_bounds(&Query::parse(&keyword))?;
    }
}

pub(super) fn check_bounds(query: &Query) -> Result<(), TestCaseError> {
    let mut terms = 0;
    for clause in &query.clauses {
        prop_assert!(!clause.pieces.is_empty());
        let mut pieces: Vec<&Piece> = clause.pieces.iter().collect();
        while let Some(piece) = pieces.pop() {
            let words: Vec<&str> = match piece {
                Piece::Term(word) => vec![word],
                Piece::Phrase(words) => words.iter().map(|(_, word)| word.as_str()).collect(),
                Piece::Prefix { stem, .. } => vec![stem],
                Piece::Either(alternatives) => {
                    prop_assert!(alternatives.iter().all(|pieces| !pieces.is_empty()));
                    pieces.extend(alternatives.iter().flatten());
                    continue;
                }
            };
            prop_assert!(!matches!(piece, Piece::Phrase(words) if words.len() < 2));
            prop_assert!(words.iter().all(|word| !word.is_empty() && word.chars().count() <= 64));
            terms += words.len();
        }
    }
    prop_assert!(query.clauses.len() <= MAX_CLAUSES);
    prop_assert!(terms <= MAX_TERMS);
    prop_assert!(query.words.len() <= MAX_TERMS);
    let as_typed = query.words.iter().filter(|word| !word.joined);
    prop_assert!(as_typed.is_sorted_by_key(|word| word.position));
    Ok(())
}

#[test]
fn words_keep_their_typed_positions() {
    let words = |keyword: &str| -> Vec<(usize, String)> {
        let words = Query::parse(keyword).words.into_iter();
        words.map(|word| (word.position, word.term)).collect()
    };
    let pairs = |expected: &[(usize, &str)]| -> Vec<(usize, String)> {
        expected.iter().map(|&(position, term)| (position, term.to_owned())).collect()
    };
    assert_eq!(
        words("state of -gone the,art author:ann state"),
        pairs(&[(0, "state"), (1, "of"), (2, "the"), (3, "art"), (4, "state")])
    );
    assert_eq!(
        words("中国人民 \"iPhone 手机\""),
        pairs(&[(0, "中国"), (2, "人民"), (4, "iphon"), (5, "手机")])
    );
    let quoted: Vec<bool> =
        Query::parse("one \"two three\" four").words.iter().map(|word| word.quoted).collect();
    assert_eq!(quoted, [false, true, true, false]);
}

#[test]
fn stop_words_are_dropped_unless_alone() {
    let without_stop_words = |keyword: &str| Query::parse(keyword).without_stop_words();
    assert_eq!(
        without_stop_words("what is the cost \"of the\" flight ").clauses,
        clauses("cost \"of the\" flight ")
    );
    assert_eq!(without_stop_words("北京 的 天气").clauses, clauses("北京 天气"));
    assert_eq!(without_stop_words("to be or not to be "), Query::parse("to be or not to be "));
    assert_eq!(without_stop_words("-the cost ").clauses, clauses("-the cost "));
}

#[test]
fn asking_words_are_dropped_beside_two_others() {
    let without = |keyword: &str| Query::parse(keyword).without_question_words().clauses;
    assert_eq!(without("when is the budget due"), clauses("budget due"));
    assert_eq!(without("请问 报销流程 怎么 走"), clauses("报销流程 走"));
    for name in ["he wei", "IT", "the report", "to be or not to be"] {
        assert_eq!(without(name), clauses(name), "{name}");
    }
}
