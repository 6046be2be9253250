//! The position within results, after reload, Back and Forward.

use serde_json::{Value, json};

use crate::util::{
    items::item,
    search_page::{LIST_ANSWERS, SearchPage},
    web::Page,
    webdriver::Key,
};

/// The position that reload, Back or Forward finds in the entry of the history.
const TAKE_KEPT: &str = "const take = () => { globalThis.keptPosition = history.state?.position; }; \
    take(); \
    addEventListener('popstate', take)";

/// Title of the row with focus.
const FOCUSED: &str = "document.activeElement.closest('.row')?.querySelector('h3').textContent";

/// Whether the rows of a position have focus and stand first in view.
///
/// A pixel may differ. Best results may be late on a busy machine, and their items have one row less.
const IS_AT: &str = "(({ focused, first, top }) => {
    const rows = [...document.querySelectorAll('.row')].filter((row) => row.checkVisibility());
    const rowAt = ({ item, nth }) => {
        const same = rows.filter((row) => row.dataset.item === item);
        return same[nth] ?? same[0];
    };
    const shown = rows.find((row) => row.getBoundingClientRect().bottom > 0);
    return document.activeElement.closest('.row') === rowAt(focused) && shown === rowAt(first)
        && Math.abs(shown.getBoundingClientRect().top - top) <= 1;
})";

/// Starts with rows of different heights.
async fn with_many() -> SearchPage {
    let all = SearchPage::start().await;
    let articles: Vec<Value> = (0_u16..170)
        .map(|number| {
            let mut made =
                item(&format!("a{number}"), &format!("Harbour {number}"), 1_000 + i64::from(number));
            made["brief"] = json!("The harbour and its quays. ".repeat(usize::from(number) % 5 * 4));
            made
        })
        .collect();
    all.app.put_contents(&all.acme.caller, "article", &articles).await;
    all.app.put_contents(&all.acme.caller, "news", &articles[..20]).await;
    all.app.put_contents(&all.acme.caller, "feed", &articles[..20]).await;
    all
}

/// Opens an address whose entry of the history keeps positions.
async fn open(all: &SearchPage, address: &str) -> Page {
    let page = Page::open(&all.mei, "/healthz").await;
    page.run_on_load(TAKE_KEPT).await;
    page.go(address).await;
    page
}

async fn focused(page: &Page) -> Value {
    page.run(&format!("return {FOCUSED}"), &[]).await
}

async fn wait_for_restored(page: &Page, focused: &Value) {
    page.wait_until(&format!("{FOCUSED} === {focused} && {IS_AT}(keptPosition)")).await;
}

async fn read_down_to(page: &Page, rows: usize) {
    page.wait_until(&format!(
        "(scrollTo(0, document.documentElement.scrollHeight), document.querySelectorAll('.list .row').length >= {rows})"
    ))
    .await;
}

/// Focuses a row in the middle of the window, until that position is kept.
async fn focus_row(page: &Page, number: usize) {
    // Rows that come into view get their real heights and move the others.
    page.wait_until(&format!(
        "(() => {{
            const stop = [...document.querySelectorAll('.row [data-stop]')].filter((stop) => stop.checkVisibility())[{number}];
            stop.focus({{ preventScroll: true }});
            stop.scrollIntoView({{ block: 'center', behavior: 'instant' }});
            const kept = history.state?.position;
            return kept?.scroll === scrollY && {IS_AT}(kept);
        }})()"
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_keeps_rows_scroll_and_focus_on_reload_and_back() {
    let all = with_many().await;
    let page = open(&all, "/?q=harbour&module=article&sort=time").await;
    read_down_to(&page, 120).await;
    focus_row(&page, 90).await;
    let before = focused(&page).await;
    assert_eq!(before, "Harbour 79");
    page.browser.client.refresh().await.unwrap();
    wait_for_restored(&page, &before).await;

    page.go("/healthz").await;
    page.browser.client.back().await.unwrap();
    wait_for_restored(&page, &before).await;
    assert!(
        page.run("return document.querySelectorAll('.list .row').length", &[]).await.as_u64() >= Some(91)
    );

    // The opened item is the selected row.
    page.press(" ").await;
    page.wait_until("document.querySelector('.look h2')?.textContent === 'Harbour 79' && document.querySelector('.look:not([aria-busy])')").await;
    page.press_key(Key::Right).await;
    page.wait_until("document.activeElement.id === 'look-title' && history.state.position").await;
    page.browser.client.refresh().await.unwrap();
    page.wait_until(&format!(
        "document.querySelector('.look h2')?.textContent === 'Harbour 79' && {FOCUSED} === 'Harbour 79'"
    ))
    .await;
    page.press_key(Key::Escape).await;
    page.wait_until(
        "document.querySelector('.look').hidden && location.search === '?q=harbour&module=article&sort=time'",
    )
    .await;
    assert_eq!(focused(&page).await, "Harbour 79");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overview_and_list_keep_their_positions_apart() {
    let all = with_many().await;
    let page = open(&all, "/?q=harbour").await;
    page.set_size(800, 500).await;
    page.wait_until("!document.querySelector('.overview').ariaBusy && document.querySelectorAll('.overview .row').length >= 15")
        .await;
    focus_row(&page, 11).await;
    let overview = focused(&page).await;
    assert_eq!(page.run("return scrollY > 0", &[]).await, true);
    page.browser.client.refresh().await.unwrap();
    wait_for_restored(&page, &overview).await;

    page.run("document.querySelector('[data-module=article] h2 a').click()", &[]).await;
    read_down_to(&page, 60).await;
    focus_row(&page, 50).await;
    let list = focused(&page).await;
    page.browser.client.back().await.unwrap();
    wait_for_restored(&page, &overview).await;
    page.browser.client.forward().await.unwrap();
    wait_for_restored(&page, &list).await;
    // This page has neither view.
    page.go("/healthz").await;
    // Later: chromedriver repeats a script that its own navigation ends.
    page.run("setTimeout(() => history.go(-2))", &[]).await;
    wait_for_restored(&page, &overview).await;

    // A new search begins at its top.
    page.run("test.enter('#box', 'harbour 7')", &[]).await;
    page.wait_until(
        "scrollY === 0 && document.querySelector('[data-module=article] h3')?.textContent === 'Harbour 7'",
    )
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn far_position_is_approached_with_a_thousand_rows() {
    let all = with_many().await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.run_on_load(LIST_ANSWERS).await;
    page.run_on_load("test.answer = test.answers.endless; test.record()").await;
    page.go("/?q=harbour&module=article").await;
    page.wait_until("document.querySelectorAll('.list .row').length >= 20").await;
    let far = "history.replaceState({ position: { rows: 5_000, scroll: 400_000, focused: { item: 'article/i4900', nth: 0 }, first: { item: 'article/i4890', nth: 0 }, top: 0 } }, '')";
    page.run(far, &[]).await;
    page.browser.client.refresh().await.unwrap();
    page.wait_until("document.querySelectorAll('.list .row').length >= 1_000 && scrollY > 10_000").await;
    let limits = "return test.requested.map(([address]) => new URLSearchParams(address.split('?')[1])) \
        .filter((query) => query.get('moduleId')).map((query) => query.get('limit'))";
    let limits = page.run(limits, &[]).await;
    assert_eq!(limits.as_array().unwrap()[..10], vec![json!("100"); 10]);
    assert!(limits.as_array().unwrap()[10..].iter().all(|limit| limit == "20"), "{limits}");
    page.close().await;
}
