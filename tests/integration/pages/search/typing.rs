use serde_json::{Value, json};

use crate::util::{
    eventually,
    external::{ExternalSystem, with},
    gate::Gate,
    items::{NEW_YEAR, item, many},
    search_page::SearchPage,
    web::Page,
    webdriver::Key,
};

/// Requests for the page, its assets and its first answers.
const FIRST_REQUESTS: u64 = 12;

async fn place_of(page: &Page, selector: &str) -> Value {
    let script = "const {top, height} = document.querySelector(arguments[0]).getBoundingClientRect(); return [top, height]";
    page.run(script, &[json!(selector)]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sections_fill_as_they_arrive_without_moving() {
    let all = SearchPage::with(&many("a", "harbour", 3, 1)).await;
    all.app.put_contents(&all.acme.caller, "news", &many("n", "harbour", 12, 1)).await;
    let slow = Gate::start(&many("x", "harbour contract", 4, 1)).await;
    let source = slow.registration("slow");
    all.operator.post("/admin/v1/sources", &source).await.ok();
    let module =
        json!({"code": "contracts", "name": "Contracts", "type": 100, "orderNo": 1, "sources": ["slow"]});
    all.operator.post("/admin/v1/modules", &module).await.ok();

    let page = Page::open(&all.mei, "/").await;
    page.wait_until("document.activeElement.id === 'box' && document.querySelector('.modules li')").await;
    page.press("harbour").await;
    slow.wait_for(1).await;
    page.wait_until("document.querySelectorAll('[data-module=news]:not(.old) .row').length === 5").await;
    assert_eq!(page.texts("[data-module=article] h3").await, ["harbour"; 3]);
    assert_eq!(page.texts("[data-module=news] .count").await, ["12"]);
    assert_eq!(page.texts("[data-module=news] .more").await, ["Show all"]);
    assert_eq!(page.texts("[data-module=article] .more").await, [""; 0]);
    page.wait_until("document.querySelector('[data-module=contracts] .skeleton')?.checkVisibility()").await;
    let titles = "[...document.querySelectorAll('.sections h2')].filter((title) => title.checkVisibility()) \
        .map((title) => title.textContent).join()";
    page.wait_until(&format!("{titles} === 'Articles,Contracts,News'")).await;
    let before = place_of(&page, "[data-module=news]").await;
    assert!(!page.shows_text("Nothing found").await, "not every module is announced");

    slow.open();
    page.wait_until("document.querySelectorAll('[data-module=contracts] .row').length === 4").await;
    assert_eq!(place_of(&page, "[data-module=news]").await, before);
    page.wait_for_text("Nothing found in To-do, Done, Feeds").await;
    // The live region for screen readers.
    page.wait_until("[...document.querySelectorAll('[role=status]')].some((one) => one.textContent === '19 results in 3 places')")
        .await;
    assert_eq!(page.address().await, "/?q=harbour");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_key_searches_and_only_the_last_answer_is_shown() {
    let all = SearchPage::with(&[item("h", "harbour", 1), item("q", "hall", 2)]).await;
    let page = Page::open(&all.mei, "/").await;
    page.wait_until("document.activeElement.id === 'box' && document.querySelector('.modules li')").await;
    let requests = page.run("return performance.getEntriesByType('resource').length + 1", &[]).await;
    assert!(requests.as_u64().unwrap() <= FIRST_REQUESTS, "{requests}");
    page.run("test.hold('contents/search/all'); test.record()", &[]).await;
    page.press("harb").await;
    page.run("test.release()", &[]).await;
    page.wait_until("document.querySelectorAll('[data-module=article] .row').length === 1").await;
    assert_eq!(page.texts("[data-module=article] h3").await, ["harbour"]);
    let asked = "return test.requested.map(([address]) => new URLSearchParams(address.split('?')[1]).get('keyword'))\
        .filter(Boolean)";
    assert_eq!(page.run(asked, &[]).await, json!(["h", "ha", "har", "harb"]));
    page.close().await;
}

/// Book: explanation/federation.md.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replaced_query_is_cancelled_on_the_server() {
    let all = SearchPage::with(&[item("h", "harbour", 1), item("q", "quay", 2)]).await;
    let slow = Gate::start(&[item("x", "late", 1)]).await;
    all.register_source(&slow.registration("slow"), "Contracts", 50).await;
    let page = Page::open(&all.mei, "/").await;
    page.press("harbour").await;
    slow.wait_for(1).await;
    page.wait_until("document.querySelector('[data-module=article] .row')").await;
    page.press_key(Key::Escape).await;
    slow.wait_for(0).await;
    page.press("quay").await;
    slow.wait_for(1).await;
    page.wait_until("document.querySelector('[data-module=article] h3')?.textContent === 'quay'").await;
    page.press_key(Key::Escape).await;
    for letter in ["h", "a", "r", "b"] {
        page.press(letter).await;
        page.wait_until(
            "new URLSearchParams(location.search).get('q') === document.querySelector('#box').value",
        )
        .await;
    }
    slow.wait_for(1).await;
    slow.open();
    page.wait_until("document.querySelector('[data-module=contracts] h3')?.textContent === 'late'").await;
    assert_eq!(page.texts("[data-module=article] h3").await, ["harbour"]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn url_can_be_shared_reloaded_and_returned_to() {
    let all = SearchPage::start().await;
    let mut old = item("old", "harbour of old", NEW_YEAR);
    old["author"] = json!("Omar Ünal");
    all.app
        .put_contents(&all.acme.caller, "article", &[item("new", "harbour", NEW_YEAR + 86_400_000 * 40), old])
        .await;
    let shared = "/?q=harbour&module=article&sort=time&from=2023-12-30&to=2024-01-02&author=Omar+%C3%9Cnal";
    let page = Page::open(&all.mei, shared).await;
    for _ in 0..2 {
        page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
        assert_eq!(page.texts(".list h3").await, ["harbour of old"]);
        assert_eq!(page.address().await, shared);
        let shown = page.run(include_str!("../../util/scripts/search_form.js"), &[]).await;
        assert_eq!(shown, json!(["harbour", "2023-12-30", "2024-01-02", "Omar Ünal", "time", "Articles"]));
        page.browser.client.refresh().await.unwrap();
    }
    page.click(".filters summary").await;
    page.click(".fields .link").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 2").await;
    assert_eq!(page.address().await, "/?q=harbour&module=article&sort=time");

    page.go("/").await;
    page.wait_until("document.querySelector('.modules li')").await;
    let length = page.run("return history.length", &[]).await;
    page.press("har").await;
    page.wait_until("location.search === '?q=har'").await;
    page.press("bour").await;
    page.wait_until(
        "location.search === '?q=harbour' && document.querySelector('[data-module=article] .row')",
    )
    .await;
    assert_eq!(page.run("return history.length", &[]).await, length);
    page.click("[data-module=article] h2 a").await;
    page.wait_until("location.search === '?q=harbour&module=article' && document.querySelectorAll('.list .row').length === 2").await;
    assert_eq!(page.run("return history.length", &[]).await, json!(length.as_u64().unwrap() + 1));
    page.browser.client.back().await.unwrap();
    page.wait_until("document.querySelector('.overview').checkVisibility()").await;
    assert_eq!(page.address().await, "/?q=harbour");
    assert_eq!(page.texts("[data-module=article] .row h3").await.len(), 2);
    page.run("history.forward()", &[]).await;
    page.wait_until("document.querySelectorAll('.list .row').length === 2 && document.querySelector('.list').checkVisibility()").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_page_works_by_keyboard() {
    let all = SearchPage::start().await;
    let mut open = item("open", "harbour wiki", 2);
    open["action"] = json!(json!({"web": "[OpenUrl]\nurl=/healthz?from=wiki"}).to_string());
    all.app.put_contents(&all.acme.caller, "article", &[open, item("shut", "harbour tower", 1)]).await;
    let page = Page::open(&all.mei, "/").await;
    page.wait_until("document.activeElement.id === 'box' && document.querySelector('.modules li')").await;
    page.press("harbour").await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('[data-module=article] .row').length === 2 && !document.querySelector('.overview').ariaBusy")
        .await;
    let focused = "return document.activeElement.id || document.activeElement.textContent";
    let mut met = Vec::new();
    for key in [Key::Down, Key::Down, Key::Down, Key::Up, Key::End, Key::Home] {
        page.press_key(key).await;
        met.push(page.run(focused, &[]).await);
    }
    assert_eq!(
        met,
        ["harbour wiki", "harbour tower", "harbour tower", "harbour wiki", "harbour tower", "harbour wiki"]
    );
    page.press_key(Key::Up).await;
    assert_eq!(page.run(focused, &[]).await, "box");
    page.press_key(Key::Down).await;
    page.press_key(Key::Enter).await;
    let client = &page.browser.client;
    let windows = crate::util::eventually("the item is opened", async || {
        let windows = client.windows().await.unwrap();
        (windows.len() == 2).then_some(windows)
    })
    .await;
    let here = client.window().await.unwrap();
    let there = windows.into_iter().find(|window| *window != here).unwrap();
    client.switch_to_window(there).await.unwrap();
    page.wait_until("location.pathname === '/healthz'").await;
    assert_eq!(page.run("return [window.opener, document.referrer]", &[]).await, json!([null, ""]));
    client.close_window().await.unwrap();
    client.switch_to_window(here).await.unwrap();

    page.press("/").await;
    assert_eq!(page.run(focused, &[]).await, "box");
    page.press_key(Key::Escape).await;
    page.wait_until("location.search === '' && document.querySelector('.recent')?.checkVisibility()").await;
    assert_eq!(page.texts(".recent .pick").await, ["harbour"]);
    page.press_key(Key::Down).await;
    assert_eq!(page.run(focused, &[]).await, "harbour");
    page.press_key(Key::Enter).await;
    page.wait_until(
        "location.search === '?q=harbour' && document.querySelector('[data-module=article] .row')",
    )
    .await;
    // The first Tab stop skips the header.
    let first =
        "const first = document.querySelector('a, button, input'); first.focus(); return first.className";
    assert_eq!(page.run(first, &[]).await, "skip");
    page.press_key(Key::Enter).await;
    assert_eq!(page.run(focused, &[]).await, "results");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chinese_browser_gets_chinese_texts_and_composition() {
    let all = SearchPage::with(&[item("1", "港口预算", NEW_YEAR)]).await;
    let page = Page::open_in(&all.mei, "/", "zh-CN").await;
    page.wait_for_text("更精确地搜索").await;
    page.wait_until("document.querySelector('.modules li')").await;
    assert_eq!(
        page.run("return [document.documentElement.lang, document.title]", &[]).await,
        json!(["zh-Hans", "搜索"])
    );
    page.run("test.record()", &[]).await;
    // Text under composition is not searched.
    for text in ["y", "yu", "yu's", "yu'su", "yu'suan"] {
        let composing = json!({"text": text, "selectionStart": text.len(), "selectionEnd": text.len()});
        page.tell("Input.imeSetComposition", composing).await;
        page.wait_for_paint().await;
    }
    assert_eq!(page.run("return document.querySelector('#box').value", &[]).await, "yu'suan");
    assert_eq!(page.run("return test.requested", &[]).await, json!([]));
    page.tell("Input.insertText", json!({"text": "预算"})).await;
    page.wait_until("document.querySelector('[data-module=article] .row') && !document.querySelector('.overview').ariaBusy")
        .await;
    assert_eq!(page.texts("[data-module=article] mark").await, ["预算"]);
    // Late modules keep a placeholder on a busy machine.
    assert_eq!(page.texts(".section:has(.row) h2").await, ["文章"]);
    let searches =
        "return test.requested.filter(([address]) => address.startsWith('contents/search')).length";
    assert_eq!(page.run(searches, &[]).await, 1);
    assert_eq!(page.texts("[data-module=article] time [aria-hidden]").await, ["2024年1月1日"]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn suggestions_complete_what_is_typed_by_keyboard() {
    let all = SearchPage::start().await;
    let mut plan = item("plan", "Harbour plan \"<b>2027</b>", 2);
    plan["author"] = json!("Omar \u{dc}nal");
    all.app.put_contents(&all.acme.caller, "article", &[plan, item("h", "Old harbour", 1)]).await;
    let page = Page::open(&all.mei, "/").await;
    page.wait_until("document.activeElement.id === 'box' && document.querySelector('.modules li')").await;
    page.run("test.enter('#box', 'harb')", &[]).await;
    page.wait_until("document.querySelectorAll('.suggestion').length === 2").await;
    assert_eq!(page.texts(".suggestion").await, ["Harbour plan \"<b>2027</b>", "Old harbour"]);
    // The cross, then the suggestions.
    for _ in 0..3 {
        page.press_key(Key::Tab).await;
    }
    page.press_key(Key::Enter).await;
    page.wait_until(
        "document.activeElement.id === 'box' && document.querySelector('#box').value === 'Old harbour'",
    )
    .await;
    page.wait_until("document.querySelector('[data-module=article] h3')?.textContent === 'Old harbour'")
        .await;
    assert_eq!(page.address().await, "/?q=Old+harbour");

    page.press_key(Key::Escape).await;
    page.run("test.enter('#box', 'plan author:om')", &[]).await;
    page.wait_until("document.querySelector('.suggestion')?.textContent === 'Omar Ünal'").await;
    page.click(".suggestion").await;
    page.wait_until("document.querySelector('#box').value === 'plan author:\"Omar Ünal\"'").await;
    page.wait_until("document.querySelectorAll('[data-module=article] .row').length === 1").await;
    // A picked text is a recent search.
    page.press_key(Key::Escape).await;
    page.run("test.enter('#box', 'old')", &[]).await;
    page.wait_until("document.querySelector('.suggestion')?.textContent === 'Old harbour'").await;
    assert_eq!(page.texts(".suggestion").await, ["Old harbour"]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn module_suggested_after_in_is_searched_for_the_other_words() {
    let all = SearchPage::with(&[item("a", "harbour", 1)]).await;
    all.app.put_contents(&all.acme.caller, "news", &[item("n", "harbour", 1)]).await;
    let page = Page::open(&all.mei, "/").await;
    page.wait_until("document.activeElement.id === 'box' && document.querySelector('.modules li')").await;
    page.press("harbour in:").await;
    page.wait_until("document.querySelectorAll('.suggestion').length > 6").await;
    assert_eq!(page.texts(".suggestion").await, page.texts(".modules a").await[1..]);
    page.press("art").await;
    page.wait_until("document.querySelectorAll('.suggestion').length === 1").await;
    assert_eq!(page.texts(".suggestion").await, ["Articles"]);
    page.press_key(Key::Tab).await;
    page.press_key(Key::Tab).await;
    page.press_key(Key::Enter).await;
    page.wait_until(
        "location.search === '?q=harbour&module=article' && document.querySelector('.list .row')",
    )
    .await;
    assert_eq!(
        page.run("return [document.activeElement.id, document.querySelector('#box').value]", &[]).await,
        json!(["box", "harbour"])
    );
    page.close().await;

    // A module is found by its code or its name in the person's language, even if nothing else is typed.
    let page = Page::open_in(&all.mei, "/", "zh-CN").await;
    page.wait_until("document.activeElement.id === 'box' && document.querySelector('.modules li')").await;
    for (typed, module) in [("in:新", "news"), ("in：artic", "article")] {
        page.run("test.enter('#box', arguments[0])", &[json!(typed)]).await;
        page.wait_until("document.querySelectorAll('.suggestion').length === 1").await;
        page.click(".suggestion").await;
        page.wait_until(&format!(
            "location.search === '?module={module}' && document.querySelector('.list .row')"
        ))
        .await;
    }
    // Other words are completed as before.
    page.run("test.enter('#box', 'in:nowhere')", &[]).await;
    page.wait_until("document.querySelectorAll('.suggestion').length === 0").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn source_is_asked_once_typing_rests_or_at_enter() {
    let all = SearchPage::with(&[item("h", "harbour", 1)]).await;
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let registration = with(system.registration("spared"), "whileTyping", false);
    all.register_source(&registration, "Spared", 50).await;
    let page = Page::open(&all.mei, "/").await;
    page.wait_until("document.activeElement.id === 'box' && document.querySelector('.modules li')").await;
    // Typing rests when the test says so.
    let hold = "const set = setTimeout; globalThis.setTimeout = (act, wait) => \
        wait === 600 ? (globalThis.rest = act, 0) : set(act, wait)";
    page.run(hold, &[]).await;
    page.run("test.enter('#box', 'harb')", &[]).await;
    page.wait_until("document.querySelectorAll('[data-module=article] .row').length === 1").await;
    // The start page asks for what is new.
    let typed = || {
        let keywords = system.requests().into_iter().map(|request| request.keyword);
        keywords.filter(|keyword| keyword != "*").collect::<Vec<_>>()
    };
    assert_eq!(typed(), Vec::<String>::new());
    assert!(!page.shows_text("This is not all there is").await);
    page.run("rest()", &[]).await;
    page.wait_until("document.querySelectorAll('[data-module=spared] .row').length === 3").await;
    page.press("our").await;
    page.press_key(Key::Enter).await;
    page.wait_until("location.search === '?q=harbour'").await;
    page.wait_until("document.querySelectorAll('[data-module=spared] .row:not(.old *)').length === 3").await;
    let asked = async || system.requests().last().filter(|last| last.keyword == "harbour").cloned();
    eventually("the source was asked", asked).await;
    assert_eq!(typed(), ["harb", "harbour"]);
    page.close().await;
}
