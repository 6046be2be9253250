//! The search page in a real browser: typing, sections that fill as they come, addresses, the keyboard, languages.

use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    gate::Gate,
    items::{NEW_YEAR, item, many, user},
    session::WebSession,
    web::Page,
};

/// A tenant with one person, and an operator who acts on it.
pub(crate) struct Landscape {
    pub(crate) app: TestApp,
    pub(crate) acme: Application,
    pub(crate) operator: Caller,
    pub(crate) mei: WebSession,
}

impl Landscape {
    pub(crate) async fn start() -> Self {
        Self::of(TestApp::start().await).await
    }

    pub(crate) async fn of(app: TestApp) -> Self {
        let acme = app.tenant("acme").await;
        app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
        let operator = app.operator().await.caller.on("acme");
        let mei = app.web_session("mei").await;
        Self { app, acme, operator, mei }
    }

    /// Registers a source, and a module of this name at a place among the others that shows it.
    pub(crate) async fn show(&self, source: &Value, name: &str, order_no: i64) {
        self.operator.post("/admin/v1/sources", source).await.ok();
        let module = json!({
            "code": name.to_lowercase(), "name": name, "type": 100, "orderNo": order_no, "sources": [source["id"]],
        });
        self.operator.post("/admin/v1/modules", &module).await.ok();
    }
}

