use serde_json::json;

use super::Judge;
use crate::util::{
    external::{Reply, with},
    feed_server::{FeedReply, FeedServer},
    stage::{OPERATOR, PERSON, Stage, TENANT, seen},
    subscriptions::feed,
};

const DIALOG: &str = "dialog[open]";

pub(crate) async fn walk(stage: &Stage, judge: &mut impl Judge) {
    gate(stage, judge).await;
    stage.pass_an_hour().await;
    overview(stage, judge).await;
    sources(stage, judge).await;
    adding_a_source(stage, judge).await;
    subscriptions(stage, judge).await;
    modules(stage, judge).await;
    people(stage, judge).await;
    applications(stage, judge).await;
    tenants(stage, judge).await;
    ended(stage, judge).await;
}

async fn gate(stage: &Stage, judge: &mut impl Judge) {
    stage.sign_out().await;
    stage.open("/console", &seen("main.gate")).await;
    judge.look_at(stage, "console-signed-out").await;
    stage.sign_in(PERSON, "/console", &seen("main.gate pre")).await;
    judge.look_at(stage, "console-not-an-operator").await;
}

async fn overview(stage: &Stage, judge: &mut impl Judge) {
    stage.sign_in(OPERATOR, "/console", &seen("console-overview .panel")).await;
    judge.look_at(stage, "console-overview").await;
    click(stage, ".panel.index button").await;
    stage.wait_for_element(DIALOG).await;
    judge.look_at(stage, "console-rebuild-asked").await;
    leave_dialog(stage).await;
    for (view, name) in [
        ("searches", "console-slow-searches"),
        ("keys", "console-keys"),
        ("audit", "console-audit"),
        ("settings", "console-settings"),
    ] {
        show(stage, &format!("view={view}"), "main table").await;
        judge.look_at(stage, name).await;
    }
    stage.app.app.maintenance.make_round().await.unwrap();
    show(stage, "view=figures", "console-figures svg").await;
    judge.look_at(stage, "console-figures").await;
    show(stage, "view=insights", "console-insights .empty").await;
    judge.look_at(stage, "console-insights-off").await;
    insights(stage).await;
    show(stage, "view=insights", "console-insights table").await;
    judge.look_at(stage, "console-insights").await;
    show(stage, "view=try", "console-try form").await;
    fill_in(stage, "keyword", "harbour").await;
    click(stage, "console-try form button.main").await;
    stage.wait_for_element("console-try .trial table").await;
    click(stage, "console-try .trial summary").await;
    judge.look_at(stage, "console-try").await;
    show(stage, "view=nope", "console-unknown h1").await;
    judge.look_at(stage, "console-unknown").await;
}

async fn sources(stage: &Stage, judge: &mut impl Judge) {
    show(stage, "view=sources", "console-sources table").await;
    judge.look_at(stage, "console-sources").await;
    show(stage, "view=sources&id=contracts", "console-source svg").await;
    judge.look_at(stage, "console-source").await;
    show(stage, "view=sources&id=archive", "console-source svg").await;
    judge.look_at(stage, "console-source-suspended").await;
    click(stage, "console-source .heading button:not(.grave)").await;
    stage.wait_for_element(DIALOG).await;
    judge.look_at(stage, "console-disable-asked").await;
    leave_dialog(stage).await;
    for (step, name) in
        [("edit", "console-source-edit"), ("check", "console-source-check"), ("module", "console-source-put")]
    {
        show(stage, &format!("view=sources&id=archive&step={step}"), "console-source form").await;
        judge.look_at(stage, name).await;
    }
}

