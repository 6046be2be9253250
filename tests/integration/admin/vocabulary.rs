//! `/admin/v1/vocabulary`.

use serde_json::{Value, json};

use crate::util::app::TestApp;

const VOCABULARY: &str = "/admin/v1/vocabulary";

fn empty() -> Value {
    json!({"synonyms": [], "oneWay": [], "neverCorrect": [], "pinned": []})
}

fn full() -> Value {
    json!({
        "synonyms": [["IT", "信息技术"], ["car", "automobile", "motor car"]],
        "oneWay": [{"from": "CRM", "to": ["customer system"]}],
        "neverCorrect": ["Trawler", "harbuor"],
        "pinned": [{"keyword": "Annual Leave", "items": [{"module": "article", "id": "1"}, {"module": "news", "id": "1"}]}],
    })
}

fn many(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("t{number}")).collect()
}

#[tokio::test]
async fn vocabulary_is_put_shown_and_replaced_for_its_tenant_alone() {
    let (app, operator) = TestApp::start_operated().await;
    app.tenant("other").await;
    assert_eq!(operator.get(VOCABULARY).await.ok().data(), &empty());
    let spaced = json!({
        "synonyms": [[" IT ", "信息技术\n"], ["car", "automobile", "motor car"]],
        "oneWay": [{"from": "CRM ", "to": [" customer system"]}],
        "neverCorrect": ["\tTrawler", "harbuor"],
        "pinned": [{"keyword": " Annual Leave ", "items": full()["pinned"][0]["items"]}],
        "colour": "red",
    });
    assert_eq!(operator.put(VOCABULARY, &spaced).await.ok().data(), &full());
    assert_eq!(operator.get(VOCABULARY).await.ok().data(), &full());
    assert_eq!(operator.on("other").get(VOCABULARY).await.ok().data(), &empty());

    let app = app.restart().await;
    let operator = operator.at(&app.base);
    assert_eq!(operator.get(VOCABULARY).await.ok().data(), &full());
    let words = json!({"neverCorrect": ["one"]});
    operator.put(VOCABULARY, &words).await.ok();
    let stored = operator.get(VOCABULARY).await.ok();
    assert_eq!((&stored.data()["neverCorrect"], &stored.data()["synonyms"]), (&json!(["one"]), &json!([])));
    assert_eq!(operator.put(VOCABULARY, &json!({})).await.ok().data(), &empty());
}

#[tokio::test]
async fn wrong_part_is_refused_by_name_and_nothing_changes() {
    let (_app, operator) = TestApp::start_operated().await;
    operator.put(VOCABULARY, &full()).await.ok();
    let long = "é".repeat(201);
    let pin = |module: &str, id: &str| json!({"module": module, "id": id});
    let pinned = |keyword: &str, items: Value| json!({"keyword": keyword, "items": items});
    for (part, value, named) in [
        ("synonyms", json!("IT"), "synonyms: "),
        ("synonyms", json!([["a", "b"], ["c", 5]]), "synonyms[1][1]: "),
        ("synonyms", json!([["a", "b"], []]), "synonyms[1]: must have 2 to 20 terms, not 0"),
        ("synonyms", json!([["a"]]), "synonyms[0]: must have 2 to 20 terms, not 1"),
        ("synonyms", json!([many(21)]), "synonyms[0]: must hold at most 20 items"),
        ("synonyms", json!([["a", " "]]), "synonyms[0][1]: is required"),
        ("synonyms", json!([["a", long]]), "synonyms[0][1]: is required, 1 to 200 characters"),
        ("synonyms", json!([["a", "b\u{0}c"]]), "synonyms[0][1]: "),
        ("synonyms", json!([["a", "b"], ["Motor car", "x", "motor  CAR"]]), "synonyms[1][2]: is given twice"),
        ("oneWay", json!([{"to": ["a"]}]), "oneWay[0].from: is required"),
        ("oneWay", json!([{"from": "a"}]), "oneWay[0].to: must have 1 to 20 terms, not 0"),
        ("oneWay", json!([{"from": "a", "to": many(21)}]), "oneWay[0].to: must hold at most 20 items"),
        ("oneWay", json!([{"from": "a", "to": ["b", ""]}]), "oneWay[0].to[1]: "),
        ("oneWay", json!([{"from": "a", "to": ["A"]}]), "oneWay[0].to[0]: is given twice"),
        ("neverCorrect", json!(["a", ""]), "neverCorrect[1]: "),
        ("neverCorrect", json!([7]), "neverCorrect[0]: "),
        ("pinned", json!([pinned("", json!([pin("news", "1")]))]), "pinned[0].keyword: is required"),
        ("pinned", json!([pinned("a", json!([]))]), "pinned[0].items: must have 1 to 20 items, not 0"),
        (
            "pinned",
            json!([pinned("a", (0..21).map(|number| pin("news", &number.to_string())).collect())]),
            "pinned[0].items: must hold at most 20 items",
        ),
        (
            "pinned",
            json!([pinned("a", json!([pin("news", "1"), pin("news", "2"), pin("No Code", "3")]))]),
            "pinned[0].items[2].module: ",
        ),
        ("pinned", json!([pinned("a", json!([{"id": "1"}]))]), "pinned[0].items[0].module: "),
        ("pinned", json!([pinned("a", json!([pin("news", "")]))]), "pinned[0].items[0].id: "),
        ("pinned", json!([pinned("a", json!([pin("news", &"x".repeat(513))]))]), "pinned[0].items[0].id: "),
        (
            "pinned",
            json!([pinned("a", json!([pin("news", "1"), pin("news", "1")]))]),
            "pinned[0].items[1]: is given twice",
        ),
        (
            "pinned",
            json!([pinned("A b", json!([pin("news", "1")])), pinned("a  B", json!([pin("news", "2")]))]),
            "pinned[1].keyword: is given twice",
        ),
    ] {
        operator.put(VOCABULARY, &json!({part: value})).await.fails(400, named);
    }
    operator.put(VOCABULARY, &json!([])).await.fails(400, "must be an object");
    assert_eq!(operator.get(VOCABULARY).await.ok().data(), &full());
}

#[tokio::test]
async fn ten_thousand_entries_of_all_parts_are_the_most() {
    let (_app, operator) = TestApp::start_operated().await;
    let with = |words: usize| {
        json!({
            "synonyms": [["a", "b"]], "oneWay": [{"from": "a", "to": ["b"]}], "neverCorrect": many(words),
            "pinned": [{"keyword": "a", "items": [{"module": "news", "id": "1"}]}],
        })
    };
    operator.put(VOCABULARY, &with(9_995)).await.ok();
    let refused = operator.put(VOCABULARY, &with(9_996)).await;
    refused.fails(400, "vocabulary: must hold at most 10,000 terms and items in all its parts, not 10,001");
}
