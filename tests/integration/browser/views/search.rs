use serde_json::Value;

use super::Judge;
use crate::util::{
    external::Reply,
    items::many,
    stage::{PERSON, Stage, TENANT, seen},
    webdriver::Key,
};

const BOX: &str = "#box";
const ROWS: &str = "li.row";

/// Texts above the note of a source that failed depend on the day, and move it.
const SHOW_TROUBLE: &str =
    "document.querySelector('.note.trouble').scrollIntoView({ block: 'center', behavior: 'instant' })";

pub(crate) async fn walk(stage: &Stage, judge: &mut impl Judge) {
    signed_out(stage, judge).await;
    stage.sign_in(PERSON, "/", &seen(".start-parts h2")).await;
    judge.look_at(stage, "search-first-visit").await;
    found(stage, judge).await;
    not_found(stage, judge).await;
    in_the_way(stage, judge).await;
}

pub(crate) async fn show_many(stage: &Stage, judge: &mut impl Judge) {
    let items: Vec<Value> = many("report-", "Harbour report", 10_000, 1)
        .into_iter()
        .enumerate()
        .map(|(number, mut item)| {
            item["title"] = format!("Harbour report {}", 10_000 - number).into();
            item
        })
        .collect();
    stage.app.put_contents(&stage.company.caller, "news", &items).await;
    stage.sign_in(PERSON, "/?q=harbour%20report&module=news", &seen(ROWS)).await;
    judge.look_at(stage, "search-ten-thousand").await;
}

async fn signed_out(stage: &Stage, judge: &mut impl Judge) {
    stage.sign_out().await;
    stage.open("/", &seen("section.signin")).await;
    judge.look_at(stage, "search-signed-out").await;
    stage.open("/?signin=refused", &seen("section.signin [role=alert]")).await;
    judge.look_at(stage, "search-sign-in-refused").await;
    stage.open(&format!("/session/start?tenant={TENANT}&to=/"), &seen("#password")).await;
    judge.look_at(stage, "login").await;
    stage.browser.fill_in_login(PERSON, "wrong").await;
    stage.wait_for_element("#message").await;
    judge.look_at(stage, "login-refused").await;
}

async fn found(stage: &Stage, judge: &mut impl Judge) {
    stage.open("/?q=warehouse", &seen(ROWS)).await;
    judge.look_at(stage, "search-sections").await;
    type_more(stage, &char::from(Key::Enter).to_string()).await;
    stage.open("/", &seen(".recent li")).await;
    judge.look_at(stage, "search-recent").await;
    stage.open("/?q=warehouse&module=article", &seen(ROWS)).await;
    judge.look_at(stage, "search-module").await;
    stage.browser.ask("document.querySelector('.bar > .link').click()").await;
    stage.wait_for_element("dialog[open]").await;
    judge.look_at(stage, "search-saving").await;
    stage.browser.ask("document.querySelector('.saving form').requestSubmit()").await;
    stage.open("/", &seen("[data-saved]")).await;
    judge.look_at(stage, "search-saved").await;
    stage.open("/?module=todo", &seen(ROWS)).await;
    judge.look_at(stage, "search-to-dos").await;
    stage.open("/?q=warehouse&module=article", &seen(ROWS)).await;
    stage.browser.ask("document.querySelector('.row .open').click()").await;
    stage.wait_for_element(".look:not([aria-busy])").await;
    judge.look_at(stage, "search-item").await;
    stage.open("/?q=warehouse&module=article&sort=time&from=2020-01-01", &seen(ROWS)).await;
    judge.look_at(stage, "search-filters").await;
    stage.open("/?q=%E4%BB%93%E5%BA%93", &seen(ROWS)).await;
    judge.look_at(stage, "search-chinese").await;
    stage.open("/?q=zhou&module=people", &seen(ROWS)).await;
    judge.look_at(stage, "search-people").await;
    stage.browser.ask("document.querySelector('.row .open').click()").await;
    stage.wait_for_element(".look:not([aria-busy])").await;
    judge.look_at(stage, "search-person").await;
    stage.open("/?q=anything&module=archive", &seen(ROWS)).await;
    judge.look_at(stage, "search-odd-texts").await;
}

async fn not_found(stage: &Stage, judge: &mut impl Judge) {
    stage.open("/?q=qqqqzzzz&module=article", &seen(".empty")).await;
    judge.look_at(stage, "search-nothing-found").await;
    stage.open("/?q=warehouse&module=nowhere", &seen(".empty h2")).await;
    judge.look_at(stage, "search-no-module").await;
    stage.archive.set_reply(Reply::Status(503));
    stage.open("/?q=warehouse", &seen(".note.trouble")).await;
    judge.look_at(stage, "search-not-complete").await;
    stage.browser.ask(SHOW_TROUBLE).await;
    judge.look_at(stage, "search-source-down").await;
    stage.open("/?q=warehouse&module=archive", &seen(".empty")).await;
    judge.look_at(stage, "search-not-reached").await;
    stage.archive.set_reply(Reply::Good);
}

async fn in_the_way(stage: &Stage, judge: &mut impl Judge) {
    stage.open("/?q=warehouse", &seen(ROWS)).await;
    stage.browser.set_offline(true).await;
    type_more(stage, "s").await;
    stage.wait_for_element(".notice").await;
    judge.look_at(stage, "search-offline").await;
    stage.browser.set_offline(false).await;
    stage.open("/?q=warehouse", &seen(ROWS)).await;
    stage.end_sessions().await;
    type_more(stage, " plan").await;
    stage.wait_for_element("dialog[open], .notice").await;
    judge.look_at(stage, "search-session-ended").await;
}

async fn type_more(stage: &Stage, text: &str) {
    let input = stage.browser.client.find(BOX).await.unwrap();
    input.send_keys(&format!("{}{text}", char::from(Key::End))).await.unwrap();
}
