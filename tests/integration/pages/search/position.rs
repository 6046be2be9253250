//! The position within results, after reload, Back and Forward.

use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::util::{
    items::item,
    search_page::{LIST_ANSWERS, SearchPage},
    web::Page,
};

/// Titles of the focused row and the first in view, whose place follows.
const VIEW: &str = "(() => {
    const rows = [...document.querySelectorAll('.row')].filter((row) => row.checkVisibility());
    const first = rows.find((row) => row.getBoundingClientRect().bottom > 0);
    const titleOf = (row) => row?.querySelector('h3').textContent ?? null;
    return [titleOf(document.activeElement.closest('.row')), titleOf(first), Math.round(first?.getBoundingClientRect().top)];
})()";

/// The same as they are kept, perhaps before rows got their real heights.
const KEPT: &str = "(() => {
    const { focused, first, top } = history.state.position;
    const titleOf = ({ item, nth }) =>
        [...document.querySelectorAll('.row')].filter((row) => row.dataset.item === item)[nth].querySelector('h3').textContent;
    return [titleOf(focused), titleOf(first), Math.round(top)];
})()";

const IS_KEPT: &str = "history.state?.position?.scroll === scrollY && \
    history.state.position.focused?.item === document.activeElement.closest('.row')?.dataset.item";

/// Of different heights.
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

async fn view(page: &Page) -> Value {
    page.run(&format!("return {VIEW}"), &[]).await
}

/// The same rows have focus and stand in the same place, give or take a pixel.
async fn wait_for_view(page: &Page, wanted: &Value) {
    let wanted = wanted.to_string();
    page.wait_until(&format!(
        "(({VIEW}).every((part, place) => part === {wanted}[place] || Math.abs(part - {wanted}[place]) <= 1))"
    ))
    .await;
}

async fn read_down_to(page: &Page, rows: usize) {
    page.wait_until(&format!(
        "(scrollTo(0, document.documentElement.scrollHeight), document.querySelectorAll('.list .row').length >= {rows})"
    ))
    .await;
}

async fn focus_row(page: &Page, number: usize) {
    let focus = "const stop = [...document.querySelectorAll('.row [data-stop]')].filter((stop) => stop.checkVisibility())[arguments[0]];
        stop.focus({ preventScroll: true });
        stop.scrollIntoView({ block: 'center', behavior: 'instant' });";
    page.run(focus, &[json!(number)]).await;
    // Rows that come into view get their real heights.
    page.wait_for_paint().await;
    page.run(focus, &[json!(number)]).await;
    page.wait_for_paint().await;
    page.wait_until(IS_KEPT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_keeps_rows_scroll_and_focus_on_reload_and_back() {
    let all = with_many().await;
    let page = Page::open(&all.mei, "/?q=harbour&module=article&sort=time").await;
    read_down_to(&page, 120).await;
    focus_row(&page, 90).await;
    let before = page.run(&format!("return {KEPT}"), &[]).await;
    assert_eq!(before[0], "Harbour 79");
    page.browser.client.refresh().await.unwrap();
    wait_for_view(&page, &before).await;

    page.go("/healthz").await;
    page.browser.client.back().await.unwrap();
    wait_for_view(&page, &before).await;
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
        "document.querySelector('.look h2')?.textContent === 'Harbour 79' && ({VIEW})[0] === 'Harbour 79'"
    ))
    .await;
    page.press_key(Key::Escape).await;
    page.wait_until(
        "document.querySelector('.look').hidden && location.search === '?q=harbour&module=article&sort=time'",
    )
    .await;
    assert_eq!(view(&page).await[0], "Harbour 79");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overview_and_list_keep_their_positions_apart() {
    let all = with_many().await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.set_size(800, 500).await;
    page.wait_until("!document.querySelector('.overview').ariaBusy && document.querySelectorAll('.overview .row').length >= 15")
        .await;
    focus_row(&page, 11).await;
    let overview = view(&page).await;
    assert_eq!(page.run("return scrollY > 0", &[]).await, true);
    page.browser.client.refresh().await.unwrap();
    wait_for_view(&page, &overview).await;

    page.run("document.querySelector('[data-module=article] h2 a').click()", &[]).await;
    read_down_to(&page, 60).await;
    focus_row(&page, 50).await;
    let list = view(&page).await;
    page.browser.client.back().await.unwrap();
    wait_for_view(&page, &overview).await;
    page.browser.client.forward().await.unwrap();
    wait_for_view(&page, &list).await;
    // As another page, which has neither view.
    page.go("/healthz").await;
    page.run("history.go(-2)", &[]).await;
    wait_for_view(&page, &overview).await;

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
