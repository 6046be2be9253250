use serde_json::{Value, json};

use crate::util::{
    console::Operated,
    session::WebSession,
    web::Page,
    zoo::{self as sources, KEYWORD, Running},
};

async fn register(page: &Page, name: &str, source: &Running) {
    let credentials = source.credentials();
    page.fill("name", name).await;
    page.fill("url", source.url.as_str()).await;
    page.submit().await;
    page.choose("auth.type", "OAUTH2_CLIENT").await;
    page.fill("auth.tokenUrl", credentials.token_url.as_str()).await;
    page.fill("auth.clientId", &credentials.client_id).await;
    page.fill("auth.clientSecret", secrecy::ExposeSecret::expose_secret(&credentials.client_secret)).await;
    page.fill("auth.scope", credentials.scope.as_deref().unwrap()).await;
    page.submit().await;
    page.find(".check-form").await;
}

async fn registered(mei: &WebSession) -> Value {
    mei.get("/admin/v1/sources").await.ok().items()[0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn source_is_added_checked_enabled_and_searched() {
    let all = Operated::start().await;
    let healthy = sources::start_healthy().await;
    let page = Page::open(&all.mei, "/console?view=sources").await;
    page.click_text("Add a source").await;

    // Errors of the server appear at their field, even of another step.
    page.fill("name", "Reference").await;
    page.fill("url", "ftp://nowhere").await;
    page.submit().await;
    page.wait_until("document.querySelector('[name=\"auth.type\"]')").await;
    page.choose("auth.type", "NONE").await;
    page.submit().await;
    page.wait_until("document.querySelector('[name=url]')?.ariaInvalid === 'true'").await;
    assert_eq!(page.address().await, "/console?view=add-source&step=address");
    let focused = page.run("return document.activeElement.getAttribute('role')", &[]).await;
    assert_eq!(focused, "alert", "the error is announced");

    register(&page, "Reference", &healthy).await;
    let source = registered(&all.mei).await;
    assert_eq!((&source["name"], &source["enabled"]), (&json!("Reference"), &json!(false)));
    let id = source["id"].as_str().unwrap();
    assert_eq!(page.address().await, format!("/console?view=add-source&id={id}&step=check"));
    assert!(!page.shows_text("Enable").await, "Enable is offered before the check");

    page.fill("keyword", KEYWORD).await;
    let count = "window.counts = new Set();
        const list = document.querySelector('.check-run');
        const note = () => counts.add(list.querySelectorAll('li').length);
        new MutationObserver(note).observe(list, {childList: true, subtree: true});";
    page.run(count, &[]).await;
    page.click_text("Run the check").await;
    page.wait_for_text("The check passed").await;
    let passed = page.texts(".clauses.pass li").await.len();
    assert!(passed > 40, "{passed}");
    let between = page.run("return [...counts].filter((count) => count > 0).length", &[]).await;
    assert!(between.as_u64().unwrap() > 5, "clauses came all at once: {between}");
    assert_eq!(page.texts(".clauses.fail li").await, [""; 0]);

    page.click_text("Enable").await;
    page.find("[name=module]").await;
    assert_eq!(registered(&all.mei).await["enabled"], true);
    page.submit().await;
    page.wait_for_text("Reference is searched in Reference now.").await;

    let tom = all.app.web_session("tom").await;
    let found =
        tom.post("/contents/search", &json!({"keyword": KEYWORD, "moduleId": "reference"})).await.ok();
    assert!(found.ids()[0].starts_with("healthy-"), "{}", found.text);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_source_shows_the_failing_clause() {
    let all = Operated::start().await;
    let fault = sources::faults().into_iter().find(|fault| fault.clause == "count").unwrap();
    let broken = sources::start(&fault).await;
    let page = Page::open_in(&all.mei, "/console?view=add-source", "zh-CN").await;
    register(&page, "坏的系统", &broken).await;
    page.fill("keyword", KEYWORD).await;
    page.click_text("开始检查").await;
    page.wait_for_text("检查未通过").await;
    let failed: Value = page
        .run("return [...document.querySelectorAll('.clauses.fail li')].map((one) => [one.dataset.clause, one.querySelector('details').open])", &[])
        .await;
    assert_eq!(failed, json!([["count", true]]));
    assert_eq!(page.texts(".clauses .title[lang=en]").await, [""; 0]);
    assert!(page.texts(".clauses.fail pre").await[0].starts_with("curl "));
    assert_eq!(page.texts(".after-check button").await, ["仍然启用"]);

    // A source left here stays disabled and can be resumed.
    page.click_text("稍后再说").await;
    page.wait_for_text("已停用").await;
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
