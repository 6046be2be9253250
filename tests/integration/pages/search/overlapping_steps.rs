use serde_json::{Value, json};

use crate::util::{
    eventually,
    external::{ExternalSystem, Reply},
    gate::Gate,
    items::{item, many},
    search_page::{LIST_ANSWERS, with_articles, with_beta_away},
    web::Page,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retried_section_outlives_the_end_of_the_search() {
    let all = with_articles().await;
    let slow = Gate::start(&[item("x", "late", 1)]).await;
    all.register_source(&slow.registration("slow"), "Contracts", 50).await;
    let system = ExternalSystem::start(many("y", "harbour", 3, 1)).await;
    system.set_reply(Reply::Status(503));
    all.register_source(&system.registration("beta"), "Beta", 51).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.find("[data-module=beta] .note button").await;
    system.set_reply(Reply::Good);
    page.run("test.hold('contents/search')", &[]).await;
    page.click("[data-module=beta] .note button").await;
    slow.open();
    page.wait_until("!document.querySelector('.overview').ariaBusy").await;
    assert_eq!(page.texts("[data-module=contracts] h3").await, ["late"]);
    assert_eq!(page.run("return document.querySelectorAll('[data-module=beta]').length", &[]).await, 1);
    page.run("test.release()", &[]).await;
    page.wait_until("document.querySelectorAll('[data-module=beta] .row').length === 3").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn section_is_retried_after_returning_from_a_module() {
    let (_all, system, page) = with_beta_away().await;
    page.click("[data-module=article] h2 a").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    page.browser.client.back().await.unwrap();
    page.wait_until("document.querySelector('[data-module=beta] .note button')?.checkVisibility()").await;
    system.set_reply(Reply::Good);
    page.click("[data-module=beta] .note button").await;
    page.wait_until("document.querySelectorAll('[data-module=beta] .row').length === 3").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_modules_are_requested_on_opening_one() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.run_on_load(
        "test.track(300_000); test.fail('modules', 503, {times: 2, headers: {'retry-after': '300'}})",
    )
    .await;
    page.go("/?q=harbour").await;
    page.wait_until("!document.querySelector('.overview').ariaBusy && document.querySelector('[data-module=article] .row')").await;
    page.click("[data-module=article] h2 a").await;
    page.wait_for_text("The server is busy.").await;
    assert_eq!(page.run("return [test.failures, test.timers.size]", &[]).await, json!([0, 1]));
    page.click(".notice button").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
    assert_eq!(page.run("return test.timers.size", &[]).await, 0);
    assert!(!page.shows_text("The server is busy.").await);
    assert_eq!(page.texts(".modules [aria-current]").await, ["Articles"]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_module_keeps_its_place_and_is_cancelled_on_leaving() {
    let all = with_articles().await;
    let slow = Gate::start(&[item("x", "late", 1)]).await;
    all.register_source(&slow.registration("slow"), "Contracts", 50).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.find("[data-module=contracts] .skeleton").await;
    slow.wait_for(1).await;
    let timeouts = async || {
        let health = all.operator.get("/admin/v1/sources/slow/health").await.ok();
        health.data()["calls"]["timeout"].as_u64().unwrap()
    };
    // On a slow machine, one may last until its timeout.
    eventually("a call that ends before its timeout", async || {
        let before = timeouts().await;
        page.click("[data-module=article] h2 a").await;
        page.wait_until("document.querySelectorAll('.list .row').length === 1").await;
        slow.wait_for(0).await;
        let is_cancelled = timeouts().await == before;
        page.browser.client.back().await.unwrap();
        slow.wait_for(1).await;
        is_cancelled.then_some(())
    })
    .await;
    slow.open();
    page.wait_until("document.querySelector('[data-module=contracts] h3')?.textContent === 'late'").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recent_input_is_included_in_navigation() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until(
        "document.querySelector('.modules li') && document.querySelector('[data-module=article] .row')",
    )
    .await;
    let links = "[...document.querySelectorAll('.modules a')]";
    let articles = format!("{links}.find(({{ textContent }}) => textContent === 'Articles')");
    page.run(&format!("test.enter('#box', 'quay'); {articles}.click()"), &[]).await;
    page.wait_until("location.search === '?q=quay&module=article' && document.querySelector('.list h3')?.textContent === 'quay'")
        .await;
    page.browser.client.back().await.unwrap();
    page.wait_until("location.search === '?q=quay' && document.querySelector('#box').value === 'quay'").await;
    page.run(
        "test.enter('[name=author]', 'Mei'); document.querySelector('[name=sort][value=time]').click()",
        &[],
    )
    .await;
    page.wait_until("location.search === '?q=quay&sort=time&author=Mei'").await;
    page.run("test.enter('[name=author]', 'Omar'); test.enter('#box', 'harbour');", &[]).await;
    page.wait_until("location.search === '?q=harbour&sort=time&author=Omar'").await;
    assert_eq!(page.run("return document.querySelector('#box').value", &[]).await, "harbour");
    page.run("document.querySelector('#box').focus(); document.querySelector('#box').select()", &[]).await;
    page.tell("Input.imeSetComposition", json!({"text": "gang", "selectionStart": 4, "selectionEnd": 4}))
        .await;
    page.run("document.querySelector('[name=sort][value=relevance]').click()", &[]).await;
    page.wait_until("location.search === '?q=harbour&author=Omar'").await;
    assert_eq!(page.run("return document.querySelector('#box').value", &[]).await, "gang");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_reports_its_end_and_keeps_the_results() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.run_on_load(LIST_ANSWERS).await;
    page.go("/?q=harbour").await;
    page.wait_until("document.querySelectorAll('.modules a').length > 3").await;
    page.run("test.answer = test.answers.partialFirst", &[]).await;
    page.run("document.querySelectorAll('.modules a')[1].click()", &[]).await;
    page.click(".tail button").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 5").await;
    page.wait_for_text("5 were found; the list is not complete.").await;
    assert!(!page.shows_text("That is all").await);

    page.run("test.answer = test.answers.expiredCursor", &[]).await;
    page.run("document.querySelectorAll('.modules a')[2].click()", &[]).await;
    page.wait_until("document.querySelectorAll('.list .row').length === 20").await;
    page.run("scrollTo(0, document.documentElement.scrollHeight)", &[]).await;
    page.wait_for_text("What follows cannot be asked for any more.").await;
    assert_eq!(page.texts(".tail button").await, ["Begin again"]);
    page.run("test.answer = test.answers.twoRows", &[]).await;
    page.click(".tail button").await;
    page.wait_for_text("That is all 2.").await;

    page.run("test.answer = test.answers.busy", &[]).await;
    page.run("document.querySelector('[name=sort][value=time]').click()", &[]).await;
    page.wait_for_text("The server is busy.").await;
    assert_eq!(page.texts(".list h3").await, ["Row 50", "Row 51"]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn source_filter_lists_the_modules_sources() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.run_on_load(LIST_ANSWERS).await;
    page.go("/?q=harbour").await;
    page.wait_until("document.querySelectorAll('.modules a').length > 3").await;
    page.run("test.answer = test.answers.sourcesOfModule", &[]).await;
    let shown = "return [...document.querySelectorAll('[name=source] option')].map((one) => one.value)";
    let open = async |place: usize| -> Value {
        page.run("document.querySelectorAll('.modules a')[arguments[0]].click()", &[json!(place)]).await;
        page.wait_until("document.querySelectorAll('.list .row').length === 1 && !document.querySelector('.rows[aria-busy]')").await;
        page.run(shown, &[]).await
    };
    let first = open(1).await;
    assert_eq!(first.as_array().unwrap().len(), 4);
    let choose = "test.change('[name=source]', arguments[0])";
    page.run(choose, &[first[1].clone()]).await;
    page.wait_until("location.search.includes('&source=')").await;
    let second = open(2).await;
    assert_ne!(first, second);
    page.browser.client.back().await.unwrap();
    page.wait_until("location.search.includes('&source=') && !document.querySelector('.rows[aria-busy]')")
        .await;
    assert_eq!(page.run(shown, &[]).await, first);
    assert_eq!(page.run("return document.querySelector('[name=source]').value", &[]).await, first[1]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overlong_or_incomplete_input_is_not_requested() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, &format!("/?q={}%F0%9F%98%80", "x".repeat(255))).await;
    page.wait_for_text("Nothing found for").await;
    assert_eq!(page.run("return document.querySelector('#box').value.length", &[]).await, 255);
    assert_eq!(page.run("return document.querySelector('#box').maxLength", &[]).await, 256);
    assert_eq!(page.run("return document.querySelector('.notice').hidden", &[]).await, true);
    // Year 2 is an incomplete input.
    page.go("/?q=harbour&module=article").await;
    page.wait_until("document.querySelector('.list .row')").await;
    let set = "document.querySelector('[name=from]').focus(); test.change('[name=from]', arguments[0]); return location.search";
    assert_eq!(page.run(set, &[json!("0002-01-15")]).await, "?q=harbour&module=article");
    assert_eq!(page.run(set, &[json!("1970-01-01")]).await, "?q=harbour&module=article&from=1970-01-01");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forced_colours_mark_only_the_open_module() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/?q=harbour&module=article").await;
    page.tell(
        "Emulation.setEmulatedMedia",
        json!({"features": [{"name": "forced-colors", "value": "active"}]}),
    )
    .await;
    page.wait_until("document.querySelectorAll('.modules a').length > 3 && document.querySelector('.modules [aria-current]')").await;
    for width in [700, 1_600] {
        page.set_size(width, 900).await;
        page.wait_for_paint().await;
        let marked = include_str!("../../util/scripts/marked_tabs.js");
        assert_eq!(page.run(marked, &[]).await, json!(["Articles"]), "{width}");
    }
    page.close().await;
}
