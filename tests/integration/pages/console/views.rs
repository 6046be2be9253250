//! Every console view on phones and desktops, in both languages.

use std::{collections::BTreeSet, fs, path::PathBuf};

use regex::Regex;
use serde_json::json;

use crate::{
    util::console::Operated,
    util::{
        external::{ExternalSystem, Reply, with},
        feed_server::{FeedReply, FeedServer, rss},
        items::many,
        subscriptions::feed,
        web::{Page, fit_every_screen},
    },
};

const VIEWS: [(&str, &str); 32] = [
    ("overview", "?view=overview"),
    ("sources", "?view=sources"),
    ("source", "?view=sources&id=x"),
    ("source-edit", "?view=sources&id=x&step=edit"),
    ("source-check", "?view=sources&id=x&step=check"),
    ("source-put", "?view=sources&id=x&step=module"),
    ("add-source", "?view=add-source"),
    ("add-source-gallery", "?view=add-source&step=gallery"),
    ("add-source-check", "?view=add-source&id=y&step=check"),
    ("subscriptions", "?view=subscriptions"),
    ("subscription", "?view=subscriptions&id=x"),
    ("subscription-edit", "?view=subscriptions&id=x&step=edit"),
    ("subscription-new", "?view=subscriptions&id=%2B"),
    ("modules", "?view=modules"),
    ("module", "?view=modules&id=%2B"),
    ("contents", "?view=contents&kind=article"),
    ("content", "?view=contents&kind=article&id=x1"),
    ("insights", "?view=insights"),
    ("vocabulary", "?view=vocabulary"),
    ("try", "?view=try"),
    ("figures", "?view=figures"),
    ("searches", "?view=searches"),
    ("people", "?view=people"),
    ("person", "?view=people&id=mei"),
    ("applications", "?view=applications"),
    ("application", "?view=applications&id=%2B"),
    ("tenants", "?view=tenants"),
    ("tenant", "?view=tenants&id=acme"),
    ("keys", "?view=keys"),
    ("audit", "?view=audit"),
    ("settings", "?view=settings"),
    ("unknown", "?view=nope"),
];

const READY: &str =
    "document.querySelector('#main h1')?.textContent && !document.querySelector('#main [aria-busy]')";

fn pages() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/pages/assets")
}

