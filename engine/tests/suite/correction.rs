use std::sync::Arc;

use trawl_engine::{Document, Scope};

use crate::support::{document, index_of, news, owned, restricted_to};

#[test]
fn unmatched_word_is_corrected_by_one_edit() {
    let secret = restricted_to(&["u:1"], document("s", "zeppelin"));
    let (index, _writer) = index_of(vec![
        document("a", "Quarterly budget meetings of the company"),
        document("b", "劳动合同 范本"),
        secret,
        Document { scope: Scope::new(8, "news"), ..document("c", "elsewhere") },
    ]);
    let correct = |keyword: &str, principals: &[&str]| {
        index.snapshot().correct(&Arc::new(news()), &owned(principals).into(), keyword).unwrap()
    };
    let corrected = |keyword: &str| correct(keyword, &[]);
    for (typed, meant) in [
        ("budgt", "budget"),
        ("Quartrely  budget ", "quarterly  budget "),
        ("\"quarterly bugdet\" -compny author:bob", "\"quarterly budget\" -compny author:bob"),
        ("companx", "company"),
        ("劳动合约", "劳动合同"),
        ("the-budgett!", "the-budget!"),
    ] {
        assert_eq!(corrected(typed).as_deref(), Some(meant), "{typed}");
    }
    // Found, unfinished, too short, a number, two edits, of another tenant, invisible, excluded.
    for typed in ["budget", "quarterl", "bud ", "20267", "bxdgxt", "elsewherr", "zeppelim", "", "-budgt"] {
        assert_eq!(corrected(typed), None, "{typed}");
    }
    assert_eq!(correct("zeppelim", &["u:1"]).as_deref(), Some("zeppelin"));
    assert_eq!(correct("zeppelim", &["u:2"]), None);
}
