//! Two operators at one object, and what the console tells the later one.

use serde_json::{Value, json};

use crate::util::{
    console::Operated,
    external::{ExternalSystem, with},
    items::many,
    web::Page,
};

const TOLD: &str = "Somebody else saved this meanwhile. What you entered is still here.";
const SOURCE: &str = "/admin/v1/sources/x";

async fn value(page: &Page, name: &str) -> Value {
    page.run(&format!("return document.querySelector('[name=\"{name}\"]').value"), &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_operator_is_told_and_chooses() {
    let all = Operated::start().await;
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let registration = system.registration("x");
    all.mei.post("/admin/v1/sources", &registration).await.ok();
    let page = Page::open(&all.mei, "/console?view=sources&id=x&step=edit").await;
    page.find("[name=pageSize]").await;

    // No answer is too late on a busy machine.
    page.run("AbortSignal.timeout = () => new AbortController().signal", &[]).await;
    all.mei.put(SOURCE, &with(registration.clone(), "timeoutMs", 900)).await.ok();
    page.fill("pageSize", "7").await;
    page.submit().await;
    page.wait_for_text(TOLD).await;
    page.wait_for_text("The last change: User mei").await;
    let focused = page.run("return document.activeElement.getAttribute('role')", &[]).await;
    assert_eq!((value(&page, "pageSize").await, focused), (json!("7"), json!("alert")));
    assert_eq!(all.mei.get(SOURCE).await.ok().data()["pageSize"], 10, "it was saved all the same");
    // Submitting again is refused again: the decision is the operator's.
    page.submit().await;
    page.wait_for_text(TOLD).await;
    page.click_text("Save mine over it").await;
    page.wait_for_text("Saved.").await;
    let stored = all.mei.get(SOURCE).await.ok();
    assert_eq!((&stored.data()["pageSize"], &stored.data()["timeoutMs"]), (&json!(7), &json!(900)));

    page.go("/console?view=sources&id=x&step=edit").await;
    page.find("[name=pageSize]").await;
    all.mei.put(SOURCE, &with(registration, "pageSize", 30)).await.ok();
    page.fill("pageSize", "8").await;
    page.submit().await;
    page.wait_for_text(TOLD).await;
    page.click_text("Discard mine and load theirs").await;
    page.wait_until("document.querySelector('[name=pageSize]')?.value === '30'").await;
    assert!(!page.shows_text(TOLD).await);
    page.fill("pageSize", "9").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    assert_eq!(all.mei.get(SOURCE).await.ok().data()["pageSize"], 9);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_form_of_the_console_tells_the_later_operator() {
    let all = Operated::start().await;
    let module = json!({"id": "m-1", "code": "handbook", "name": "Handbook", "type": 101, "sources": ["builtin:article"]});
    all.mei.post("/admin/v1/modules", &module).await.ok();
    let application = json!({"name": "Portal", "kind": "application", "scopes": ["contents:read"]});
    let application = all.mei.post("/admin/v1/applications", &application).await.ok();
    let client_id = application.data()["clientId"].as_str().unwrap();
    for (list, id, before, (field, theirs), (name, mine)) in [
        ("modules", "m-1", module, ("orderNo", json!(9)), ("name", "Manual")),
        ("applications", client_id, json!({}), ("scopes", json!([])), ("name", "Intranet")),
        ("tenants", "acme", json!({}), ("quotaBytes", json!(9)), ("loginSuffix", "acme.de")),
    ] {
        let (view, path) = (format!("{list}&id={id}"), format!("/admin/v1/{list}/{id}"));
        let page = Page::open(&all.mei, &format!("/console?view={view}")).await;
        page.find(&format!("[name={name}]")).await;
        all.mei.put(&path, &with(before, field, theirs.clone())).await.ok();
        page.fill(name, mine).await;
        page.submit().await;
        page.wait_for_text(TOLD).await;
        assert_ne!(all.mei.get(&path).await.ok().data()[name], mine, "{view}");
        page.click_text("Save mine over it").await;
        page.wait_for_text("Saved.").await;
        let stored = all.mei.get(&path).await.ok();
        assert_eq!((&stored.data()[name], &stored.data()[field]), (&json!(mine), &theirs), "{view}");
        page.close().await;
    }
}
