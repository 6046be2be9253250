//! Contents and the import of files in the console.

use serde_json::{Value, json};

use crate::util::{console::Operated, external::with, items::item, web::Page, webdriver::Key};

/// Drops a file on an element.
const DROP: &str = "
    const [selector, name, text] = arguments;
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    const event = (kind) => new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true});
    const target = document.querySelector(selector);
    const over = event('dragover');
    target.dispatchEvent(over);
    const isTaken = over.defaultPrevented;
    target.dispatchEvent(event('drop'));
    return isTaken;
";

async fn drop_on(page: &Page, selector: &str, name: &str, text: &str) -> Value {
    page.run(DROP, &[json!(selector), json!(name), json!(text)]).await
}

async fn start() -> Operated {
    let all = Operated::start().await;
    let acme = all.app.tenant("acme").await;
    let restricted =
        with(item("a2", "Quay plan", 2), "visibility", json!({"users": ["tom"], "groups": ["g1"]}));
    all.app.put_contents(&acme.caller, "article", &[item("a1", "Harbour plan", 1), restricted]).await;
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_is_listed_opened_and_removed() {
    let all = start().await;
    let page = Page::open(&all.mei, "/console?view=contents&kind=article").await;
    page.wait_for_text("Quay plan").await;
    page.wait_for_text("for some people").await;
    page.fill("keyword", "harbour").await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('tbody tr').length === 1").await;
    assert_eq!(page.address().await, "/console?view=contents&kind=article");
    page.fill("keyword", "").await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('tbody tr').length === 2").await;
    page.click_text("Quay plan").await;
    page.wait_for_text("tom").await;
    page.wait_for_text("g1").await;
    page.click_text("Remove").await;
    page.wait_until("document.querySelector('dialog[open]')").await;
    page.click("dialog[open] button.grave").await;
    page.wait_until("document.querySelectorAll('tbody tr').length === 1").await;
    all.mei.get("/admin/v1/contents/article/a2").await.fails(404, "id");

    // Contents of an interface of their own are only listed.
    page.go("/console?view=contents&kind=people").await;
    page.wait_for_text("has an interface of its own").await;
    page.wait_until("document.querySelectorAll('tbody tr').length === 2").await;
    assert_eq!(page.texts("tbody a").await, Vec::<String>::new());
    assert_eq!(page.run("return document.querySelector('.drop').checkVisibility()", &[]).await, false);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_file_is_imported_and_rejected_rows_are_listed() {
    let all = start().await;
    let page = Page::open(&all.mei, "/console?view=contents&kind=article").await;
    page.wait_for_text("Quay plan").await;
    let lines = "{\"id\":\"n1\",\"title\":\"Dropped\"}\nnot json\n{\"id\":\"<b>3</b>\"}\n";
    assert_eq!(drop_on(&page, ".drop", "rows.jsonl", lines).await, true);
    page.wait_for_text("1 of 3 rows imported.").await;
    let rejected = page.texts(".imports tbody tr").await;
    assert_eq!(rejected.len(), 2);
    assert!(rejected[0].contains('2') && rejected[1].contains("<b>3</b>"), "{rejected:?}");
    page.wait_until("document.querySelectorAll('.pages tbody tr').length === 3").await;
    all.mei.get("/admin/v1/contents/article/n1").await.ok();

    // Beside the zone, the browser would leave the page for the file.
    assert_eq!(drop_on(&page, "h1", "rows.jsonl", lines).await, true);
    assert_eq!(page.texts(".imports > li").await.len(), 1);
    drop_on(&page, ".drop", "broken.json", "[{\"id\":\"n2\",\"title\":\"Kept\"},").await;
    page.wait_for_text("the file ends before its array is closed").await;
    all.mei.get("/admin/v1/contents/article/n2").await.ok();
    page.close().await;
}
