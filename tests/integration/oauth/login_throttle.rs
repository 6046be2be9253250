//! Login throttle. An attempt is restored in half a minute, longer than any test takes.

use std::sync::atomic::{AtomicUsize, Ordering};

use argon2::{Argon2, PasswordHasher};
use futures::{StreamExt, stream};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::send,
    internals::Config,
    items::user,
    login::{LoginSetup, location},
};

fn two_per_minute(config: &mut Config) {
    config.limits.logins_per_minute = 2;
}

fn behind_a_proxy(config: &mut Config) {
    two_per_minute(config);
    config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
}

#[track_caller]
fn assert_throttled(answer: &Answer) {
    assert_eq!(answer.status, 429, "{}", answer.text);
    let wait: u64 = answer.header("retry-after").parse().unwrap();
    assert!((1..=31).contains(&wait), "{wait}");
}

async fn log_in(setup: &LoginSetup, from: &str, login: &str, password: &str) -> Answer {
    let mut browser = setup.app.browser();
    browser.forwarded_for = Some(from.to_owned());
    let page = browser.open(&setup.parameters()).await;
    browser.submit(&page, login, password).await
}

#[tokio::test]
async fn logins_from_an_address_are_limited_even_on_success() {
    let setup = LoginSetup::start_with(behind_a_proxy).await;
    location(&log_in(&setup, "192.0.2.1", "mei", "correct horse").await);
    assert_eq!(log_in(&setup, "192.0.2.1", "nobody", "wrong").await.status, 403);
    let answer = log_in(&setup, "192.0.2.1", "mei", "correct horse").await;
    assert_throttled(&answer);
    assert!(answer.text.contains("Too many attempts. Try again in "), "{}", answer.text);
    // Added addresses do not evade the limit.
    assert_throttled(&log_in(&setup, "198.51.100.1, 192.0.2.1", "mei", "correct horse").await);
    location(&log_in(&setup, "192.0.2.2", "mei", "correct horse").await);
}

#[tokio::test]
async fn forwarding_header_of_an_untrusted_peer_is_ignored() {
    let setup = LoginSetup::start_with(two_per_minute).await;
    for from in ["192.0.2.1", "192.0.2.2"] {
        location(&log_in(&setup, from, "mei", "correct horse").await);
    }
    assert_throttled(&log_in(&setup, "192.0.2.3", "mei", "correct horse").await);
}

/// A known address stays open to the person.
#[tokio::test]
async fn failures_of_an_account_are_limited_over_all_addresses() {
    let setup = LoginSetup::start_with(behind_a_proxy).await;
    location(&log_in(&setup, "192.0.2.7", "mei", "correct horse").await);
    for (from, login) in [("192.0.2.1", "mei"), ("192.0.2.2", "Mei")] {
        assert_eq!(log_in(&setup, from, login, "wrong").await.status, 403);
    }
    assert_throttled(&log_in(&setup, "192.0.2.3", "MEI", "wrong").await);
    assert_throttled(&log_in(&setup, "192.0.2.4", "mei", "correct horse").await);
    location(&log_in(&setup, "192.0.2.7", "mei", "correct horse").await);
    for from in ["192.0.2.5", "192.0.2.6"] {
        assert_eq!(log_in(&setup, from, "nobody", "wrong").await.status, 403);
    }
    assert_throttled(&log_in(&setup, "192.0.2.8", "nobody", "wrong").await);
}

#[tokio::test]
async fn known_browser_signs_in_from_a_new_address_whatever_failed_elsewhere() {
    let setup = LoginSetup::start_with(behind_a_proxy).await;
    let mut browser = setup.app.browser();
    let mut sign_in = async |from: &str, login: &str, password: &str| {
        browser.forwarded_for = Some(from.to_owned());
        let page = browser.open(&setup.parameters()).await;
        browser.submit(&page, login, password).await
    };
    location(&sign_in("192.0.2.1", "mei", "correct horse").await);
    for from in ["192.0.2.2", "192.0.2.3"] {
        assert_eq!(log_in(&setup, from, "mei", "wrong").await.status, 403);
    }
    assert_throttled(&log_in(&setup, "192.0.2.4", "mei", "correct horse").await);
    location(&sign_in("192.0.2.5", "Mei", "correct horse").await);
    location(&log_in(&setup, "192.0.2.5", "mei", "correct horse").await);
    // Its own failures are limited at all addresses, and other accounts do not know it.
    for from in ["192.0.2.6", "192.0.2.7"] {
        assert_eq!(sign_in(from, "mei", "wrong").await.status, 403);
    }
    assert_throttled(&sign_in("192.0.2.8", "mei", "correct horse").await);
    for from in ["192.0.2.9", "192.0.2.10"] {
        assert_eq!(log_in(&setup, from, "omar", "wrong").await.status, 403);
    }
    assert_throttled(&sign_in("192.0.2.11", "omar", "wrong").await);
}

