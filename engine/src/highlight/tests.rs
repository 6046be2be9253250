use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;
use crate::query::{Piece, Target};
use crate::text::{ScriptRun, fold, runs, stem};

fn whole(keyword: &str, text: &str) -> String {
    Highlighter::new(&Query::parse(keyword)).mark(text, Extent::Whole).unwrap()
}

fn passage(keyword: &str, text: &str) -> String {
    Highlighter::new(&Query::parse(keyword)).mark(text, Extent::Passage).unwrap()
}

/// Brackets in `expected` are marks.
#[track_caller]
fn check(keyword: &str, expected: &str) {
    let text = expected.replace(['[', ']'], "");
    let expected = expected.replace('[', "<em>").replace(']', "</em>");
    assert_eq!(whole(keyword, &text), expected, "{keyword}");
}

#[test]
fn words_are_marked_by_stem_and_the_last_by_prefix() {
    check("run ", "He [runs], was [running]; a [run], the runner");
    check("tra", "[trawlers] and [trains], extra");
    check("tra ", "trawlers and trains");
    check("running dogs", "[dog] days; [running]");
    check("happi", "[happy] [happiness] [happier] hap");
    check("dying ", "to [die] or [dying]");
    check("a", "[a] b ab [A]");
}

#[test]
fn ideographs_are_marked_everywhere() {
    check("人民", "中华[人民]共和国[人民]日报");
    check("中国人民", "[中国人民]，[人民]的[中国]");
    check("iphone手机", "新[iPhone]的[手机]壳");
    check("カナ", "ひら[カナ]カとナ");
    check("日", "[日]本の[日]曜[日]");
}

#[test]
fn phrases_are_marked_as_a_whole_only() {
    check("\"red cars\"", "red, [red cars], cars; [RED-CAR] cars red");
    check("red \"red cars\"", "[red], [red cars], cars");
    check("\"共和国成立\"", "中华人民[共和国成立]，共和国今成立");
    check("\"iphone 手机\"", "[iphone，手机] iphone的手机");
    check("\"a a\"", "[a a a] b a");
}

#[test]
fn excluded_and_author_words_are_not_marked() {
    check("red -cars", "[red] cars");
    check("author:ann red ", "ann [red]");
    check("-red", "red");
    check("!?", "red !?");
}

#[test]
fn folded_forms_are_marked_as_written() {
    check("国际 ", "[國際]、[国际]と[国際]");
    check("國際 ", "[國際国际]国[国际]");
    check("cafe ", "[Café] [ＣＡＦＥ] [cafe\u{301}] [cafés]");
    check("fine ", "[ﬁne] [FINE]");
    check("istanbul ", "[İstanbul]");
    check("가 ", "[가] [\u{1100}\u{1161}] 각");
    check("ガ ", "[ｶﾞ]ッ[カ\u{3099}]");
    check("12 ", "[①②] [１２] 123");
    check("km ", "[㎞] 5[km]");
    check("葛", "[葛\u{e0100}]城👍🏽[葛]👩‍👩‍👧");
    check("ok ", "👍[ok]👍🏽 🇨🇳[ok]");
    check("straße ", "[Straße] [strasse]");
    check("क ", "[क]");
}

#[test]
fn compounds_are_marked_in_every_spelling() {
    for (keyword, expected) in [
        ("ISO27001", "the [ISO 27001] audit, [ISO-27001], [iso27001]"),
        ("iso-27001", "the [ISO 27001] audit"),
        ("7702 ", "part XK[7702]B"),
        ("username ", "call get[UserName]()"),
        ("wifi", "a [Wi-Fi] router"),
        ("Wi-Fi ", "a [wifi] or [Wi-Fi] router"),
        ("13800138000", "电话[138 0013 8000]。"),
        ("2026-03-15", "[2026年3月15日]会议"),
        ("1200", "total [1,200].50"),
        ("2.13.1", "v[2.13.1]-rc4"),
        ("三百万", "共[3,000,000]元，即[300万]元"),
        ("3000000", "共[三百万]元"),
        ("mei.chen@mail.acme.example", "to [mei.chen@mail.acme.example]!"),
        ("getUs", "call [getUserName]"),
    ] {
        check(keyword, expected);
    }
}

#[test]
fn names_are_marked_by_pinyin() {
    for (keyword, expected) in [
        ("zhangsan", "[张三]丰 张四"),
        ("zhang san ", "[张三]丰 [张]四"),
        ("zhangs", "[张三]丰 [张四]"),
        ("zs ", "[张三]丰 [张四]"),
        ("san", "张[三]丰 张四"),
        ("\"zhang san\"", "[张三]丰 张四"),
        ("sanfeng ", "张[三丰] 张四"),
        ("张san", "[张三]丰 [张]四"),
        ("zhang三", "[张三]丰 [张]四"),
        ("liming ", "[黎明]与[李明]"),
        ("sanzhang", "张三丰"),
        ("zhang -san", "[张]三"),
    ] {
        let name = expected.replace(['[', ']'], "");
        let expected = expected.replace('[', "<em>").replace(']', "</em>");
        assert_eq!(Highlighter::new(&Query::parse(keyword)).mark_name(&name).unwrap(), expected, "{keyword}");
    }
    check("zhangsan", "张三");
}

