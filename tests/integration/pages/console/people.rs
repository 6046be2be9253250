//! People and their sessions in the console.

use crate::util::{console::Operated, web::Page, webdriver::Key};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn person_is_found_by_keyboard_signed_out_and_searched_for() {
    let all = Operated::start().await;
    let tom = all.app.web_session("tom").await;
    let page = Page::open(&all.mei, "/console?view=people").await;
    page.wait_for_text("mei").await;
    page.fill("keyword", "TOM").await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelectorAll('tbody tr').length === 1").await;
    assert_eq!(page.address().await, "/console?view=people&keyword=TOM");
    page.wait_until(
        "document.querySelector('tbody th a').focus() || document.activeElement.matches('tbody a')",
    )
    .await;
    page.press_key(Key::Enter).await;
    page.wait_for_text("Sign out everywhere").await;
    assert_eq!(page.texts("tbody tr").await.len(), 1);

    page.click_text("Sign out everywhere").await;
    page.press_key(Key::Escape).await;
    page.wait_until("!document.querySelector('dialog')").await;
    tom.post_empty("/modules").await.ok();
    page.click_text("Sign out everywhere").await;
    page.wait_until("document.querySelector('dialog[open]')").await;
    page.click("dialog[open] button.grave").await;
    page.wait_until("!document.querySelector('tbody tr')").await;
    tom.assert_ended().await;
    page.wait_for_text("There is no session.").await;
    page.click_text("Search as this person").await;
    page.wait_until("document.querySelector('[name=userId]')?.value === 'tom'").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_session_ends_only_after_a_question() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=people&id=mei").await;
    page.wait_until("document.querySelectorAll('tbody tr').length === 1").await;
    page.click("tbody button").await;
    page.wait_until("document.querySelector('dialog[open]')").await;
    page.press_key(Key::Escape).await;
    page.wait_until("!document.querySelector('dialog')").await;
    all.mei.get("/admin/v1/people").await.ok();
    page.click("tbody button").await;
    page.click("dialog[open] button.grave").await;
    page.wait_until("document.querySelector('main.gate')").await;
    all.mei.assert_ended().await;
    page.close().await;
}
