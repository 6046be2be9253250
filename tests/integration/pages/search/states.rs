use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::util::{
    app::{TestApp, disable_suspension},
    external::{ExternalSystem, Reply},
    items::{NEW_YEAR, item, many},
    search_page::SearchPage,
    web::Page,
    webdriver::Key,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_sources_are_named_with_their_status() {
    let all = SearchPage::of(TestApp::start_with(disable_suspension).await).await;
    all.app.put_contents(&all.acme.caller, "article", &[item("a", "harbour", 1)]).await;
    let moods = [
        ("Alpha", Reply::Silent, "System alpha did not answer in time."),
        ("Beta", Reply::Status(503), "System beta cannot be reached at the moment."),
        ("Gamma", Reply::Status(401), "System gamma does not accept this server's credentials."),
        (
            "Delta",
            Reply::Body("<html>".to_owned()),
            "System delta answered in a form that cannot be read in full.",
        ),
        (
            "Eta",
            Reply::Body(
                json!({"code": 200, "data": [], "total": 0, "count": 0, "message": null}).to_string(),
            ),
            "",
        ),
    ];
    let mut systems = Vec::new();
    for (place, (name, reply, _)) in (50..).zip(&moods) {
        let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
        system.set_reply(reply.clone());
        let mut source = system.registration(&name.to_lowercase());
        if matches!(reply, Reply::Silent) {
            source["timeoutMs"] = json!(200);
        }
        all.register_source(&source, name, place).await;
        systems.push(system);
    }
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until("!document.querySelector('.overview').ariaBusy && document.querySelector('[data-module=article] .row')").await;
    for (name, _, said) in moods.iter().filter(|(_, _, said)| !said.is_empty()) {
        let notes = page.texts(&format!("[data-module={}] .note", name.to_lowercase())).await;
        assert!(notes.len() == 1 && notes[0].starts_with(said), "{name}: {notes:?}");
    }
    let without = page.texts(".without").await;
    assert!(without[0].contains("Eta") && !without[0].contains("Alpha"), "{without:?}");
    page.wait_until("[...document.querySelectorAll('[role=status]')].some((one) => one.textContent.endsWith('Not everything was reached.'))")
        .await;

    assert_eq!(page.texts(".missing").await, ["Not complete: Alpha, Beta, Gamma, Delta"]);
    systems[0].set_reply(Reply::Good);
    // The short timeout is for its silence.
    all.operator.put("/admin/v1/sources/alpha", &systems[0].registration("alpha")).await.ok();
    page.click(".missing").await;
    assert_eq!(
        page.run("return document.activeElement.closest('.section').dataset.module", &[]).await,
        "alpha"
    );
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('[data-module=alpha] .row').length === 3").await;
    assert_eq!(page.texts("[data-module=alpha] .note").await, [""; 0]);
    assert_eq!(page.texts(".missing").await, ["Not complete: Beta, Gamma, Delta"]);
    page.click("[data-module=beta] h2 a").await;
    page.wait_for_text("Nothing could be searched").await;
    assert!(!page.shows_text("Nothing found").await && !page.shows_text("Not complete").await);
    systems[1].set_reply(Reply::Good);
    page.click(".list .empty button").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 3").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn suspended_source_shows_its_end_and_a_partial_result() {
    let all = SearchPage::with(&[item("a", "harbour", 1)]).await;
    // The browser's clock differs from the suspension clock.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    all.app.clock.pass(now.saturating_sub(Duration::from_millis(NEW_YEAR.try_into().unwrap())));
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    system.set_reply(Reply::RetryAfter(503, 3_600));
    all.operator.post("/admin/v1/sources", &system.registration("x")).await.ok();
    all.operator.register_module("both", &["builtin:article", "x"]).await;
    let page = Page::open(&all.mei, "/?q=harbour&module=both").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    page.browser.client.refresh().await.unwrap();
    page.wait_until("document.querySelector('.list .note')?.textContent.startsWith('System x had failures and rests until ')").await;
    assert_eq!(page.texts(".list .title .count").await, ["at least 1"]);
    page.go("/?q=quay&module=both").await;
    page.wait_for_text("Nothing found so far").await;
    page.wait_for_text("Not every source was reached").await;
    assert!(!page.shows_text("Every source was searched").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_corrected_relaxed_and_unsourced_searches_are_explained() {
    let all = SearchPage::with(&[item("a", "harbour", 1)]).await;
    let page = Page::open(&all.mei, "/?q=harbuor").await;
    page.wait_until("document.querySelector('.decision')?.checkVisibility()").await;
    assert_eq!(
        page.texts(".decision").await,
        ["Nothing for “harbuor”. Showing “harbour”. Search for “harbuor” exactly"]
    );
    page.click(".decision button").await;
    page.wait_for_text("Nothing found for harbuor").await;
    assert_eq!(page.address().await, "/?q=harbuor&exact=true");
    page.wait_until("document.activeElement.matches('.decision button')").await;
    page.click(".decision button").await;
    page.wait_until("document.querySelector('[data-module=article] .row')").await;
    assert_eq!(page.address().await, "/?q=harbuor");
    for (query, sort) in [("harbour+zzzzqqqq&sort=time", "time"), ("harbour+zzzzqqqq", "relevance")] {
        for module in ["", "&module=article"] {
            page.go(&format!("/?q={query}{module}")).await;
            page.wait_until("document.querySelector('.decision')?.checkVisibility()").await;
            let told = "Nothing holds all words. Left out: zzzzqqqq. Search for “harbour zzzzqqqq” exactly";
            assert_eq!(page.texts(".decision").await, [told], "{sort} {module}");
        }
    }
    page.go("/?q=zzzzqqqq&author=Mei").await;
    page.wait_for_text("Every source was searched").await;
    assert_eq!(page.texts(".empty h2").await, ["Nothing found for zzzzqqqq"]);
    page.go("/?q=%3F!").await;
    page.wait_for_text("There is no word to search for").await;
    page.go("/?q=zzzzqqqq&author=Mei").await;
    page.wait_for_text("Every source was searched").await;
    page.click(".empty .ways button").await;
    page.wait_until("location.search === '?q=zzzzqqqq'").await;

    for module in all.operator.get("/admin/v1/modules").await.ok().items() {
        all.operator.delete(&format!("/admin/v1/modules/{}", module["id"].as_str().unwrap())).await.ok();
    }
    let mut system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    all.register_source(&system.registration("x"), "Contracts", 1).await;
    system.stop().await;
    page.go("/?q=harbour").await;
    page.wait_for_text("Nothing could be searched").await;
    page.wait_for_text("System x cannot be reached at the moment.").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_session_returns_to_the_search_after_sign_in() {
    let all = SearchPage::with(&[item("a", "harbour", 1), item("b", "quay", 2)]).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until("document.querySelector('[data-module=article] .row')").await;
    all.mei.post_empty("/session/end").await.ok();
    page.click(".clear").await;
    page.press("quay").await;
    page.wait_for_text("You have been signed out. What you typed is kept.").await;
    assert_eq!(
        page.run("return [document.activeElement.id, document.activeElement.value]", &[]).await,
        json!(["box", "quay"])
    );
    page.click(".notice a").await;
    page.wait_until("document.querySelector('#login')").await;
    page.browser.fill_in_login("mei", "correct horse").await;
    page.wait_until("document.querySelector('[data-module=article] h3')?.textContent === 'quay'").await;
    assert_eq!(page.address().await, "/?q=quay");

    page.press_key(Key::Enter).await;
    page.wait_until("localStorage.length === 1").await;
    page.sign_out().await;
    assert_eq!(page.run("return [localStorage.length, location.search]", &[]).await, json!([0, ""]));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_in_asks_for_the_enterprise() {
    let all = SearchPage::start().await;
    all.app.tenant("other").await;
    all.app.put_contents(&all.acme.caller, "article", &[item("a", "harbour", 1)]).await;
    let page = Page::open_as_nobody(&all.app, "/?q=harbour").await;
    page.wait_until("document.activeElement.id === 'enterprise'").await;
    assert!(!page.shows_text("Filters").await);
    page.press("nowhere").await;
    page.press_key(Key::Enter).await;
    page.wait_for_text("There is no such enterprise").await;
    assert_eq!(page.address().await, "/?q=harbour");
    page.click("#enterprise").await;
    page.press("acme").await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelector('#login')").await;
    page.browser.fill_in_login("mei", "correct horse").await;
    page.wait_until("document.querySelector('[data-module=article] .row')").await;
    for (failure, said) in [
        ("expired", "took too long"),
        ("refused", "You were not signed in"),
        ("busy", "too much to do"),
        ("failed", "Signing in failed"),
        ("anything", "Signing in failed"),
    ] {
        page.tell("Network.clearBrowserCookies", json!({})).await;
        page.go(&format!("/?signin={failure}")).await;
        page.wait_for_text(said).await;
    }
    let other = all.app.base.replace("127.0.0.1", "localhost");
    page.browser.client.goto(&other).await.unwrap();
    page.click("#enterprise").await;
    page.press("acme").await;
    page.press_key(Key::Enter).await;
    page.wait_until(&format!(
        "document.querySelector('#login') && location.origin === {}",
        json!(all.app.base)
    ))
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offline_search_waits_for_the_network() {
    let all = SearchPage::with(&[item("a", "harbour", 1), item("b", "quay", 2)]).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until("document.querySelector('[data-module=article] .row')").await;
    page.set_offline(true).await;
    page.wait_for_text("You are offline.").await;
    page.click(".clear").await;
    page.press("quay").await;
    page.wait_until("location.search === '?q=quay'").await;
    page.wait_for_text("You are offline.").await;
    page.set_offline(false).await;
    page.wait_until("document.querySelector('[data-module=article] h3')?.textContent === 'quay'").await;
    assert!(!page.shows_text("offline").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn busy_server_is_retried_and_a_frozen_tenant_reported() {
    let all = SearchPage::with(&[item("a", "harbour", 1)]).await;
    let page = Page::open(&all.mei, "/").await;
    page.wait_until("document.querySelector('.modules li')").await;
    let busy = "test.fail('', arguments[0], {headers: {'retry-after': '1'}})";
    for status in [429, 503] {
        page.run(busy, &[json!(status)]).await;
        page.press("harbour").await;
        page.wait_for_text("The server is busy.").await;
        page.run("test.failures = 0", &[]).await;
        page.wait_until("document.querySelector('[data-module=article] .row') && !document.querySelector('.notice').checkVisibility()")
            .await;
        page.press_key(Key::Escape).await;
        page.wait_until("location.search === ''").await;
    }
    let tenants = all.app.operator().await.caller;
    tenants.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    page.press("har").await;
    page.wait_for_text("You may not search here at the moment.").await;
    page.close().await;
}
