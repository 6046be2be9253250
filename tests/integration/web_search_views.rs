//! Each view of the search page on phones and desks, by day and by night, in both languages: nothing is wider than the screen.
//!
//! Where `TRAWL_PICTURES` names a folder, a picture of each is kept there, to be looked at.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{
    util::{
        app::{TestApp, never_suspend},
        external::{ExternalSystem, Mood, with},
        items::{NEW_YEAR, item, user},
        web::Page,
    },
    web_search::Landscape,
};

/// Width, height.
const SIZES: [(u32, u32); 3] = [(320, 640), (768, 1024), (1440, 900)];

/// Its name, its address, and what is there once it is ready.
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

/// The pages with what makes a layout hard.
async fn hard_landscape() -> Landscape {
    let all = Landscape::of(TestApp::start_with(never_suspend).await).await;
    all.app.keep(&all.acme.caller, "article", &items()).await;
    let many: Vec<Value> =
        (0..3_000).map(|number| item(&format!("n{number}"), "harbour news", NEW_YEAR - number)).collect();
    all.app.keep(&all.acme.caller, "news", &many).await;
    let mut people = vec![user("harbour", ""), user("omar", "")];
    people[0]["name"] = json!("Harbour Master with a very long name that goes on and on and on");
    people[1]["name"] = json!("عمر harbour");
    all.app.sync(&all.acme.caller, "users", &Value::from(people)).await;
    let system = ExternalSystem::start(Vec::new()).await;
    system.set_mood(Mood::Status(503));
    let name = "The register of all contracts of all companies of the group";
    all.show(&with(system.registration("x"), "name", name), "Contracts", 3).await;
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_view_is_wider_than_the_screen() {
    let pictures = std::env::var_os("TRAWL_PICTURES").map(PathBuf::from);
    let all = hard_landscape().await;
    for (language, dark) in [("en-US", false), ("zh-CN", true)] {
        let page = Page::open_in(&all.mei, "/", language).await;
        page.set_dark(dark).await;
        for (width, height) in SIZES {
            page.set_size(width, height).await;
            for (name, address, ready) in VIEWS {
                page.go(address).await;
                page.find(ready).await;
                page.painted().await;
                let wide = "return document.documentElement.scrollWidth <= innerWidth";
                assert_eq!(page.run(wide, &[]).await, true, "{name} at {width} in {language}");
                if let Some(pictures) = &pictures {
                    page.keep_picture(&pictures.join(format!("search-{name}-{language}-{width}.png"))).await;
                }
            }
        }
        page.close().await;
    }
}
