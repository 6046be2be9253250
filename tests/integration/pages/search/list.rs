//! The list of one module.

use std::collections::HashSet;

use serde_json::json;

use crate::util::{
    app::{TestApp, disable_suspension},
    external::{ExternalSystem, Reply},
    files::{delete, put_file},
    items::{NEW_YEAR, item, many},
    search_page::SearchPage,
    web::Page,
    webdriver::Key,
};

fn named(prefix: &str, count: usize, ties: usize) -> Vec<serde_json::Value> {
    let mut items = many(prefix, "", count, ties);
    for item in &mut items {
        item["title"] = json!(format!("harbour {}", item["id"].as_str().unwrap()));
    }
    items
}

async fn scroll_to_the_end(page: &Page) {
    page.run_later(include_str!("../../util/scripts/scroll_to_end.js"), &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scrolling_to_the_end_loses_and_repeats_nothing() {
    let all = SearchPage::start().await;
    let (kept, others) = (named("a", 170, 7), named("x", 130, 5));
    all.app.put_contents(&all.acme.caller, "article", &kept).await;
    let system = ExternalSystem::start(others.clone()).await;
    let source = system.registration("x");
    all.operator.post("/admin/v1/sources", &source).await.ok();
    all.operator.register_module("both", &["builtin:article", "x"]).await;
    let mut expected: Vec<String> =
        kept.iter().chain(&others).map(|item| item["title"].as_str().unwrap().to_owned()).collect();
    expected.sort_unstable();
    let page = Page::open(&all.mei, "/?q=harbour&module=both").await;
    for sort in ["relevance", "time"] {
        page.wait_until("document.querySelectorAll('.list .row').length >= 20").await;
        // Distant rows are not in the page.
        assert!(page.texts(".list .row").await.len() < 200);
        scroll_to_the_end(&page).await;
        assert_eq!(page.texts(".tail").await, ["That is all 300."], "by {sort}");
        let mut met = page.texts(".list h3").await;
        assert_eq!(met.iter().collect::<HashSet<_>>().len(), 300);
        met.sort_unstable();
        assert_eq!(met, expected);
        assert_eq!(page.texts(".list .title .count").await, ["300"]);
        if sort == "relevance" {
            page.run("document.querySelector('[name=sort][value=time]').click()", &[]).await;
            page.wait_until("location.search.includes('sort=time')").await;
            page.wait_until("document.querySelectorAll('.list .row').length < 200").await;
        }
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_page_is_requested_again() {
    let all = SearchPage::of(TestApp::start_with(disable_suspension).await).await;
    let system = ExternalSystem::start(named("x", 60, 1)).await;
    all.register_source(&system.registration("x"), "Contracts", 50).await;
    system.set_reply_at(Some(("40", Reply::Status(500))));
    let page = Page::open(&all.mei, "/?q=harbour&module=contracts").await;
    page.wait_until("document.querySelectorAll('.list .row').length >= 20").await;
    scroll_to_the_end(&page).await;
    page.wait_until("document.querySelector('.broken')").await;
    let there = page.texts(".list h3").await;
    assert_eq!(there.len(), 40);
    assert!(page.texts(".broken").await[0].contains("System x"), "{:?}", page.texts(".broken").await);
    system.set_reply_at(None);
    page.click(".broken button").await;
    page.wait_until("document.querySelectorAll('.list .row').length > 40").await;
    scroll_to_the_end(&page).await;
    page.wait_for_text("That is all 60.").await;
    let met = page.texts(".list h3").await;
    assert_eq!(met.iter().collect::<HashSet<_>>().len(), 60);
    assert_eq!(met[..40], there);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chips_narrow_the_results_by_counted_values() {
    let all = SearchPage::start().await;
    let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let by = |id: &str, author: &str, days: i64| {
        let mut made = item(id, &format!("harbour {id}"), now - days * 86_400_000);
        made["author"] = json!(author);
        made
    };
    let articles = [by("one", "Mei", 0), by("two", "Omar <b>", 3), by("three", "Mei", 100)];
    all.app.put_contents(&all.acme.caller, "article", &articles).await;
    all.app.put_contents(&all.acme.caller, "news", &[by("four", "Mei", 400)]).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until("document.querySelectorAll('.chip .count').length === 2").await;
    let periods = ["Today", "Past 7 days", "Past 30 days", "Past year"];
    assert_eq!(page.texts(".chip").await, [&periods[..], &["Mei3", "Omar <b>1"]].concat());
    assert_eq!(page.texts(".modules [data-total]").await, ["Articles", "News"]);

    // The chips of a search come with its end.
    let ended = async |rows: usize| {
        let are_shown = format!("document.querySelectorAll('.sections .row').length === {rows}");
        page.wait_until(&format!("{are_shown} && !document.querySelector('.overview').ariaBusy")).await;
    };
    page.click("[data-chip=week]").await;
    ended(2).await;
    page.click("[data-chip=year]").await;
    ended(3).await;
    assert_eq!(page.texts(".chip[aria-pressed=true]").await, ["Past year"]);
    page.click("[data-chip=year]").await;
    ended(4).await;
    assert_eq!(page.address().await, "/?q=harbour");

    // A module has chips of its own; Back shows those of all again.
    page.click("[data-module=news] h2 a").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    page.wait_until("document.querySelectorAll('.chip .count').length === 1").await;
    page.browser.client.back().await.unwrap();
    page.wait_until("document.querySelectorAll('.chip .count').length === 2").await;

    // One Tab stop; focus stays where results change.
    page.click("[data-chip='author:Mei']").await;
    ended(3).await;
    page.wait_until("document.activeElement.dataset.chip === 'author:Mei'").await;
    assert_eq!(page.address().await, "/?q=harbour&author=Mei");
    assert_eq!(page.run("return document.querySelectorAll('.chip[tabindex=\"0\"]').length", &[]).await, 1);
    page.press_key(Key::Home).await;
    page.wait_until("document.activeElement.dataset.chip === 'today'").await;
    page.press_key(Key::End).await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('.sections .row').length === 4").await;

    page.go("/?q=harbour&author=Nobody&from=2020-01-02&to=2020-01-03").await;
    page.wait_for_text("Every source was searched").await;
    let pressed = page.texts(".chip[aria-pressed=true]").await;
    assert_eq!(pressed, ["From Jan 2, 2020", "Until Jan 3, 2020", "Nobody"]);
    page.click("[data-chip=from]").await;
    page.wait_until("location.search === '?q=harbour&to=2020-01-03&author=Nobody'").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_and_chips_narrow_the_list() {
    let all = SearchPage::start().await;
    let by = |id: &str, author: &str, days: i64| {
        let mut made = item(id, &format!("harbour {id}"), NEW_YEAR + days * 86_400_000 + 43_200_000);
        made["author"] = json!(author);
        made
    };
    let items = [by("one", "Mei", 0), by("two", "Omar", 1), by("three", "Mei", 2)];
    all.app.put_contents(&all.acme.caller, "article", &items).await;
    let mut others = vec![by("four", "Mei", 3)];
    others[0]["displayTime"] = json!(NEW_YEAR + 3 * 86_400_000);
    let system = ExternalSystem::start(others).await;
    all.operator.post("/admin/v1/sources", &system.registration("x")).await.ok();
    all.operator.register_module("both", &["builtin:article", "x"]).await;
    let page = Page::open(&all.mei, "/?q=harbour&module=both").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 4").await;
    page.click(".filters summary").await;
    page.click("[name=author]").await;
    page.press("Omar").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    assert_eq!(page.texts(".list h3").await, ["harbour two"]);
    assert_eq!(page.texts(".filters summary").await, ["Filters (1)"]);
    page.click(".fields .link").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 4").await;
    // A day is local to the reader and included as a whole.
    let set = "test.change(arguments[0], arguments[1])";
    page.run(set, &[json!("[name=from]"), json!("2024-01-02")]).await;
    page.run(set, &[json!("[name=to]"), json!("2024-01-03")]).await;
    page.wait_until("document.querySelectorAll('.list .row').length === 2").await;
    assert_eq!(page.texts(".list h3").await, ["harbour three", "harbour two"]);
    page.click(".fields .link").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 4").await;
    page.click("[data-chip='source:x']").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    assert_eq!(page.texts(".chip[aria-pressed=true]").await, ["System x1"]);
    assert_eq!(page.address().await, "/?q=harbour&module=both&source=x");
    page.click("[data-chip='source:x']").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 4").await;
    page.choose("source", "x").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    assert_eq!(page.texts(".list h3").await, ["harbour four"]);
    assert_eq!(page.address().await, "/?q=harbour&module=both&source=x");
    assert_eq!(page.run("return document.querySelector('[name=source]').options.length", &[]).await, 3);
    page.close().await;
}

/// The signed URL is requested on demand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_is_downloaded_and_a_missing_one_reported() {
    let all = SearchPage::of(TestApp::start_with(|config| config.storage.text_wait_ms = 10_000).await).await;
    let mei = all.app.user(&all.acme, "mei").await;
    let content = "the log of the harbour";
    let id = put_file(&mei, "root", "log.txt", content.as_bytes()).await;
    all.app.wait_for_index().await;
    let page = Page::open(&all.mei, "/?q=log&module=file").await;
    page.find(".list .row").await;
    assert!(page.texts(".list .parts").await[0].contains("TXT · 22\u{a0}B"));
    let follow = "window.led = []; HTMLAnchorElement.prototype.click = function () { led.push([this.href, this.rel, this.target]); }";
    page.run(follow, &[]).await;
    page.click(".list .open").await;
    page.wait_for_text(content).await;
    page.click(".look-actions .main").await;
    let led = page.wait_until("led[0]").await;
    assert_eq!((&led[1], &led[2]), (&json!("noopener noreferrer"), &json!("_blank")));
    let taken = mei.http.get(led[0].as_str().unwrap()).send().await.unwrap();
    assert_eq!(taken.text().await.unwrap(), content);

    delete(&mei, &[&id]).await.ok();
    page.click(".look-actions .main").await;
    page.wait_for_text("The file could not be opened.").await;
    page.close().await;
}