async fn adding_a_source(stage: &Stage, judge: &mut impl Judge) {
    let mut registration = stage.archive.registration("second");
    registration["auth"] = stage.archive.credentials();
    let text = |place: &str| registration.pointer(place).and_then(|value| value.as_str()).unwrap().to_owned();
    show(stage, "view=add-source&step=gallery", ".gallery li").await;
    judge.look_at(stage, "console-gallery").await;
    show(stage, "view=add-source", "console-add-source form").await;
    judge.look_at(stage, "console-add-address").await;
    click(stage, "console-add-source form button.main").await;
    stage.wait_for_element(".notice.alarm").await;
    judge.look_at(stage, "console-add-refused").await;
    fill_in(stage, "name", "Archive of 1987").await;
    fill_in(stage, "url", &text("/url")).await;
    click(stage, "console-add-source form button.main").await;
    stage.wait_for_element("[name='auth.tokenUrl']").await;
    judge.look_at(stage, "console-add-access").await;
    fill_in(stage, "auth.tokenUrl", &text("/auth/tokenUrl")).await;
    fill_in(stage, "auth.clientId", &text("/auth/clientId")).await;
    fill_in(stage, "auth.clientSecret", &text("/auth/clientSecret")).await;
    stage.archive.set_reply(Reply::Disordered);
    click(stage, "console-add-source form button.main").await;
    stage.wait_for_element(".after-check .notice").await;
    judge.look_at(stage, "console-add-report-failed").await;
    show(stage, "view=add-source&id=archive&step=check", ".check-form").await;
    judge.look_at(stage, "console-add-check").await;
    show(stage, "view=add-source&id=contracts&step=check", ".check-form").await;
    click(stage, ".check-form button.main").await;
    stage.wait_for_element(".fold:has(.pass) summary").await;
    stage.wait_until("return document.querySelector('.check-run progress').hidden").await;
    click(stage, ".fold:has(.pass) summary").await;
    judge.look_at(stage, "console-add-report").await;
    show(stage, "view=add-source&id=contracts&step=module", ".put-into form").await;
    judge.look_at(stage, "console-add-module").await;
    stage.archive.set_reply(Reply::Good);
}

async fn subscriptions(stage: &Stage, judge: &mut impl Judge) {
    show(stage, "view=subscriptions", "console-subscriptions .empty").await;
    judge.look_at(stage, "console-subscriptions-none").await;
    show(stage, "view=subscriptions&id=%2B", "console-subscription form").await;
    judge.look_at(stage, "console-subscription-new").await;
    let feeds = FeedServer::start().await;
    feeds.set_entries("/tides", &[("1", "Tides of the week"), ("2", "")]);
    feeds.reply_once("/storms", FeedReply::Status(500));
    let operator = stage.app.operator().await.caller.on(TENANT);
    for (id, name) in [("tides", "Tides"), ("storms", "Storm warnings")] {
        let form = with(feed(id, &feeds.url("127.0.0.1", &format!("/{id}"))), "name", name);
        operator.subscribe(&form).await;
    }
    show(stage, "view=subscriptions", "console-subscriptions table").await;
    judge.look_at(stage, "console-subscriptions").await;
    show(stage, "view=subscriptions&id=tides", "console-subscription .facts").await;
    judge.look_at(stage, "console-subscription").await;
    click(stage, "console-subscription .grave").await;
    stage.wait_for_element(DIALOG).await;
    judge.look_at(stage, "console-subscription-remove-asked").await;
    leave_dialog(stage).await;
    show(stage, "view=subscriptions&id=tides&step=edit", "console-subscription form").await;
    judge.look_at(stage, "console-subscription-edit").await;
}

async fn modules(stage: &Stage, judge: &mut impl Judge) {
    show(stage, "view=modules", "console-modules table").await;
    judge.look_at(stage, "console-modules").await;
    show(stage, "view=modules&id=id-of-archive", "console-module form").await;
    judge.look_at(stage, "console-module").await;
    show(stage, "view=modules&id=%2B", "console-module form").await;
    judge.look_at(stage, "console-module-new").await;
    show(stage, "view=contents&kind=article", "console-contents table").await;
    judge.look_at(stage, "console-contents").await;
    import(stage).await;
    judge.look_at(stage, "console-contents-imported").await;
    click(stage, "console-contents .pages tbody a").await;
    stage.wait_for_element("console-content .facts").await;
    judge.look_at(stage, "console-content").await;
    show(stage, "view=vocabulary", "console-vocabulary form").await;
    judge.look_at(stage, "console-vocabulary").await;
}

