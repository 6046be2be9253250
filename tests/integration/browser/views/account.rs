use super::Judge;
use crate::util::{
    authenticator::AuthenticatorApp,
    stage::{PERSON, Stage, TENANT, seen},
};

/// The login, which password managers read, has no name.
const INPUT: &str = "form.step input[name]";

pub(crate) async fn walk(stage: &Stage, judge: &mut impl Judge) {
    stage.sign_out().await;
    stage.open("/account", &seen(".ways .button, .ways form")).await;
    judge.look_at(stage, "account-signed-out").await;
    stage.sign_in(PERSON, "/account", &seen(".sessions li")).await;
    stage.wait_for_element("account-second-factor button").await;
    judge.look_at(stage, "account").await;
    click(stage, "account-second-factor button").await;
    stage.wait_for_element(INPUT).await;
    judge.look_at(stage, "account-password").await;
    send(stage, "wrong").await;
    stage.wait_for_element("form.step .alarm").await;
    judge.look_at(stage, "account-password-wrong").await;
    send(stage, stage.password()).await;
    stage.wait_for_element("img.qr").await;
    judge.look_at(stage, "account-secret").await;
    let secret = stage.browser.ask("return document.querySelector('code.secret').textContent").await;
    let authenticator = AuthenticatorApp::of(secret.as_str().unwrap());
    send(stage, &authenticator.code(0)).await;
    stage.wait_for_element(".codes li").await;
    judge.look_at(stage, "account-recovery-codes").await;
    click(stage, "account-second-factor button").await;
    stage.wait_for_element("account-second-factor .faint").await;
    judge.look_at(stage, "account-second-factor").await;
    stage.sign_out().await;
    stage.open(&format!("/session/start?tenant={TENANT}&to=/"), &seen("#password")).await;
    stage.browser.fill_in_login(PERSON, stage.password()).await;
    stage.wait_for_element("#code").await;
    judge.look_at(stage, "login-code").await;
    stage.app.execute("DELETE FROM second_factors").await;
}

async fn click(stage: &Stage, selector: &str) {
    stage.browser.ask(&format!("document.querySelector('{selector}').click()")).await;
}

async fn send(stage: &Stage, text: &str) {
    let field = stage.browser.client.find(INPUT).await.unwrap();
    field.clear().await.unwrap();
    field.send_keys(text).await.unwrap();
    stage.browser.ask("document.querySelector('form.step').requestSubmit()").await;
}
