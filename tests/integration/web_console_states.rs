//! The console in a real browser: what is broken and why, whom it turns away, sessions that end, names that want to be more.

use std::time::Duration;

use fantoccini::{Locator, key::Key};
use serde_json::json;

use crate::{
    util::{
        app::TestApp,
        external::{ExternalSystem, Mood, with},
        items::{NEW_YEAR, many},
        web::Page,
    },
    web_console::Operated,
};

/// Suspensions end by the same clock as the browser's count-down.
fn set_clock(app: &TestApp) {
    let now = u64::try_from(trawl::store::now_millis() - NEW_YEAR).unwrap();
    app.clock.pass(Duration::from_millis(now));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_source_shows_why_and_until_when_without_disturbing_anyone() {
    let all = Operated::start().await;
    set_clock(&all.app);
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let operator = all.app.operator().await.caller.on("acme");
    operator.show(&system.registration("x"), "everything", &["x"]).await;
    let page = Page::open(&all.mei, "/console").await;
    page.says("Nothing is slow or broken").await;
    page.says("ready").await;
    // Somebody reads on there while it happens.
    page.run("window.link = [...document.querySelectorAll('.panel.sources a')].at(-1); link.focus()", &[])
        .await;

    system.set_mood(Mood::RetryAfter(503, 600));
    let search = json!({"keyword": "harbour", "moduleId": "everything"});
    all.mei.post("/contents/search", &search).await.fails(502, "no source");
    page.says("suspended").await;
    page.says("1 source of 1 needs a look").await;
    page.says("not reached").await;
    let count_down = page.texts("count-down").await;
    assert!(count_down[0].starts_with("9:") || count_down[0] == "10:00", "{count_down:?}");
    let kept = page.run("return document.activeElement === link && link.isConnected", &[]).await;
    assert_eq!(kept, true, "the focus was lost");

    page.click(".urgent a").await;
    page.says("The last hour").await;
    let drawn =
        page.run("return document.querySelectorAll('.plot svg[role=img][aria-label]').length", &[]).await;
    assert_eq!(drawn, 1, "calls that were turned away say nothing of how long an answer takes");
    assert_eq!(page.texts(".bar.failed").await.len(), 1);
    page.says("not reached: 1").await;
    // Changed, it is asked again at once.
    system.set_mood(Mood::Good);
    operator.put("/admin/v1/sources/x", &system.registration("x")).await.ok();
    all.mei.post("/contents/search", &search).await.ok();
    page.until("document.querySelector('.sum').textContent.includes('answers')").await;
    page.until("document.querySelectorAll('.plot').length === 2").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_whose_clock_is_wrong_counts_by_the_servers() {
    let all = Operated::start().await;
    set_clock(&all.app);
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let operator = all.app.operator().await.caller.on("acme");
    operator.show(&system.registration("x"), "everything", &["x"]).await;
    system.set_mood(Mood::RetryAfter(503, 600));
    let search = json!({"keyword": "harbour", "moduleId": "everything"});
    all.mei.post("/contents/search", &search).await.fails(502, "no source");
    let page = Page::open(&all.mei, "/console").await;
    let slow = json!({"source": "const now = Date.now.bind(Date); Date.now = () => now() - 3_600_000;"});
    page.tell("Page.addScriptToEvaluateOnNewDocument", slow).await;
    page.go("/console?view=sources&id=x").await;
    page.find("count-down").await;
    let count_down = page.texts("count-down").await;
    assert!(count_down[0].starts_with("9:") || count_down[0] == "10:00", "{count_down:?}");
    let failed = page
        .run("return document.querySelector('.facts [data-key=\"Last failure\"] dd').textContent", &[])
        .await;
    assert!(failed.as_str().unwrap().contains("now"), "{failed}");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_no_operator_is_told_how_to_become_one() {
    let all = Operated::start().await;
    let tom = all.app.web_session("tom").await;
    let page = Page::open(&tom, "/console?view=tenants").await;
    page.says("You are not an operator").await;
    page.says("operators = [\"tom@acme\"]").await;
    assert!(!page.says_now("Register an enterprise").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_signed_out_signs_in_and_is_where_he_wanted_to_be() {
    let all = Operated::start().await;
    let page = Page::open_as_nobody(&all.app, "/console?view=audit").await;
    page.says("Sign in as an operator").await;
    page.click_on("Sign in").await;
    page.find("#password").await;
    page.browser.fill_in_login("mei", "correct horse").await;
    page.says("Audit log").await;
    assert_eq!(page.address().await, "/console?view=audit");
    page.click_on("Sign out").await;
    page.says("Sign in as an operator").await;
    page.close().await;

    let page = Page::open_as_nobody(&all.app, "/console?signin=refused").await;
    page.says("You were not signed in").await;
    page.close().await;
}

/// Nobody works on under another's session, in a view that was not made for him.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_signs_out_in_another_tab_leaves_nothing_in_this_one() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.says("News").await;
    let client = &page.browser.client;
    let console = client.window().await.unwrap();
    let other = client.new_window(true).await.unwrap().handle;
    client.switch_to_window(other).await.unwrap();
    client.goto(&format!("{}/console?view=audit", all.app.base)).await.unwrap();
    page.says("Audit log").await;
    page.click_on("Sign out").await;
    page.says("Sign in as an operator").await;
    client.switch_to_window(console).await.unwrap();
    page.says("Sign in as an operator").await;
    assert!(!page.says_now("News").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_ends_in_the_middle_keeps_what_was_typed() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.click_on("News").await;
    page.fill("name", "Tidings").await;
    all.mei.post_empty("/session/end").await.ok();
    page.submit().await;
    page.says("Your session has ended").await;

    let client = &page.browser.client;
    let console = client.window().await.unwrap();
    page.click_on("Sign in").await;
    let opened = crate::util::eventually("a tab to sign in", async || {
        client.windows().await.unwrap().into_iter().find(|window| *window != console)
    })
    .await;
    client.switch_to_window(opened).await.unwrap();
    client.wait().for_element(Locator::Id("password")).await.unwrap();
    page.browser.fill_in_login("mei", "correct horse").await;
    page.says("You are signed in").await;
    client.close_window().await.unwrap();
    client.switch_to_window(console).await.unwrap();

    // It goes on by itself.
    page.says("Saved.").await;
    page.says("Tidings").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_text_whatever_they_hold() {
    let all = Operated::start().await;
    let system = ExternalSystem::start(Vec::new()).await;
    let operator = all.app.operator().await.caller.on("acme");
    let hostile = "<img src=x onerror=alert(1)>\u{202e}gpj.exe";
    let source = with(system.registration("x"), "name", hostile);
    operator.post("/admin/v1/sources", &source).await.ok();
    let script = "<script>document.title = 'ran'</script>";
    let module = json!({"code": "bad", "name": script, "type": 100, "sources": ["x"]});
    let module =
        operator.post("/admin/v1/modules", &module).await.ok().data()["id"].as_str().unwrap().to_owned();
    let page = Page::open(&all.mei, "/console").await;
    for (path, heading) in [
        ("?view=sources".to_owned(), "Sources"),
        ("?view=sources&id=x".to_owned(), hostile),
        ("?view=modules".to_owned(), "Modules"),
        (format!("?view=modules&id={module}"), script),
        ("?view=sources&id=x&step=module".to_owned(), "Put"),
        ("?view=sources&id=%3Cscript%3E".to_owned(), "Sources"),
        ("?view=%3Cscript%3E".to_owned(), "Overview"),
    ] {
        page.go(&format!("/console{path}")).await;
        page.until(&format!(
            "document.querySelector('#main h1')?.textContent.startsWith({})",
            json!(heading)
        ))
        .await;
        page.until("!document.querySelector('#main [aria-busy]')").await;
        assert_eq!(
            page.run("return document.querySelectorAll('#main script, #main img').length", &[]).await,
            0,
            "{path}"
        );
        assert_ne!(page.run("return document.title", &[]).await, "ran");
    }
    // In a sentence it turns nothing around it.
    page.go("/console?view=sources&id=x").await;
    page.click_on("Remove").await;
    let question = page.find("dialog h2").await.text().await.unwrap();
    assert_eq!(question, "Remove <img src=x onerror=alert(1)>gpj.exe?");
    page.go("/console?view=sources").await;
    let isolated = page.find("#main tbody th bdi").await.text().await.unwrap();
    assert!(isolated.contains("onerror"), "{isolated}");
    page.close().await;
}

/// Who was told nothing would leave his session to whoever comes next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_could_not_be_signed_out_is_told_so() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=audit").await;
    page.says("Audit log").await;
    let fail = "const ask = window.fetch; window.fetch = async (...given) => given[0] !== 'session/end' || window.whole ? ask(...given) : \
        new Response(JSON.stringify({code: 503, message: 'the disk is full; nothing was changed'}), {status: 503});";
    page.run(fail, &[]).await;
    page.click_on("Sign out").await;
    page.says("the disk is full").await;
    assert!(page.says_now("Audit log").await);
    page.run("window.whole = true", &[]).await;
    page.click_on("Sign out").await;
    page.says("Sign in as an operator").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_that_came_to_nothing_is_told_of() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/healthz").await;
    let fail = "const ask = window.fetch; window.fetch = async (...given) => { \
        const response = await ask(...given); \
        if (given[0] !== 'admin/v1/index') { return response; } \
        const body = await response.json(); \
        return new Response(JSON.stringify({...body, data: {...body.data, rebuildFailed: true}})); };";
    page.go("/console").await;
    page.find(".index .badge").await;
    assert!(!page.says_now("The last rebuild failed").await);
    page.begin_with(fail).await;
    page.go("/console").await;
    page.says("The last rebuild failed").await;
    page.says("The index stays as it was").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_is_not_wanted_any_more_disturbs_the_next_one_by_no_failure() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/healthz").await;
    let deeds = "const ask = window.fetch; window.fetch = async (...given) => { \
        const [path, query] = String(given[0]).split('?'); \
        if (path !== 'admin/v1/audit') { return ask(...given); } \
        const parameters = new URLSearchParams(query); \
        if (!parameters.has('allTenants')) { return new Promise((_, fail) => { window.fail = () => fail(new TypeError('gone')); }); } \
        const from = Number(parameters.get('cursor') ?? 0); \
        const data = [0, 1].map((place) => ({id: from + place, at: 1, action: 'module.create', objectKind: 'module', objectId: `m${from + place}`})); \
        return new Response(JSON.stringify({code: 200, data, cursor: from ? null : '2'})); };";
    page.begin_with(deeds).await;
    page.go("/console?view=audit").await;
    page.click("#all-tenants").await;
    page.until("document.querySelectorAll('tbody tr').length === 2").await;
    page.run("fail()", &[]).await;
    page.painted().await;
    assert_eq!(page.texts(".pages button").await, ["Show more"]);
    page.run("document.querySelector('.pages button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.until("document.querySelectorAll('tbody tr').length === 4").await;
    // One reads on at the first that came.
    let place =
        "return [...document.querySelectorAll('tbody tr')].indexOf(document.activeElement.closest('tr'))";
    assert_eq!(page.run(place, &[]).await, 2);
    page.close().await;
}
