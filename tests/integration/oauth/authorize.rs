//! `/oauth2/authorize` and its codes (RFC 6749 §4.1, RFC 7636, RFC 8252, RFC 9207).

use serde_json::{Value, json};

use super::token::refused;
use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::send,
    items::user,
    login::{
        Browser, CALLBACK, CHALLENGE, LoginSetup, claims, code_form, location, parameter, sealed_form,
        set_password,
    },
    postgres::open_store,
    program::{Server, create_application, run, trawl_over},
};

/// Asserts a login page with this text and all protective headers.
#[track_caller]
fn page<'a>(answer: &'a Answer, status: u16, said: &str) -> &'a Answer {
    assert_eq!(answer.status, status, "{}", answer.text);
    assert!(answer.text.contains(said), "the page does not contain {said:?}: {}", answer.text);
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    let policy = answer.header("content-security-policy");
    for directive in ["default-src 'none'", "style-src 'sha256-", "frame-ancestors 'none'", "base-uri 'none'"]
    {
        assert!(policy.contains(directive), "{directive}: {policy}");
    }
    assert!(!answer.text.contains("<script"));
    assert!(answer.header("location").is_empty());
    answer
}

#[track_caller]
fn told(setup: &LoginSetup, answer: &Answer, error: &str, described: &str) {
    let url = location(answer);
    assert!(url.as_str().starts_with(&format!("{CALLBACK}?")), "{url}");
    assert_eq!(parameter(&url, "error"), error, "{url}");
    assert!(parameter(&url, "error_description").contains(described), "{url}");
    assert_eq!(parameter(&url, "iss"), setup.issuer());
    assert!(!url.query_pairs().any(|(name, _)| name == "code"), "{url}");
}

