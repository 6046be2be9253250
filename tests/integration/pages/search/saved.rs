//! Searches that a person keeps under a name.

use serde_json::{Value, json};

use crate::util::{
    items::{NEW_YEAR, item, user},
    search_page::{SearchPage, with_articles},
    web::Page,
    webdriver::Key,
};

const KEY: &str = "trawl.saved.[\"acme\",\"mei\"]";

async fn stored(page: &Page) -> Value {
    page.run("return JSON.parse(localStorage.getItem(arguments[0]))", &[json!(KEY)]).await
}

async fn store(page: &Page, text: &str) {
    page.run("localStorage.setItem(arguments[0], arguments[1])", &[json!(KEY), json!(text)]).await;
}

async fn name_it(page: &Page, name: &str) {
    page.wait_until("document.activeElement.id === 'saving-name'").await;
    page.press(name).await;
    page.press_key(Key::Enter).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_is_saved_found_renamed_and_removed_by_keyboard() {
    let all = SearchPage::start().await;
    let now = NEW_YEAR + 365 * 86_400_000;
    let articles = [item("new", "Harbour", now), item("old", "Old harbour", 1)];
    all.app.put_contents(&all.acme.caller, "article", &articles).await;
    let page = Page::open(&all.mei, "/?q=harbour&module=article&sort=time").await;
    page.wait_until("document.querySelectorAll('.list .row').length === 2").await;
    page.click("[data-chip=week]").await;
    page.wait_until("location.search.includes('&from=')").await;
    let searched = page.address().await;
    let save = "[...document.querySelectorAll('.bar button')].find((button) => button.textContent === 'Save this search')";
    page.run(&format!("{save}.focus()"), &[]).await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelector('#saving-name').value === 'harbour'").await;
    // A name is asked for, and slashes are no shortcut.
    name_it(&page, " ").await;
    page.wait_until("document.querySelector('#saving-name').value === ''").await;
    name_it(&page, "Port / <b>new</b>").await;
    page.wait_for_text("“Port / <b>new</b>” is saved.").await;
    page.wait_until(&format!("document.activeElement === {save}")).await;
    // The period moves on with the days.
    assert_eq!(
        stored(&page).await,
        json!([{"name": "Port / <b>new</b>", "address": "?q=harbour&module=article&sort=time&from=week"}])
    );

    page.go("/").await;
    page.wait_until("document.querySelector('[data-saved]')").await;
    assert_eq!(page.texts("[data-saved] .pick").await, ["Port / <b>new</b>harbour"]);
    page.press_key(Key::Down).await;
    page.press_key(Key::Enter).await;
    page.wait_until(&format!("location.pathname + location.search === {}", json!(searched))).await;
    assert_eq!(page.texts(".chip[aria-pressed=true]").await, ["Past 7 days"]);

    page.go("/").await;
    page.wait_until("document.querySelector('[data-saved]')").await;
    page.press_key(Key::Down).await;
    page.press_key(Key::Tab).await;
    page.press_key(Key::Enter).await;
    page.wait_until("document.querySelector('#saving-name')?.value === 'Port / <b>new</b>'").await;
    name_it(&page, "Quays").await;
    page.wait_until("document.activeElement.closest('[data-saved]')?.dataset.saved === 'Quays'").await;
    // The search is suggested by its name.
    page.press("/").await;
    page.press("qua").await;
    page.wait_until("document.querySelector('.suggestion')?.textContent === 'Quays'").await;
    page.click(".suggestion").await;
    page.wait_until(&format!("location.pathname + location.search === {}", json!(searched))).await;

    page.go("/").await;
    page.wait_until("document.querySelector('[data-saved]')").await;
    page.press_key(Key::Down).await;
    page.press_key(Key::Tab).await;
    page.press_key(Key::Tab).await;
    page.press_key(Key::Enter).await;
    page.wait_until("!document.querySelector('[data-saved]') && document.activeElement.id === 'box'").await;
    assert_eq!(stored(&page).await, json!([]));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_content_of_any_kind_is_read_as_searches_or_left_out() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/").await;
    for text in ["", "{", "null", "7", "{\"length\":3}", "[null,7,[],\"x\"]"] {
        store(&page, text).await;
        page.go("/").await;
        page.wait_until(
            "document.querySelector('.modules li') && document.querySelector('.start').checkVisibility()",
        )
        .await;
        assert_eq!(page.texts("[data-saved]").await, [""; 0], "{text}");
    }
    let long = "x".repeat(10_000);
    let mut kept = vec![
        json!({"name": "<img src=x onerror=alert(1)>", "address": "?q=harbour&from=constructor&to=2024-13-01&sort=odd"}),
        json!({"name": "<img src=x onerror=alert(1)>", "address": "?q=twice"}),
        json!({"name": long, "address": "?q=a"}),
        json!({"name": "long", "address": format!("?q={long}")}),
        json!({"name": "start", "address": "?sort=time"}),
        json!({"name": "other", "address": {"q": 1}}),
        json!({"name": " ", "address": "?q=a"}),
        json!({"name": "foreign", "address": "https://evil.example/?q=harbour"}),
    ];
    store(&page, &json!(kept).to_string()).await;
    page.go("/").await;
    page.wait_until("document.querySelector('[data-saved]')").await;
    assert_eq!(page.texts("[data-saved] .pick").await, ["<img src=x onerror=alert(1)>harbour"]);
    page.click("[data-saved] .pick").await;
    page.wait_until(
        "location.search === '?q=harbour' && document.querySelector('[data-module=article] .row')",
    )
    .await;

    kept.extend((0..60).map(|number| json!({"name": format!("n{number}"), "address": "?q=a"})));
    store(&page, &json!(kept).to_string()).await;
    page.run("[...document.querySelectorAll('.bar button')].find((button) => button.textContent.startsWith('Save')).click()", &[])
        .await;
    name_it(&page, "one more").await;
    page.wait_for_text("No more searches can be saved.").await;
    // An earlier one can still be replaced.
    page.run("document.querySelector('#saving-name').select()", &[]).await;
    name_it(&page, "n7").await;
    page.wait_for_text("“n7” is saved.").await;
    let stored = stored(&page).await;
    assert_eq!(
        (stored.as_array().unwrap().len(), &stored[0]),
        (50, &json!({"name": "n7", "address": "?q=harbour"}))
    );
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saved_searches_outlive_the_session_and_belong_to_one_person() {
    let all = with_articles().await;
    all.app.sync(&all.acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    let page = Page::open_in(&all.mei, "/", "zh-CN").await;
    page.wait_until("document.querySelector('.modules li')").await;
    store(&page, &json!([{"name": "港口", "address": "?q=harbour"}]).to_string()).await;
    page.sign_out().await;
    for (login, titles) in [("omar", vec![]), ("mei", vec!["已保存的搜索"])] {
        page.browser.hold(&all.app.web_session(login).await).await;
        page.go("/").await;
        page.wait_until(
            "document.querySelector('.modules li') && document.querySelector('.start').checkVisibility()",
        )
        .await;
        assert_eq!(page.texts("#saved-title").await, titles, "{login}");
    }
    page.close().await;
}