/// Where an element begins and how high it is, as text.
async fn place_of(page: &Page, selector: &str) -> Value {
    let script = "const {top, height} = document.querySelector(arguments[0]).getBoundingClientRect(); return [top, height]";
    page.run(script, &[json!(selector)]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sections_fill_as_they_come_and_nothing_moves() {
    let all = Landscape::start().await;
    all.app.keep(&all.acme.caller, "article", &many("a", "harbour", 3, 1)).await;
    all.app.keep(&all.acme.caller, "news", &many("n", "harbour", 12, 1)).await;
    let slow = Gate::start(&many("x", "harbour contract", 4, 1)).await;
    // Between the two others.
    let source = slow.registration("slow");
    all.operator.post("/admin/v1/sources", &source).await.ok();
    let module =
        json!({"code": "contracts", "name": "Contracts", "type": 100, "orderNo": 1, "sources": ["slow"]});
    all.operator.post("/admin/v1/modules", &module).await.ok();

    let page = Page::open(&all.mei, "/").await;
    page.until("document.activeElement.id === 'box' && document.querySelector('.modules li')").await;
    page.press("harbour").await;
    slow.wait_for(1).await;
    page.until("document.querySelectorAll('[data-module=news] .row').length === 5").await;
    assert_eq!(page.texts("[data-module=article] h3").await, ["harbour"; 3]);
    assert_eq!(page.texts("[data-module=news] .count").await, ["12"]);
    assert_eq!(page.texts("[data-module=news] .more").await, ["Show all"]);
    assert_eq!(page.texts("[data-module=article] .more").await, [""; 0]);
    // The slow one keeps its place between them.
    page.until("document.querySelector('[data-module=contracts] .skeleton')?.checkVisibility()").await;
    assert_eq!(page.texts(".section h2").await, ["Articles", "Contracts", "News"]);
    let before = place_of(&page, "[data-module=news]").await;
    assert!(!page.says_now("Nothing found").await, "not all was heard of yet");

    slow.open();
    page.until("document.querySelectorAll('[data-module=contracts] .row').length === 4").await;
    assert_eq!(place_of(&page, "[data-module=news]").await, before);
    page.says("Nothing found in To-do, Done, Feeds").await;
    // What is said to those who do not see it.
    page.until("[...document.querySelectorAll('[role=status]')].some((one) => one.textContent === '19 results in 3 places')")
        .await;
    assert_eq!(page.address().await, "/?q=harbour");
    page.close().await;
}

/// Decisions 6.6: what nobody waits for any more is not worked on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_typed_over_is_given_up_on_the_server_too() {
    let all = Landscape::start().await;
    all.app.keep(&all.acme.caller, "article", &[item("h", "harbour", 1), item("q", "quay", 2)]).await;
    let slow = Gate::start(&[item("x", "late", 1)]).await;
    all.show(&slow.registration("slow"), "Contracts", 50).await;
    let page = Page::open(&all.mei, "/").await;
    page.press("harbour").await;
    slow.wait_for(1).await;
    page.until("document.querySelector('[data-module=article] .row')").await;
    // Back at the start, nobody asks any more.
    page.press_key(Key::Escape).await;
    slow.wait_for(0).await;
    page.press("quay").await;
    slow.wait_for(1).await;
    page.until("document.querySelector('[data-module=article] h3')?.textContent === 'quay'").await;
    // One call remains for the last of many.
    page.press_key(Key::Escape).await;
    for letter in ["h", "a", "r", "b"] {
        page.press(letter).await;
        page.until("new URLSearchParams(location.search).get('q') === document.querySelector('#box').value")
            .await;
    }
    slow.wait_for(1).await;
    slow.open();
    page.until("document.querySelector('[data-module=contracts] h3')?.textContent === 'late'").await;
    assert_eq!(page.texts("[data-module=article] h3").await, ["harbour"]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_shared_reloaded_and_gone_back_to() {
    let all = Landscape::start().await;
    let mut old = item("old", "harbour of old", NEW_YEAR);
    old["author"] = json!("Omar Ünal");
    all.app
        .keep(&all.acme.caller, "article", &[item("new", "harbour", NEW_YEAR + 86_400_000 * 40), old])
        .await;
    let shared =
        "/?q=harbour&module=article&sort=relevance&from=2023-12-30&to=2024-01-02&author=Omar+%C3%9Cnal";
    let page = Page::open(&all.mei, shared).await;
    for _ in 0..2 {
        page.until("document.querySelectorAll('.list .row').length === 1").await;
        assert_eq!(page.texts(".list h3").await, ["harbour of old"]);
        assert_eq!(page.address().await, shared);
        let shown = "return [document.querySelector('#box').value, document.querySelector('[name=from]').value, \
            document.querySelector('[name=to]').value, document.querySelector('[name=author]').value, \
            document.querySelector('[name=sort]:checked').value, document.querySelector('[aria-current]').textContent]";
        let shown = page.run(shown, &[]).await;
        assert_eq!(
            shown,
            json!(["harbour", "2023-12-30", "2024-01-02", "Omar Ünal", "relevance", "Articles"])
        );
        page.browser.client.refresh().await.unwrap();
    }
    page.click(".fields .link").await;
    page.until("document.querySelectorAll('.list .row').length === 2").await;
    assert_eq!(page.address().await, "/?q=harbour&module=article&sort=relevance");

    // Typing is one step however long; a module is a step of its own.
    page.go("/").await;
    page.until("document.querySelector('.modules li')").await;
    let length = page.run("return history.length", &[]).await;
    page.press("har").await;
    page.until("location.search === '?q=har'").await;
    page.press("bour").await;
    page.until("location.search === '?q=harbour' && document.querySelector('[data-module=article] .row')")
        .await;
    assert_eq!(page.run("return history.length", &[]).await, length);
    page.click("[data-module=article] h2 a").await;
    page.until("location.search === '?q=harbour&module=article' && document.querySelectorAll('.list .row').length === 2").await;
    assert_eq!(page.run("return history.length", &[]).await, json!(length.as_u64().unwrap() + 1));
    page.browser.client.back().await.unwrap();
    page.until("document.querySelector('.overview').checkVisibility()").await;
    assert_eq!(page.address().await, "/?q=harbour");
    assert_eq!(page.texts("[data-module=article] .row h3").await.len(), 2);
    page.run("history.forward()", &[]).await;
    page.until("document.querySelectorAll('.list .row').length === 2 && document.querySelector('.list').checkVisibility()").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_of_it_works_by_the_keyboard() {
    let all = Landscape::start().await;
    let mut open = item("open", "harbour wiki", 2);
    open["action"] = json!(json!({"web": "[OpenUrl]\nurl=/healthz?from=wiki"}).to_string());
    all.app.keep(&all.acme.caller, "article", &[open, item("shut", "harbour", 1)]).await;
    let page = Page::open(&all.mei, "/").await;
    page.until("document.activeElement.id === 'box' && document.querySelector('.modules li')").await;
    page.press("harbour").await;
    page.press_key(Key::Enter).await;
    page.until("document.querySelectorAll('[data-module=article] .row').length === 2").await;
    let focused = "return document.activeElement.id || document.activeElement.textContent";
    let mut met = Vec::new();
    for key in [Key::Down, Key::Down, Key::Down, Key::Down, Key::Up, Key::Up] {
        page.press_key(key).await;
        met.push(page.run(focused, &[]).await);
    }
    assert_eq!(met, ["Articles", "harbour wiki", "harbour", "harbour", "harbour wiki", "Articles"]);
    page.press_key(Key::Up).await;
    assert_eq!(page.run(focused, &[]).await, "box");
    page.press_key(Key::Down).await;
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
    page.until("location.pathname === '/healthz'").await;
    assert_eq!(page.run("return [window.opener, document.referrer]", &[]).await, json!([null, ""]));
    client.close_window().await.unwrap();
    client.switch_to_window(here).await.unwrap();

    // From anywhere to the box, which Escape empties; what was opened is offered again.
    page.press("/").await;
    assert_eq!(page.run(focused, &[]).await, "box");
    page.press_key(Key::Escape).await;
    page.until("location.search === '' && document.querySelector('.recent')?.checkVisibility()").await;
    assert_eq!(page.texts(".recent .pick").await, ["harbour"]);
    page.press_key(Key::Down).await;
    assert_eq!(page.run(focused, &[]).await, "harbour");
    page.press_key(Key::Enter).await;
    page.until("location.search === '?q=harbour' && document.querySelector('[data-module=article] .row')")
        .await;
    // The first stop of all leads past the head.
    let first =
        "const first = document.querySelector('a, button, input'); first.focus(); return first.className";
    assert_eq!(page.run(first, &[]).await, "skip");
    page.press_key(Key::Enter).await;
    assert_eq!(page.run(focused, &[]).await, "results");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chinese_browser_is_spoken_to_in_chinese_and_composes() {
    let all = Landscape::start().await;
    all.app.keep(&all.acme.caller, "article", &[item("1", "港口预算", NEW_YEAR)]).await;
    let page = Page::open_in(&all.mei, "/", "zh-CN").await;
    page.says("更精确地搜索").await;
    page.until("document.querySelector('.modules li')").await;
    assert_eq!(
        page.run("return [document.documentElement.lang, document.title]", &[]).await,
        json!(["zh-Hans", "搜索"])
    );
    page.run("window.asked = []; const ask = window.fetch; window.fetch = (...given) => { asked.push(given[0]); return ask(...given); };", &[])
        .await;
    // Letters of a word that is being composed are not looked for.
    for text in ["y", "yu", "yu's", "yu'su", "yu'suan"] {
        let composing = json!({"text": text, "selectionStart": text.len(), "selectionEnd": text.len()});
        page.tell("Input.imeSetComposition", composing).await;
        page.painted().await;
    }
    assert_eq!(page.run("return document.querySelector('#box').value", &[]).await, "yu'suan");
    // Longer than a pause in typing is.
    page.run_later("setTimeout(arguments[arguments.length - 1], 400)", &[]).await;
    assert_eq!(page.run("return asked", &[]).await, json!([]));
    page.tell("Input.insertText", json!({"text": "预算"})).await;
    page.until("document.querySelector('[data-module=article] .row')").await;
    assert_eq!(page.texts("[data-module=article] mark").await, ["预算"]);
    assert_eq!(page.texts(".section h2").await, ["文章"]);
    assert_eq!(page.run("return asked.length", &[]).await, 1);
    assert_eq!(page.texts("[data-module=article] time [aria-hidden]").await, ["2024年1月1日"]);
    page.close().await;
}
