use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::{
    util::search_page::SearchPage,
    util::{
        external::ExternalSystem,
        items::{NEW_YEAR, item},
        web::Page,
    },
};

/// It would run if parsed as HTML or followed as a link.
const MARKUP: &str =
    "<script>window.broken = 1</script><img src=x onerror='window.broken = 1'><svg onload=broken=1>";

const ADDRESSES: [&str; 7] = [
    "javascript:window.broken=1",
    "JaVaScRiPt:window.broken=1",
    "data:text/html,<script>window.broken=1</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "wxwork://open?id=1",
    "blob:http://127.0.0.1/x",
];

fn action(url: &str) -> Value {
    json!(json!({"web": format!("[OpenUrl]\nurl={url}")}).to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn source_content_is_shown_as_text() {
    let all = SearchPage::start().await;
    let mut items = Vec::new();
    let mut add = |title: String, fields: Value| {
        let mut made =
            item(&format!("i{}", items.len()), &title, NEW_YEAR - i64::try_from(items.len()).unwrap());
        made.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        items.push(made);
    };
    add(
        format!("harbour {MARKUP}"),
        json!({"brief": MARKUP, "author": MARKUP, "subTitle": MARKUP, "attachDescription": MARKUP, "attachInfo": MARKUP,
            "image": "javascript:window.broken=1", "highlight": {"title": MARKUP, "brief": 7}}),
    );
    for address in ADDRESSES {
        add(format!("harbour {address}"), json!({"action": action(address), "image": address}));
    }
    add(
        "harbour good".to_owned(),
        json!({"action": action("https://wiki.example/1?a=b"), "image": "https://elsewhere.example/x.png"}),
    );
    add("harbour path".to_owned(), json!({"action": action("/healthz?x=1")}));
    add(format!("harbour {}", "long ".repeat(2_000)), json!({"brief": "x".repeat(2_000)}));
    add("harbour مرفأ الميناء".to_owned(), json!({"author": "عمر"}));
    add(String::new(), json!({"brief": "harbour without a title"}));
    let count = items.len();
    let system = ExternalSystem::start(items).await;
    let source = crate::util::external::with(system.registration("x"), "pageSize", 100);
    all.register_source(&source, "Contracts", 0).await;
    let module = json!({"code": "named", "name": MARKUP, "type": 101, "orderNo": 60, "sources": ["x"]});
    all.operator.post("/admin/v1/modules", &module).await.ok();

    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until("document.querySelectorAll('[data-module=contracts] .row').length === 5").await;
    page.go("/?q=harbour&module=contracts").await;
    page.wait_until(&format!("document.querySelectorAll('.list .row').length === {count}")).await;
    let first = &page.texts(".list h3").await[0];
    assert_eq!(*first, format!("harbour {MARKUP}"));
    let links = "return [...document.querySelectorAll('.list a[target]')].map((one) => [one.textContent.trim(), one.href, one.rel, one.target])";
    let expected = json!([
        ["harbour good", "https://wiki.example/1?a=b", "noopener noreferrer", "_blank"],
        ["harbour path", format!("{}/healthz?x=1", page.base), "noopener noreferrer", "_blank"],
    ]);
    assert_eq!(page.run(links, &[]).await, expected);
    // The connector accepts invalid URLs; the page shows why they have no link.
    let closed = page.texts(".list .closed").await;
    let unsafe_address = "its address is not safe to open";
    assert_eq!(closed, [unsafe_address, "opens in the app only", unsafe_address]);
    // Neither elements nor remote loads.
    let made =
        "return document.querySelectorAll('.list :is(script, img, svg, iframe, object), main script').length";
    assert_eq!(page.run(made, &[]).await, 0);
    page.set_size(320, 640).await;
    page.wait_for_paint().await;
    assert_eq!(page.run("return document.documentElement.scrollWidth <= innerWidth", &[]).await, true);
    assert_eq!(page.run("return window.broken", &[]).await, Value::Null);
    // Right-to-left text is isolated to its line.
    let directions = "const titles = [...document.querySelectorAll('.list h3')];
        const row = titles.find(({ textContent }) => textContent.includes('مرفأ'));
        return [row, document.body].map((element) => getComputedStyle(element).direction)";
    assert_eq!(page.run(directions, &[]).await, json!(["ltr", "ltr"]));
    assert_eq!(page.texts(".list h3").await[count - 1], "harbour without a title");

    // Beside the list, too.
    let mut own = item("h/../<x>", &format!("harbour {MARKUP}"), NEW_YEAR);
    for field in ["brief", "author", "subTitle", "attachDescription"] {
        own[field] = json!(MARKUP);
    }
    own["action"] = action("file:///etc/passwd");
    all.app.put_contents(&all.acme.caller, "article", &[own]).await;
    page.go("/?q=harbour&module=article").await;
    page.click(".list .open").await;
    page.wait_until("document.querySelector('.look:not([hidden], [aria-busy])')").await;
    assert_eq!(page.texts(".look h2").await, [format!("harbour {MARKUP}")]);
    let made = "return document.querySelectorAll('.look :is(img, script, iframe, a[target])').length";
    assert_eq!(page.run(made, &[]).await, 0);
    assert_eq!(page.run("return window.broken", &[]).await, Value::Null);
    page.close().await;
}

/// Only texts and `<mark>`, every character kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn highlight_is_never_parsed_as_html() {
    let all = SearchPage::start().await;
    let page = Page::open(&all.mei, "/").await;
    let pieces = "(module, given) => given.map((html) => module.pieces(html))";
    let written = json!(["a <em>b</em> c", "&lt;b&gt; &amp;lt; &#x27;&#39;&quot;", "<em>a</em><em>b</em>"]);
    let read = page.run_in_module("highlight.js", pieces, written).await;
    let text = |text: &str, marked: bool| json!({"text": text, "marked": marked});
    assert_eq!(
        read,
        json!([
            [text("a ", false), text("b", true), text(" c", false)],
            [text("<b> &lt; ''\"", false)],
            [text("ab", true)],
        ])
    );
    let mut runner = TestRunner::new(trawl_seeds::cases(1));
    let part = prop_oneof![
        Just("<em>".to_owned()),
        Just("</em>".to_owned()),
        Just("<script>".to_owned()),
        Just("&lt;".to_owned()),
        Just("&#x110000;".to_owned()),
        Just("&#xd800;".to_owned()),
        Just("<em onclick=x>".to_owned()),
        Just("</EM>".to_owned()),
        "\\PC{0,8}",
    ];
    let texts = prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat());
    let texts = prop::collection::vec(texts, 400).new_tree(&mut runner).unwrap().current();
    let check = include_str!("../../util/scripts/highlight_problems.js");
    assert_eq!(page.run_in_module("highlight.js", check, json!(texts)).await, json!([]));
    let odd = page.run_in_module("highlight.js", pieces, json!([null, 7, {}, [], ""])).await;
    assert_eq!(odd, json!([[], [], [], [], []]));
    let cut = "({ textOf, fromFirstMark, pieces }, given) =>
        given.map((html) => textOf(fromFirstMark(pieces(html))))";
    let long = format!("{}the very <em>harbour</em> of it", "word ".repeat(30));
    let chinese = format!("{}<em>港口</em>", "字".repeat(80));
    let shown = page.run_in_module("highlight.js", cut, json!(["near <em>x</em>", long, chinese])).await;
    let expected =
        json!(["near x", "…word word the very harbour of it", format!("…{}港口", "字".repeat(24))]);
    assert_eq!(shown, expected);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_web_urls_open_and_only_own_pictures_load() {
    let all = SearchPage::start().await;
    let page = Page::open(&all.mei, "/").await;
    let web = |lines: &str| json!({"web": lines}).to_string();
    let cases = [
        (
            web("[OpenUrl]\nurl=https://a.example/x"),
            json!({"href": "https://a.example/x", "host": "a.example"}),
        ),
        (
            web(" [OpenApp] \r\nappCode=x\r\n appUrl = http://a.example/y"),
            json!({"href": "http://a.example/y", "host": "a.example"}),
        ),
        (web("[OpenUrl]\nurl=/page?x=1"), json!({"href": "https://trawl.example/page?x=1", "host": ""})),
        (
            json!({"pc": "[OpenUrl]\nurl=https://a.example/"}).to_string(),
            json!({"href": "https://a.example/", "host": "a.example"}),
        ),
        (
            json!({"web": "[OpenUrl]\nurl=javascript:x", "pc": "[OpenUrl]\nurl=https://a.example/"})
                .to_string(),
            json!({"href": "https://a.example/", "host": "a.example"}),
        ),
        (web("[OpenUrl]\nurl=java\tscript:x"), json!({"why": "unsafe"})),
        (web("[OpenUrl]\nurl=data:text/html,x"), json!({"why": "unsafe"})),
        (web("[OpenUrl]\nurl=//a.example/"), json!({"why": "unsafe"})),
        (web("[OpenUrl]\nurl=/\\a.example/"), json!({"why": "unsafe"})),
        (web("[OpenUrl]\nurl=https:\\\\a.example/"), json!({"why": "unsafe"})),
        (web("[OpenUrl]\nurl=https://me:secret@a.example/"), json!({"why": "unsafe"})),
        (web("[OpenUrl]\nurl=wxwork://x"), json!({"why": "app"})),
        (web("[OpenApp]\nappCode=x\nappUrl=form/7"), json!({"why": "app"})),
        (web("[Else]\nurl=https://a.example/"), json!({"why": "app"})),
        (json!({"ios": "[OpenUrl]\nurl=https://a.example/"}).to_string(), json!({"why": "app"})),
        ("no JSON".to_owned(), json!({"why": "none"})),
        ("[]".to_owned(), json!({"why": "none"})),
        ("{}".to_owned(), json!({"why": "none"})),
        (json!({"web": 7}).to_string(), json!({"why": "app"})),
    ];
    let targets = "(module, given) => given.map((text) => module.target(text, 'https://trawl.example/'))";
    let given: Vec<&String> = cases.iter().map(|(text, _)| text).collect();
    let expected: Vec<&Value> = cases.iter().map(|(_, expected)| expected).collect();
    assert_eq!(page.run_in_module("action.js", targets, json!(given)).await, json!(expected));
    let pictures = "(module, given) => given.map((text) => module.picture(text, 'https://trawl.example/'))";
    let given = json!([
        "https://trawl.example/storage/1",
        "/storage/1",
        "/session/start?tenant=acme&to=/",
        "https://trawl.example/below/%73ession/end",
        "/oauth2/authorize?client_id=x",
        "https://a.example/1",
        "//a.example/1",
        "http://trawl.example/1",
        "data:image/png;base64,AA",
        "data:text/html,x",
        "data:image/svg+xml,<svg/>",
        "javascript:x",
        "icon-name",
        "",
        null,
        7,
    ]);
    let own = json!([
        "https://trawl.example/storage/1",
        "https://trawl.example/storage/1",
        null,
        null,
        null,
        null,
        null,
        null,
        "data:image/png;base64,AA",
        null,
        null,
        null,
        null,
        null,
        null,
        null,
    ]);
    assert_eq!(page.run_in_module("action.js", pictures, given).await, own);
    let places = "({ readAddress, writeAddress }, given) =>
        given.map((text) => writeAddress(readAddress(text)))";
    let given = json!([
        "?q=a+b&sort=time&x=1",
        "?q=x&from=2024-02-30&to=2024-02-29&source=s",
        "?q=x&module=m&source=s&sort=other",
        "?sort=relevance"
    ]);
    let kept = json!(["?q=a+b&sort=time", "?q=x&to=2024-02-29", "?q=x&module=m&source=s", ""]);
    assert_eq!(page.run_in_module("address.js", places, given).await, kept);
    page.close().await;
}
