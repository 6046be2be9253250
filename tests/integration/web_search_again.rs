//! What is asked for again or goes on after something was in the way: it comes once, what is said of it is true, and whoever uses
//! keys or hears the page is not lost on the way.

use fantoccini::key::Key;
use serde_json::json;

use crate::{
    util::{external::Mood, web::Page},
    web_search::Landscape,
    web_search_steps::{ANSWER, with_articles, with_beta_away},
};

/// What has the focus: its id, or what it says.
const FOCUSED: &str = "return document.activeElement.id || document.activeElement.textContent";

/// Pages of 45 rows, of which the third fails as often as `failing` says.
const THIRD_FAILS: &str = "window.failing = 1; window.answer = (given) => { \
    const from = Number(given.get('cursor') ?? 0); \
    if (from === 40 && failing) { failing -= 1; return [500, {}]; } \
    return [200, {data: named(from, Math.min(20, 45 - from)), total: 45, cursor: from < 40 ? String(from + 20) : null, sources: []}]; };";

/// At the list of a module whose pages the test answers by a script.
async fn at_list(all: &Landscape, answer: &str) -> Page {
    let page = Page::open(&all.mei, "/healthz").await;
    page.begin_with(ANSWER).await;
    page.begin_with(answer).await;
    page.go("/?q=harbour&module=article").await;
    page
}

/// Scrolls down until the list does not go on by itself.
async fn read_on(page: &Page) {
    page.until(
        "(scrollTo(0, document.documentElement.scrollHeight), document.querySelector('.tail .all, .tail button'))",
    )
    .await;
}

