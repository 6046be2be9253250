use serde_json::json;

use crate::util::{
    caller::Caller,
    console::Operated,
    external::{ExternalSystem, Reply},
    items::many,
    web::Page,
    webdriver::Key,
};

async fn codes(mei: &Caller) -> Vec<String> {
    let modules = mei.get("/admin/v1/modules").await.ok();
    modules.items().iter().map(|module| module["code"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modules_are_ordered_by_keyboard() {
    let all = Operated::start().await;
    let before = codes(&all.mei).await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.wait_for_text("Favorites").await;
    page.wait_until("document.querySelector('tbody button')").await;
    let is_there = "return document.activeElement.ariaLabel === 'Move News up'";
    for _ in 0..80 {
        page.press_key(Key::Tab).await;
        if page.run(is_there, &[]).await == true {
            break;
        }
    }
    assert_eq!(page.run(is_there, &[]).await, true, "not reachable by keyboard");
    page.press_key(Key::Enter).await;
    page.wait_until(
        "document.querySelector('[role=status].unseen').textContent === 'News is number 1 of 11 now.'",
    )
    .await;
    assert_eq!(page.run(is_there, &[]).await, true, "the focus follows");
    let after = codes(&all.mei).await;
    assert_eq!(after[..2], [before[1].clone(), before[0].clone()]);
    assert_eq!(after[2..], before[2..]);
    page.press_key(Key::Enter).await;
    assert_eq!(page.run(is_there, &[]).await, true);
    assert_eq!(codes(&all.mei).await, after);

    page.click_text("Remove News").await;
    page.press_key(Key::Escape).await;
    page.wait_until("!document.querySelector('dialog')").await;
    assert_eq!(codes(&all.mei).await, after);
    page.click_text("Remove News").await;
    page.click_text("Remove").await;
    page.wait_for_text("News is removed.").await;
    assert_eq!(codes(&all.mei).await, after[1..]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn module_of_built_in_contents_is_created() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=modules").await;
    page.click_text("Add a module").await;
    page.submit().await;
    page.wait_for_text("A module needs a source.").await;
    page.fill("name", "Both").await;
    page.fill("recency.halfLifeDays", "0").await;
    page.fill("code", "News").await;
    for source in ["builtin:news", "builtin:article"] {
        page.run(
            "const choice = document.querySelector('.chooser select'); choice.value = arguments[0]",
            &[json!(source)],
        )
        .await;
        page.click_text("Add").await;
    }
    page.click_text("Move built-in article up").await;
    page.submit().await;
    page.wait_until("document.querySelector('[name=\"recency.halfLifeDays\"]').ariaInvalid === 'true'").await;
    page.fill("recency.halfLifeDays", "30").await;
    page.submit().await;
    page.wait_until("document.querySelector('[name=code]').ariaInvalid === 'true'").await;
    page.fill("code", "both").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    let modules = all.mei.get("/admin/v1/modules").await.ok();
    let made = modules.items().iter().find(|module| module["code"] == "both").unwrap().clone();
    assert_eq!(made["sources"], json!(["builtin:article", "builtin:news"]));
    assert_eq!(made["recency"], json!({"percent": 15, "halfLifeDays": 30}));
    assert_eq!(codes(&all.mei).await.last().unwrap(), "both");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn application_secret_is_shown_until_confirmed_and_works() {
    let all = Operated::start().await;
    let page = Page::open(&all.mei, "/console?view=applications").await;
    page.click_text("Add an application").await;
    page.fill("name", "Importer").await;
    page.click("input[value=\"contents:write\"]").await;
    page.submit().await;
    page.wait_for_text("Keep this now").await;
    let secrets = page.texts("dialog .secret").await;
    let [client_id, secret, _callback_key] = secrets.as_slice() else { panic!("{secrets:?}") };
    let token = async |secret: &str| {
        let request =
            all.app.http.post(format!("{}/oauth2/token", all.app.base)).basic_auth(client_id, Some(secret));
        request.form(&[("grant_type", "client_credentials")]).send().await.unwrap().status().as_u16()
    };
    assert_eq!(token(secret).await, 200);
    for _ in 0..3 {
        page.press_key(Key::Escape).await;
        page.wait_for_paint().await;
    }
    assert_eq!(page.texts("dialog[open] .secret").await, secrets);
    page.click_text("I have kept it").await;
    page.wait_until("!document.querySelector('dialog')").await;
    page.wait_for_text(client_id).await;
    assert!(
        !page.run("return document.documentElement.innerHTML", &[]).await.as_str().unwrap().contains(secret)
    );
    let kept = all.mei.get(&format!("/admin/v1/applications/{client_id}")).await.ok();
    assert_eq!(kept.data()["scopes"], json!(["contents:read", "contents:write"]));

    page.click_text("New secret").await;
    page.click_text("New secret").await;
    page.wait_for_text("Keep this now").await;
    let rotated = page.texts("dialog .secret").await;
    assert_eq!(token(&rotated[0]).await, 200);
    page.click_text("I have kept it").await;
    page.wait_for_text("Secret before is valid until").await;

    page.click_text("Disable").await;
    page.click_text("Disable").await;
    page.wait_for_text("Saved.").await;
    assert_ne!(token(&rotated[0]).await, 200);
    page.click_text("Remove").await;
    page.click_text("Remove").await;
    page.wait_for_text("Importer is removed.").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_view_tells_version_backup_and_what_was_set() {
    let all = Operated::start_with(|config| config.search.slow_ms = 77).await;
    let page = Page::open(&all.mei, "/console?view=settings").await;
    page.wait_for_text("search.slow_ms").await;
    page.wait_for_text(&format!("Version {}", env!("CARGO_PKG_VERSION"))).await;
    let before = page.texts(".panel.settings tbody tr").await.len();
    page.click("#changed-only").await;
    let changed = page.texts(".panel.settings tbody tr").await;
    assert!(
        changed.len() < before && changed.iter().any(|row| row.contains("search.slow_ms77")),
        "{changed:?}"
    );
    assert!(changed.iter().all(|row| !row.contains("default")), "{changed:?}");
    assert_eq!(page.texts(".panel.server tbody tr").await.len(), 1);
    page.wait_for_text("Back up").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tried_search_tells_scores_words_and_sources() {
    let all = Operated::start().await;
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let operator = all.app.operator().await.caller.on("acme");
    operator.register_source(&system.registration("x"), "mixed", &["builtin:article", "x"]).await;
    let page = Page::open(&all.mei, "/console?view=try").await;
    page.find("[name=keyword]").await;
    let id = operator.get("/admin/v1/modules").await.ok();
    let id = id.items().iter().find(|module| module["code"] == "mixed").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    page.click("main form.filters button.main").await;
    page.wait_until("document.querySelector('[name=keyword]').ariaInvalid === 'true'").await;
    page.choose("module", &id).await;
    page.fill("keyword", "harbour").await;
    page.press_key(Key::Enter).await;
    page.wait_for_text("3 matches, 3 shown").await;
    let rows = page.texts(".trial tbody tr").await;
    assert_eq!(rows.len(), 5, "{rows:?}");
    for part in ["x", "harbour", "title, as typed", "× completeness"] {
        assert!(rows[0].contains(part), "{part}: {rows:?}");
    }
    assert!(rows[4].contains("System x") && rows[4].contains("answered"), "{rows:?}");
    assert_eq!(page.texts(".trial pre").await, [""; 0], "the answer is not folded");
    page.click(".trial summary").await;
    assert!(page.texts(".trial pre").await[0].contains("\"tookMs\""));
    assert_eq!(page.address().await, "/console?view=try", "the keyword is in the address");

    page.choose("source", "x").await;
    page.fill("userId", "nobody").await;
    page.press_key(Key::Enter).await;
    page.wait_for_text("no person with this id").await;
    page.fill("userId", "tom").await;
    system.set_reply(Reply::Status(503));
    page.fill("keyword", "quay").await;
    page.press_key(Key::Enter).await;
    page.wait_for_text("not reached").await;
    assert_eq!(page.texts(".trial tbody tr").await.len(), 1);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_is_filtered_from_its_rows_and_exported() {
    let all = Operated::start().await;
    for quota in [5, 6] {
        all.mei.put("/admin/v1/tenants/acme", &json!({"quotaBytes": quota})).await.ok();
    }
    let page = Page::open(&all.mei, "/console?view=audit").await;
    page.wait_for_text("User mei").await;
    let rows = "document.querySelectorAll('tbody tr').length";
    page.wait_until(&format!("{rows} > 2")).await;
    page.click_text("User mei").await;
    page.wait_until(&format!("{rows} === 2")).await;
    assert_eq!(page.address().await, "/console?view=audit&userId=mei");
    assert_eq!(page.run("return document.querySelector('[name=userId]').value", &[]).await, "mei");

    let kept = "URL.createObjectURL = (file) => { file.text().then((text) => { window.made = text; }); return 'blob:x'; };
        HTMLAnchorElement.prototype.click = function () { window.named = this.download; };";
    page.run(kept, &[]).await;
    page.run("document.querySelectorAll('.heading button')[0].dispatchEvent(new MouseEvent('click'))", &[])
        .await;
    page.wait_until("window.made").await;
    let made = page.run("return [made.split('\\r\\n').length - 1, named]", &[]).await;
    assert_eq!(made, json!([3, "audit.csv"]));

    page.fill("action", "dance").await;
    page.press_key(Key::Enter).await;
    page.wait_for_text("There are no such entries.").await;
    assert_eq!(page.address().await, "/console?view=audit&userId=mei&action=dance");
    page.go("/console?view=audit&action=dance").await;
    page.wait_for_text("There are no such entries.").await;
    page.run("[...document.querySelectorAll('.filters a')][0].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))", &[]).await;
    page.wait_until(&format!("{rows} > 2")).await;
    assert_eq!(page.run("return document.querySelector('[name=action]').value", &[]).await, "");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enterprise_is_selected_frozen_unfrozen_and_deleted() {
    let all = Operated::start().await;
    let beta = all.app.tenant("beta").await;
    let page = Page::open(&all.mei, "/console?view=tenants").await;
    page.wait_for_text("you act on it").await;
    page.click_text("Act on it").await;
    page.wait_for_text("No external system is connected yet.").await;
    assert_eq!(page.address().await, "/console?view=overview&tenant=beta");
    page.go("/console?view=tenants&id=acme").await;
    page.wait_for_text("you can neither freeze nor delete it here").await;

    page.go("/console?view=tenants&id=beta").await;
    page.fill("loginSuffix", "beta.example").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    let settings = all.mei.get("/admin/v1/tenants/beta").await.ok();
    assert_eq!(settings.data()["loginSuffix"], "beta.example");

    page.click_text("Freeze").await;
    page.wait_for_text("Every call of it or on it is refused").await;
    page.click_text("Freeze").await;
    page.wait_for_text("beta is frozen.").await;
    beta.caller.search(&[("keyword", "x"), ("moduleId", "news")]).await.fails(403, "frozen");
    page.click_text("Unfreeze").await;
    page.wait_for_text("beta is unfrozen.").await;
    beta.caller.search(&[("keyword", "x"), ("moduleId", "news")]).await.ok();

    page.click_text("Delete").await;
    let off = page.run("return document.querySelector('dialog button[type=submit]').disabled", &[]).await;
    assert_eq!(off, true, "the code must be typed");
    page.fill("typed", "beta").await;
    page.click("dialog button[type=submit]").await;
    page.wait_for_text("beta is removed.").await;
    all.mei.get("/admin/v1/tenants/beta").await.fails(404, "tenant");

    page.click_text("Register an enterprise").await;
    page.fill("enterpriseName", "Gamma & Sons").await;
    page.fill("eCode", "acme").await;
    page.submit().await;
    page.wait_until("document.querySelector('[name=eCode]').ariaInvalid === 'true'").await;
    page.fill("eCode", "gamma").await;
    page.submit().await;
    page.wait_for_text("The enterprise is registered").await;
    assert_eq!(all.mei.get("/admin/v1/tenants/gamma").await.ok().data()["name"], "Gamma & Sons");
    page.wait_for_text("Gamma & Sons").await;
    page.go("/console?view=audit&tenant=acme").await;
    page.click("#all-tenants").await;
    page.wait_for_text("freeze").await;
    page.go("/console?view=keys").await;
    page.click_text("New key").await;
    page.click_text("New key").await;
    page.wait_for_text("only verifies").await;
    page.close().await;
}