#[tokio::test]
async fn login_page_is_bilingual_and_escapes_its_parameters() {
    let setup = LoginSetup::start().await;
    let mut browser = setup.app.browser();
    let mut parameters = setup.parameters();
    parameters.push(("login_hint", "\"><b>mei"));
    parameters.extend([("resource", "a"), ("resource", "b")]);
    let english = browser.open(&parameters).await;
    page(&english, 200, "Sign in");
    assert!(english.text.contains("<html lang=\"en\">"));
    assert!(english.text.contains("The &lt;Portal&gt;") && english.text.contains("app.example"));
    assert!(
        english.text.contains("&quot;&gt;&lt;b&gt;mei") && !english.text.contains("<b>"),
        "{}",
        english.text
    );
    for field in ["<label for=\"login\">", "<label for=\"password\">", "autocomplete=\"current-password\""] {
        assert!(english.text.contains(field), "{field}");
    }
    let policy = english.header("content-security-policy");
    assert!(policy.contains("form-action 'self' https://app.example;"), "{policy}");
    let cookie = english.header("set-cookie");
    for attribute in ["trawl-login=", "HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    browser.language = "zh-CN,zh;q=0.9";
    let chinese = browser.open(&setup.parameters()).await;
    page(&chinese, 200, "登录账号");
    assert!(chinese.text.contains("<html lang=\"zh-Hans\">"));
    let wrong = browser.submit(&chinese, "mei", "wrong").await;
    page(&wrong, 403, "role=\"alert\">登录账号与密码不匹配");
}

#[tokio::test]
async fn login_form_asks_for_a_login_and_a_masked_password_alone() {
    let setup = LoginSetup::start().await;
    let shown = setup.app.browser().open(&setup.parameters()).await;
    let fields: Vec<&str> =
        shown.text.split("<input ").skip(1).map(|rest| rest.split_once('>').unwrap().0).collect();
    let [_, login, password] = fields[..] else { panic!("{fields:?}") };
    assert!(login.contains("name=\"login\"") && password.contains("name=\"password\""), "{fields:?}");
    for attribute in ["type=\"password\"", "autocomplete=\"current-password\""] {
        assert!(password.contains(attribute), "{attribute}: {password}");
    }
    for hindrance in ["onpaste", "maxlength", "readonly"] {
        assert!(!password.contains(hindrance), "{hindrance}: {password}");
    }
    assert!(!shown.text.contains("<a "), "{}", shown.text);
}

/// They must not reveal which accounts exist or may sign in.
#[tokio::test]
async fn all_failed_logins_are_answered_alike() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let people = json!([user("omar", ""), user("lin", ""), user("ana", ""), user("gone", "")]);
    app.sync(&setup.acme.caller, "users", &people).await;
    for name in ["omar", "lin", "gone"] {
        app.set_password(name, "correct horse").await;
    }
    let changes = json!([{"userId": "lin", "status": 0}, {"userId": "gone", "isDeleted": true}]);
    app.sync(&setup.acme.caller, "users", &changes).await;
    let other = app.tenant("other").await;
    app.sync(&other.caller, "users", &json!([user("elsewhere", "")])).await;
    app.set_password("elsewhere", "correct horse").await;

    let mut browser = app.browser();
    let shown = browser.open(&setup.parameters()).await;
    let longest = "x".repeat(300);
    let mut answers = Vec::new();
    for (login, password) in [
        ("mei", "wrong"),
        ("mei", ""),
        ("nobody", "correct horse"),
        ("lin", "correct horse"),
        ("gone", "correct horse"),
        ("elsewhere", "correct horse"),
        ("ana", ""),
        ("ana", "correct horse"),
        ("", ""),
        (&longest, "correct horse"),
    ] {
        let answer = browser.submit(&shown, login, password).await;
        page(&answer, 403, "do not belong together");
        assert!(!answer.text.contains(password) || password.is_empty(), "the page shows the password");
        answers.push(answer.text.replace(&format!("value=\"{login}\""), "").replace(" autofocus", ""));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    location(&browser.submit(&shown, "omar", "correct horse").await);
}

#[tokio::test]
async fn unknown_client_or_redirect_is_shown_on_the_page() {
    let setup = LoginSetup::start().await;
    let change = |name: &'static str, value: Option<&'static str>| {
        let mut parameters = setup.parameters();
        parameters.retain(|(key, _)| *key != name);
        parameters.extend(value.map(|value| (name, value)));
        parameters
    };
    let mut twice = setup.parameters();
    twice.push(("redirect_uri", CALLBACK));
    for (parameters, said) in [
        (change("client_id", None), "is not known"),
        (change("client_id", Some("nobody")), "is not known"),
        (change("redirect_uri", None), "not registered"),
        (change("redirect_uri", Some("https://app.example/callback/")), "not registered"),
        (change("redirect_uri", Some("https://evil.example/callback")), "not registered"),
        (change("redirect_uri", Some("http://127.0.0.1:1/callback")), "not registered"),
        (twice, "not registered"),
        (vec![], "is not known"),
    ] {
        let answer = setup.app.browser().open(&parameters).await;
        page(&answer, 400, said);
        assert!(answer.header("content-security-policy").contains("form-action 'none'"));
    }
}

#[tokio::test]
async fn invalid_request_is_reported_to_the_application() {
    let setup = LoginSetup::start().await;
    let long = "x".repeat(5_000);
    let cases: [(&str, Option<&str>, &str, &str); 13] = [
        ("response_type", None, "invalid_request", "response_type"),
        ("response_type", Some("token"), "unsupported_response_type", "code"),
        ("response_mode", Some("fragment"), "invalid_request", "response_mode"),
        ("code_challenge", None, "invalid_request", "code_challenge"),
        ("code_challenge", Some("short"), "invalid_request", "code_challenge"),
        ("code_challenge_method", None, "invalid_request", "S256"),
        ("code_challenge_method", Some("plain"), "invalid_request", "S256"),
        ("scope", Some("everything"), "invalid_scope", "scope"),
        ("scope", Some("contents:read act-as-user"), "invalid_scope", "act-as-user"),
        ("scope", Some("files"), "invalid_scope", "files"),
        ("prompt", Some("none"), "login_required", "prompt"),
        ("request", Some("x.y.z"), "request_not_supported", "request"),
        ("login_hint", Some(&long), "invalid_request", "login_hint"),
    ];
    for (name, value, error, described) in cases {
        let mut parameters = setup.parameters();
        parameters.retain(|(key, _)| *key != name);
        parameters.extend(value.map(|value| (name, value)));
        let answer = setup.app.browser().open(&parameters).await;
        told(&setup, &answer, error, described);
        assert_eq!(parameter(&location(&answer), "state"), "st&te ö");
    }
    let mut twice = setup.parameters();
    twice.push(("scope", "tasks"));
    twice.push(("scope", "tasks"));
    told(
        &setup,
        &setup.app.browser().open(&twice).await,
        "invalid_request",
        "scope: must be given only once",
    );
}

/// A second use means that the code has leaked.
#[tokio::test]
async fn second_use_of_a_code_revokes_its_token() {
    let setup = LoginSetup::start().await;
    let code = setup.sign_in().await;
    let answer = setup.use_code(&code).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body["scope"], "tasks contents:read");
    let token = answer.body["access_token"].as_str().unwrap();
    let said = claims(token);
    assert_eq!((&said["sub"], &said["client_id"]), (&json!("mei"), &json!(setup.portal.client_id)));
    let mei = setup.app.caller(token);
    mei.post_empty("/modules").await.ok();
    refused(&setup.use_code(&code).await, 400, "invalid_grant", "is unknown, used");
    mei.post_empty("/modules").await.fails(401, "revoked");
}