#[test]
fn html_is_escaped_everywhere() {
    assert_eq!(
        whole("b ", "<b>&amp; \"it's\"</b>"),
        "&lt;<em>b</em>&gt;&amp;amp; &quot;it&#39;s&quot;&lt;/<em>b</em>&gt;"
    );
    assert_eq!(whole("amp lt ", "<&"), "&lt;&amp;");
    assert_eq!(whole("\"a b\"", "a<b"), "<em>a&lt;b</em>");
    assert_eq!(whole("em ", "<em>x</em>"), "&lt;<em>em</em>&gt;x&lt;/<em>em</em>&gt;");
}

#[test]
fn empty_text_gives_none_and_unmatched_text_no_marks() {
    let highlighter = Highlighter::new(&Query::parse("red"));
    assert_eq!(highlighter.mark("", Extent::Whole), None);
    assert_eq!(highlighter.mark("", Extent::Passage), None);
    assert_eq!(highlighter.mark("a < b", Extent::Whole).as_deref(), Some("a &lt; b"));
    assert_eq!(highlighter.mark(" ", Extent::Passage).as_deref(), Some(" "));
}

#[test]
fn short_text_is_shown_whole() {
    let text = "x".repeat(99) + " red " + &"y".repeat(96);
    assert_eq!(passage("red ", &text), text.replace("red", "<em>red</em>"));
}

#[test]
fn passage_covers_the_most_matches() {
    let filler = "Nothing of it stands in this sentence. ".repeat(20);
    let text = format!("{filler}One red thing. {filler}A red and a blue thing stand here. {filler}Red blue.");
    let shown = passage("red blue ", &text);
    assert!(shown.contains("A <em>red</em> and a <em>blue</em> thing"), "{shown}");
    assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
    let bare = shown.replace("<em>", "").replace("</em>", "");
    let inside = bare.trim_matches('…');
    assert!((150..=PASSAGE_CHARS).contains(&inside.chars().count()), "{inside}");
    let place = text.find(inside).unwrap();
    assert!(text[..place].ends_with(' ') && text[place + inside.len()..].starts_with(' '), "{inside}");
}

const PASSAGE_CHARS: usize = 200;

#[test]
fn passage_at_either_end_has_full_length() {
    let filler = "word ".repeat(100);
    for text in [format!("red {filler}"), format!("{filler}red"), format!("{filler}red{filler}")] {
        let shown = passage("red ", &text).replace("<em>", "").replace("</em>", "");
        assert!((190..=PASSAGE_CHARS + 2).contains(&shown.chars().count()), "{shown}");
    }
    let none = passage("blue ", &filler);
    assert!(none.starts_with("word word") && none.ends_with("word…"), "{none}");
}

#[test]
fn passage_of_ideographs_never_splits_a_match() {
    let text = "经济发展".repeat(100) + "国际" + &"社会进步".repeat(100);
    let shown = passage("国际", &text);
    assert!(shown.contains("发展<em>国际</em>社会"), "{shown}");
    // A match is shown whole or not at all.
    for shift in 0..4 {
        let text = "国际".to_owned() + &"一".repeat(194 + shift) + "国际" + &"二".repeat(50);
        let shown = passage("国际", &text);
        let marks = shown.matches("<em>国际</em>").count();
        assert_eq!(marks, shown.matches('国').count(), "{shown}");
        assert_eq!(marks, shown.matches('际').count(), "{shown}");
    }
}

#[test]
fn match_longer_than_a_passage_is_cut() {
    let text = "一".repeat(1_000);
    let shown = passage("一", &text);
    assert_eq!(shown, format!("<em>{}</em>…", "一".repeat(PASSAGE_CHARS)));
}

#[test]
fn output_of_hostile_texts_is_bounded() {
    let long = |part: &str| part.repeat((64 << 10) / part.len() + 1);
    let deep = "\"".to_owned() + &"a ".repeat(200);
    for part in
        ["x", "<", "\u{301}", "a\u{301}", "a ", "一", "🇨🇳", "👩‍", "क्", "ﷺ", "\u{1100}", "\u{93c}", "İ", "…"]
    {
        let text = long(part);
        for keyword in ["a", "x", "一", "一一一", &deep, "\u{1100}", "क"] {
            let shown = passage(keyword, &text);
            assert!(shown.len() <= 16 << 10, "{part} {keyword}: {}", shown.len());
            let shown = whole(keyword, &text);
            assert!(shown.len() <= 64 << 10 && shown.ends_with('…'), "{part} {keyword}: {}", shown.len());
            check_html(&shown, &text, true);
        }
    }
}

