//! The page while its server is away.

use crate::util::{
    gate::Gate,
    items::{item, many, todo},
    relay::Relay,
    search_page::{SearchPage, with_articles},
    web::Page,
    webdriver::Key,
};

/// A page whose connections can be cut.
async fn behind_relay(all: &SearchPage, path: &str) -> (Relay, Page) {
    let relay = Relay::to(&all.app.base).await;
    let mut page = Page::open(&all.mei, "/healthz").await;
    page.base.clone_from(&relay.base);
    page.go(path).await;
    (relay, page)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_dies_in_a_stream_is_asked_again_until_it_is_back() {
    let all = with_articles().await;
    let slow = Gate::start(&[item("x", "late", 1)]).await;
    all.register_source(&slow.registration("slow"), "Contracts", 50).await;
    let (relay, page) = behind_relay(&all, "/?q=harbour").await;
    page.wait_until("document.querySelector('[data-module=article] .row') && document.querySelector('[data-module=contracts] .skeleton')")
        .await;
    slow.wait_for(1).await;
    relay.cut();
    page.wait_for_text("The server was not reached.").await;
    // Found items stay, and nothing waits without end.
    assert_eq!(page.texts("[data-module=article] h3").await, ["harbour"]);
    assert_eq!(page.texts(".skeleton").await, [""; 0]);
    page.wait_until("!document.querySelector('.overview').ariaBusy").await;
    // Typing goes on meanwhile.
    // In one step: each failure doubles the wait for the next try.
    page.run("test.enter('#box', 'quay')", &[]).await;
    page.wait_until("location.search === '?q=quay'").await;
    page.wait_for_text("The server was not reached.").await;
    slow.open();
    relay.mend();
    page.wait_until("document.querySelector('[data-module=article] h3')?.textContent === 'quay' && document.querySelector('[data-module=contracts] .row')")
        .await;
    page.wait_until("document.querySelector('.notice').hidden").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_cut_off_continues_where_it_ended() {
    let all = SearchPage::with(&many("a", "harbour", 45, 1)).await;
    let (relay, page) = behind_relay(&all, "/?q=harbour&module=article").await;
    page.wait_until("document.querySelectorAll('.list .row').length >= 20").await;
    relay.cut();
    page.wait_until(
        "(scrollTo(0, document.documentElement.scrollHeight), document.querySelector('.tail .broken, .tail .all'))",
    )
    .await;
    relay.mend();
    page.wait_until(
        "(scrollTo(0, document.documentElement.scrollHeight), document.querySelector('.tail .all'))",
    )
    .await;
    assert_eq!(page.texts(".list .row").await.len(), 45);
    page.wait_until("document.querySelector('.notice').hidden").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_answer_is_told_until_it_arrives() {
    let all = with_articles().await;
    for held in ["session", "contents/search/all"] {
        let page = Page::open(&all.mei, "/healthz").await;
        page.run_on_load(&format!("test.hold('{held}')")).await;
        page.go("/?q=harbour").await;
        page.wait_for_text("The server takes longer than usual.").await;
        page.wait_for_text("The server does not answer.").await;
        page.run("test.release()", &[]).await;
        page.wait_until(
            "document.querySelector('[data-module=article] .row') && document.querySelector('.notice').hidden",
        )
        .await;
        page.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_page_of_a_list_and_item_say_so() {
    let all = SearchPage::with(&many("a", "harbour", 45, 1)).await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.go("/?q=harbour&module=article").await;
    page.wait_until("document.querySelectorAll('.list .row').length >= 20").await;
    page.run("test.hold('contents/search')", &[]).await;
    page.wait_until("(scrollTo(0, document.documentElement.scrollHeight), document.body.innerText.includes('The server takes longer than usual.'))")
        .await;
    page.run("test.release()", &[]).await;
    page.wait_until(
        "document.querySelectorAll('.list .row').length >= 40 && document.querySelector('.notice').hidden",
    )
    .await;

    let hang = "test.intercept(({ path, options }) => path.startsWith('v1/contents/')
        ? new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason))) : undefined)";
    page.run(hang, &[]).await;
    page.run("document.querySelector('.row .open').focus()", &[]).await;
    page.press(" ").await;
    page.wait_for_text("The server takes longer than usual.").await;
    page.press_key(Key::Escape).await;
    page.wait_until("document.querySelector('.look').hidden && document.querySelector('.notice').hidden")
        .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_out_in_another_tab_ends_a_search_in_its_stream() {
    let all = with_articles().await;
    let slow = Gate::start(&[item("x", "late", 1)]).await;
    all.register_source(&slow.registration("slow"), "Contracts", 50).await;
    let page = Page::open(&all.mei, "/?q=harbour&item=article%2Fa").await;
    page.wait_until("document.querySelector('[data-module=article] .row') && document.querySelector('.look:not([aria-busy]) .look-text')")
        .await;
    slow.wait_for(1).await;
    let client = &page.browser.client;
    let first = client.window().await.unwrap();
    let second = page.browser.open_window();
    client.switch_to_window(second).await.unwrap();
    page.go("/").await;
    page.sign_out().await;
    // The search ended on the server, too.
    slow.wait_for(0).await;
    client.switch_to_window(first).await.unwrap();
    page.wait_until("document.querySelector('.signin')?.checkVisibility()").await;
    slow.open();
    assert_eq!(page.texts(".row, .look").await, [""; 0]);
    assert!(!page.shows_text("harbour").await);
    assert_eq!(page.address().await, "/");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_page_is_completed_when_the_server_is_back() {
    let all = SearchPage::start().await;
    all.acme.caller.post("/api/todo/create", &todo("t1", "Approve the budget", "mei")).await.ok();
    all.app.wait_for_index().await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.run_on_load("test.fail('modules', 503, { headers: { 'retry-after': '1' } })").await;
    page.go("/").await;
    page.wait_until("document.querySelector('.start:not([aria-busy])') && test.requests > 1").await;
    assert_eq!(page.texts(".start-parts h2").await, [""; 0]);
    page.run("test.failures = 0", &[]).await;
    page.wait_until("document.querySelector('#start-todos')").await;
    page.close().await;
}
