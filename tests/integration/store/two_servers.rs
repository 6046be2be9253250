//! Two servers over one PostgreSQL database.

use futures::future::join_all;

use crate::util::{
    answer::Answer,
    app::TestApp,
    internals::{Config, StorageKind},
    login::{LoginSetup, code_form},
    postgres::database,
    robots::RobotGroup,
};

/// Settings of each server over the database of this name.
fn over(name: &str) -> impl Fn(&mut Config) + Copy {
    move |config| {
        config.store.url = Some(database(name).into());
        config.master_key = Some("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".into());
        config.public_url = Some("http://127.0.0.1:1".parse().unwrap());
        config.storage.kind = StorageKind::None;
    }
}

#[tokio::test]
async fn code_used_at_both_servers_is_granted_once() {
    let settings = over("code_used_at_both_servers");
    let setup = LoginSetup::start_with(settings).await;
    let other = TestApp::start_with(settings).await;
    for _ in 0..5 {
        let code = setup.sign_in().await;
        let form = code_form(&code);
        let uses = [&setup.app, &other, &setup.app, &other].map(|app| app.grant(&setup.portal, &form));
        let (granted, refused): (Vec<_>, Vec<_>) =
            join_all(uses).await.into_iter().partition(|answer| answer.status == 200);
        let [granted] = granted.as_slice() else { panic!("{} uses were granted", granted.len()) };
        assert!(refused.iter().all(|answer| answer.body["error"] == "invalid_grant"), "{refused:?}");
        let token = granted.body["access_token"].as_str().unwrap();
        for app in [&setup.app, &other] {
            app.caller(token).post_empty("/modules").await.fails(401, "revoked");
        }
    }
}

#[tokio::test]
async fn messages_of_a_robot_are_limited_over_both_servers() {
    let settings = over("messages_at_both_servers");
    let here = RobotGroup::start_with(settings).await;
    let other = TestApp::start_with(settings).await;
    let sent = (0..60).map(|number| {
        let app = if number % 2 == 0 { &here.app } else { &other };
        here.robot.say(app, "tide")
    });
    let (taken, refused): (Vec<_>, Vec<_>) =
        join_all(sent).await.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(taken.len(), 20);
    for answer in refused {
        answer.fails(429, "more than 20 messages of this robot");
    }
    // The stored messages count, whatever server took them.
    here.app.execute("UPDATE messages SET created_at = created_at - 60000").await;
    here.robot.say(&other, "tide").await.ok();
}

async fn log_in(setup: &LoginSetup, app: &TestApp, from: &str, password: &str) -> Answer {
    let mut browser = app.browser();
    browser.forwarded_for = Some(from.to_owned());
    let page = browser.open(&setup.parameters()).await;
    browser.submit(&page, "mei", password).await
}

#[tokio::test]
async fn failed_logins_of_an_account_are_limited_over_both_servers() {
    let settings = over("logins_at_both_servers");
    let two_per_minute = move |config: &mut Config| {
        settings(config);
        config.limits.logins_per_minute = 2;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    };
    let setup = LoginSetup::start_with(two_per_minute).await;
    let (one, other) = (&setup.app, &TestApp::start_with(two_per_minute).await);
    assert_eq!(log_in(&setup, one, "192.0.2.200", "correct horse").await.status, 303);
    let attempts = (0..12).map(async |number| {
        let app = if number % 2 == 0 { one } else { other };
        log_in(&setup, app, &format!("192.0.2.{number}"), "wrong").await.status
    });
    let mut statuses = join_all(attempts).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [[403; 2].as_slice(), &[429; 10]].concat());
    for app in [one, other] {
        assert_eq!(log_in(&setup, app, "192.0.2.100", "correct horse").await.status, 429);
        // Addresses of successes are known to both.
        assert_eq!(log_in(&setup, app, "192.0.2.200", "correct horse").await.status, 303);
    }
    // Attempts of a server that died count until their time.
    one.execute("UPDATE login_attempts SET state = 'in flight' WHERE state = 'failed'").await;
    assert_eq!(log_in(&setup, other, "192.0.2.101", "correct horse").await.status, 429);
    one.execute("UPDATE login_attempts SET ends_at = 0 WHERE state = 'in flight'").await;
    assert_eq!(log_in(&setup, other, "192.0.2.102", "correct horse").await.status, 303);
}