fn scripts(folder: &str) -> String {
    let files = fs::read_dir(pages().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "js"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

async fn hard_landscape() -> Operated {
    let all = Operated::start_with(|config| config.search.slow_ms = 0).await;
    let operator = all.app.operator().await.caller.on("acme");
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let name = "The register of all contracts of all companies of the group, those that were sold too";
    operator
        .register_source(
            &with(system.registration("x"), "name", name),
            "contracts",
            &["x", "builtin:article"],
        )
        .await;
    let off = with(with(system.registration("y"), "name", "سجل العقود والاتفاقيات"), "enabled", false);
    operator.post("/admin/v1/sources", &off).await.ok();
    let feeds = FeedServer::start().await;
    feeds.reply_once("/x", FeedReply::Body(rss(&[("x".repeat(300), String::new())])));
    let path = format!("/{}", "Verzeichnis".repeat(20));
    for (id, path) in [("x", "/x"), ("y", path.as_str())] {
        feeds.reply_once(path, FeedReply::Status(500));
        let form = with(feed(id, &feeds.url("127.0.0.1", path)), "name", name);
        operator.subscribe(&form).await;
    }
    let acme = all.app.tenant("acme").await;
    let long = json!({"id": "x1", "title": name, "brief": "Verzeichnis".repeat(40), "visibility": {"users": [name]}});
    all.app.put_contents(&acme.caller, "article", &[long]).await;
    let search = json!({"keyword": "harbour", "moduleId": "contracts"});
    for reply in [Reply::Good, Reply::Status(503)] {
        system.set_reply(reply);
        all.mei.post("/contents/search", &search).await.ok();
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_view_is_wider_than_the_screen() {
    let all = hard_landscape().await;
    let views = VIEWS
        .map(|(name, address)| (format!("console-{name}"), format!("/console{address}"), READY.to_owned()));
    fit_every_screen(&all.mei, &views).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreachable_server_is_reported_and_data_stays() {
    let all = hard_landscape().await;
    let page = Page::open(&all.mei, "/console?view=sources").await;
    page.wait_for_text("The register of all contracts").await;
    page.set_offline(true).await;
    page.wait_for_text("You are offline.").await;
    assert!(page.shows_text("The register of all contracts").await);
    page.set_offline(false).await;
    page.wait_until("!document.body.innerText.includes('You are offline.')").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_server_is_reported_with_the_age_of_the_data() {
    let all = hard_landscape().await;
    let page = Page::open(&all.mei, "/console?view=overview").await;
    page.wait_for_text("The register of all contracts").await;
    page.run("test.hang()", &[]).await;
    page.wait_for_text("What is shown is as of").await;
    assert!(page.shows_text("The register of all contracts").await);
    assert_eq!(page.run("return [...new Set(test.limits)]", &[]).await, json!([10_000]));
    page.run(
        "window.alarm = document.querySelector('[role=alert]'); window.before = test.limits.length;",
        &[],
    )
    .await;
    page.wait_until("test.limits.length > before").await;
    page.wait_for_paint().await;
    assert_eq!(page.run("return document.querySelector('[role=alert]') === alarm", &[]).await, true);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_view_or_enterprise_is_reported_with_a_way_on() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=keys&tenant=%E4%B8%AD%E6%96%87").await;
    page.wait_for_text("There is no such enterprise.").await;
    for view in ["nope", "toString", "source"] {
        page.go(&format!("/console?view={view}")).await;
        page.wait_for_text("There is no such view").await;
        page.wait_for_text(&format!("no view with the name {view}")).await;
        page.click("#main a").await;
        page.wait_for_text("No external system is connected yet.").await;
        assert_eq!(page.address().await, "/console?view=overview");
    }
    page.close().await;
}

#[test]
fn every_text_exists_in_both_languages() {
    let texts = scripts("texts");
    let pair = Regex::new(r#"(?s)^    "([^"]+)": \[(.*?)\],$"#).unwrap();
    let text = Regex::new(r#""((?:[^"\\]|\\.)*)""#).unwrap();
    let value = Regex::new(r"\{\w+\}").unwrap();
    let names = |text: &str| -> BTreeSet<String> {
        value.find_iter(text).map(|name| name.as_str().to_owned()).collect()
    };
    let mut known = BTreeSet::new();
    for found in Regex::new(r#"(?ms)^    "[^"]+": \[.*?\],$"#).unwrap().find_iter(&texts) {
        let pair = pair.captures(found.as_str()).unwrap();
        let said: Vec<&str> = text.captures_iter(&pair[2]).map(|one| one.get(1).unwrap().as_str()).collect();
        assert!(said.len() == 2 && said.iter().all(|text| !text.is_empty()), "{}", found.as_str());
        assert_eq!(names(said[0]), names(said[1]), "{}", found.as_str());
        // Names in Chinese sentences are quoted, without spaces.
        let is_quoted = !said[1].replace("“{name}", "").contains("{name}");
        assert!(!pair[1].starts_with("state.") || is_quoted, "{}", found.as_str());
        known.insert(pair[1].to_owned());
    }
    let asked = Regex::new(r#"\bt\("([^"]+)""#).unwrap();
    let console = scripts("console") + &scripts("console/views") + &scripts("shared");
    let asked: BTreeSet<String> = asked.captures_iter(&console).map(|found| found[1].to_owned()).collect();
    assert!(asked.len() > 150, "{}", asked.len());
    let missing: Vec<&String> = asked.difference(&known).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calculations_of_the_console_are_correct() {
    let all = Operated::start().await;
    // The console itself has defined the elements of these modules already.
    let page = Page::open(&all.mei, "/").await;
    page.find("#box").await;
    page.run_later(include_str!("../../util/scripts/console_texts.js"), &[]).await;
    let ordered = "m.moved([['a', 1], ['b', 1], ['c', 7]].map(([id, orderNo]) => ({id, orderNo})), 2, 0)\
        .map(({module, orderNo}) => [module.id, orderNo])";
    for (module, expression, expected) in [
        // Equal order numbers are made distinct, others stay.
        ("module-forms", ordered, json!([["c", 1], ["a", 2], ["b", 7]])),
        (
            "module-forms",
            "m.moved([1, 2, 3].map((orderNo) => ({orderNo})), 0, 1).map(({orderNo}) => orderNo)",
            json!([1, 2]),
        ),
        ("module-forms", "m.nextOrder([])", json!(1)),
        ("module-forms", "m.suggestCode('Légal & Co', [{id: 'x', code: 'le-gal-co'}])", json!("le-gal-co-2")),
        ("module-forms", "m.suggestCode('合同', [])", json!("module")),
        ("plot", "[0, 0.3, 1, 1.01, 7, 99, 100].map(m.niceTop)", json!([1, 0.5, 1, 2, 10, 100, 100])),
        ("plot", "m.linePath([0, 10, null, 20], 10)", json!("M565 120L575 0M591 0h8")),
        ("plot", "m.linePath([null, null], 1)", json!("")),
        (
            "failure",
            "m.named({status: 400, message: 'auth.tokenUrl: must be https'}).name",
            json!("auth.tokenUrl"),
        ),
        ("failure", "m.named({status: 400, message: 'sources[3]: is named twice'}).name", json!("sources")),
        ("failure", "m.named({status: 403, message: 'tenant: is frozen'}).name", json!(null)),
        (
            "address",
            "m.readPlace('?view=sources&id=a%26b&signin=failed')",
            json!({"view": "sources", "id": "a&b"}),
        ),
        ("address", "[m.readPlace('').view, m.readPlace('?view=').view]", json!(["overview", "overview"])),
        ("address", "m.sectionOf('toString')", json!("toString")),
        (
            "failure",
            "m.sentence({status: 409, message: 'id: is taken by another source'})",
            json!({"text": "is taken by another source", "lang": "en"}),
        ),
        ("failure", "m.sentence({status: 429, message: 'wait'}).lang", json!(null)),
        (
            "days",
            "m.endOfDay('2024-02-28') === m.startOfDay('2024-02-29') && new Date(m.startOfDay('2024-02-29')).getDate()",
            json!(29),
        ),
        ("days", "[m.startOfDay(''), m.endOfDay('yesterday')]", json!([null, null])),
        (
            "source-fields",
            "['NONE', 'OAUTH2_CLIENT'].map((type) => m.accessGroups({id: 'x', auth: {type}})[1].fields[2].required)",
            json!([true, false]),
        ),
        (
            "address",
            "m.writePlace({view: 'sources', id: 'a&b', step: null, tenant: ''})",
            json!("?view=sources&id=a%26b"),
        ),
    ] {
        assert_eq!(
            page.run_in_module(
                &format!("../console/{module}.js"),
                &format!("(m) => {expression}"),
                json!(null)
            )
            .await,
            expected,
            "{expression}"
        );
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn layout_is_stable_when_enterprises_arrive() {
    let all = Operated::start().await;
    let named = json!({"enterpriseName": "The harbour company of the northern shore"});
    all.mei.post("/v1/enterprises/register", &named).await.ok();
    let page = Page::open(&all.mei, "/console").await;
    page.run_on_load("test.hold('admin/v1/tenants')").await;
    for width in [320, 700, 768, 1440] {
        page.set_size(width, 800).await;
        page.go("/console?view=add-source").await;
        page.find("form.form button[type=submit]").await;
        let places = "return test.places('header button, header a, header select, form.form *')";
        let before = page.run(places, &[]).await;
        page.run("test.release()", &[]).await;
        page.wait_until("document.querySelectorAll('#acting-on option').length > 1").await;
        page.wait_for_paint().await;
        assert_eq!(page.run(places, &[]).await, before, "{width}");
    }
    page.close().await;
}
