//! Second factors: codes at sign-in, recovery codes, and who may change them.

use data_encoding::BASE32_NOPAD;
use serde_json::json;

use crate::util::{
    answer::Answer,
    app::TestApp,
    authenticator::{AuthenticatorApp, FACTOR, enrol, state},
    caller::Caller,
    console::Operated,
    internals::Config,
    items::user,
    login::{Browser, LoginSetup, location, parameter},
    session::same_bytes,
};

const ASKS: &str = "autocomplete=\"one-time-code\"";

struct Enrolled {
    setup: LoginSetup,
    session: Caller,
    authenticator: AuthenticatorApp,
    recovery: Vec<String>,
}

impl Enrolled {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let setup = LoginSetup::start_with(change).await;
        let session = setup.app.web_session("mei").await;
        let (authenticator, recovery) = enrol(&session).await;
        Self { setup, session, authenticator, recovery }
    }

    fn app(&self) -> &TestApp {
        &self.setup.app
    }

    /// Gives the password and returns the page that asks for the code.
    async fn reach_code(&self, browser: &mut Browser) -> Answer {
        let page = browser.open(&self.setup.parameters()).await;
        let page = browser.submit(&page, "mei", "correct horse").await;
        assert!(page.status == 200 && page.text.contains(ASKS), "{}", page.text);
        page
    }

    async fn sign_in(&self, code: &str) -> Answer {
        let mut browser = self.app().browser();
        let page = self.reach_code(&mut browser).await;
        browser.submit_code(&page, code).await
    }
}

#[track_caller]
fn assert_in(answer: &Answer) {
    assert!(!parameter(&location(answer), "code").is_empty());
}

#[track_caller]
fn assert_out(answer: &Answer) {
    assert_eq!(answer.status, 403, "{}", answer.text);
    assert!(answer.text.contains("The code is wrong, or was used before.") && answer.text.contains(ASKS));
}

#[tokio::test]
async fn sign_in_asks_for_a_code_that_is_good_once() {
    let enrolled = Enrolled::start().await;
    // A step may begin meanwhile.
    enrolled.app().execute("UPDATE second_factors SET last_step = last_step + 1").await;
    let code = enrolled.authenticator.code(0);
    assert_out(&enrolled.sign_in(&code).await);
    enrolled.app().forget_used_codes().await;
    assert_out(&enrolled.sign_in(&enrolled.authenticator.wrong_code()).await);
    // Two steps ago, or more where a step begins meanwhile.
    assert_out(&enrolled.sign_in(&enrolled.authenticator.code(-2)).await);
    let code = enrolled.authenticator.code(0);
    assert_in(&enrolled.sign_in(&format!("{} {}", &code[..3], &code[3..])).await);
    assert_out(&enrolled.sign_in(&code).await);
    let app = enrolled.app();
    let kept = app.text("SELECT recovery_hashes FROM second_factors").await;
    assert!(enrolled.recovery.iter().all(|code| !kept.contains(code.as_str())), "{kept}");
}

#[tokio::test]
async fn code_of_a_failed_attempt_is_taken_in_the_same_form() {
    let enrolled = Enrolled::start().await;
    enrolled.app().forget_used_codes().await;
    let mut browser = enrolled.app().browser();
    browser.language = "zh";
    let page = enrolled.reach_code(&mut browser).await;
    assert!(page.text.contains("验证码"), "{}", page.text);
    let page = browser.submit_code(&page, &enrolled.authenticator.wrong_code()).await;
    assert!(page.status == 403 && page.text.contains("验证码错误"), "{}", page.text);
    assert_in(&browser.submit_code(&page, &enrolled.authenticator.code(0)).await);
}

#[tokio::test]
async fn code_form_of_another_browser_is_refused() {
    let enrolled = Enrolled::start().await;
    enrolled.app().forget_used_codes().await;
    let page = enrolled.reach_code(&mut enrolled.app().browser()).await;
    let mut other = enrolled.app().browser();
    let first = other.open(&enrolled.setup.parameters()).await;
    let code = enrolled.authenticator.code(0);
    for form in [&page, &first] {
        let refused = other.submit_code(form, &code).await;
        assert!(refused.status == 400 && refused.text.contains("was not opened in this browser"));
    }
}

