//! The console in a real browser: an operator connects a system, step by step, and sees what is wrong with one.

use serde_json::{Value, json};

use crate::{
    util::{app::TestApp, items::user, session::WebSession, web::Page},
    zoo::sources::{self, KEYWORD, Running},
};

/// A tenant with an operator, Mei, and someone who is none, Tom.
pub(crate) struct Operated {
    pub(crate) app: TestApp,
    pub(crate) mei: WebSession,
}

impl Operated {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// The same by other settings.
    pub(crate) async fn start_with(change: impl FnOnce(&mut trawl::config::Config)) -> Self {
        let app = TestApp::start_with(|config| {
            config.console.operators = vec!["mei@acme".to_owned()];
            change(config);
        })
        .await;
        let acme = app.tenant("acme").await;
        app.sync(&acme.caller, "users", &json!([user("mei", ""), user("tom", "")])).await;
        let mei = app.web_session("mei").await;
        Self { app, mei }
    }
}

impl Page {
    /// Writes into the field of this name, in the place of what is there.
    pub(crate) async fn fill(&self, name: &str, text: &str) {
        let field = self.find(&format!("[name=\"{name}\"]")).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Chooses a value of the field of this name.
    pub(crate) async fn choose(&self, name: &str, value: &str) {
        let field = self.find(&format!("[name=\"{name}\"]")).await;
        field.select_by_value(value).await.unwrap();
    }

    /// Sends the form of the view.
    pub(crate) async fn submit(&self) {
        self.click("form.form button[type=submit]").await;
    }

    /// Clicks what is called so: a button or a link.
    pub(crate) async fn click_on(&self, text: &str) {
        let script = format!(
            "[...document.querySelectorAll('dialog[open] :is(a, button), body:not(:has(dialog[open])) :is(a, button)')]\
             .find((one) => one.checkVisibility() && (one.ariaLabel ?? one.textContent).trim() === {})",
            json!(text)
        );
        self.until(&script).await;
        self.run(&format!("{script}.click()").replacen("[...", "return [...", 1), &[]).await;
    }
}

/// Fills the first two steps in for this source, and registers it.
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
async fn a_source_is_added_checked_enabled_and_searched() {
    let all = Operated::start().await;
    let healthy = sources::start_healthy().await;
    let page = Page::open(&all.mei, "/console?view=sources").await;
    page.click_on("Add a source").await;

    // What the server finds wrong is said at its field, though another step asked for it.
    page.fill("name", "Reference").await;
    page.fill("url", "ftp://nowhere").await;
    page.submit().await;
    page.until("document.querySelector('[name=\"auth.type\"]')").await;
    page.choose("auth.type", "NONE").await;
    page.submit().await;
    page.until("document.querySelector('[name=url]')?.ariaInvalid === 'true'").await;
    assert_eq!(page.address().await, "/console?view=add-source&step=address");
    let focused = page.run("return document.activeElement.getAttribute('role')", &[]).await;
    assert_eq!(focused, "alert", "what is wrong is read out");

    register(&page, "Reference", &healthy).await;
    let source = registered(&all.mei).await;
    assert_eq!((&source["name"], &source["enabled"]), (&json!("Reference"), &json!(false)));
    let id = source["id"].as_str().unwrap();
    assert_eq!(page.address().await, format!("/console?view=add-source&id={id}&step=check"));
    assert!(!page.says_now("Enable").await, "it was not checked yet");

    // Clause by clause: each as it comes.
    page.fill("keyword", KEYWORD).await;
    page.run(
        "window.counts = new Set(); const list = document.querySelector('.check-run'); \
         new MutationObserver(() => counts.add(list.querySelectorAll('li').length)).observe(list, {childList: true, subtree: true});",
        &[],
    )
    .await;
    page.click_on("Run the check").await;
    page.says("The check passed").await;
    let passed = page.texts(".clauses.pass li").await.len();
    assert!(passed > 40, "{passed}");
    let between = page.run("return [...counts].filter((count) => count > 0).length", &[]).await;
    assert!(between.as_u64().unwrap() > 5, "clauses came all at once: {between}");
    assert_eq!(page.texts(".clauses.fail li").await, [""; 0]);

    page.click_on("Enable").await;
    page.find("[name=module]").await;
    assert_eq!(registered(&all.mei).await["enabled"], true);
    page.submit().await;
    page.says("Reference is searched in Reference now.").await;

    let tom = all.app.web_session("tom").await;
    let found =
        tom.post("/contents/search", &json!({"keyword": KEYWORD, "moduleId": "reference"})).await.ok();
    assert!(found.ids()[0].starts_with("healthy-"), "{}", found.text);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_source_shows_which_clause_fails() {
    let all = Operated::start().await;
    let fault = sources::faults().into_iter().find(|fault| fault.clause == "count").unwrap();
    let broken = sources::start(&fault).await;
    let page = Page::open_in(&all.mei, "/console?view=add-source", "zh-CN").await;
    register(&page, "坏的系统", &broken).await;
    page.fill("keyword", KEYWORD).await;
    page.click_on("开始检查").await;
    page.says("检查未通过").await;
    let failed: Value = page
        .run("return [...document.querySelectorAll('.clauses.fail li')].map((one) => [one.dataset.clause, one.querySelector('details').open])", &[])
        .await;
    assert_eq!(failed, json!([["count", true]]));
    // Every clause has its sentence in Chinese.
    assert_eq!(page.texts(".clauses .title[lang=en]").await, [""; 0]);
    assert!(page.texts(".clauses.fail pre").await[0].starts_with("curl "));
    assert_eq!(page.texts(".after-check button").await, ["仍然启用"]);

    // Whoever goes away finds it disabled, and goes on.
    page.click_on("稍后再说").await;
    page.says("已停用").await;
    page.click_on("继续设置").await;
    page.find(".check-form").await;
    page.run("history.back()", &[]).await;
    page.says("继续设置").await;
    assert_eq!(registered(&all.mei).await["enabled"], false);
    page.click_on("继续设置").await;
    page.click_on("开始检查").await;
    page.click_on("仍然启用").await;
    page.find("[name=module]").await;
    assert_eq!(registered(&all.mei).await["enabled"], true);
    page.close().await;
}
