//! Whole titles and names within questions, families of words, and parts of Chinese words.

use trawl_engine::{Document, Query, RankedScope, Request, Scope, ScopeStart, Start};

use super::support::{BEST, document, found, ids, index_of, news, owned, ranked, request, restricted_to};
use crate::engine_under_test::Index;

fn with_brief(id: &str, title: &str, brief: &str) -> Document {
    Document { brief: brief.to_owned(), ..document(id, title) }
}

fn first(index: &Index, keyword: &str) -> String {
    ranked(index, keyword).remove(0)
}

#[test]
fn document_titled_like_the_question_ranks_first() {
    let (index, _writer) = index_of(vec![
        with_brief(
            "long",
            "Travel policy of the subsidiaries",
            "Travel policy. Travel policy, travel policy.",
        ),
        with_brief("titled", "The travel policy", &"Rules that hold for all of us. ".repeat(40)),
        with_brief("mention", "News", "The travel policy changed: travel."),
    ]);
    for keyword in ["travel policy", "the travel policy ", "Travel Policies "] {
        assert_eq!(first(&index, keyword), "titled", "{keyword}");
    }
}

#[test]
fn document_titled_like_a_part_of_the_question_ranks_first() {
    let filler = "Rules that hold for all of us. ".repeat(5);
    let others = (0..30).map(|number| {
        let brief = "Who approves travel? A manager approves every policy and a travel request. 报销走流程。";
        with_brief(&format!("other{number}"), "Questions", brief)
    });
    let titled = [
        with_brief("policy", "Travel policy", &filler),
        with_brief("leave", "Leave of absence", &filler),
        with_brief("expenses", "报销流程", "适用于所有员工，走系统申请。"),
        with_brief("expense-news", "报销和流程", "财务部更新了流程，报销走审批"),
    ];
    let (index, _writer) = index_of(others.chain(titled).collect());
    for (keyword, expected) in [
        ("which manager approves under the travel policy ", "policy"),
        ("manager approves leave of absence ", "leave"),
        ("请问报销流程怎么走", "expenses"),
    ] {
        assert_eq!(first(&index, keyword), expected, "{keyword}");
    }
}

#[test]
fn person_named_in_a_question_ranks_before_texts() {
    let people = Scope::new(7, "people");
    let person =
        |id: &str, name: &str| Document { scope: people.clone(), title_is_name: true, ..document(id, name) };
    let texts = (0..20).map(|number| {
        let brief = "周末海边的山岚，周海公路，岚山的周边。The phone of Zhang, and Wei's phone number.";
        with_brief(&format!("text{number}"), "海岸", brief)
    });
    let (index, _writer) =
        index_of(texts.chain([person("zhou", "周海岚"), person("zhang", "Zhang Wei")]).collect());
    let first_of = |keyword: &str| {
        let query = Query::parse(keyword);
        let beside = RankedScope { scope: people.clone().into(), start: ScopeStart::default() };
        let mut request = request(&news(), &query, BEST, 3);
        if let Start::Relevance(list) = &mut request.start {
            list.beside.push(beside);
        }
        ids(index.snapshot().search(&request).unwrap())
    };
    assert_eq!(first_of("周海岚"), ["zhou"], "texts with its characters are not meant");
    assert_eq!(first_of("周海岚 ")[0], "zhou");
    assert_eq!(first_of("phone number of Zhang Wei ")[0], "zhang");
    assert_eq!(first_of("who is Zhang Wei ")[0], "zhang");
    assert_eq!(first_of("周海岚的公路")[0], "zhou");
}

#[test]
fn single_characters_of_a_word_that_nothing_holds_find_nothing() {
    let (index, _writer) =
        index_of(vec![document("a", "周末的山岚"), document("b", "海边的合同"), document("c", "Who is X 1")]);
    for keyword in ["周海岚", "x-7"] {
        assert_eq!(ranked(&index, keyword), [""; 0], "{keyword}");
    }
    assert_eq!(ranked(&index, "周海岚 合同"), ["b"]);
    // Neither filters nor words that only ask are searched instead.
    for keyword in ["周海岚 -草稿", "x-7 -draft", "who is 周海岚", "周海岚 author:chen"] {
        assert_eq!(ranked(&index, keyword), [""; 0], "{keyword}");
    }
}

#[test]
fn words_of_a_family_find_each_other() {
    let (index, _writer) = index_of(vec![
        document("a", "Warehousing costs"),
        document("b", "A warehouse"),
        document("c", "Ware"),
    ]);
    for keyword in ["warehous", "warehouse", "warehouse ", "warehouses ", "warehousing"] {
        assert_eq!(found(&index, keyword), ["a", "b"], "{keyword}");
    }
}

#[test]
fn parts_of_a_word_are_searched_where_the_whole_is_missing() {
    let many = (0..5).map(|number| with_brief(&format!("many{number}"), "", "人工智能"));
    let texts = [
        with_brief("parts", "", "联通与电信的合同"),
        with_brief("one", "", "公司的年报"),
        with_brief("two", "", "公司的食堂"),
        with_brief("apart", "", "人工的智能"),
        restricted_to(&["u:1"], with_brief("secret", "", "联通公司的年报")),
    ];
    let (index, _writer) = index_of(many.chain(texts).collect());
    let ranked_for = |keyword: &str, principals: &[&str]| {
        let request = request(&news(), &Query::parse(keyword), BEST, 10);
        let request = Request { principals: owned(principals).into(), ..request };
        ids(index.snapshot().search(&request).unwrap())
    };
    assert_eq!(ranked_for("联通公司", &[])[0], "parts");
    assert_eq!(ranked_for("联通公司", &["u:1"]), ["secret"]);
    assert_eq!(ranked_for("联通公司合同", &["u:2"])[0], "parts");
    assert_eq!(ranked_for("联通公司", &["u:2"]).len(), 3, "any part is enough, whatever others may see");
    let whole = Query::parse("联通公司 ").exactly();
    assert_eq!(index.snapshot().search(&request(&news(), &whole, BEST, 10)).unwrap().total, 0);
    assert_eq!(ranked_for("人工智能", &[]).len(), 5, "a word that is found stays whole");
}
