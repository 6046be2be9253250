//! The console in a real browser: what is typed, shown once or asked is not lost or done by going elsewhere, and what others do
//! meanwhile stays.

use fantoccini::key::Key;
use serde_json::json;

use crate::{
    util::{
        external::{ExternalSystem, with},
        web::Page,
    },
    web_console::Operated,
};

/// An operated tenant `acme` with a source `x`, and a tenant `beta` with another one of the same id; both are disabled.
async fn with_sources() -> (Operated, ExternalSystem) {
    let all = Operated::start().await;
    let system = ExternalSystem::start(Vec::new()).await;
    all.app.tenant("beta").await;
    let operator = all.app.operator().await.caller;
    let off = with(system.registration("x"), "enabled", false);
    for tenant in ["acme", "beta"] {
        operator.on(tenant).post("/admin/v1/sources", &off).await.ok();
    }
    (all, system)
}

async fn question(page: &Page, title: &str) {
    page.until(&format!("document.querySelector('dialog[open] h2')?.textContent === {}", json!(title))).await;
}

async fn no_question(page: &Page) {
    page.until("!document.querySelector('dialog')").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_view_acts_on_no_other_tenant_while_one_goes_on() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=sources&id=x").await;
    page.says("The last hour").await;
    page.run(
        "window.asked = []; const real = fetch; \
         window.fetch = (address, options) => { asked.push([address, options.headers['indicated-e-code']]); return real(address, options); }; \
         const link = document.createElement('a'); link.href = '?view=keys&tenant=beta'; document.body.append(link); \
         const enable = [...document.querySelectorAll('button')].find((one) => one.textContent === 'Enable'); \
         link.click(); enable.click(); \
         queueMicrotask(() => enable.click()); setTimeout(() => enable.click(), 0);",
        &[],
    )
    .await;
    page.until("document.querySelector('h1').textContent === 'Signing keys'").await;
    page.until("!document.querySelector('#main [aria-busy]')").await;
    let asked = page.run("return asked", &[]).await;
    let asked = asked.as_array().unwrap();
    assert!(asked.iter().any(|one| one[1] == "beta"), "{asked:?}");
    let wrong = asked
        .iter()
        .find(|one| one[0].as_str().unwrap().starts_with("admin/v1/sources/x") && one[1] == "beta");
    assert_eq!(wrong, None);
    let source = all.mei.on("beta").get("/admin/v1/sources/x").await.ok();
    assert_eq!(source.data()["enabled"], false);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_operator_changed_meanwhile_stays() {
    let (all, system) = with_sources().await;
    let operator = all.app.operator().await.caller.on("acme");
    let page = Page::open(&all.mei, "/console?view=sources&id=x&step=edit").await;
    page.fill("name", "Renamed").await;
    let changed = with(with(system.registration("x"), "timeoutMs", 1234), "enabled", true);
    operator.put("/admin/v1/sources/x", &changed).await.ok();
    page.submit().await;
    page.says("Saved.").await;
    let source = operator.get("/admin/v1/sources/x").await.ok().data().clone();
    assert_eq!(
        (&source["name"], &source["timeoutMs"], &source["enabled"]),
        (&json!("Renamed"), &json!(1234), &json!(true))
    );

    // Modules: their order here, a name there.
    page.go("/console?view=modules").await;
    page.says("Favorites").await;
    let modules = operator.get("/admin/v1/modules").await.ok();
    let news = modules.items().iter().find(|module| module["code"] == "news").unwrap().clone();
    let path = format!("/admin/v1/modules/{}", news["id"].as_str().unwrap());
    operator.put(&path, &with(news, "name", "Tidings")).await.ok();
    page.click_on("Move News up").await;
    page.says("Tidings").await;
    page.until("document.querySelector('tbody tr').textContent.includes('Tidings')").await;
    assert_eq!(operator.get(&path).await.ok().data()["name"], "Tidings");

    // And one that is edited.
    page.click_on("Tidings").await;
    page.fill("icon", "star").await;
    let now = operator.get(&path).await.ok().data().clone();
    operator.put(&path, &with(with(now, "orderNo", 77), "name", "Messages of the day")).await.ok();
    page.submit().await;
    page.says("Saved.").await;
    let now = operator.get(&path).await.ok().data().clone();
    assert_eq!(
        (&now["icon"], &now["orderNo"], &now["name"]),
        (&json!("star"), &json!(77), &json!("Messages of the day"))
    );
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_stays_until_it_is_kept() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=applications&id=%2B").await;
    page.fill("name", "Importer").await;
    page.submit().await;
    page.says("Keep this now").await;
    let secrets = page.texts("dialog .secret").await;
    for _ in 0..3 {
        page.press_key(Key::Escape).await;
        page.painted().await;
    }
    assert_eq!(page.texts("dialog[open] .secret").await, secrets);
    page.click_on("I have kept it").await;
    no_question(&page).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_shown_to_who_has_gone_on_meanwhile() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=applications&id=%2B").await;
    // The server has done it, and its answer is on the way.
    let late = "const held = new Promise((go) => { window.go = go; }); const real = window.fetch; \
        window.fetch = async (address, options) => { \
        if (options.method !== 'POST') { return real(address, options); } \
        const answer = await real(address, {...options, signal: undefined}); window.isDone = true; \
        await held; options.signal?.throwIfAborted(); return answer; };";
    let leave = async || {
        page.until("window.isDone").await;
        page.run("document.querySelector('trawl-console').go({view: 'modules'})", &[]).await;
        page.until("document.querySelector('h1').textContent === 'Modules'").await;
        page.run("isDone = false; go()", &[]).await;
        page.says("Keep this now").await;
        page.until("document.querySelectorAll('dialog[open] .secret').length > 0").await;
        page.click_on("I have kept it").await;
        no_question(&page).await;
        assert_eq!(page.texts("h1").await, ["Modules"]);
    };
    page.fill("name", "Importer").await;
    page.run(late, &[]).await;
    page.submit().await;
    leave().await;

    page.go("/console?view=applications").await;
    page.click_on("Importer").await;
    page.click_on("New secret").await;
    page.until("document.querySelector('dialog[open] button[type=submit]')").await;
    page.run(late, &[]).await;
    page.click("dialog[open] button[type=submit]").await;
    leave().await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_console_that_the_browser_put_aside_is_asked_for_anew() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.says("News").await;
    all.mei.post_empty("/session/end").await.ok();
    // What the browser says when it shows a page again as it was left.
    page.run("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))", &[]).await;
    page.says("Sign in as an operator").await;
    assert!(!page.says_now("News").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_refused_although_he_is_signed_in_is_told_so() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.set_size(1440, 900).await;
    page.says("News").await;
    let refuse = "window.asked = 0; const real = window.fetch; window.fetch = async (address, options) => { \
        if (!String(address).startsWith('admin/v1/signing_keys')) { return real(address, options); } \
        asked += 1; return new Response(JSON.stringify({code: 401, message: 'no'}), {status: 401}); };";
    page.run(refuse, &[]).await;
    page.click_on("Signing keys").await;
    page.until("document.querySelector('#main [role=alert]')").await;
    assert_eq!(page.run("return asked", &[]).await, 2);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modules_that_a_source_cannot_be_put_into_are_asked_for_again() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    let fail = "window.failing = true; const real = window.fetch; window.fetch = async (address, options) => { \
        if (!failing || !String(address).startsWith('admin/v1/modules')) { return real(address, options); } \
        return new Response(JSON.stringify({code: 500, message: 'no'}), {status: 500}); };";
    page.begin_with(fail).await;
    for address in ["view=sources&id=x&step=module", "view=add-source&id=x&step=module"] {
        page.go(&format!("/console?{address}")).await;
        page.says("Something failed on the server.").await;
        page.run("failing = false", &[]).await;
        page.click_on("Try again").await;
        page.find(".put-into form").await;
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_typed_is_not_lost_by_a_click() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.set_size(1440, 900).await;
    page.click_on("Add a module").await;
    page.find("[name=name]").await;
    // Nothing was typed: nothing is asked.
    page.click_on("Sources").await;
    page.until("document.querySelector('h1').textContent === 'Sources'").await;
    page.run("history.back()", &[]).await;
    page.fill("name", "Half").await;
    let address = page.address().await;
    let stays = async || {
        question(&page, "Leave without saving?").await;
        page.click_on("Cancel").await;
        no_question(&page).await;
        assert_eq!(page.address().await, address);
        assert_eq!(page.run("return document.querySelector('[name=name]').value", &[]).await, "Half");
    };
    page.click_on("Sources").await;
    stays().await;
    page.run("history.back()", &[]).await;
    stays().await;
    page.click_on("Sign out").await;
    stays().await;
    let choose = "const select = document.querySelector('#acting-on'); select.value = 'beta'; \
         select.dispatchEvent(new Event('change', {bubbles: true}));";
    page.until("document.querySelector('#acting-on option[value=beta]')").await;
    page.run(choose, &[]).await;
    page.painted().await;
    assert_eq!(page.address().await, address, "passing by chooses nothing");
    page.click_on("Go").await;
    stays().await;
    assert_eq!(page.run("return document.querySelector('#acting-on').value", &[]).await, "acme");
    let unloads = "const event = new Event('beforeunload', {cancelable: true}); dispatchEvent(event); return event.defaultPrevented";
    assert_eq!(page.run(unloads, &[]).await, true);

    page.run("history.back()", &[]).await;
    question(&page, "Leave without saving?").await;
    page.click_on("Leave").await;
    page.until("document.querySelector('h1').textContent === 'Modules'").await;
    assert_eq!(page.address().await, "/console?view=modules");
    assert_eq!(page.run(unloads, &[]).await, false);
    page.run(choose, &[]).await;
    page.click_on("Go").await;
    page.until("location.search.includes('tenant=beta')").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_ends_with_its_view() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=sources").await;
    page.click_on("System x").await;
    page.click_on("Remove").await;
    question(&page, "Remove System x?").await;
    page.run("history.back()", &[]).await;
    no_question(&page).await;
    page.until("document.querySelector('h1').textContent === 'Sources'").await;
    all.mei.get("/admin/v1/sources/x").await.ok();
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_is_of_one_tenant_and_ends_with_the_session() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=add-source").await;
    page.fill("name", "Half").await;
    page.fill("url", "https://half.example/search").await;
    page.submit().await;
    page.find("[name='auth.type']").await;
    page.go("/console?view=add-source&tenant=beta").await;
    assert_eq!(page.find("[name=name]").await.prop("value").await.unwrap().unwrap(), "");
    page.go("/console?view=add-source").await;
    assert_eq!(page.find("[name=name]").await.prop("value").await.unwrap().unwrap(), "Half");
    page.click_on("Sign out").await;
    page.says("Sign in as an operator").await;
    assert_eq!(page.run("return sessionStorage.length", &[]).await, 0);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_is_of_one_person() {
    let all = Operated::start_with(|config| config.console.operators.push("tom@acme".to_owned())).await;
    let tom = all.app.web_session("tom").await;
    let page = Page::open(&all.mei, "/console?view=add-source").await;
    page.fill("name", "Half").await;
    page.fill("url", "https://half.example/search").await;
    page.submit().await;
    page.find("[name='auth.type']").await;
    page.browser.hold(&tom).await;
    page.go("/console?view=add-source").await;
    assert_eq!(page.find("[name=name]").await.prop("value").await.unwrap().unwrap(), "");
    assert_eq!(page.run("return sessionStorage.length", &[]).await, 1);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_more_enterprises_than_a_list_shows_the_code_is_typed() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=sources").await;
    let few = json!({"source": "const real = fetch; \
        window.fetch = (address, options) => real(address.replace('tenants?limit=100', 'tenants?limit=1'), options);"});
    page.tell("Page.addScriptToEvaluateOnNewDocument", few).await;
    page.go("/console?view=sources").await;
    let field = page.find("input#acting-on").await;
    assert_eq!(field.prop("value").await.unwrap().unwrap(), "acme");
    field.clear().await.unwrap();
    field.send_keys("beta").await.unwrap();
    page.press_key(Key::Enter).await;
    page.until("location.search.includes('tenant=beta')").await;
    page.says("System x").await;
    page.close().await;
}