/// Imports a file of three rows, of which two are rejected.
async fn import(stage: &Stage) {
    let script = "
        const data = new DataTransfer();
        data.items.add(new File(['{\"id\":\"n1\",\"title\":\"Notice\"}\\nno row\\n{\"id\":\"n3\"}'], 'notices.jsonl'));
        document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
    ";
    stage.browser.client.execute(script, Vec::new()).await.unwrap();
    stage.wait_for_element(".imports tbody tr").await;
}

async fn people(stage: &Stage, judge: &mut impl Judge) {
    show(stage, "view=people", "console-people table").await;
    judge.look_at(stage, "console-people").await;
    show(stage, "view=people&id=u-bram-dekker", "console-person tbody").await;
    judge.look_at(stage, "console-person").await;
    click(stage, "console-person .grave").await;
    stage.wait_for_element(DIALOG).await;
    judge.look_at(stage, "console-sign-out-asked").await;
    leave_dialog(stage).await;
}

async fn applications(stage: &Stage, judge: &mut impl Judge) {
    show(stage, "view=applications", "console-applications table").await;
    judge.look_at(stage, "console-applications").await;
    show(stage, "view=applications&id=%2B", "console-application form").await;
    judge.look_at(stage, "console-application-new").await;
    fill_in(stage, "name", "Portal").await;
    click(stage, "console-application form button.main").await;
    stage.wait_for_element(DIALOG).await;
    judge.look_at(stage, "console-secret-shown").await;
    click(stage, "dialog[open] button.main").await;
    stage.wait_for_element("console-application .facts").await;
    judge.look_at(stage, "console-application").await;
}

async fn tenants(stage: &Stage, judge: &mut impl Judge) {
    show(stage, "view=tenants", "console-tenants table").await;
    judge.look_at(stage, "console-tenants").await;
    show(stage, "view=tenants&id=%2B", "console-tenant form").await;
    judge.look_at(stage, "console-tenant-new").await;
    show(stage, "view=tenants&id=operations", "console-tenant form").await;
    judge.look_at(stage, "console-tenant").await;
    click(stage, "console-tenant .grave").await;
    stage.wait_for_element(DIALOG).await;
    judge.look_at(stage, "console-delete-asked").await;
    leave_dialog(stage).await;
}

async fn ended(stage: &Stage, judge: &mut impl Judge) {
    show(stage, "view=modules&id=id-of-archive", "console-module form").await;
    stage.end_sessions().await;
    click(stage, "console-module form button.main").await;
    stage.wait_for_element("dialog[open].again").await;
    judge.look_at(stage, "console-session-ended").await;
}

/// Some words of this week.
async fn insights(stage: &Stage) {
    let operator = stage.app.operator().await.caller;
    operator.put(&format!("/admin/v1/tenants/{TENANT}"), &json!({"searchInsights": true})).await.ok();
    let (day, tenant_id) = (24 * 3_600_000, stage.company.tenant_id);
    let week = (trawl::store::now_millis() - 4 * day).div_euclid(7 * day) * 7 * day + 4 * day;
    for (word, searches, without_results, openings) in
        [("annual leave", 41, 0, 30), ("umbrella policy", 12, 12, 0), ("forklift licence", 9, 1, 0)]
    {
        let row = format!(
            "INSERT INTO insights (tenant_id, week, keyword, searches, without_results, openings, people) \
             VALUES ({tenant_id}, {week}, '{word}', {searches}, {without_results}, {openings}, 127)"
        );
        stage.app.execute(&row).await;
    }
}

async fn show(stage: &Stage, place: &str, selector: &str) {
    stage.open(&format!("/console?{place}"), &seen(selector)).await;
}

async fn click(stage: &Stage, selector: &str) {
    stage.browser.click(selector).await;
}

async fn fill_in(stage: &Stage, name: &str, text: &str) {
    let field = stage.browser.client.find(&format!("[name='{name}']")).await.unwrap();
    field.clear().await.unwrap();
    field.send_keys(text).await.unwrap();
}

async fn leave_dialog(stage: &Stage) {
    click(stage, "dialog[open] .actions button[type=button]").await;
    stage.wait_until("return !document.querySelector('dialog[open]')").await;
}