/// Returns marked ranges. The rest must be the unmarked text.
#[track_caller]
fn check_html(html: &str, text: &str, is_cut: bool) -> Vec<String> {
    let mut marked = Vec::new();
    let mut bare = String::new();
    for (number, part) in html.split("<em>").enumerate() {
        let (inside, after) = if number == 0 { ("", part) } else { part.split_once("</em>").unwrap() };
        for part in [inside, after] {
            assert!(!part.contains(['<', '>', '"', '\'']), "{html}");
            assert_eq!(
                part.matches('&').count(),
                ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"]
                    .map(|entity| part.matches(entity).count())
                    .iter()
                    .sum::<usize>()
            );
        }
        let unescape = |part: &str| {
            let part =
                part.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
            part.replace("&amp;", "&")
        };
        bare.push_str(&unescape(inside));
        bare.push_str(&unescape(after));
        if number > 0 {
            marked.push(unescape(inside));
        }
    }
    if is_cut {
        assert!(text.contains(bare.trim_matches('…')), "{html}");
    } else {
        assert_eq!(bare, text);
    }
    marked
}

fn soup() -> impl Strategy<Value = String> {
    let parts = "run|Running|runs|runner| | |-|\"|“|国际|國際|国|际|人民|café|cafe\u{301}|ﬁne|fine|<|&|'|👍|👩‍👩‍👧|🇨🇳|\
        \u{fe0f}|\u{200d}|가|\u{1100}\u{1161}|ｶﾞ|カ|İ|ß|１２|12|a|b|क्ष|，|author:";
    trawl_seeds::concatenated(parts, 0..30)
}

fn holds_a_match(stretch: &str, query: &Query) -> bool {
    let folded = fold(stretch);
    let of_stretch = Folded::new(stretch);
    let placed: Vec<_> = placed_runs(&of_stretch.text).collect();
    let variants = compound_variants(stretch, &of_stretch, &placed);
    let holds = |term: &str, start: Option<&str>| {
        let is_variant = |word: &str| word == term || start.is_some_and(|start| word.starts_with(start));
        variants.iter().any(|variant| is_variant(&variant.word) || is_variant(&stem(&variant.word)))
            || runs(&folded).any(|run| match run {
                ScriptRun::Ideographs(run) | ScriptRun::Syllables(run) => run.contains(term),
                ScriptRun::Word(word) => {
                    word == term || stem(word) == term || start.is_some_and(|start| word.starts_with(start))
                }
            })
    };
    let clauses = query.clauses.iter().filter(|clause| !clause.exclude && clause.target == Target::Text);
    let mut pieces: Vec<&Piece> = clauses.flat_map(|clause| &clause.pieces).collect();
    while let Some(piece) = pieces.pop() {
        let holds = match piece {
            Piece::Term(term) => holds(term, None),
            Piece::Prefix { stem, start } => holds(stem, Some(start)),
            Piece::Phrase(terms) => terms.iter().all(|(_, term)| holds(term, None)),
            Piece::Either(alternatives) => {
                pieces.extend(alternatives.iter().flatten());
                false
            }
        };
        if holds {
            return true;
        }
    }
    false
}

proptest! {
    #![proptest_config(trawl_seeds::cases(512))]

    #[test]
    fn stem_keeps_the_first_letter(word in "[a-z]{1,12}(ing|ed|ly|ies|ational|s)?") {
        prop_assert_eq!(stem(&word).chars().next(), word.chars().next());
    }

    #[test]
    fn every_mark_contains_a_match_and_text_is_unchanged(text in prop_oneof![soup(), any::<String>()], keyword in soup()) {
        let query = Query::parse(&keyword);
        let Some(html) = Highlighter::new(&query).mark(&text, Extent::Whole) else {
            prop_assert!(text.is_empty());
            return Ok(());
        };
        for stretch in check_html(&html, &text, false) {
            prop_assert!(holds_a_match(&stretch, &query), "{:?} in {}", stretch, html);
        }
    }

    #[test]
    fn marks_start_and_end_at_grapheme_boundaries(text in soup(), keyword in soup()) {
        let marks = Highlighter::new(&Query::parse(&keyword)).marks(&text, false);
        let boundaries: Vec<usize> = text.grapheme_indices(true).map(|(place, _)| place).chain([text.len()]).collect();
        for mark in &marks {
            prop_assert!(mark.start < mark.end);
            prop_assert!(boundaries.contains(&mark.start) && boundaries.contains(&mark.end));
        }
        prop_assert!(marks.is_sorted_by(|left, right| left.end < right.start));
    }

    #[test]
    fn passage_is_a_part_of_the_text(parts in prop::collection::vec(soup(), 0..40), keyword in soup()) {
        let text = parts.concat();
        let highlighter = Highlighter::new(&Query::parse(&keyword));
        let Some(html) = highlighter.mark(&text, Extent::Passage) else { return Ok(()) };
        let marked = check_html(&html, &text, true);
        let is_marked = !highlighter.marks(&text, false).is_empty();
        prop_assert_eq!(!marked.is_empty(), is_marked, "{}", html);
        let bare = html.replace("<em>", "").replace("</em>", "");
        prop_assert!(bare.chars().count() <= 5 * PASSAGE_CHARS + 2 * 40, "{}", bare);
    }
}