#[tokio::test]
async fn password_changed_meanwhile_ends_the_sign_in() {
    let enrolled = Enrolled::start().await;
    enrolled.app().forget_used_codes().await;
    let mut browser = enrolled.app().browser();
    let page = enrolled.reach_code(&mut browser).await;
    let changed = json!([{"userId": "mei", "password": "MTIzNDU2Nzg5MDEyMzQ1Ng=="}]);
    enrolled.app().sync(&enrolled.setup.acme.caller, "users", &changed).await;
    let answer = browser.submit_code(&page, &enrolled.authenticator.code(0)).await;
    assert!(answer.status == 400 && answer.text.contains("sign in again"), "{}", answer.text);
}

#[tokio::test]
async fn directory_leaves_the_second_factor_alone() {
    let enrolled = Enrolled::start().await;
    for row in [json!({"userId": "mei", "status": 0}), json!({"userId": "mei", "status": 1, "name": "Mei"})] {
        enrolled.app().sync(&enrolled.setup.acme.caller, "users", &json!([row])).await;
    }
    enrolled.app().forget_used_codes().await;
    assert_in(&enrolled.sign_in(&enrolled.authenticator.code(0)).await);
}

#[tokio::test]
async fn recovery_code_signs_in_once() {
    let enrolled = Enrolled::start().await;
    assert_eq!(enrolled.recovery.len(), 10);
    let code = enrolled.recovery[3].to_uppercase();
    assert_in(&enrolled.sign_in(&code).await);
    assert_out(&enrolled.sign_in(&code).await);
    assert_eq!(state(&enrolled.session).await["recoveryCodes"], 9);
    assert_in(&enrolled.sign_in(&enrolled.recovery[4]).await);
}

/// 160 bits for each secret, 120 for each recovery code.
#[tokio::test]
async fn secrets_and_recovery_codes_are_long_and_share_nothing() {
    let LoginSetup { app, .. } = LoginSetup::start().await;
    let session = app.web_session("mei").await;
    let mut secrets = Vec::new();
    for _ in 0..2 {
        let offered = session.post(FACTOR, &json!({"password": "correct horse"})).await.ok();
        secrets.push(BASE32_NOPAD.decode(offered.data()["secret"].as_str().unwrap().as_bytes()).unwrap());
    }
    assert!(secrets.iter().all(|secret| secret.len() == 20), "{secrets:?}");
    assert!(same_bytes(&secrets[0], &secrets[1]) < 7, "{secrets:?}");
    let (_, shown) = enrol(&session).await;
    let read = |code: &String| BASE32_NOPAD.decode(code.replace('-', "").to_uppercase().as_bytes()).unwrap();
    let codes: Vec<Vec<u8>> = shown.iter().map(read).collect();
    for (place, code) in codes.iter().enumerate() {
        assert_eq!(code.len(), 15, "{shown:?}");
        assert!(codes[..place].iter().all(|other| same_bytes(code, other) < 7), "{shown:?}");
    }
}

