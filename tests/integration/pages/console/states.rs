use std::time::Duration;

use serde_json::json;

use crate::util::{
    app::TestApp,
    console::Operated,
    external::{ExternalSystem, Reply, with},
    internals::now_millis,
    items::{NEW_YEAR, many, user},
    web::Page,
    webdriver::Key,
};

/// Ten minutes, on a slow machine.
const COUNT_DOWNS: [&str; 5] = ["10:", "9:", "8:", "7:", "6:"];

fn set_clock(app: &TestApp) {
    let now = u64::try_from(now_millis() - NEW_YEAR).unwrap();
    app.clock.pass(Duration::from_millis(now));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn suspension_shows_reason_and_end_without_moving_focus() {
    let all = Operated::start().await;
    set_clock(&all.app);
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let operator = all.app.operator().await.caller.on("acme");
    operator.register_source(&system.registration("x"), "everything", &["x"]).await;
    let page = Page::open(&all.mei, "/console").await;
    page.wait_for_text("Nothing is slow or broken").await;
    page.wait_for_text("ready").await;
    // The update must keep the reader's focus.
    page.run("window.link = [...document.querySelectorAll('.panel.sources a')].at(-1); link.focus()", &[])
        .await;

    system.set_reply(Reply::RetryAfter(503, 600));
    let search = json!({"keyword": "harbour", "moduleId": "everything"});
    all.mei.post("/contents/search", &search).await.fails(502, "no source");
    page.wait_for_text("suspended").await;
    page.wait_for_text("1 source of 1 needs a look").await;
    page.wait_for_text("not reached").await;
    let count_down = page.texts("count-down").await;
    assert!(COUNT_DOWNS.iter().any(|minutes| count_down[0].starts_with(minutes)), "{count_down:?}");
    let kept = page.run("return document.activeElement === link && link.isConnected", &[]).await;
    assert_eq!(kept, true, "the focus was lost");

    page.click(".urgent a").await;
    page.wait_for_text("The last hour").await;
    let drawn =
        page.run("return document.querySelectorAll('.plot svg[role=img][aria-label]').length", &[]).await;
    assert_eq!(drawn, 1, "refused calls have no latency");
    assert_eq!(page.texts(".bar.failed").await.len(), 1);
    page.wait_for_text("not reached: 1").await;
    system.set_reply(Reply::Good);
    operator.put("/admin/v1/sources/x", &system.registration("x")).await.ok();
    all.mei.post("/contents/search", &search).await.ok();
    page.wait_until("document.querySelector('.sum').textContent.includes('answers')").await;
    page.wait_until("document.querySelectorAll('.plot').length === 2").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn countdown_uses_the_servers_clock() {
    let all = Operated::start().await;
    set_clock(&all.app);
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let operator = all.app.operator().await.caller.on("acme");
    operator.register_source(&system.registration("x"), "everything", &["x"]).await;
    system.set_reply(Reply::RetryAfter(503, 600));
    let search = json!({"keyword": "harbour", "moduleId": "everything"});
    all.mei.post("/contents/search", &search).await.fails(502, "no source");
    let page = Page::open(&all.mei, "/console").await;
    let slow = json!({"source": "const now = Date.now.bind(Date); Date.now = () => now() - 3_600_000;"});
    page.tell("Page.addScriptToEvaluateOnNewDocument", slow).await;
    page.go("/console?view=sources&id=x").await;
    page.find("count-down").await;
    let count_down = page.texts("count-down").await;
    assert!(COUNT_DOWNS.iter().any(|minutes| count_down[0].starts_with(minutes)), "{count_down:?}");
    let failed = page
        .run("return document.querySelector('.facts [data-key=\"Last failure\"] dd').textContent", &[])
        .await;
    assert!(["now", "minute"].iter().any(|age| failed.as_str().unwrap().contains(age)), "{failed}");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_person_is_told_how_to_become_an_operator() {
    let all = Operated::start().await;
    let tom = all.app.web_session("tom").await;
    let page = Page::open(&tom, "/console?view=tenants").await;
    page.wait_for_text("You are not an operator").await;
    page.wait_for_text("operators = [\"tom@acme\"]").await;
    assert!(!page.shows_text("Register an enterprise").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_in_returns_to_the_requested_view() {
    let all = Operated::start().await;
    let page = Page::open_as_nobody(&all.app, "/console?view=audit").await;
    page.wait_for_text("Sign in as an operator").await;
    page.click_text("Sign in").await;
    page.find("#password").await;
    page.browser.fill_in_login("mei", "correct horse").await;
    page.wait_for_text("Audit log").await;
    assert_eq!(page.address().await, "/console?view=audit");
    page.click_text("Sign out").await;
    page.wait_for_text("Sign in as an operator").await;
    page.close().await;

    let page = Page::open_as_nobody(&all.app, "/console?signin=refused").await;
    page.wait_for_text("You were not signed in").await;
    page.close().await;
}

/// The new person must not see a view of the previous one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_out_in_another_tab_clears_this_one() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.wait_for_text("News").await;
    let client = &page.browser.client;
    let console = client.window().await.unwrap();
    let other = page.browser.open_window();
    client.switch_to_window(other).await.unwrap();
    client.goto(&format!("{}/console?view=audit", all.app.base)).await.unwrap();
    page.wait_for_text("Audit log").await;
    page.click_text("Sign out").await;
    page.wait_for_text("Sign in as an operator").await;
    client.switch_to_window(console).await.unwrap();
    page.wait_for_text("Sign in as an operator").await;
    assert!(!page.shows_text("News").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_end_keeps_the_draft() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.click_text("News").await;
    page.fill("name", "Tidings").await;
    all.mei.post_empty("/session/end").await.ok();
    page.submit().await;
    page.wait_for_text("Your session has ended").await;

    let client = &page.browser.client;
    let console = client.window().await.unwrap();
    page.click_text("Sign in").await;
    let opened = crate::util::eventually("a tab for the sign-in", async || {
        client.windows().await.unwrap().into_iter().find(|window| *window != console)
    })
    .await;
    client.switch_to_window(opened).await.unwrap();
    client.find("#password").await.unwrap();
    page.browser.fill_in_login("mei", "correct horse").await;
    page.wait_for_text("You are signed in").await;
    client.close_window().await.unwrap();
    client.switch_to_window(console).await.unwrap();

    page.wait_for_text("Saved.").await;
    page.wait_for_text("Tidings").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_texts_are_shown_as_text() {
    let all = Operated::start().await;
    let system = ExternalSystem::start(Vec::new()).await;
    let operator = all.app.operator().await.caller.on("acme");
    let beginning = "<img src=x onerror=alert(1)>";
    // Contents lose the override.
    let hostile = format!("{beginning}\u{202e}gpj.exe");
    let hostile = hostile.as_str();
    let source = with(system.registration("x"), "name", hostile);
    operator.post("/admin/v1/sources", &source).await.ok();
    let script = "<script>document.title = 'ran'</script>";
    let module = json!({"code": "bad", "name": script, "type": 100, "sources": ["x"]});
    let module =
        operator.post("/admin/v1/modules", &module).await.ok().data()["id"].as_str().unwrap().to_owned();
    let acme = all.app.tenant("acme").await;
    let person = with(with(user("eve", ""), "name", hostile), "email", "<script>window.broken=1</script>");
    all.app.sync(&acme.caller, "users", &json!([person])).await;
    let odd_id = "..%2F..%2Fx%3Fy%23z";
    let content = json!({
        "id": "../../x?y#z", "title": hostile, "brief": "javascript:window.broken=1", "author": hostile, "attachInfo": hostile,
    });
    all.app.put_contents(&acme.caller, "article", &[content]).await;
    let page = Page::open(&all.mei, "/console").await;
    for (path, heading) in [
        ("?view=sources".to_owned(), "Sources"),
        ("?view=sources&id=x".to_owned(), beginning),
        ("?view=modules".to_owned(), "Modules"),
        (format!("?view=modules&id={module}"), script),
        ("?view=sources&id=x&step=module".to_owned(), "Put"),
        ("?view=people".to_owned(), "People"),
        ("?view=people&id=eve".to_owned(), beginning),
        ("?view=contents&kind=article".to_owned(), "Contents"),
        (format!("?view=contents&kind=article&id={odd_id}"), beginning),
        ("?view=sources&id=%3Cscript%3E".to_owned(), "Sources"),
        ("?view=%3Cscript%3E".to_owned(), "There is no such view"),
    ] {
        page.go(&format!("/console{path}")).await;
        page.wait_until(&format!(
            "document.querySelector('#main h1')?.textContent.startsWith({})",
            json!(heading)
        ))
        .await;
        page.wait_until("!document.querySelector('#main [aria-busy]')").await;
        assert_eq!(
            page.run("return document.querySelectorAll('#main script, #main img, #main a[href^=javascript]').length", &[]).await,
            0,
            "{path}"
        );
        assert_ne!(page.run("return document.title", &[]).await, "ran");
    }
    page.go(&format!("/console?view=contents&kind=article&id={odd_id}")).await;
    page.wait_for_text("javascript:window.broken=1").await;
    page.click_text("Remove").await;
    page.click("dialog[open] button.grave").await;
    page.wait_until("document.querySelector('#main h1').textContent === 'Contents'").await;
    all.mei.get(&format!("/admin/v1/contents/article/{odd_id}")).await.fails(404, "id");
    // Bidirectional text must not affect its sentence.
    page.go("/console?view=sources&id=x").await;
    page.click_text("Disable").await;
    let question = page.find("dialog h2").await.text().await.unwrap();
    assert_eq!(question, "Disable <img src=x onerror=alert(1)>gpj.exe?");
    page.go("/console?view=sources").await;
    let isolated = page.find("#main tbody th bdi").await.text().await.unwrap();
    assert!(isolated.contains("onerror"), "{isolated}");
    page.close().await;
}

/// A silent failure would leave the session to the next person.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_sign_out_is_reported() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=audit").await;
    page.wait_for_text("Audit log").await;
    let fail = "test.fail('session/end', 503, {body: {message: 'the disk is full; nothing was changed'}})";
    page.run(fail, &[]).await;
    page.click_text("Sign out").await;
    page.wait_for_text("the disk is full").await;
    assert!(page.shows_text("Audit log").await);
    page.run("test.failures = 0", &[]).await;
    page.click_text("Sign out").await;
    page.wait_for_text("Sign in as an operator").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_rebuild_is_reported() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/healthz").await;
    let fail = include_str!("../../util/scripts/failed_rebuild.js");
    page.go("/console").await;
    page.find(".index .badge").await;
    assert!(!page.shows_text("The last rebuild failed").await);
    page.run_on_load(fail).await;
    page.go("/console").await;
    page.wait_for_text("The last rebuild failed").await;
    page.wait_for_text("The index stays as it was").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_are_shown_where_there_are_several() {
    let all = Operated::start().await;
    set_clock(&all.app);
    let page = Page::open(&all.mei, "/console").await;
    page.find(".index .badge").await;
    page.wait_for_text("Slow searches").await;
    assert!(page.texts(".panel.replicas, [role=alert]").await.is_empty());
    page.run_on_load(include_str!("../../util/scripts/two_replicas.js")).await;
    page.go("/console").await;
    page.wait_for_text("9.9.9").await;
    let rows = page.texts(".panel.replicas tbody tr").await;
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[0].contains("answers") && rows[0].contains(env!("CARGO_PKG_VERSION")), "{rows:?}");
    for part in ["<b>r1</b>", "silent since", "1,200 changes", "maintenance"] {
        assert!(rows[1].contains(part), "{part}: {rows:?}");
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failure_of_an_obsolete_list_is_ignored() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.run_on_load(include_str!("../../util/scripts/audit_pages.js")).await;
    page.go("/console?view=audit").await;
    page.click("#all-tenants").await;
    page.wait_until("document.querySelectorAll('tbody tr').length === 2").await;
    page.run("test.failList()", &[]).await;
    page.wait_for_paint().await;
    assert_eq!(page.texts(".pages button").await, ["Show more"]);
    page.run("document.querySelector('.pages button').focus()", &[]).await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('tbody tr').length === 4").await;
    let place =
        "return [...document.querySelectorAll('tbody tr')].indexOf(document.activeElement.closest('tr'))";
    assert_eq!(page.run(place, &[]).await, 2);
    page.close().await;
}