/// Waits until this is said to those who do not see the page.
async fn hears(page: &Page, text: &str) {
    page.until(&format!("document.querySelector('p.unseen[role=status]').textContent === {}", json!(text)))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_failed_is_asked_for_once_whoever_asks() {
    let all = with_articles().await;
    let page = at_list(&all, THIRD_FAILS).await;
    read_on(&page).await;
    page.find(".notice button").await;
    assert_eq!(page.texts(".list .row").await.len(), 40);
    page.run("document.querySelector('.tail button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.says("That is all 45.").await;
    // Who pressed is at the first of what came.
    assert_eq!(page.run(FOCUSED, &[]).await, "Row 40");
    // It is mended: nothing is said of it, and nobody asks again.
    assert_eq!(page.texts(".notice").await, [""; 0]);
    page.run("window.dispatchEvent(new Event('online'))", &[]).await;
    page.painted().await;
    assert_eq!(page.texts(".list .row").await.len(), 45);

    // Asked for by the notice, and from below the rows at the same time.
    page.run("window.failing = 1; document.querySelector('[name=sort][value=relevance]').click()", &[]).await;
    page.until("document.querySelectorAll('.list .row').length < 45").await;
    read_on(&page).await;
    page.find(".notice button").await;
    let both = "const [said, below] = ['.notice button', '.tail button'].map((one) => document.querySelector(one)); \
        said.click(); below.click();";
    page.run(both, &[]).await;
    page.says("That is all 45.").await;
    page.painted().await;
    assert_eq!(page.texts(".list .row").await.len(), 45);
    // Who has read on to here is not thrown back to the first row.
    page.run("document.querySelector('#list-title').focus({preventScroll: true})", &[]).await;
    page.press_key(Key::Down).await;
    assert_eq!(page.run(FOCUSED, &[]).await, "list-title");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_of_something_else_stays_while_a_list_goes_on() {
    let all = with_articles().await;
    let page = at_list(&all, THIRD_FAILS).await;
    page.until("document.querySelectorAll('.list .row').length >= 20").await;
    let full = "window.failing = 0; const asked = window.fetch; window.fetch = async (...given) => given[0] !== 'session/end' ? asked(...given) : \
        new Response(JSON.stringify({code: 503, message: 'the disk is full'}), {status: 503, headers: {'retry-after': '300'}});";
    page.run(full, &[]).await;
    page.click(".person-button").await;
    page.click("#person-menu button:last-child").await;
    page.says("The server is busy.").await;
    read_on(&page).await;
    page.says("That is all 45.").await;
    assert!(page.says_now("The server is busy.").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_was_found_so_far_one_goes_on() {
    let all = with_articles().await;
    let empty_first = "window.answer = (given) => [200, given.get('cursor') \
        ? {data: named(0, 2), total: 5000, cursor: null, sources: [{id: 'x', name: 'x', status: 'ok'}]} \
        : {data: [], total: 5000, cursor: 'c', partial: true, sources: [{id: 'x', name: 'x', status: 'ok'}]}];";
    let page = at_list(&all, empty_first).await;
    page.says("Nothing found so far").await;
    page.says("Not everything has been looked through yet.").await;
    assert!(!page.says_now("Not every source was reached").await);
    hears(&page, "Nothing found so far. Not everything has been looked through yet.").await;
    page.run("document.querySelector('.tail button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.says("That is all 2.").await;
    assert_eq!(page.texts(".list .empty").await, [""; 0]);
    assert_eq!(page.run(FOCUSED, &[]).await, "Row 0");
    assert_eq!(page.texts(".list .title .count").await, ["5,000"]);

    // Empty page upon empty page.
    page.run(
        "window.answer = () => [200, {data: [], total: 7, cursor: 'c', sources: []}]; window.again = \
        (sort) => document.querySelector(`[name=sort][value=${sort}]`).click(); again('relevance');",
        &[],
    )
    .await;
    page.says("Not everything has been looked through yet.").await;
    assert_eq!(page.texts(".tail button").await, ["Show more"]);
    // What could not be read does not come behind it.
    page.run(
        "window.answer = (given) => [200, {data: [], cursor: given.get('cursor') ? null : 'c', total: 0, \
            sources: [{id: 'x', name: 'x', status: given.get('cursor') ? 'ok' : 'invalid'}]}]; again('time');",
        &[],
    )
    .await;
    page.says("Not every source was reached").await;
    page.click(".tail button").await;
    page.until("!document.querySelector('.tail').childElementCount && !document.querySelector('.list .rows').ariaBusy").await;
    assert!(!page.says_now("Every source was searched").await);
    hears(&page, "Nothing found so far. Not everything was reached.").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_could_not_be_searched_is_not_heard_as_nothing_found() {
    let all = with_articles().await;
    let nobody = "window.answer = () => [502, {sources: [{id: 'x', name: 'Contracts', status: 'timeout'}]}];";
    let page = at_list(&all, nobody).await;
    page.says("Contracts did not answer in time.").await;
    hears(&page, "Nothing could be searched.").await;
    page.run("document.querySelector('.list .empty button').focus()", &[]).await;
    page.run("window.answer = null", &[]).await;
    page.press_key(Key::Enter).await;
    page.until("document.querySelectorAll('.list .row').length === 1").await;
    hears(&page, "1 result").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "list-title");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_failed_leaves_no_way_to_ask_for_a_part_of_the_one_before() {
    let (_all, system, page) = with_beta_away().await;
    let fail = "const ask = window.fetch; window.fetch = async (...given) => { \
        if (!window.broken || !String(given[0]).startsWith('contents/')) { return ask(...given); } \
        return new Response(JSON.stringify({code: 500, message: 'no'}), {status: 500}); }; window.broken = true;";
    page.run(fail, &[]).await;
    page.press("s").await;
    page.until("document.querySelector('.notice').checkVisibility()").await;
    assert_eq!(page.texts(".section .note").await, [""; 0]);
    // By keys, one is led on where the notice goes.
    page.run("window.broken = false; document.querySelector('.notice button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.until("document.querySelector('[data-module=beta] .note button')").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "results");
    system.set_mood(Mood::Good);
    page.run("document.querySelector('[data-module=beta] .note button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.until("document.querySelectorAll('[data-module=beta] .note').length === 0").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "Beta");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_keys_one_goes_into_a_module_and_back_to_where_one_was() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.until(
        "document.querySelector('.modules li') && !document.querySelector('.overview').ariaBusy && \
        document.querySelector('[data-module=article] .row')",
    )
    .await;
    page.press_key(Key::Down).await;
    assert_eq!(page.run(FOCUSED, &[]).await, "Articles");
    page.press_key(Key::Enter).await;
    page.until("document.querySelectorAll('.list .row').length === 1").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "list-title");
    page.press_key(Key::Down).await;
    assert_eq!(page.run(FOCUSED, &[]).await, "harbour");
    page.press_key(Key::Up).await;
    assert_eq!(page.run(FOCUSED, &[]).await, "box");
    page.press_key(Key::Down).await;
    page.browser.client.back().await.unwrap();
    page.until("document.querySelector('[data-module=article]').checkVisibility()").await;
    assert_eq!(page.run(FOCUSED, &[]).await, "Articles");
    // To what was looked for before, and to the start.
    page.go("/?q=zzzzqqqq&author=Mei").await;
    page.find(".empty .ways button").await;
    page.run("document.querySelector('.empty .ways button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.until("location.search === '?q=zzzzqqqq' && document.querySelector('.empty h2')?.checkVisibility()")
        .await;
    assert_eq!(page.run(FOCUSED, &[]).await, "results");
    page.close().await;
}
