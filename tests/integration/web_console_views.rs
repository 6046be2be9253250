//! Each view of the console on phones and desks, by day and by night, in both languages: nothing is wider than the screen, and
//! nothing is missing a text.

use std::{collections::BTreeSet, fs, path::PathBuf};

use regex::Regex;
use serde_json::json;

use crate::{
    util::{
        external::{ExternalSystem, Mood, with},
        items::many,
        web::{Page, fit_every_screen},
    },
    web_console::Operated,
};

/// Holds back what the enterprises are, until `go()`.
const LATE: &str = "const late = new Promise((resolve) => { window.go = resolve; }); const real = fetch; \
    window.fetch = async (address, options) => { \
        if (String(address).startsWith('admin/v1/tenants')) { await late; } return real(address, options); };";

/// Its name, and its address.
const VIEWS: [(&str, &str); 17] = [
    ("overview", "?view=overview"),
    ("sources", "?view=sources"),
    ("source", "?view=sources&id=x"),
    ("source-edit", "?view=sources&id=x&step=edit"),
    ("source-check", "?view=sources&id=x&step=check"),
    ("source-put", "?view=sources&id=x&step=module"),
    ("add-source", "?view=add-source"),
    ("add-source-check", "?view=add-source&id=y&step=check"),
    ("modules", "?view=modules"),
    ("module", "?view=modules&id=%2B"),
    ("searches", "?view=searches"),
    ("applications", "?view=applications"),
    ("application", "?view=applications&id=%2B"),
    ("tenants", "?view=tenants"),
    ("tenant", "?view=tenants&id=acme"),
    ("keys", "?view=keys"),
    ("audit", "?view=audit"),
];

/// What is there once a view is ready.
const READY: &str =
    "document.querySelector('#main h1')?.textContent && !document.querySelector('#main [aria-busy]')";

fn pages() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/web/pages")
}

/// The texts of all scripts in a folder of the pages.
fn scripts(folder: &str) -> String {
    let files = fs::read_dir(pages().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "js"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

/// The console with what makes a layout hard.
async fn hard_landscape() -> Operated {
    let all = Operated::start_with(|config| config.search.slow_ms = 0).await;
    let operator = all.app.operator().await.caller.on("acme");
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let name = "The register of all contracts of all companies of the group, those that were sold too";
    operator
        .show(&with(system.registration("x"), "name", name), "contracts", &["x", "builtin:article"])
        .await;
    let off = with(with(system.registration("y"), "name", "سجل العقود والاتفاقيات"), "enabled", false);
    operator.post("/admin/v1/sources", &off).await.ok();
    let search = json!({"keyword": "harbour", "moduleId": "contracts"});
    for mood in [Mood::Good, Mood::Status(503)] {
        system.set_mood(mood);
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
async fn a_server_that_is_away_is_said_and_what_was_seen_stays() {
    let all = hard_landscape().await;
    let page = Page::open(&all.mei, "/console?view=sources").await;
    page.says("The register of all contracts").await;
    page.set_offline(true).await;
    page.says("You are offline.").await;
    assert!(page.says_now("The register of all contracts").await);
    page.set_offline(false).await;
    page.until("!document.body.innerText.includes('You are offline.')").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_is_said_and_of_when_what_is_seen_is() {
    let all = hard_landscape().await;
    let page = Page::open(&all.mei, "/console?view=overview").await;
    page.says("The register of all contracts").await;
    page.run(
        "window.limits = []; const timeout = AbortSignal.timeout.bind(AbortSignal); \
         AbortSignal.timeout = (limit) => { limits.push(limit); return timeout(1); }; \
         window.fetch = (address, {signal}) => new Promise((resolve, reject) => \
             signal.addEventListener('abort', () => reject(signal.reason)));",
        &[],
    )
    .await;
    page.says("What is shown is as of").await;
    assert!(page.says_now("The register of all contracts").await);
    assert_eq!(page.run("return [...new Set(limits)]", &[]).await, json!([10_000]));
    // Said again as it was, it is not read out again.
    page.run("window.alarm = document.querySelector('[role=alert]'); window.before = limits.length;", &[])
        .await;
    page.until("limits.length > before").await;
    page.painted().await;
    assert_eq!(page.run("return document.querySelector('[role=alert]') === alarm", &[]).await, true);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enterprise_that_no_header_can_name_is_said_not_to_be() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=keys&tenant=%E4%B8%AD%E6%96%87").await;
    page.says("There is no such enterprise.").await;
    page.close().await;
}

#[test]
fn every_text_is_there_in_both_languages() {
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
        known.insert(pair[1].to_owned());
    }
    let asked = Regex::new(r#"\bt\("([^"]+)""#).unwrap();
    let console = scripts("console") + &scripts("console/views") + &scripts("shared");
    let asked: BTreeSet<String> = asked.captures_iter(&console).map(|found| found[1].to_owned()).collect();
    assert!(asked.len() > 150, "{}", asked.len());
    let missing: Vec<&String> = asked.difference(&known).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// What an expression comes to in which `m` holds what a module of the console exports.
async fn of_module(page: &Page, module: &str, expression: &str) -> serde_json::Value {
    let script = format!(
        "const done = arguments[arguments.length - 1]; \
         import(new URL('{module}.js', document.querySelector('script[src]').src)).then((m) => done({expression}), (error) => done(String(error)))"
    );
    page.run_later(&script, &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_reckoned_is_right() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console").await;
    page.until(READY).await;
    let ordered = "m.moved([['a', 1], ['b', 1], ['c', 7]].map(([id, orderNo]) => ({id, orderNo})), 2, 0)\
        .map(({module, orderNo}) => [module.id, orderNo])";
    for (module, expression, expected) in [
        // Numbers that do not tell modules apart are made to, and no others change.
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
        ("address", "m.readPlace('?view=nowhere').view", json!("overview")),
        ("address", "m.readPlace('?view=toString').view", json!("overview")),
        (
            "failure",
            "m.sentence({status: 409, message: 'id: is taken by another source'})",
            json!({"text": "is taken by another source", "lang": "en"}),
        ),
        ("failure", "m.sentence({status: 429, message: 'wait'}).lang", json!(null)),
        // Who needed no secret until now has none that could stay.
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
        assert_eq!(of_module(&page, module, expression).await, expected, "{expression}");
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_moves_when_the_enterprises_are_there() {
    let all = Operated::start().await;
    let named = json!({"enterpriseName": "The harbour company of the northern shore"});
    all.mei.post("/v1/enterprises/register", &named).await.ok();
    let page = Page::open(&all.mei, "/console").await;
    page.begin_with(LATE).await;
    for width in [320, 700, 768, 1440] {
        page.set_size(width, 800).await;
        page.go("/console?view=add-source").await;
        page.find("form.form button[type=submit]").await;
        let places = "return [...document.querySelectorAll('header button, header a, header select, form.form *')]\
            .map((one) => { const { x, y } = one.getBoundingClientRect(); return [x, y]; })";
        let before = page.run(places, &[]).await;
        page.run("go()", &[]).await;
        page.until("document.querySelectorAll('#acting-on option').length > 1").await;
        page.painted().await;
        assert_eq!(page.run(places, &[]).await, before, "{width}");
    }
    page.close().await;
}
