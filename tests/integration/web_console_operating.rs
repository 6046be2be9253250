//! The console in a real browser: modules, applications and enterprises.

use fantoccini::key::Key;
use serde_json::json;

use crate::{
    util::{session::WebSession, web::Page},
    web_console::Operated,
};

async fn codes(mei: &WebSession) -> Vec<String> {
    let modules = mei.get("/admin/v1/modules").await.ok();
    modules.items().iter().map(|module| module["code"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modules_are_ordered_by_the_keyboard() {
    let all = Operated::start().await;
    let before = codes(&all.mei).await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.says("Favorites").await;
    // By tabulator to the second one.
    page.until("document.querySelector('tbody button')").await;
    let is_there = "return document.activeElement.ariaLabel === 'Move News up'";
    for _ in 0..80 {
        page.press_key(Key::Tab).await;
        if page.run(is_there, &[]).await == true {
            break;
        }
    }
    assert_eq!(page.run(is_there, &[]).await, true, "it is not reached by the keyboard");
    page.press_key(Key::Enter).await;
    page.until(
        "document.querySelector('[role=status].unseen').textContent === 'News is number 1 of 11 now.'",
    )
    .await;
    assert_eq!(page.run(is_there, &[]).await, true, "the focus goes along");
    let after = codes(&all.mei).await;
    assert_eq!(after[..2], [before[1].clone(), before[0].clone()]);
    assert_eq!(after[2..], before[2..]);
    // At its end it stays, and so does the focus.
    page.press_key(Key::Enter).await;
    assert_eq!(page.run(is_there, &[]).await, true);
    assert_eq!(codes(&all.mei).await, after);

    page.click_on("Remove News").await;
    page.press_key(Key::Escape).await;
    page.until("!document.querySelector('dialog')").await;
    assert_eq!(codes(&all.mei).await, after);
    page.click_on("Remove News").await;
    page.click_on("Remove").await;
    page.says("News is removed.").await;
    assert_eq!(codes(&all.mei).await, after[1..]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_of_built_in_contents_is_made() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.click_on("Add a module").await;
    page.submit().await;
    page.says("A module needs a source.").await;
    page.fill("name", "Both").await;
    page.fill("code", "News").await;
    for source in ["builtin:news", "builtin:article"] {
        page.run(
            "const choice = document.querySelector('.chooser select'); choice.value = arguments[0]",
            &[json!(source)],
        )
        .await;
        page.click_on("Add").await;
    }
    page.click_on("Move built-in article up").await;
    page.submit().await;
    // The server's own words, at the field that they are of.
    page.until("document.querySelector('[name=code]').ariaInvalid === 'true'").await;
    page.fill("code", "both").await;
    page.submit().await;
    page.says("Saved.").await;
    let modules = all.mei.get("/admin/v1/modules").await.ok();
    let made = modules.items().iter().find(|module| module["code"] == "both").unwrap().clone();
    assert_eq!(made["sources"], json!(["builtin:article", "builtin:news"]));
    assert_eq!(codes(&all.mei).await.last().unwrap(), "both");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_applications_secret_is_shown_once_and_works() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=applications").await;
    page.click_on("Add an application").await;
    page.fill("name", "Importer").await;
    page.click("input[value=\"contents:write\"]").await;
    page.submit().await;
    page.says("Keep this now").await;
    let secrets = page.texts("dialog .secret").await;
    let [client_id, secret, _callback_key] = secrets.as_slice() else { panic!("{secrets:?}") };
    let token = async |secret: &str| {
        let request =
            all.app.http.post(format!("{}/oauth2/token", all.app.base)).basic_auth(client_id, Some(secret));
        request.form(&[("grant_type", "client_credentials")]).send().await.unwrap().status().as_u16()
    };
    assert_eq!(token(secret).await, 200);
    page.click_on("I have kept it").await;
    page.says(client_id).await;
    assert!(
        !page.run("return document.documentElement.innerHTML", &[]).await.as_str().unwrap().contains(secret)
    );
    let kept = all.mei.get(&format!("/admin/v1/applications/{client_id}")).await.ok();
    assert_eq!(kept.data()["scopes"], json!(["contents:read", "contents:write"]));

    page.click_on("New secret").await;
    page.click_on("New secret").await;
    page.says("Keep this now").await;
    let rotated = page.texts("dialog .secret").await;
    assert_eq!(token(&rotated[0]).await, 200);
    page.click_on("I have kept it").await;
    page.says("Secret before is valid until").await;

    page.click_on("Disable").await;
    page.click_on("Disable").await;
    page.says("Saved.").await;
    assert_ne!(token(&rotated[0]).await, 200);
    page.click_on("Remove").await;
    page.click_on("Remove").await;
    page.says("Importer is removed.").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enterprise_is_acted_on_frozen_unfrozen_and_deleted() {
    let all = Operated::start().await;
    let beta = all.app.tenant("beta").await;
    let page = Page::open(&all.mei, "/console?view=tenants").await;
    page.says("you act on it").await;
    page.click_on("Act on it").await;
    page.says("No external system is connected yet.").await;
    assert_eq!(page.address().await, "/console?view=overview&tenant=beta");
    page.go("/console?view=tenants&id=acme").await;
    page.says("you can neither freeze nor delete it here").await;

    page.go("/console?view=tenants&id=beta").await;
    page.fill("loginSuffix", "beta.example").await;
    page.submit().await;
    page.says("Saved.").await;
    let settings = all.mei.get("/admin/v1/tenants/beta").await.ok();
    assert_eq!(settings.data()["loginSuffix"], "beta.example");

    page.click_on("Freeze").await;
    page.says("Every call of it or on it is refused").await;
    page.click_on("Freeze").await;
    page.says("beta is frozen.").await;
    beta.caller.search(&[("keyword", "x"), ("moduleId", "news")]).await.fails(403, "frozen");
    page.click_on("Unfreeze").await;
    page.says("beta is unfrozen.").await;
    beta.caller.search(&[("keyword", "x"), ("moduleId", "news")]).await.ok();

    page.click_on("Delete").await;
    let off = page.run("return document.querySelector('dialog button[type=submit]').disabled", &[]).await;
    assert_eq!(off, true, "the code is typed first");
    page.fill("typed", "beta").await;
    page.click("dialog button[type=submit]").await;
    page.says("beta is removed.").await;
    all.mei.get("/admin/v1/tenants/beta").await.fails(404, "tenant");

    page.click_on("Register an enterprise").await;
    page.fill("enterpriseName", "Gamma & Sons").await;
    page.submit().await;
    page.says("The enterprise is registered").await;
    page.says("Gamma & Sons").await;
    // Who did what says so.
    page.go("/console?view=audit&tenant=acme").await;
    page.click("#all-tenants").await;
    page.says("freeze").await;
    page.go("/console?view=keys").await;
    page.click_on("New key").await;
    page.click_on("New key").await;
    page.says("only verifies").await;
    page.close().await;
}
