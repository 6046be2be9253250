use serde_json::json;

use crate::util::{console::Operated, web::Page};

const VOCABULARY: &str = "/admin/v1/vocabulary";
const READY: &str = "document.querySelector('[name=pinned]')";

fn is_refused(name: &str) -> String {
    format!("document.querySelector('[name={name}]')?.ariaInvalid === 'true'")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vocabulary_is_edited_as_lines_and_saved() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=vocabulary").await;
    page.wait_until(READY).await;
    page.fill("synonyms", "IT | 信息技术\n\ncar | automobile |  motor car").await;
    page.fill("oneWay", "CRM => customer system | client file").await;
    page.fill("neverCorrect", "Trawler\nharbuor").await;
    page.fill("pinned", "annual leave => article/1\nwifi=>news/a/b\nannual leave => news/2").await;
    page.submit().await;
    page.wait_for_text("Saved").await;
    let stored = all.mei.get(VOCABULARY).await.ok();
    let expected = json!({
        "synonyms": [["IT", "信息技术"], ["car", "automobile", "motor car"]],
        "oneWay": [{"from": "CRM", "to": ["customer system", "client file"]}],
        "neverCorrect": ["Trawler", "harbuor"],
        "pinned": [
            {"keyword": "annual leave", "items": [{"module": "article", "id": "1"}, {"module": "news", "id": "2"}]},
            {"keyword": "wifi", "items": [{"module": "news", "id": "a/b"}]},
        ],
    });
    assert_eq!(stored.data(), &expected);

    // Another operator changes a part that this one leaves alone.
    page.go("/console?view=vocabulary").await;
    page.wait_until(READY).await;
    let value = page.run("return document.querySelector('[name=pinned]').value", &[]).await;
    assert_eq!(value, "annual leave => article/1\nannual leave => news/2\nwifi => news/a/b");
    all.mei.put(VOCABULARY, &json!({"neverCorrect": ["other"], "synonyms": [["a|b", "c"]]})).await.ok();
    page.fill("oneWay", "CRM => customers").await;
    page.submit().await;
    page.wait_for_text("Somebody else saved this meanwhile").await;
    page.click_text("Save mine over it").await;
    page.wait_for_text("Saved").await;
    let stored = all.mei.get(VOCABULARY).await.ok();
    assert_eq!(stored.data()["neverCorrect"], json!(["other"]));
    assert_eq!(stored.data()["oneWay"], json!([{"from": "CRM", "to": ["customers"]}]));
    assert_eq!(stored.data()["synonyms"], json!([["a|b", "c"]]));
    // Terms that lines cannot show are not changed by them.
    page.go("/console?view=vocabulary").await;
    page.wait_until("document.querySelector('[name=synonyms]')?.readOnly === true").await;
    assert_eq!(page.run("return document.querySelector('[name=oneWay]').readOnly", &[]).await, false);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusal_stands_at_its_part_and_names_the_line() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=vocabulary").await;
    page.wait_until(READY).await;
    page.fill("synonyms", "a | b\n\nc").await;
    page.submit().await;
    page.wait_until(&is_refused("synonyms")).await;
    assert!(page.shows_text("line 3: must have 2 to 20 terms, not 1").await);
    page.fill("synonyms", "").await;
    page.fill("pinned", "x => news/1\ny => news/1\nx => News/2").await;
    page.submit().await;
    page.wait_until(&is_refused("pinned")).await;
    assert!(page.shows_text("line 3: is required and must be 1 to 64").await);
    let focused = page.run("return document.activeElement.getAttribute('role')", &[]).await;
    assert_eq!(focused, "alert", "the error is announced");
    assert_eq!(all.mei.get(VOCABULARY).await.ok().data()["pinned"], json!([]));
    page.close().await;
}
