//! What the search page says when something is not as it should be: of sources, of the server, of the network, of the session.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fantoccini::key::Key;
use serde_json::json;

use crate::{
    util::{
        app::{TestApp, never_suspend},
        external::{ExternalSystem, Mood, with},
        items::{NEW_YEAR, item, many},
        web::Page,
    },
    web_search::Landscape,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_source_that_fails_is_named_with_what_became_of_it() {
    let all = Landscape::of(TestApp::start_with(never_suspend).await).await;
    all.app.keep(&all.acme.caller, "article", &[item("a", "harbour", 1)]).await;
    let moods = [
        ("Alpha", Mood::Silent, "System alpha did not answer in time."),
        ("Beta", Mood::Status(503), "System beta cannot be reached at the moment."),
        ("Gamma", Mood::Status(401), "System gamma does not accept this server's credentials."),
        (
            "Delta",
            Mood::Body("<html>".to_owned()),
            "System delta answered in a form that cannot be read in full.",
        ),
        (
            "Eta",
            Mood::Body(json!({"code": 200, "data": [], "total": 0, "count": 0, "message": null}).to_string()),
            "",
        ),
    ];
    let mut systems = Vec::new();
    for (place, (name, mood, _)) in (50..).zip(&moods) {
        let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
        system.set_mood(mood.clone());
        let source = with(system.registration(&name.to_lowercase()), "timeoutMs", 200);
        all.show(&source, name, place).await;
        systems.push(system);
    }
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.until("!document.querySelector('.overview').ariaBusy && document.querySelector('[data-module=article] .row')").await;
    for (name, _, said) in moods.iter().filter(|(_, _, said)| !said.is_empty()) {
        let notes = page.texts(&format!("[data-module={}] .note", name.to_lowercase())).await;
        assert!(notes.len() == 1 && notes[0].starts_with(said), "{name}: {notes:?}");
    }
    // What was searched and has nothing is another thing.
    let without = page.texts(".without").await;
    assert!(without[0].contains("Eta") && !without[0].contains("Alpha"), "{without:?}");
    page.until("[...document.querySelectorAll('[role=status]')].some((one) => one.textContent.endsWith('Not everything was reached.'))")
        .await;

    // So it is at the top, wherever the module stands; from there one is led to it.
    assert_eq!(page.texts(".missing").await, ["Not complete: Alpha, Beta, Gamma, Delta"]);
    systems[0].set_mood(Mood::Good);
    page.click(".missing").await;
    assert_eq!(
        page.run("return document.activeElement.closest('.section').dataset.module", &[]).await,
        "alpha"
    );
    page.press_key(Key::Enter).await;
    page.until("document.querySelectorAll('[data-module=alpha] .row').length === 3").await;
    assert_eq!(page.texts("[data-module=alpha] .note").await, [""; 0]);
    assert_eq!(page.texts(".missing").await, ["Not complete: Beta, Gamma, Delta"]);
    // On its own, a module that nobody answered for is no empty one.
    page.click("[data-module=beta] h2 a").await;
    page.says("Nothing could be searched").await;
    assert!(!page.says_now("Nothing found").await && !page.says_now("Not complete").await);
    systems[1].set_mood(Mood::Good);
    page.click(".list .empty button").await;
    page.until("document.querySelectorAll('.list .row').length === 3").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_rests_says_until_when_and_what_is_left_is_not_all() {
    let all = Landscape::start().await;
    all.app.keep(&all.acme.caller, "article", &[item("a", "harbour", 1)]).await;
    // Suspensions go by a clock of their own, which the browser does not know of.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    all.app.clock.pass(now.saturating_sub(Duration::from_millis(NEW_YEAR.try_into().unwrap())));
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    system.set_mood(Mood::RetryAfter(503, 3_600));
    all.operator.post("/admin/v1/sources", &system.registration("x")).await.ok();
    all.operator.show_module("both", &["builtin:article", "x"]).await;
    let page = Page::open(&all.mei, "/?q=harbour&module=both").await;
    page.until("document.querySelectorAll('.list .row').length === 1").await;
    page.browser.client.refresh().await.unwrap();
    page.until("document.querySelector('.list .note')?.textContent.startsWith('System x had failures and rests until ')").await;
    assert_eq!(page.texts(".list .title .count").await, ["at least 1"]);
    // Nothing found in what was reached.
    page.go("/?q=quay&module=both").await;
    page.says("Nothing found so far").await;
    page.says("Not every source was reached").await;
    assert!(!page.says_now("Every source was searched").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_found_another_word_and_nobody_to_ask() {
    let all = Landscape::start().await;
    all.app.keep(&all.acme.caller, "article", &[item("a", "harbour", 1)]).await;
    let page = Page::open(&all.mei, "/?q=harbuor").await;
    page.until("document.querySelector('[data-module=article] .note')").await;
    assert_eq!(
        page.texts("[data-module=article] .note").await[0].trim(),
        "Nothing for “harbuor”. Showing “harbour”."
    );
    page.go("/?q=zzzzqqqq&author=Mei").await;
    page.says("Every source was searched").await;
    assert_eq!(page.texts(".empty h2").await, ["Nothing found for zzzzqqqq"]);
    page.click(".empty .ways button").await;
    page.until("location.search === '?q=zzzzqqqq'").await;
    page.go("/?q=harbour&module=nowhere").await;
    page.says("There is nothing of this name to search in.").await;

    for module in all.operator.get("/admin/v1/modules").await.ok().items() {
        all.operator.delete(&format!("/admin/v1/modules/{}", module["id"].as_str().unwrap())).await.ok();
    }
    let mut system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    all.show(&system.registration("x"), "Contracts", 1).await;
    system.stop().await;
    page.go("/?q=harbour").await;
    page.says("Nothing could be searched").await;
    page.says("System x cannot be reached at the moment.").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signed_out_in_the_middle_one_comes_back_to_where_one_was() {
    let all = Landscape::start().await;
    all.app.keep(&all.acme.caller, "article", &[item("a", "harbour", 1), item("b", "quay", 2)]).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.until("document.querySelector('[data-module=article] .row')").await;
    all.mei.post_empty("/session/end").await.ok();
    page.click(".clear").await;
    page.press("quay").await;
    page.says("You have been signed out. What you typed is kept.").await;
    assert_eq!(
        page.run("return [document.activeElement.id, document.activeElement.value]", &[]).await,
        json!(["box", "quay"])
    );
    page.click(".notice a").await;
    page.until("document.querySelector('#login')").await;
    page.browser.fill_in_login("mei", "correct horse").await;
    page.until("document.querySelector('[data-module=article] h3')?.textContent === 'quay'").await;
    assert_eq!(page.address().await, "/?q=quay");

    // Out again, on purpose: nothing of what was looked for stays.
    page.press_key(Key::Enter).await;
    page.until("localStorage.length === 1").await;
    page.click(".person-button").await;
    page.click("#person-menu button:last-child").await;
    page.until("document.querySelector('.signin')").await;
    assert_eq!(page.run("return [localStorage.length, location.search]", &[]).await, json!([0, ""]));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_not_signed_in_names_the_enterprise() {
    let all = Landscape::start().await;
    all.app.tenant("other").await;
    all.app.keep(&all.acme.caller, "article", &[item("a", "harbour", 1)]).await;
    let page = Page::open_as_nobody(&all.app, "/?q=harbour").await;
    page.until("document.activeElement.id === 'enterprise'").await;
    assert!(!page.says_now("Filters").await);
    page.press("nowhere").await;
    page.press_key(Key::Enter).await;
    page.says("There is no such enterprise").await;
    assert_eq!(page.address().await, "/?q=harbour");
    page.click("#enterprise").await;
    page.press("acme").await;
    page.press_key(Key::Enter).await;
    page.until("document.querySelector('#login')").await;
    page.browser.fill_in_login("mei", "correct horse").await;
    page.until("document.querySelector('[data-module=article] .row')").await;
    for (failure, said) in [
        ("expired", "took too long"),
        ("refused", "You were not signed in"),
        ("busy", "too much to do"),
        ("failed", "Signing in failed"),
        ("anything", "Signing in failed"),
    ] {
        page.browser.client.delete_all_cookies().await.unwrap();
        page.go(&format!("/?signin={failure}")).await;
        page.says(said).await;
    }
    // By another name of the machine, one is led to where the server has its address.
    let other = all.app.base.replace("127.0.0.1", "localhost");
    page.browser.client.goto(&other).await.unwrap();
    page.click("#enterprise").await;
    page.press("acme").await;
    page.press_key(Key::Enter).await;
    page.until(&format!("document.querySelector('#login') && location.origin === {}", json!(all.app.base)))
        .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_network_the_search_waits_for_it() {
    let all = Landscape::start().await;
    all.app.keep(&all.acme.caller, "article", &[item("a", "harbour", 1), item("b", "quay", 2)]).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.until("document.querySelector('[data-module=article] .row')").await;
    page.set_offline(true).await;
    page.says("You are offline.").await;
    page.click(".clear").await;
    page.press("quay").await;
    page.until("location.search === '?q=quay'").await;
    page.says("You are offline.").await;
    page.set_offline(false).await;
    page.until("document.querySelector('[data-module=article] h3')?.textContent === 'quay'").await;
    assert!(!page.says_now("offline").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_server_is_asked_again_and_a_frozen_tenant_is_told() {
    let all = Landscape::start().await;
    all.app.keep(&all.acme.caller, "article", &[item("a", "harbour", 1)]).await;
    let page = Page::open(&all.mei, "/").await;
    page.until("document.querySelector('.modules li')").await;
    let busy = "window.busy = arguments[0]; const ask = window.fetch; window.fetch = async (...given) => { \
        if (!busy) { return ask(...given); } \
        const body = {code: busy, message: 'busy', data: null, date: 1}; \
        return new Response(JSON.stringify(body), {status: busy, headers: {'retry-after': '1'}}); }";
    for status in [429, 503] {
        page.run(busy, &[json!(status)]).await;
        page.press("harbour").await;
        page.says("The server is busy.").await;
        page.run("window.busy = 0", &[]).await;
        // Nobody has to do anything.
        page.until("document.querySelector('[data-module=article] .row') && !document.querySelector('.notice').checkVisibility()")
            .await;
        page.press_key(Key::Escape).await;
        page.until("location.search === ''").await;
    }
    let tenants = all.app.operator().await.caller;
    tenants.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    page.press("har").await;
    page.says("You may not search here at the moment.").await;
    page.close().await;
}
