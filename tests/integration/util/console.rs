use serde_json::json;

use super::{app::TestApp, caller::Caller, items::user, web::Page};

pub(crate) struct Operated {
    pub(crate) app: TestApp,
    pub(crate) mei: Caller,
}

impl Operated {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

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
    pub(crate) async fn fill(&self, name: &str, text: &str) {
        let field = self.find(&format!("[name=\"{name}\"]")).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    pub(crate) async fn choose(&self, name: &str, value: &str) {
        let field = format!("[name=\"{name}\"]");
        self.find(&field).await;
        let option = self.browser.client.find(&format!("{field} option[value='{value}']")).await.unwrap();
        option.click().await.unwrap();
    }

    pub(crate) async fn submit(&self) {
        self.click("form.form button[type=submit]").await;
    }

    pub(crate) async fn click_text(&self, text: &str) {
        let script = format!(
            "[...document.querySelectorAll('dialog[open] :is(a, button), body:not(:has(dialog[open])) :is(a, button)')]\
             .find((one) => one.checkVisibility() && (one.ariaLabel ?? one.textContent).trim() === {})",
            json!(text)
        );
        self.wait_until(&script).await;
        self.run(&format!("{script}.click()").replacen("[...", "return [...", 1), &[]).await;
    }
}
