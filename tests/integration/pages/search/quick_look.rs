//! An item beside the list: by mouse, keyboard and address, on desktops and phones.

use serde_json::{Value, json};

use crate::util::{
    items::{NEW_YEAR, item, user},
    search_page::SearchPage,
    web::Page,
    webdriver::Key,
};

const SHOWN: &str = "document.querySelector('.look:not([hidden], [aria-busy])')";
const HIDDEN: &str = "document.querySelector('.look').hidden";
const FOCUSED_ITEM: &str = "return document.activeElement.closest('[data-item]')?.dataset.item ?? null";

async fn with_rules() -> SearchPage {
    let all = SearchPage::start().await;
    let rows: Vec<Value> = [("a", "Harbour rules", 3), ("b", "Harbour dues", 2), ("c", "Harbour map", 1)]
        .into_iter()
        .map(|(id, title, later)| {
            let mut made = item(id, title, NEW_YEAR + later);
            made["brief"] = json!(format!("All about the {}.\n\nSecond paragraph", title.to_lowercase()));
            made["author"] = json!("User mei");
            made
        })
        .collect();
    all.app.put_contents(&all.acme.caller, "article", &rows).await;
    all
}

async fn title(page: &Page) -> String {
    page.wait_until(SHOWN).await;
    page.texts(".look h2").await.remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_opens_beside_the_list_and_follows_the_keys() {
    let all = with_rules().await;
    let page = Page::open(&all.mei, "/?q=harbour&module=article&sort=time").await;
    page.set_size(1_400, 900).await;
    page.click("[data-item='article/b'] .open").await;
    assert_eq!(title(&page).await, "Harbour dues");
    assert_eq!(page.texts(".look-text").await, ["All about the harbour dues.\n\nSecond paragraph"]);
    assert_eq!(page.run("return document.querySelectorAll('.look-text mark').length", &[]).await, 1);
    assert_eq!(page.texts(".look-list .label").await, ["Author", "Same author", "Same author"]);
    assert_eq!(page.address().await, "/?q=harbour&module=article&sort=time&item=article%2Fb");
    let marked = "return document.querySelectorAll('.list .row').length";
    assert_eq!(page.run(marked, &[]).await, 3, "the list is gone");

    page.press_key(Key::Down).await;
    page.wait_until("document.querySelector('.look h2').textContent === 'Harbour map'").await;
    assert_eq!(page.address().await, "/?q=harbour&module=article&sort=time&item=article%2Fc");
    page.press_key(Key::Right).await;
    assert_eq!(page.run("return document.activeElement.id", &[]).await, "look-title");
    page.press_key(Key::Left).await;
    page.wait_until(HIDDEN).await;
    assert_eq!(page.address().await, "/?q=harbour&module=article&sort=time");
    assert_eq!(page.run(FOCUSED_ITEM, &[]).await, "article/c", "focus left the row that was looked at");
    let length = page.run("return history.length", &[]).await;
    for _ in 0..3 {
        page.press_key(Key::Space).await;
        page.wait_until(SHOWN).await;
        page.press_key(Key::Escape).await;
        page.wait_until(HIDDEN).await;
    }
    assert_eq!(page.run("return history.length", &[]).await, length, "looks leave steps behind");

    page.run("document.querySelector('[data-item=\"article/a\"] .open').focus()", &[]).await;
    page.press_key(Key::Space).await;
    assert_eq!(title(&page).await, "Harbour rules");
    assert_eq!(page.run(FOCUSED_ITEM, &[]).await, "article/a");
    page.press_key(Key::Space).await;
    page.wait_until(HIDDEN).await;
    page.press_key(Key::Right).await;
    page.wait_until(SHOWN).await;
    page.press_key(Key::Escape).await;
    page.wait_until(HIDDEN).await;
    assert_eq!(page.run(FOCUSED_ITEM, &[]).await, "article/a");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn address_of_an_item_opens_it_and_back_closes_it() {
    let all = with_rules().await;
    let page = Page::open(&all.mei, "/?q=harbour&module=article&item=article%2Fa").await;
    assert_eq!(title(&page).await, "Harbour rules");
    page.wait_until("document.querySelectorAll('.list .row').length === 3").await;
    page.go("/?q=harbour").await;
    page.click("[data-module=article] [data-item='article/a'] .open").await;
    assert_eq!(title(&page).await, "Harbour rules");
    page.click(".look-list [data-look='article/b']").await;
    page.wait_until("document.querySelector('.look h2').textContent === 'Harbour dues'").await;
    page.run("history.back()", &[]).await;
    page.wait_until(HIDDEN).await;
    assert_eq!(page.address().await, "/?q=harbour");
    page.go("/?item=article%2Fc").await;
    assert_eq!(title(&page).await, "Harbour map");
    for absent in ["article%2Fnone", "nope%2Fa", "article", "%2F"] {
        page.go(&format!("/?q=harbour&module=article&item={absent}")).await;
        page.wait_for_text("This is gone, or not for you to see.").await;
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn person_is_a_card_with_contacts_and_what_they_wrote() {
    let all = with_rules().await;
    let mut person = user("omar", "");
    person["name"] = json!("Omar Quay");
    (person["email"], person["mobile"]) = (json!("omar@acme.example"), json!("+86 138 0013 8000"));
    all.app.sync(&all.acme.caller, "users", &json!([person])).await;
    let mut article = item("w", "Pilots wanted", NEW_YEAR);
    article["author"] = json!("Omar Quay");
    all.app.put_contents(&all.acme.caller, "news", &[article]).await;
    let page = Page::open(&all.mei, "/?q=omar&module=people").await;
    page.click(".list .open").await;
    assert_eq!(title(&page).await, "Omar Quay");
    let links =
        "return [...document.querySelectorAll('.look-text a')].map((one) => one.getAttribute('href'))";
    assert_eq!(page.run(links, &[]).await, json!(["tel:+8613800138000", "mailto:omar@acme.example"]));
    page.click(".look-list [data-look='news/w']").await;
    page.wait_until("document.querySelector('.look h2').textContent === 'Pilots wanted'").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_is_a_sheet_on_a_phone() {
    let all = with_rules().await;
    let page = Page::open(&all.mei, "/?q=harbour&module=article").await;
    page.set_size(360, 640).await;
    page.click("[data-item='article/b'] .open").await;
    page.wait_until("document.activeElement.id === 'look-title'").await;
    let covers = "const { left, right } = document.querySelector('.look').getBoundingClientRect();
        return left === 0 && Math.round(right) >= document.documentElement.clientWidth
            && document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(page.run(covers, &[]).await, true);
    page.click(".clear-look").await;
    page.wait_until(HIDDEN).await;
    assert_eq!(page.run(FOCUSED_ITEM, &[]).await, "article/b");
    page.close().await;
}