#[tokio::test]
async fn code_is_bound_to_application_redirect_and_challenge() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let other = app.portal(&[CALLBACK], false).await;
    let public = app.portal(&[CALLBACK], true).await;

    let code = setup.sign_in().await;
    refused(&app.grant(&other, &code_form(&code)).await, 400, "invalid_grant", "is unknown");
    let mut stolen = code_form(&code).to_vec();
    stolen.push(("client_id", &public.client_id));
    let post =
        |form: Vec<(&str, &str)>| send(app.http.post(format!("{}/oauth2/token", app.base)).form(&form));
    refused(&post(stolen).await, 400, "invalid_grant", "is unknown");
    // A confidential application must authenticate.
    let mut unproved = code_form(&code).to_vec();
    unproved.push(("client_id", &setup.portal.client_id));
    refused(&post(unproved).await, 401, "invalid_client", "");
    assert_eq!(setup.use_code(&code).await.status, 200, "other applications spent the code");

    for (name, wrong) in [
        ("redirect_uri", "https://app.example/callback/"),
        ("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl"),
        ("code_verifier", CHALLENGE),
        ("code_verifier", "short"),
    ] {
        let code = setup.sign_in().await;
        let form = code_form(&code).map(|(key, value)| if key == name { (key, wrong) } else { (key, value) });
        refused(&app.grant(&setup.portal, &form).await, 400, "invalid_grant", "is unknown");
        refused(&setup.use_code(&code).await, 400, "invalid_grant", "is unknown");
    }
    for name in ["code", "redirect_uri", "code_verifier"] {
        let form: Vec<_> = code_form("x").into_iter().filter(|(key, _)| *key != name).collect();
        refused(&app.grant(&setup.portal, &form).await, 400, "invalid_request", name);
    }
}

#[tokio::test]
async fn public_application_only_signs_people_in() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let public = app.portal(&[CALLBACK], true).await;
    let id = ("client_id", public.client_id.as_str());
    for grant_type in ["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"] {
        let form = [("grant_type", grant_type), id, ("subject_token", "mei")];
        let answer = send(app.http.post(format!("{}/oauth2/token", app.base)).form(&form)).await;
        refused(&answer, 400, "unauthorized_client", "authorization_code");
    }
    let answer = app.grant(&public, &[("grant_type", "client_credentials")]).await;
    refused(&answer, 401, "invalid_client", "");
}

/// Protects against login CSRF.
#[tokio::test]
async fn form_is_valid_only_in_its_browser() {
    let setup = LoginSetup::start().await;
    let mut own = setup.app.browser();
    let form = sealed_form(&own.open(&setup.parameters()).await);
    let mut other = setup.app.browser();
    let foreign = "not opened in this browser";
    page(&other.submit_form(&form, "mei", "correct horse").await, 400, foreign);
    other.open(&setup.parameters()).await;
    page(&other.submit_form(&form, "mei", "correct horse").await, 400, foreign);
    other.cookie = Some("trawl-login=short; x".to_owned());
    page(&other.submit_form(&form, "mei", "correct horse").await, 400, foreign);
    for wrong in ["", "x", &form[1..], &format!("{form}AAAA")] {
        page(&own.submit_form(wrong, "mei", "correct horse").await, 400, foreign);
    }
    // A second login page keeps the first one valid.
    own.open(&setup.parameters()).await;
    location(&own.submit_form(&form, "mei", "correct horse").await);
}

#[tokio::test]
async fn disabled_application_tenant_or_person_cannot_sign_in() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let mut browser = app.browser();
    let shown = browser.open(&setup.parameters()).await;
    let code = setup.sign_in().await;
    app.execute("UPDATE tenants SET is_frozen = TRUE WHERE code = 'acme'").await;
    told(&setup, &app.browser().open(&setup.parameters()).await, "access_denied", "frozen");
    told(&setup, &browser.submit(&shown, "mei", "correct horse").await, "access_denied", "frozen");
    refused(&setup.use_code(&code).await, 400, "unauthorized_client", "frozen");
    app.execute("UPDATE tenants SET is_frozen = FALSE WHERE code = 'acme'").await;

    let code = setup.sign_in().await;
    app.execute("UPDATE applications SET is_disabled = TRUE WHERE redirect_uris <> '[]'").await;
    page(&app.browser().open(&setup.parameters()).await, 400, "out of use");
    page(&browser.submit(&shown, "mei", "correct horse").await, 400, "out of use");
    refused(&setup.use_code(&code).await, 401, "invalid_client", "");
    app.execute("UPDATE applications SET is_disabled = FALSE").await;

    // Between login and token request.
    for statement in ["UPDATE users SET status = 0", "UPDATE users SET status = 1, epoch = epoch + 1"] {
        let code = setup.sign_in().await;
        app.execute(statement).await;
        refused(&setup.use_code(&code).await, 400, "invalid_grant", "may no longer sign in");
        app.execute("UPDATE users SET status = 1").await;
    }
    app.execute("UPDATE applications SET redirect_uris = '[]'").await;
    page(&browser.submit(&shown, "mei", "correct horse").await, 400, "not registered");
}