async fn ask(app: &TestApp, from: &str, id: &str, secret: &str) -> Answer {
    let request: RequestBuilder = app.http.post(format!("{}/oauth2/token", app.base));
    let request = request.form(&[("grant_type", "client_credentials")]).basic_auth(id, Some(secret));
    send(request.header("x-forwarded-for", from)).await
}

#[tokio::test]
async fn only_failed_client_authentication_is_throttled() {
    let app = TestApp::start_with(behind_a_proxy).await;
    let (one, other): (Application, Application) = (app.tenant("one").await, app.tenant("other").await);
    let ok = async |from: &str, application: &Application| {
        ask(&app, from, &application.client_id, application.secret()).await.status
    };
    for _ in 0..5 {
        assert_eq!(ok("192.0.2.1", &one).await, 200);
    }
    // Failures count by address.
    for id in ["nobody", one.client_id.as_str()] {
        assert_eq!(ask(&app, "192.0.2.5", id, "wrong").await.status, 401);
    }
    let answer = ask(&app, "192.0.2.5", &one.client_id, "wrong").await;
    assert_throttled(&answer);
    assert_eq!(answer.body["error"], "temporarily_unavailable", "{}", answer.text);
    assert_eq!(ok("192.0.2.5", &other).await, 429);
    assert_eq!(ok("192.0.2.6", &other).await, 200);
    assert_eq!(ok("192.0.2.7", &one).await, 200);
    // A previously authenticated address continues.
    for _ in 0..4 {
        ask(&app, "192.0.2.1", "nobody", "wrong").await;
    }
    assert_eq!(ok("192.0.2.1", &one).await, 200);
}

/// Wrong logins of accounts with slow hashes, from changing networks of one customer.
///
/// Tells once one of them was turned away, as too many wait.
async fn flood(setup: &LoginSetup, accounts: usize, at_once: usize, is_full: &Notify) {
    let next = AtomicUsize::new(0);
    let attempts = stream::repeat(()).map(async |()| {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let from = format!("2001:db8:1:{:x}::1", number % 0xffff);
        let answer = log_in(setup, &from, &format!("user{}", number % accounts), "wrong").await;
        if answer.status == 503 {
            is_full.notify_one();
        }
    });
    attempts.buffer_unordered(at_once).for_each(async |()| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_logins_from_one_network_turns_nobody_else_away() {
    const ACCOUNTS: usize = 300;
    let setup = LoginSetup::start_with(|config| {
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let rows: Vec<Value> = (0..ACCOUNTS).map(|number| user(&format!("user{number}"), "")).collect();
    setup.app.sync(&setup.acme.caller, "users", &json!(rows)).await;
    let slow = Argon2::default().hash_password(b"another").unwrap().to_string();
    setup
        .app
        .execute_with("UPDATE users SET password_hash = ? WHERE user_id <> 'mei'", vec![slow.into()])
        .await;
    let is_full = Notify::new();
    let people = async {
        is_full.notified().await;
        for number in 0..3 {
            location(&log_in(&setup, &format!("192.0.2.{number}"), "mei", "correct horse").await);
            let client = (setup.acme.client_id.as_str(), setup.acme.secret());
            assert_eq!(ask(&setup.app, "192.0.2.100", client.0, client.1).await.status, 200);
        }
    };
    tokio::select! {
        () = people => {}
        () = flood(&setup, ACCOUNTS, 100, &is_full) => unreachable!("it never ends"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_one_login_turns_away_no_other_login_of_its_network() {
    let setup = LoginSetup::start_with(|config| {
        behind_a_proxy(config);
        // The throttle would turn the flood away before its passwords are checked.
        config.limits.logins_per_minute = 1_000_000;
        config.auth.secret_checks_at_once = 1;
    })
    .await;
    setup.app.sync(&setup.acme.caller, "users", &json!([user("user0", "")])).await;
    let slow = Argon2::default().hash_password(b"another").unwrap().to_string();
    setup
        .app
        .execute_with("UPDATE users SET password_hash = ? WHERE user_id <> 'mei'", vec![slow.into()])
        .await;
    let is_full = Notify::new();
    let mei = async {
        is_full.notified().await;
        for number in 0..3 {
            location(&log_in(&setup, &format!("2001:db8:1:ffff::{number}"), "mei", "correct horse").await);
        }
    };
    tokio::select! {
        () = mei => {}
        () = flood(&setup, 1, 50, &is_full) => unreachable!("it never ends"),
    }
}
