use serde_json::{Value, json};

use super::{
    app::{Application, TestApp, disable_suspension},
    caller::Caller,
    external::{ExternalSystem, Reply},
    items::{item, many, user},
    web::Page,
};

pub(crate) struct SearchPage {
    pub(crate) app: TestApp,
    pub(crate) acme: Application,
    pub(crate) operator: Caller,
    pub(crate) mei: Caller,
}

impl SearchPage {
    pub(crate) async fn start() -> Self {
        Self::of(TestApp::start().await).await
    }

    pub(crate) async fn with(articles: &[Value]) -> Self {
        let all = Self::start().await;
        all.app.put_contents(&all.acme.caller, "article", articles).await;
        all
    }

    pub(crate) async fn of(app: TestApp) -> Self {
        let acme = app.tenant("acme").await;
        app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
        let operator = app.operator().await.caller.on("acme");
        let mei = app.web_session("mei").await;
        Self { app, acme, operator, mei }
    }

    pub(crate) async fn register_source(&self, source: &Value, name: &str, order_no: i64) {
        self.operator.post("/admin/v1/sources", source).await.ok();
        let module = json!({
            "code": name.to_lowercase(), "name": name, "type": 100, "orderNo": order_no, "sources": [source["id"]],
        });
        self.operator.post("/admin/v1/modules", &module).await.ok();
    }
}

/// Defines `test.answer`.
pub(crate) const LIST_ANSWERS: &str = include_str!("scripts/list_answers.js");

pub(crate) async fn with_articles() -> SearchPage {
    let all = SearchPage::of(TestApp::start_with(disable_suspension).await).await;
    all.app.put_contents(&all.acme.caller, "article", &[item("a", "harbour", 1), item("b", "quay", 2)]).await;
    all
}

/// The page has reported the module of an unreachable system.
pub(crate) async fn with_beta_away() -> (SearchPage, ExternalSystem, Page) {
    let all = with_articles().await;
    let system = ExternalSystem::start(many("y", "harbour", 3, 1)).await;
    system.set_reply(Reply::Status(503));
    all.register_source(&system.registration("beta"), "Beta", 51).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.wait_until("!document.querySelector('.overview').ariaBusy && document.querySelector('[data-module=beta] .note button')")
        .await;
    (all, system, page)
}