#[tokio::test]
async fn login_on_a_device_ends_with_its_binding() {
    let setup = LoginSetup::start().await;
    let app = &setup.app;
    let mut parameters = setup.parameters();
    parameters.push(("device_id", "phone"));
    let sign_in = async |browser: &mut Browser| {
        let shown = browser.open(&parameters).await;
        parameter(&location(&browser.submit(&shown, "mei", "correct horse").await), "code")
    };
    let mut browser = app.browser();
    let code = sign_in(&mut browser).await;
    refused(&setup.use_code(&code).await, 400, "invalid_request", "device_id");
    app.execute(
        "INSERT INTO devices (tenant_id, user_id, device_id, bound_at) \
         SELECT tenant_id, user_id, 'phone', 1 FROM users WHERE user_id = 'mei'",
    )
    .await;
    let code = sign_in(&mut browser).await;
    let answer = setup.use_code(&code).await;
    let mei = app.caller(answer.body["access_token"].as_str().unwrap());
    mei.post_empty("/modules").await.ok();
    app.execute("DELETE FROM devices").await;
    app.forget_callers(setup.acme.tenant_id).await;
    mei.post_empty("/modules").await.fails(401, "revoked");
}

#[tokio::test]
async fn restart_keeps_forms_and_codes() {
    let setup = LoginSetup::start().await;
    let mut browser = setup.app.browser();
    let shown = browser.open(&setup.parameters()).await;
    let code = setup.sign_in().await;
    let LoginSetup { app, acme, portal } = setup;
    let app = app.restart().await;
    let cookie = browser.cookie.take();
    let mut browser = app.browser();
    browser.cookie = cookie;
    let setup = LoginSetup { app, acme, portal };
    assert_eq!(setup.use_code(&code).await.status, 200);
    let back = location(&browser.submit(&shown, "mei", "correct horse").await);
    assert_eq!(setup.use_code(&parameter(&back, "code")).await.status, 200);
}

#[tokio::test]
async fn malformed_or_oversized_form_is_refused_as_a_page() {
    let app = TestApp::start().await;
    let url = format!("{}/oauth2/authorize", app.base);
    let json = send(app.http.post(&url).json(&json!({"form": "x"}))).await;
    page(&json, 415, "Sign in");
    let large = send(app.http.post(&url).form(&[("form", "x".repeat(17 << 10))])).await;
    page(&large, 413, "Sign in");
    let missing = send(app.http.post(&url).form(&[("form", "x")])).await;
    page(&missing, 400, "Sign in");
}

#[tokio::test]
async fn logins_are_logged_without_credentials() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let server = Server::start(data).await;
    let acme = server.caller(&create_application(data, "acme").await).await;
    acme.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    let store = open_store(data).await;
    set_password(&store, "mei", "correct horse").await;
    store.close().await.unwrap();
    let mut command = trawl_over(
        data,
        &["app", "create", "--tenant", "acme", "--kind", "application", "--public", "--json"],
    );
    command.args(["--redirect-uri", CALLBACK]);
    let created: Value = serde_json::from_slice(&run(command).await.stdout).unwrap();
    assert_eq!(created["clientSecret"], Value::Null, "{created}");
    let client_id = created["clientId"].as_str().unwrap();

    let parameters = [
        ("response_type", "code"),
        ("client_id", client_id),
        ("redirect_uri", CALLBACK),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    let mut browser = Browser::new(&server.base);
    let shown = browser.open(&parameters).await;
    page(&browser.submit(&shown, "mei", "hidden-1").await, 403, "do not belong together");
    page(&browser.submit(&shown, "hidden-2", "hidden-3").await, 403, "do not belong together");
    let code = parameter(&location(&browser.submit(&shown, "mei", "correct horse").await), "code");
    let log = server.log();
    for (said, times) in
        [("a login failed", 2), ("signed in", 1), ("address=127.0.0.1", 3), ("user_id=\"mei\"", 2)]
    {
        let lines = log.lines().filter(|line| line.contains("trawl::audit") && line.contains(said));
        assert_eq!(lines.count(), times, "{said}: {log}");
    }
    for secret in ["hidden", "correct horse", &code, &sealed_form(&shown)] {
        assert!(!log.contains(secret), "{secret:?} is logged: {log}");
    }
}
