use serde_json::{Value, json};

use crate::util::{
    caller::Caller,
    console::Operated,
    external::{ExternalSystem, auth, with},
    items::many,
    web::Page,
    zoo::{self as sources, KEYWORD, Running},
};

async fn fill_in(page: &Page, name: &str, source: &Running) {
    let credentials = source.credentials();
    page.fill("name", name).await;
    page.fill("url", source.url.as_str()).await;
    page.submit().await;
    page.find("[name=\"auth.type\"]").await;
    page.choose("auth.type", "OAUTH2_CLIENT").await;
    page.fill("auth.tokenUrl", credentials.token_url.as_str()).await;
    page.fill("auth.clientId", &credentials.client_id).await;
    page.fill("auth.clientSecret", secrecy::ExposeSecret::expose_secret(&credentials.client_secret)).await;
    page.fill("auth.scope", credentials.scope.as_deref().unwrap()).await;
    // A busy machine must not break the clause on time.
    page.fill("timeoutMs", "10000").await;
    page.fill("keyword", KEYWORD).await;
}

async fn registered(mei: &Caller) -> Value {
    mei.get("/admin/v1/sources").await.ok().items()[0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn source_is_added_checked_enabled_and_searched() {
    let all = Operated::start().await;
    let healthy = sources::start_healthy().await;
    let page = Page::open(&all.mei, "/console?view=sources").await;
    page.click_text("Add a source").await;

    fill_in(&page, "Reference", &healthy).await;
    let count = "window.counts = new Set();
        const note = () => counts.add(document.querySelectorAll('.check-run li').length);
        new MutationObserver(note).observe(document.body, {childList: true, subtree: true});";
    page.run(count, &[]).await;
    page.submit().await;
    page.wait_for_text("The check passed").await;
    let source = registered(&all.mei).await;
    assert_eq!((&source["name"], &source["enabled"]), (&json!("Reference"), &json!(false)));
    let id = source["id"].as_str().unwrap();
    assert_eq!(page.address().await, format!("/console?view=add-source&id={id}&step=check"));
    let passed = page.run("return document.querySelectorAll('.clauses.pass li').length", &[]).await;
    assert!(passed.as_u64().unwrap() > 40, "{passed}");
    assert_eq!(source["lastCheck"]["passed"], passed);
    page.wait_for_text(&format!("{passed} clauses passed")).await;
    let between = page.run("return [...counts].filter((count) => count > 0).length", &[]).await;
    assert!(between.as_u64().unwrap() > 5, "clauses came all at once: {between}");
    assert_eq!(page.texts(".clauses li").await, [""; 0], "passed clauses are not folded");

    // A reload does not repeat the check, and the list tells its result.
    page.go(&page.address().await).await;
    page.find(".check-form").await;
    assert!(!page.shows_text("Enable").await, "Enable is offered before the check");
    page.go("/console?view=sources").await;
    page.wait_for_text("the check passed").await;
    page.click_text("Go on setting it up").await;
    page.fill("keyword", KEYWORD).await;
    page.click_text("Run the check").await;
    page.wait_for_text("The check passed").await;

    page.click_text("Enable").await;
    page.find("[name=module]").await;
    assert_eq!(registered(&all.mei).await["enabled"], true);
    page.submit().await;
    page.wait_for_text("Reference is searched in Reference now.").await;

    let tom = all.app.web_session("tom").await;
    let found =
        tom.post("/contents/search", &json!({"keyword": KEYWORD, "moduleId": "reference"})).await.ok();
    assert!(found.ids()[0].starts_with("healthy-"), "{}", found.text);

    page.go(&format!("/console?view=sources&id={id}")).await;
    page.wait_for_text("take it out of its modules first").await;
    assert_eq!(page.run("return document.querySelector('button.grave').disabled", &[]).await, true);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unusable_name_and_address_are_refused_at_their_step() {
    let all = Operated::start().await;
    let system = ExternalSystem::start(Vec::new()).await;
    let taken = with(system.registration("taken"), "name", "Notes of the port");
    all.mei.post("/admin/v1/sources", &taken).await.ok();
    let page = Page::open(&all.mei, "/console?view=add-source").await;
    for (name, url, field, message) in [
        ("Port", "ftp://nowhere", "url", "must be https"),
        ("Port", "https://169.254.169.254/latest", "url", "leads to"),
        ("notes of  the PORT", "https://crm.example/search", "name", "is taken by the source taken"),
    ] {
        page.fill("name", name).await;
        page.fill("url", url).await;
        page.submit().await;
        page.wait_until(&format!("document.querySelector('[name={field}]').ariaInvalid === 'true'")).await;
        page.wait_for_text(message).await;
        let focused = page.run("return document.activeElement.getAttribute('role')", &[]).await;
        assert_eq!(focused, "alert", "the error is announced");
        assert_eq!(page.address().await, "/console?view=add-source");
    }
    page.fill("name", "Port").await;
    page.submit().await;
    page.find("[name=\"auth.type\"]").await;

    // Another operator took the name meanwhile.
    all.mei.post("/admin/v1/sources", &with(system.registration("port"), "name", "Port")).await.ok();
    page.choose("auth.type", "NONE").await;
    page.submit().await;
    page.wait_until("document.querySelector('[name=name]')?.ariaInvalid === 'true'").await;
    assert_eq!(page.address().await, "/console?view=add-source&step=address");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_source_shows_the_failing_clause() {
    let all = Operated::start().await;
    let fault = sources::faults().into_iter().find(|fault| fault.clause == "count").unwrap();
    let broken = sources::start(&fault).await;
    let page = Page::open_in(&all.mei, "/console?view=add-source", "zh-CN").await;
    fill_in(&page, "坏的系统", &broken).await;
    page.submit().await;
    page.wait_for_text("检查未通过").await;
    let failed: Value = page
        .run("return [...document.querySelectorAll('.clauses.fail li')].map((one) => [one.dataset.clause, one.querySelector('details').open])", &[])
        .await;
    assert_eq!(failed, json!([["count", true]]));
    assert_eq!(page.texts(".clauses .title[lang=en]").await, [""; 0]);
    assert!(page.texts(".clauses.fail pre").await[0].starts_with("curl "));
    assert_eq!(page.texts(".after-check button").await, ["仍然启用"]);
    assert_eq!(page.texts("li[data-verdict=pass], li[data-verdict=unknown]").await, [""; 0]);
    page.click(".fold:has(.pass) > summary").await;
    assert!(page.texts(".clauses.pass li").await.len() > 30);

    page.run("navigator.clipboard.writeText = async (text) => { window.sent = text; }", &[]).await;
    page.click_text("复制发给数据源开发者的说明").await;
    page.wait_for_text("已复制").await;
    let sent = page.run("return sent", &[]).await;
    let sent = sent.as_str().unwrap();
    for part in
        ["“坏的系统”", broken.url.as_str(), "1. ", "(count)", "curl ", "$TOKEN", "`count` 为返回的条目数"]
    {
        assert!(sent.contains(part), "{part}: {sent}");
    }

    // A source left here stays disabled and can be resumed.
    page.click_text("稍后再说").await;
    page.wait_for_text("已停用").await;
    page.wait_for_text("未通过 1 条").await;
    page.click_text("继续设置").await;
    page.find(".check-form").await;
    page.run("history.back()", &[]).await;
    page.wait_for_text("继续设置").await;
    assert_eq!(registered(&all.mei).await["enabled"], false);
    page.click_text("继续设置").await;
    page.click_text("开始检查").await;
    page.click_text("仍然启用").await;
    page.find("[name=module]").await;
    assert_eq!(registered(&all.mei).await["enabled"], true);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn source_with_an_api_key_is_registered_in_the_console() {
    let all = Operated::start().await;
    let system = ExternalSystem::start(many("x", "harbour", 12, 1)).await;
    let page = Page::open(&all.mei, "/console?view=add-source").await;
    page.fill("name", "Archive").await;
    page.fill("url", system.registration("x")["url"].as_str().unwrap()).await;
    page.submit().await;
    page.find("[name=\"auth.type\"]").await;
    let offered = page.run(
        "return [...document.querySelector('[name=\"auth.type\"]').options].map((one) => one.value)",
        &[],
    );
    let types =
        ["OAUTH2_CLIENT", "OAUTH2_JWT_BEARER", "OAUTH2_TOKEN_EXCHANGE", "API_KEY", "BASIC", "BEARER", "NONE"];
    assert_eq!(offered.await, json!(types));
    page.choose("auth.type", "API_KEY").await;
    let shown = "[...document.querySelectorAll('form.form [name^=\"auth.\"]')].filter((one) => one.checkVisibility()).map((one) => one.name)";
    assert_eq!(
        page.run(&format!("return {shown}"), &[]).await,
        json!(["auth.type", "auth.header", "auth.key"])
    );
    page.fill("auth.key", "very-secret-0123").await;
    page.fill("keyword", "harbour").await;
    page.submit().await;
    page.wait_for_text("clauses passed").await;
    assert!(!page.shows_text("very-secret-0123").await);
    assert!(system.requests().iter().any(|asked| asked.api_key == "very-secret-0123"));
    let stored = page.run("return JSON.stringify([{...sessionStorage}, {...localStorage}])", &[]).await;
    assert!(!stored.as_str().unwrap().contains("very-secret"), "{stored}");

    let source = all.mei.get("/admin/v1/sources").await.ok().items()[0].clone();
    let id = source["id"].as_str().unwrap();
    assert_eq!(
        (&source["auth"]["type"], &source["auth"]["header"]),
        (&json!("API_KEY"), &json!("X-API-Key"))
    );
    // The key stays without being typed; another host needs it again.
    page.go(&format!("/console?view=sources&id={id}&step=edit")).await;
    page.find("[name=\"auth.header\"]").await;
    page.fill("auth.header", "X-Other-Key").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    page.wait_for_text("API key in a header, ").await;
    page.go(&format!("/console?view=sources&id={id}&step=edit")).await;
    page.find("[name=url]").await;
    page.fill("url", "https://elsewhere.example/search").await;
    page.submit().await;
    page.wait_until("document.querySelector('[name=\"auth.key\"]')?.ariaInvalid === 'true'").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identity_is_registered_and_checked_as_a_person() {
    let all = Operated::start().await;
    let people = ["mei", "tom"].map(str::to_owned);
    let source = sources::start_for_people(&format!("{}/oauth2/jwks", all.app.base), None, &people).await;
    let mut registration =
        json!({"id": "crm", "name": "CRM", "url": source.url, "auth": auth(&source.credentials())});
    registration["timeoutMs"] = json!(10_000);
    all.mei.post("/admin/v1/sources", &registration).await.ok();
    let page = Page::open(&all.mei, "/console?view=sources&id=crm&step=edit").await;
    page.choose("identity.type", "assertion").await;
    page.choose("identity.subject", "userId").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    let stored = all.mei.get("/admin/v1/sources/crm").await.ok();
    assert_eq!(stored.data()["identity"]["header"], "X-Trawl-Assertion");

    page.go("/console?view=sources&id=crm&step=check").await;
    page.fill("keyword", KEYWORD).await;
    page.fill("person", "tom").await;
    page.click_text("Run the check").await;
    page.wait_for_text("The check passed").await;
    page.go("/console?view=sources&id=crm&step=edit").await;
    page.choose("identity.type", "none").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    assert!(all.mei.get("/admin/v1/sources/crm").await.ok().data()["identity"].is_null());
    page.close().await;
}
