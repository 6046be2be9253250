//! Every view of the search page on phones and desktops, in both languages.

use serde_json::{Value, json};

use crate::{
    util::search_page::SearchPage,
    util::{
        app::{TestApp, disable_suspension},
        external::{ExternalSystem, Reply, with},
        items::{NEW_YEAR, item, user},
        web::{Page, SIZES, fit_every_screen},
    },
};

const VIEWS: [(&str, &str, &str); 6] = [
    ("start", "/", ".hints"),
    ("all", "/?q=harbour", ".overview:not([aria-busy]) .row"),
    ("list", "/?q=harbour&module=article", ".list .row"),
    ("filters", "/?q=harbour&module=people&author=x&from=2024-01-01", ".list .empty h3"),
    ("failed", "/?q=harbour&module=contracts", ".list .empty h3"),
    ("nothing", "/?q=zzzzqqqq&module=news", ".list .empty h3"),
];

fn items() -> Vec<Value> {
    let mut items = vec![
        item("long", &format!("harbour {}", "a title that does not end ".repeat(150)), NEW_YEAR + 9),
        item("word", &format!("harbour {}", "Donaudampfschifffahrtsgesellschaft".repeat(40)), NEW_YEAR + 8),
        item("arabic", "مرفأ harbour الميناء الجديد", NEW_YEAR + 7),
        item("none", "", NEW_YEAR + 6),
        item("plain", "The harbour at night", NEW_YEAR + 5),
    ];
    let texts = json!({
        "subTitle": "A subtitle that says a little more than it has to ".repeat(4), "author": "عمر بن سعيد الطويل جدا",
        "brief": "The harbour office tells everybody of it, in many words. ".repeat(12), "attachDescription": "3 annexes",
    });
    for item in &mut items {
        item.as_object_mut().unwrap().extend(texts.as_object().unwrap().clone());
    }
    items[4]["action"] = json!(json!({"web": "[OpenUrl]\nurl=https://wiki.example/1"}).to_string());
    items
}

async fn hard_landscape() -> SearchPage {
    let all = SearchPage::of(TestApp::start_with(disable_suspension).await).await;
    all.app.put_contents(&all.acme.caller, "article", &items()).await;
    let many: Vec<Value> =
        (0..3_000).map(|number| item(&format!("n{number}"), "harbour news", NEW_YEAR - number)).collect();
    all.app.put_contents(&all.acme.caller, "news", &many).await;
    let mut people = vec![user("harbour", ""), user("omar", "")];
    people[0]["name"] = json!("Harbour Master with a very long name that goes on and on and on");
    people[1]["name"] = json!("عمر harbour");
    all.app.sync(&all.acme.caller, "users", &Value::from(people)).await;
    let system = ExternalSystem::start(Vec::new()).await;
    system.set_reply(Reply::Status(503));
    let name = "The register of all contracts of all companies of the group";
    all.register_source(&with(system.registration("x"), "name", name), "Contracts", 3).await;
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_view_is_wider_than_the_screen() {
    let all = hard_landscape().await;
    let views = VIEWS.map(|(name, address, ready)| {
        let is_there = format!("document.querySelector('{ready}')?.checkVisibility()");
        (format!("search-{name}"), address.to_owned(), is_there)
    });
    fit_every_screen(&all.mei, &views).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incompleteness_notice_moves_nothing() {
    let all = hard_landscape().await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    for (width, height) in SIZES {
        page.set_size(width, height).await;
        for address in ["/?q=harbour", "/?q=harbour&from=2024-01-01"] {
            page.go(address).await;
            page.find(".overview:not([aria-busy]) .row").await;
            page.find(".missing").await;
            page.wait_for_paint().await;
            let places = "return test.places('.bar > :not(.missing), .fields *, .section')";
            let with = page.run(places, &[]).await;
            page.run("document.querySelector('.missing').hidden = true", &[]).await;
            page.wait_for_paint().await;
            assert_eq!(page.run(places, &[]).await, with, "{address} at {width}");
        }
    }
    page.close().await;
}

/// A mouse wheel scrolls vertically only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_module_tabs_are_reachable_without_scrolling_sideways() {
    let all = hard_landscape().await;
    for number in 0..40 {
        let module = json!({
            "code": format!("m{number}"), "name": format!("Correspondence {number}"), "type": 100,
            "orderNo": 100 + number, "sources": ["builtin:article"],
        });
        all.operator.post("/admin/v1/modules", &module).await.ok();
    }
    let page = Page::open(&all.mei, "/?q=harbour&module=m39").await;
    for width in [700, 1_024, 1_440] {
        page.set_size(width, 600).await;
        page.go("/?q=harbour&module=m39").await;
        page.find(".modules [aria-current]").await;
        page.wait_for_paint().await;
        let fit = include_str!("../../util/scripts/tabs_fit.js");
        assert_eq!(page.run(fit, &[]).await, json!([true, true, true]), "{width}");
    }
    page.close().await;
}
