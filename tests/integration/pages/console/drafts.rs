use serde_json::json;

use crate::util::{
    console::Operated,
    external::{ExternalSystem, with},
    web::Page,
    webdriver::Key,
};

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
    page.wait_until(&format!("document.querySelector('dialog[open] h2')?.textContent === {}", json!(title)))
        .await;
}

async fn no_question(page: &Page) {
    page.wait_until("!document.querySelector('dialog')").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn view_never_acts_on_another_tenant_during_navigation() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=sources&id=x").await;
    page.wait_for_text("The last hour").await;
    page.run(include_str!("../../util/scripts/race_enabling.js"), &[]).await;
    page.wait_until("document.querySelector('h1').textContent === 'Signing keys'").await;
    page.wait_until("!document.querySelector('#main [aria-busy]')").await;
    let asked = page.run("return test.requested", &[]).await;
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
async fn changes_of_a_module_by_another_operator_are_kept() {
    let all = Operated::start().await;
    let operator = all.app.operator().await.caller.on("acme");
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.wait_for_text("Favorites").await;
    let modules = operator.get("/admin/v1/modules").await.ok();
    let news = modules.items().iter().find(|module| module["code"] == "news").unwrap().clone();
    let path = format!("/admin/v1/modules/{}", news["id"].as_str().unwrap());
    let recency = json!({"percent": 40, "halfLifeDays": 7});
    operator.put(&path, &with(with(news, "name", "Tidings"), "recency", recency)).await.ok();
    page.click_text("Move News up").await;
    page.wait_for_text("Tidings").await;
    page.wait_until("document.querySelector('tbody tr').textContent.includes('Tidings')").await;
    assert_eq!(operator.get(&path).await.ok().data()["name"], "Tidings");

    page.click_text("Tidings").await;
    page.fill("icon", "star").await;
    page.fill("recency.percent", "30").await;
    let now = operator.get(&path).await.ok().data().clone();
    operator.put(&path, &with(with(now, "orderNo", 77), "name", "Messages of the day")).await.ok();
    page.submit().await;
    page.click_text("Save mine over it").await;
    page.wait_for_text("Saved.").await;
    let now = operator.get(&path).await.ok().data().clone();
    assert_eq!(
        (&now["icon"], &now["orderNo"], &now["name"]),
        (&json!("star"), &json!(77), &json!("Messages of the day"))
    );
    assert_eq!(now["recency"], json!({"percent": 30, "halfLifeDays": 7}), "half-lives stay");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secret_is_shown_even_after_navigation() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=applications&id=%2B").await;
    let late = include_str!("../../util/scripts/held_post.js");
    let leave = async || {
        page.wait_until("test.isDone").await;
        page.run("document.querySelector('trawl-console').go({view: 'modules'})", &[]).await;
        page.wait_until("document.querySelector('h1').textContent === 'Modules'").await;
        page.run("test.isDone = false; test.release()", &[]).await;
        page.wait_for_text("Keep this now").await;
        page.wait_until("document.querySelectorAll('dialog[open] .secret').length > 0").await;
        page.click_text("I have kept it").await;
        no_question(&page).await;
        assert_eq!(page.texts("h1").await, ["Modules"]);
    };
    page.fill("name", "Importer").await;
    page.run(late, &[]).await;
    page.submit().await;
    leave().await;

    page.go("/console?view=applications").await;
    page.click_text("Importer").await;
    page.click_text("New secret").await;
    page.wait_until("document.querySelector('dialog[open] button[type=submit]')").await;
    page.run(late, &[]).await;
    page.click("dialog[open] button[type=submit]").await;
    leave().await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn console_restored_by_the_browser_is_reloaded() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.wait_for_text("News").await;
    all.mei.post_empty("/session/end").await.ok();
    // Simulates a return from the back/forward cache.
    page.run("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))", &[]).await;
    page.wait_for_text("Sign in as an operator").await;
    assert!(!page.shows_text("News").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_person_is_told_despite_a_session() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.set_size(1440, 900).await;
    page.wait_for_text("News").await;
    page.run("test.fail('admin/v1/signing_keys', 401)", &[]).await;
    page.click_text("Signing keys").await;
    page.wait_until("document.querySelector('#main [role=alert]')").await;
    assert_eq!(page.run("return test.requests", &[]).await, 2);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_list_of_modules_is_requested_again() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.run_on_load("test.fail('admin/v1/modules', 500)").await;
    for address in ["view=sources&id=x&step=module", "view=add-source&id=x&step=module"] {
        page.go(&format!("/console?{address}")).await;
        page.wait_for_text("Something failed on the server.").await;
        page.run("test.failures = 0", &[]).await;
        page.click_text("Try again").await;
        page.find(".put-into form").await;
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn draft_is_not_lost_by_navigation() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.set_size(1440, 900).await;
    page.click_text("Add a module").await;
    page.find("[name=name]").await;
    page.click_text("Sources").await;
    page.wait_until("document.querySelector('h1').textContent === 'Sources'").await;
    page.run("history.back()", &[]).await;
    page.fill("name", "Half").await;
    let address = page.address().await;
    let stays = async || {
        question(&page, "Leave without saving?").await;
        page.click_text("Cancel").await;
        no_question(&page).await;
        assert_eq!(page.address().await, address);
        assert_eq!(page.run("return document.querySelector('[name=name]').value", &[]).await, "Half");
    };
    page.click_text("Sources").await;
    stays().await;
    page.run("history.back()", &[]).await;
    stays().await;
    page.click_text("Sign out").await;
    stays().await;
    let choose = "test.change('#acting-on', 'beta')";
    page.wait_until("document.querySelector('#acting-on option[value=beta]')").await;
    page.run(choose, &[]).await;
    page.wait_for_paint().await;
    assert_eq!(page.address().await, address, "a selection alone changes nothing");
    page.click_text("Go").await;
    stays().await;
    assert_eq!(page.run("return document.querySelector('#acting-on').value", &[]).await, "acme");
    let unloads = "const event = new Event('beforeunload', {cancelable: true}); dispatchEvent(event); return event.defaultPrevented";
    assert_eq!(page.run(unloads, &[]).await, true);

    page.run("history.back()", &[]).await;
    question(&page, "Leave without saving?").await;
    page.click_text("Leave").await;
    page.wait_until("document.querySelector('h1').textContent === 'Modules'").await;
    assert_eq!(page.address().await, "/console?view=modules");
    assert_eq!(page.run(unloads, &[]).await, false);
    page.run(choose, &[]).await;
    page.click_text("Go").await;
    page.wait_until("location.search.includes('tenant=beta')").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialog_closes_with_its_view() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=sources").await;
    page.click_text("System x").await;
    page.click_text("Remove").await;
    question(&page, "Remove System x?").await;
    page.run("history.back()", &[]).await;
    no_question(&page).await;
    page.wait_until("document.querySelector('h1').textContent === 'Sources'").await;
    all.mei.get("/admin/v1/sources/x").await.ok();
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn draft_belongs_to_one_tenant_person_and_session() {
    let all = Operated::start_with(|config| config.console.operators.push("tom@acme".to_owned())).await;
    all.app.tenant("beta").await;
    let tom = all.app.web_session("tom").await;
    let page = Page::open(&all.mei, "/console?view=add-source").await;
    let fill_in = async || {
        page.fill("name", "Half").await;
        page.fill("url", "https://half.example/search").await;
        page.submit().await;
        page.find("[name='auth.type']").await;
    };
    let name = async |address: &str| {
        page.go(address).await;
        page.find("[name=name]").await.prop("value").await.unwrap()
    };
    fill_in().await;
    assert_eq!(name("/console?view=add-source&tenant=beta").await, "");
    assert_eq!(name("/console?view=add-source").await, "Half");
    page.browser.hold(&tom).await;
    assert_eq!(name("/console?view=add-source").await, "");
    assert_eq!(page.run("return sessionStorage.length", &[]).await, 1);
    fill_in().await;
    page.click_text("Sign out").await;
    page.wait_for_text("Sign in as an operator").await;
    assert_eq!(page.run("return sessionStorage.length", &[]).await, 0);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enterprise_code_is_typed_beyond_the_list_limit() {
    let (all, _system) = with_sources().await;
    let page = Page::open(&all.mei, "/console?view=sources").await;
    let few =
        "test.intercept(({ address, send }) => send({ address: address.replace('limit=100', 'limit=1') }))";
    page.run_on_load(few).await;
    page.go("/console?view=sources").await;
    let field = page.find("input#acting-on").await;
    assert_eq!(field.prop("value").await.unwrap(), "acme");
    field.clear().await.unwrap();
    field.send_keys("beta").await.unwrap();
    page.press_key(Key::Enter).await;
    page.wait_until("location.search.includes('tenant=beta')").await;
    page.wait_for_text("System x").await;
    page.close().await;
}