#[tokio::test]
async fn wrong_codes_count_as_failed_logins() {
    let enrolled = Enrolled::start_with(|config| {
        config.limits.logins_per_minute = 3;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    enrolled.app().forget_used_codes().await;
    let wrong = enrolled.authenticator.wrong_code();
    let from = async |number: u8, code: &str| {
        let mut browser = enrolled.app().browser();
        browser.forwarded_for = Some(format!("192.0.2.{number}"));
        let page = browser.open(&enrolled.setup.parameters()).await;
        let page = browser.submit(&page, "mei", "correct horse").await;
        if page.status == 200 { browser.submit_code(&page, code).await } else { page }
    };
    for number in 1..=3 {
        assert_out(&from(number, &wrong).await);
    }
    let right = enrolled.authenticator.code(0);
    let throttled = from(4, &right).await;
    assert_eq!(throttled.status, 429, "{}", throttled.text);
    assert!(!throttled.text.contains(ASKS), "the password is still taken: {}", throttled.text);
    assert!(!throttled.header("retry-after").is_empty());
}

#[tokio::test]
async fn wrong_codes_are_throttled_at_addresses_of_recent_sign_ins() {
    let enrolled = Enrolled::start_with(|config| {
        config.limits.logins_per_minute = 4;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let from = async |number: u8, code: &str| {
        let mut browser = enrolled.app().browser();
        browser.forwarded_for = Some(format!("192.0.2.{number}"));
        let page = enrolled.reach_code(&mut browser).await;
        browser.submit_code(&page, code).await
    };
    for number in 1..=5 {
        enrolled.app().forget_used_codes().await;
        assert_in(&from(number, &enrolled.authenticator.code(0)).await);
    }
    for number in 1..=4 {
        assert_out(&from(number, &enrolled.authenticator.wrong_code()).await);
    }
    enrolled.app().forget_used_codes().await;
    let throttled = from(5, &enrolled.authenticator.code(0)).await;
    assert_eq!(throttled.status, 429, "{}", throttled.text);
}

#[tokio::test]
async fn sign_in_with_a_code_counts_once_by_address() {
    let enrolled = Enrolled::start_with(|config| config.limits.logins_per_minute = 4).await;
    for _ in 0..3 {
        enrolled.app().forget_used_codes().await;
        assert_in(&enrolled.sign_in(&enrolled.authenticator.code(0)).await);
    }
}

#[tokio::test]
async fn hundred_wrong_codes_leave_recovery_codes_alone() {
    let enrolled = Enrolled::start().await;
    enrolled.app().execute("UPDATE second_factors SET last_step = 0, wrong_codes = 99").await;
    assert_out(&enrolled.sign_in(&enrolled.authenticator.wrong_code()).await);
    let locked = enrolled.sign_in(&enrolled.authenticator.code(0)).await;
    assert!(locked.status == 403 && locked.text.contains("Too many codes were wrong"), "{}", locked.text);
    assert_in(&enrolled.sign_in(&enrolled.recovery[0]).await);
    assert_in(&enrolled.sign_in(&enrolled.authenticator.code(0)).await);
}

#[tokio::test]
async fn offered_factor_holds_only_once_confirmed() {
    let LoginSetup { app, .. } = LoginSetup::start().await;
    let (session, other) = (app.web_session("mei").await, app.web_session("mei").await);
    assert_eq!(
        [&state(&session).await["enabled"], &state(&session).await["hasPassword"]],
        [&json!(false), &json!(true)]
    );
    session.post(FACTOR, &json!({"password": "wrong"})).await.fails(403, "password");
    let offered = session.post(FACTOR, &json!({"password": "correct horse"})).await.ok();
    let (uri, qr) = (offered.data()["uri"].as_str().unwrap(), offered.data()["qr"].as_str().unwrap());
    assert!(uri.starts_with("otpauth://totp/127%2E0%2E0%2E1:mei%40acme?secret="), "{uri}");
    assert!(qr.contains("<svg"), "{qr}");
    let authenticator = AuthenticatorApp::of(offered.data()["secret"].as_str().unwrap());
    let confirm = format!("{FACTOR}/confirm");
    session.post(&confirm, &json!({"code": authenticator.wrong_code()})).await.fails(403, "code");
    app.web_session("mei").await;
    other.post_empty("/modules").await.ok();
    session.post(&confirm, &json!({"code": authenticator.code(0)})).await.ok();
    other.assert_ended().await;
    session.post_empty("/modules").await.ok();
    assert_eq!(state(&session).await["enabled"], true);
    session.post(&confirm, &json!({"code": authenticator.code(1)})).await.fails(403, "code");
    let (kept,): (Vec<u8>,) = app.row("SELECT sealed_secret FROM second_factors", Vec::new()).await;
    let secret = BASE32_NOPAD.decode(offered.data()["secret"].as_str().unwrap().as_bytes()).unwrap();
    assert!(kept.windows(secret.len()).all(|bytes| bytes != secret), "the secret is not encrypted");
}

#[tokio::test]
async fn change_needs_password_and_code() {
    let enrolled = Enrolled::start().await;
    let (session, app) = (&enrolled.session, enrolled.app());
    app.forget_used_codes().await;
    let (remove, password) = (format!("{FACTOR}/remove"), "correct horse");
    for path in [FACTOR, &remove] {
        session.post(path, &json!({"password": password})).await.fails(403, "code: is missing");
        let wrong = enrolled.authenticator.wrong_code();
        session.post(path, &json!({"password": password, "code": wrong})).await.fails(403, "code");
        let right = enrolled.authenticator.code(0);
        session.post(path, &json!({"password": "wrong", "code": right})).await.fails(403, "password");
    }
    // The old one goes on until the new one is confirmed.
    let proof = json!({"password": password, "code": enrolled.authenticator.code(0)});
    let offered = session.post(FACTOR, &proof).await.ok();
    app.forget_used_codes().await;
    assert_in(&enrolled.sign_in(&enrolled.authenticator.code(0)).await);
    let renewed = AuthenticatorApp::of(offered.data()["secret"].as_str().unwrap());
    session.post(&format!("{FACTOR}/confirm"), &json!({"code": renewed.code(0)})).await.ok();
    app.forget_used_codes().await;
    assert_out(&enrolled.sign_in(&enrolled.authenticator.code(0)).await);
    assert_out(&enrolled.sign_in(&enrolled.recovery[0]).await);
    assert_in(&enrolled.sign_in(&renewed.code(0)).await);
    app.forget_used_codes().await;
    session.post(&remove, &json!({"password": password, "code": renewed.code(0)})).await.ok();
    assert_eq!(state(session).await["enabled"], false);
    let back = app.browser().sign_in_at(&format!("{}/session/start", app.base), "mei", password).await;
    assert!(!parameter(&back, "code").is_empty());
    let operator = app.operator().await.caller.on("acme");
    let audit = operator.get("/admin/v1/audit?objectKind=second-factor").await.ok();
    let actions: Vec<_> = audit.items().iter().map(|event| event["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["disable", "change", "enable"]);
}

#[tokio::test]
async fn guesses_in_a_session_are_throttled() {
    let LoginSetup { app, .. } = LoginSetup::start_with(|config| config.limits.logins_per_minute = 3).await;
    let session = app.web_session("mei").await;
    for _ in 0..3 {
        session.post(FACTOR, &json!({"password": "wrong"})).await.fails(403, "password");
    }
    session.post(FACTOR, &json!({"password": "correct horse"})).await.fails(429, "too many wrong passwords");
}

#[tokio::test]
async fn only_a_session_of_a_page_reaches_the_second_factor() {
    let setup = LoginSetup::start().await;
    let token = setup.app.user(&setup.acme, "mei").await;
    token.get(FACTOR).await.fails(401, "x-trawl-session");
    token.post(FACTOR, &json!({"password": "correct horse"})).await.fails(401, "x-trawl-session");
    let session = setup.app.web_session("mei").await;
    crate::util::caller::send(session.bare_request(reqwest::Method::GET, FACTOR))
        .await
        .fails(401, "x-trawl-session");
}

#[tokio::test]
async fn operator_resets_the_second_factor_of_another() {
    let all = Operated::start().await;
    let tom = all.app.web_session("tom").await;
    let (authenticator, _) = enrol(&tom).await;
    let path = "/admin/v1/people/tom/second_factor";
    let shown = all.mei.get("/admin/v1/people/tom").await.ok();
    assert!(shown.data()["secondFactorSince"].is_i64(), "{}", shown.text);
    tom.delete(path).await.fails(403, "operators");
    all.mei.delete(path).await.ok();
    all.mei.delete(path).await.fails(404, "userId");
    assert!(all.mei.get("/admin/v1/people/tom").await.ok().data()["secondFactorSince"].is_null());
    all.app.web_session("tom").await.post_empty("/modules").await.ok();
    tom.post(&format!("{FACTOR}/confirm"), &json!({"code": authenticator.code(1)})).await.fails(403, "code");
    let event = all.mei.get("/admin/v1/audit?action=reset").await.ok().items()[0].clone();
    assert_eq!(
        [&event["objectKind"], &event["objectId"], &event["userId"]],
        [&json!("second-factor"), &json!("tom"), &json!("mei")]
    );
    enrol(&all.mei).await;
    all.mei.delete("/admin/v1/people/mei/second_factor").await.fails(403, "another operator");
}

#[tokio::test]
async fn required_second_factor_opens_the_console() {
    let all = Operated::start_with(|config| config.console.require_second_factor = true).await;
    let refused = || async {
        all.mei.get("/admin/v1/people").await.fails(403, "second factor");
        let info = all.mei.info().await;
        assert_eq!([&info["operator"], &info["needsSecondFactor"]], [&json!(false), &json!(true)]);
    };
    refused().await;
    assert_eq!(state(&all.mei).await["required"], true);
    all.mei.post_empty("/modules").await.ok();
    enrol(&all.mei).await;
    all.mei.get("/admin/v1/people").await.ok();
    let info = all.mei.info().await;
    assert_eq!([&info["operator"], &info["needsSecondFactor"]], [&json!(true), &json!(false)]);
    // Others do not need one.
    let tom = all.app.web_session("tom").await;
    assert_eq!(tom.info().await["needsSecondFactor"], false);
    all.app.operator().await.caller.on("acme").delete("/admin/v1/people/mei/second_factor").await.ok();
    refused().await;
}

#[tokio::test]
async fn second_factors_of_namesakes_in_other_tenants_are_apart() {
    let enrolled = Enrolled::start().await;
    let app = enrolled.app();
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("mei", "")])).await;
    app.web_session_at("other", "mei").await.post_empty("/modules").await.ok();
}
