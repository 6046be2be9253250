//! How often someone may try to prove who he is (decisions 9.9, `limits.logins_per_minute`).
//!
//! One attempt is given back in half a minute, which no test takes.

use reqwest::RequestBuilder;
use trawl::config::Config;

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::send,
    login::{Landscape, location},
};

fn two_per_minute(config: &mut Config) {
    config.limits.logins_per_minute = 2;
}

/// The tests come through a proxy that says whom they come from.
fn behind_a_proxy(config: &mut Config) {
    two_per_minute(config);
    config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
}

#[track_caller]
fn held_up(answer: &Answer) {
    assert_eq!(answer.status, 429, "{}", answer.text);
    let wait: u64 = answer.header("retry-after").parse().unwrap();
    assert!((1..=31).contains(&wait), "{wait}");
}

/// A login that goes this far and no further: what the page says of it.
async fn log_in(landscape: &Landscape, from: &str, login: &str, password: &str) -> Answer {
    let mut browser = landscape.app.browser();
    browser.forwarded_for = Some(from.to_owned());
    let page = browser.open(&landscape.parameters()).await;
    browser.submit(&page, login, password).await
}

#[tokio::test]
async fn an_address_has_so_many_logins_whether_they_succeed_or_not() {
    let landscape = Landscape::start_with(behind_a_proxy).await;
    location(&log_in(&landscape, "192.0.2.1", "mei", "correct horse").await);
    assert_eq!(log_in(&landscape, "192.0.2.1", "nobody", "wrong").await.status, 403);
    let answer = log_in(&landscape, "192.0.2.1", "mei", "correct horse").await;
    held_up(&answer);
    assert!(answer.text.contains("Too many attempts. Try again in "), "{}", answer.text);
    // What a client writes in front of what the proxy saw makes it no other one.
    held_up(&log_in(&landscape, "198.51.100.1, 192.0.2.1", "mei", "correct horse").await);
    location(&log_in(&landscape, "192.0.2.2", "mei", "correct horse").await);
}

#[tokio::test]
async fn nobody_is_believed_who_is_no_proxy() {
    let landscape = Landscape::start_with(two_per_minute).await;
    for from in ["192.0.2.1", "192.0.2.2"] {
        location(&log_in(&landscape, from, "mei", "correct horse").await);
    }
    held_up(&log_in(&landscape, "192.0.2.3", "mei", "correct horse").await);
}

/// Many addresses do not help, and do not lock him out where he comes from.
#[tokio::test]
async fn an_account_has_so_many_failures_wherever_they_come_from() {
    let landscape = Landscape::start_with(behind_a_proxy).await;
    location(&log_in(&landscape, "192.0.2.7", "mei", "correct horse").await);
    for from in ["192.0.2.1", "192.0.2.2"] {
        assert_eq!(log_in(&landscape, from, "mei", "wrong").await.status, 403);
    }
    held_up(&log_in(&landscape, "192.0.2.3", "mei", "wrong").await);
    held_up(&log_in(&landscape, "192.0.2.4", "mei", "correct horse").await);
    location(&log_in(&landscape, "192.0.2.7", "mei", "correct horse").await);
    // An account that is not there is counted alike.
    for from in ["192.0.2.5", "192.0.2.6"] {
        assert_eq!(log_in(&landscape, from, "nobody", "wrong").await.status, 403);
    }
    held_up(&log_in(&landscape, "192.0.2.8", "nobody", "wrong").await);
}

/// A token request from there, with this secret.
async fn ask(app: &TestApp, from: &str, id: &str, secret: &str) -> Answer {
    let request: RequestBuilder = app.http.post(format!("{}/oauth2/token", app.base));
    let request = request.form(&[("grant_type", "client_credentials")]).basic_auth(id, Some(secret));
    send(request.header("x-forwarded-for", from)).await
}

#[tokio::test]
async fn applications_that_do_not_prove_themselves_are_held_up_and_those_that_do_are_not() {
    let app = TestApp::start_with(behind_a_proxy).await;
    let (one, other): (Application, Application) = (app.tenant("one").await, app.tenant("other").await);
    let ok = async |from: &str, application: &Application| {
        ask(&app, from, &application.client_id, application.secret()).await.status
    };
    for _ in 0..5 {
        assert_eq!(ok("192.0.2.1", &one).await, 200);
    }
    // By address, whichever application it is …
    for id in ["nobody", one.client_id.as_str()] {
        assert_eq!(ask(&app, "192.0.2.5", id, "wrong").await.status, 401);
    }
    let answer = ask(&app, "192.0.2.5", &one.client_id, "wrong").await;
    held_up(&answer);
    assert_eq!(answer.body["error"], "temporarily_unavailable", "{}", answer.text);
    assert_eq!(ok("192.0.2.5", &other).await, 429);
    // … and nobody else is: who knows an application's id cannot keep it out.
    assert_eq!(ok("192.0.2.6", &other).await, 200);
    assert_eq!(ok("192.0.2.7", &one).await, 200);
    // Where it has proved itself, it goes on.
    for _ in 0..4 {
        ask(&app, "192.0.2.1", "nobody", "wrong").await;
    }
    assert_eq!(ok("192.0.2.1", &one).await, 200);
}
