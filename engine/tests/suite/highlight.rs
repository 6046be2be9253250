use std::collections::HashSet;
use std::ops::Range;

use proptest::prelude::*;
use trawl_engine::{Document, Extent, Highlighter, Query};

use super::support::{document, found, index_of};
use crate::engine_under_test::cases;

/// Parts of texts, and the words that are searched in them; a bar separates two.
const TEXTS: &str = "run|Running|runner|happy|happiness| | |-|，|中华人民共和国|中國|国际|國際|人|民|经济|經濟|Café|\
    cafe\u{301}s|ﬁne|👍|가|ガ|カ\u{3099}|İ|１２|12|a|b|v2";
const WORDS: &str = "run |run|runners|hap|happi|happy |国际|國際|人民|民共|\"人民共和\"|\"run 国际\"|\"a b\"|\"b 国\"|经|\
    café|fine |가|ガ|カ|i|12|1|v2|\"v2 12\"|华人";

const COMPOUNDS: &str = "ISO|27001|wi|Fi|getUserName|user|1,200|.50|138|0013|8000|+86|2026|03|15|年3月|-|-|.|@|/| | |\
    v2|XK7702B|，";
/// Words of one piece each. A piece is marked also where another one is missing.
const TYPED_COMPOUNDS: &str = "ISO27001|iso-27001 |wifi|username|userna|1200|1,200.50|138-0013-8000|13800138000 |\
    2026-03-15|20260315|7702|XK77|\"iso 27001\"|2.13|v2|wi.fi@iso.user ";

/// `zhang` stands alone.
///
/// Only the 128 most frequent words that continue a prefix are found.
const NAMES: &str = "张|張|三|丰|李|四|单|重庆|群|吕|乾|Ann| |·|（|々|カ|zhang |葛\u{e0100}";
const TYPED_NAMES: &str = "zhang|zhang |zhangs|zhangsan|zs|zsf |s |san|sanli|lisi |ls|shan |dan|chongqingqun|zhongq|lv|\
    lu|lü |qian |gan |ge|\"zhang san\"|\"san feng li\"|张三|\"三丰\"|an|k";

fn texts_of(parts: &'static str, number: Range<usize>) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(trawl_seeds::concatenated(parts, number), 1..40)
}

fn keywords_of(words: &'static str) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(trawl_seeds::word_of(words), 1..10)
}

/// A text matches if and only if it is marked.
fn check_marks(texts: &[String], are_names: bool, keywords: &[String]) -> Result<(), TestCaseError> {
    let document = |(number, text): (usize, &String)| Document {
        title_is_name: are_names,
        ..document(&number.to_string(), text)
    };
    let (index, _writer) = index_of(texts.iter().enumerate().map(document).collect());
    for keyword in keywords {
        let highlighter = Highlighter::new(&Query::parse(keyword).with_spellings());
        let found: HashSet<usize> = found(&index, keyword).iter().map(|id| id.parse().unwrap()).collect();
        for (number, text) in texts.iter().enumerate() {
            let html =
                if are_names { highlighter.mark_name(text) } else { highlighter.mark(text, Extent::Whole) };
            let html = html.unwrap();
            prop_assert_eq!(html.contains("<em>"), found.contains(&number), "{} in {}", keyword, html);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn matching_texts_are_marked_and_no_others(texts in texts_of(TEXTS, 1..12), keywords in keywords_of(WORDS)) {
        check_marks(&texts, false, &keywords)?;
    }

    #[test]
    fn matching_compounds_are_marked_and_no_others(
        texts in texts_of(COMPOUNDS, 1..10),
        keywords in keywords_of(TYPED_COMPOUNDS),
    ) {
        check_marks(&texts, false, &keywords)?;
    }

    #[test]
    fn matching_names_are_marked_and_no_others(
        names in texts_of(NAMES, 1..8),
        keywords in keywords_of(TYPED_NAMES),
    ) {
        check_marks(&names, true, &keywords)?;
    }
}
