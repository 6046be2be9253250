use serde_json::json;

use crate::util::{
    external::Reply,
    search_page::{LIST_ANSWERS, SearchPage, with_articles, with_beta_away},
    web::Page,
    webdriver::Key,
};

const FOCUSED: &str = "return document.activeElement.id || document.activeElement.textContent";

const THIRD_FAILS: &str = "test.listFailures = 1; test.answer = test.answers.thirdFails";

async fn at_list(all: &SearchPage, answer: &str) -> Page {
    let page = Page::open(&all.mei, "/healthz").await;
    page.run_on_load(LIST_ANSWERS).await;
    page.run_on_load(answer).await;
    page.go("/?q=harbour&module=article").await;
    page
}

async fn read_on(page: &Page) {
    page.wait_until(
        "(scrollTo(0, document.documentElement.scrollHeight), document.querySelector('.tail .all, .tail button'))",
    )
    .await;
}

async fn hears(page: &Page, text: &str) {
    page.wait_until(&format!(
        "document.querySelector('p.unseen[role=status]').textContent === {}",
        json!(text)
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_page_is_requested_once_by_any_trigger() {
    let all = with_articles().await;
    let page = at_list(&all, THIRD_FAILS).await;
    read_on(&page).await;
    page.find(".notice button").await;
    assert_eq!(page.texts(".list .row").await.len(), 40);
    page.run("document.querySelector('.tail button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.wait_for_text("That is all 45.").await;
    // The focus is on the first new row.
    assert_eq!(page.run(FOCUSED, &[]).await, "Row 40");
    assert_eq!(page.texts(".notice").await, [""; 0]);
    page.run("window.dispatchEvent(new Event('online'))", &[]).await;
    page.wait_for_paint().await;
    assert_eq!(page.texts(".list .row").await.len(), 45);

    // The notice and scrolling ask at once.
    page.run("test.listFailures = 1; document.querySelector('[name=sort][value=time]').click()", &[]).await;
    page.wait_until("document.querySelectorAll('.list .row').length < 45").await;
    read_on(&page).await;
    page.find(".notice button").await;
    page.run(
        "document.querySelectorAll('.notice button, .tail button').forEach((button) => button.click())",
        &[],
    )
    .await;
    page.wait_for_text("That is all 45.").await;
    page.wait_for_paint().await;
    assert_eq!(page.texts(".list .row").await.len(), 45);
    // Further down the position stays.
    page.run("document.querySelector('#list-title').focus({preventScroll: true})", &[]).await;
    page.press_key(Key::Down).await;
    assert_eq!(page.run(FOCUSED, &[]).await, "list-title");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_announcements_survive_a_continued_list() {
    let all = with_articles().await;
    let page = at_list(&all, THIRD_FAILS).await;
    page.wait_until("document.querySelectorAll('.list .row').length >= 20").await;
    let full = "test.listFailures = 0; test.fail('session/end', 503, {headers: {'retry-after': '300'}})";
    page.run(full, &[]).await;
    page.click(".person-button").await;
    page.click("#person-menu button:last-child").await;
    page.wait_for_text("The server is busy.").await;
    read_on(&page).await;
    page.wait_for_text("That is all 45.").await;
    assert!(page.shows_text("The server is busy.").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_continues_after_empty_pages() {
    let all = with_articles().await;
    let page = at_list(&all, "test.answer = test.answers.emptyFirst").await;
    page.wait_for_text("Nothing found so far").await;
    page.wait_for_text("Not everything has been looked through yet.").await;
    assert!(!page.shows_text("Not every source was reached").await);
    hears(&page, "Nothing found so far. Not everything has been looked through yet.").await;
    page.run("document.querySelector('.tail button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.wait_for_text("That is all 2.").await;
    assert_eq!(page.texts(".list .empty").await, [""; 0]);
    assert_eq!(page.run(FOCUSED, &[]).await, "Row 0");
    assert_eq!(page.texts(".list .title .count").await, ["5,000"]);

    let sort = "document.querySelector(`[name=sort][value=${arguments[0]}]`).click()";
    let again = async |answer: &str, order: &str| {
        page.run(&format!("test.answer = test.answers.{answer}; {sort}"), &[json!(order)]).await;
    };
    again("emptyForever", "time").await;
    page.wait_for_text("Not everything has been looked through yet.").await;
    assert_eq!(page.texts(".tail button").await, ["Show more"]);
    again("invalidFirst", "relevance").await;
    page.wait_for_text("Not every source was reached").await;
    page.click(".tail button").await;
    page.wait_until("!document.querySelector('.tail').childElementCount && !document.querySelector('.list .rows').ariaBusy").await;
    assert!(!page.shows_text("Every source was searched").await);
    hears(&page, "Nothing found so far. Not everything was reached.").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_search_is_not_announced_as_empty() {
    let all = with_articles().await;
    let page = at_list(&all, "test.answer = test.answers.timeout").await;
    page.wait_for_text("Contracts did not answer in time.").await;
    hears(&page, "Nothing could be searched.").await;
    page.run("document.querySelector('.list .empty button').focus()", &[]).await;
    page.run("test.answer = null", &[]).await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    hears(&page, "1 result").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "list-title");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_search_removes_retries_of_the_previous_one() {
    let (_all, system, page) = with_beta_away().await;
    page.run("test.fail('contents/', 500)", &[]).await;
    page.press("s").await;
    page.wait_until("document.querySelector('.notice').checkVisibility()").await;
    assert_eq!(page.texts(".section .note").await, [""; 0]);
    page.run("test.failures = 0; document.querySelector('.notice button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelector('[data-module=beta] .note button')").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "results");
    system.set_reply(Reply::Good);
    page.run("document.querySelector('[data-module=beta] .note button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('[data-module=beta] .note').length === 0").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "Beta");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keyboard_enters_a_module_and_returns_to_its_place() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until(
        "document.querySelector('.modules li') && !document.querySelector('.overview').ariaBusy && \
        document.querySelector('[data-module=article] .row')",
    )
    .await;
    page.run("document.querySelector('[data-module=article] h2 a').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "list-title");
    page.press_key(Key::Down).await;
    assert_eq!(page.run(FOCUSED, &[]).await, "harbour");
    page.press_key(Key::Up).await;
    assert_eq!(page.run(FOCUSED, &[]).await, "box");
    page.press_key(Key::Down).await;
    page.browser.client.back().await.unwrap();
    page.wait_until("document.querySelector('[data-module=article]').checkVisibility()").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "Articles");
    page.go("/?q=zzzzqqqq&author=Mei").await;
    page.find(".empty .ways button").await;
    page.run("document.querySelector('.empty .ways button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.wait_until(
        "location.search === '?q=zzzzqqqq' && document.querySelector('.empty h2')?.checkVisibility()",
    )
    .await;
    assert_eq!(page.run(FOCUSED, &[]).await, "results");
    page.close().await;
}
