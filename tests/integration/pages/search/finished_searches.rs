//! Reports of finished searches, and the console's view of them.

use serde_json::{Value, json};

use crate::util::{
    items::{item, user},
    search_page::SearchPage,
    web::Page,
    webdriver::Key,
};

/// Keeps the reports that the page sends; answered words rest no time.
const KEEP_REPORTS: &str = "
    window.reports = JSON.parse(sessionStorage.reports ?? '[]');
    const later = setTimeout;
    window.setTimeout = (act, wait, ...given) => later(act, wait === 3_000 ? 0 : wait, ...given);
    const plain = fetch;
    window.fetch = (address, options) => {
        if (String(address).endsWith('contents/searches')) {
            reports.push(JSON.parse(options.body));
            sessionStorage.reports = JSON.stringify(reports);
        }
        return plain(address, options);
    };";

async fn with_insights(enabled: bool) -> (SearchPage, Page) {
    let all = SearchPage::start().await;
    all.operator.put("/admin/v1/tenants/acme", &json!({"searchInsights": enabled})).await.ok();
    let articles = [item("a", "harbour tea", 1), item("b", "quay", 2)];
    all.app.put_contents(&all.acme.caller, "article", &articles).await;
    let page = Page::open(&all.mei, "/").await;
    page.run_on_load(KEEP_REPORTS).await;
    page.go("/").await;
    (all, page)
}

async fn reports(page: &Page) -> Value {
    page.run("return reports", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finished_searches_are_reported_once_and_typed_through_ones_never() {
    let (all, page) = with_insights(true).await;
    // Typed through letter by letter, then opened.
    for letter in ["h", "a", "r", "b", "o", "u", "r"] {
        page.press(letter).await;
        page.wait_for_paint().await;
    }
    page.wait_until("document.querySelector('.row a.open')").await;
    page.click(".row a.open").await;
    page.wait_until("reports.length === 1").await;
    page.wait_until("document.querySelector('.look:not([aria-busy]) h2')").await;
    page.press_key(Key::Escape).await;
    page.wait_until("document.querySelector('.look').hidden").await;
    let opened = json!({"keyword": "harbour", "found": true, "opened": {"module": "article", "id": "a"}});
    assert_eq!(reports(&page).await, json!([opened]));

    // Entered words without results are reported when others replace them.
    page.run("document.querySelector('#box').select()", &[]).await;
    page.press("zzzz").await;
    page.press_key(Key::Enter).await;
    page.wait_for_text("Nothing found for zzzz").await;
    page.run("document.querySelector('#box').select()", &[]).await;
    page.press("quay").await;
    page.wait_until("reports.length === 2").await;
    let nothing = json!({"keyword": "zzzz", "found": false, "opened": null});
    assert_eq!(reports(&page).await, json!([opened, nothing]));

    // Words that rested are reported when the page is left.
    page.wait_until("document.querySelector('.row a.open')?.textContent === 'quay'").await;
    page.wait_until("!document.querySelector('.overview').ariaBusy").await;
    page.wait_for_paint().await;
    page.go("/healthz").await;
    page.go("/").await;
    page.wait_until("reports.length === 3").await;
    let rested = json!({"keyword": "quay", "found": true, "opened": null});
    assert_eq!(reports(&page).await, json!([opened, nothing, rested]));
    crate::util::eventually("the reports are counted", async || {
        (all.app.count_rows("insights").await == 3).then_some(())
    })
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_reports_nothing_unless_the_tenant_agreed() {
    let (_all, page) = with_insights(false).await;
    page.press("harbour").await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelector('.row a.open')").await;
    page.click(".row a.open").await;
    page.wait_until("document.querySelector('.look:not([aria-busy]) h2')").await;
    page.go("/").await;
    page.wait_until("document.querySelector('#box')").await;
    assert_eq!(reports(&page).await, json!([]));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn console_turns_counting_on_and_shows_words_as_text_with_links() {
    const HOSTILE: &str = "<img src=x onerror=window.broken=1>";
    let all = crate::util::console::Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=insights").await;
    page.wait_for_text("Searches of this enterprise are not counted.").await;
    page.click_text("Count searches").await;
    page.click("dialog[open] button.main").await;
    page.wait_for_text("Searches are counted from now on.").await;
    page.wait_until("document.querySelectorAll('console-insights section').length === 3").await;

    let acme = all.app.operator().await.caller.on("acme");
    assert_eq!(acme.get("/admin/v1/insights").await.ok().data()["enabled"], true);
    let company = all.app.tenant("acme").await;
    let people: Vec<Value> = (0..8).map(|number| user(&format!("p{number}"), "")).collect();
    all.app.sync(&company.caller, "users", &Value::from(people)).await;
    for number in 0..8 {
        let person = all.app.user(&company, &format!("p{number}")).await;
        person.post("/contents/searches", &json!({"keyword": HOSTILE, "found": false})).await.ok();
    }
    page.go("/console?view=insights&step=1").await;
    page.wait_until(&format!(
        "[...document.querySelectorAll('console-insights tbody th')].filter((one) => one.textContent === {}).length === 2",
        json!(HOSTILE)
    ))
    .await;
    assert_eq!(page.run("return window.broken === undefined", &[]).await, true);

    page.click_text(&format!("Add synonyms: {HOSTILE}")).await;
    page.wait_until(&format!(
        "document.activeElement.name === 'synonyms' && document.activeElement.value === {}",
        json!(format!("{HOSTILE} | "))
    ))
    .await;
    page.run("document.activeElement.value = ''", &[]).await;
    page.go("/console?view=insights").await;
    page.click_text(&format!("Try: {HOSTILE}")).await;
    page.wait_until(&format!("document.querySelector('[name=keyword]')?.value === {}", json!(HOSTILE))).await;
    page.wait_until("document.querySelector('.trial h2')").await;
    assert_eq!(page.address().await, "/console?view=try");
    page.close().await;
}
