//! Two servers over one PostgreSQL database.

use futures::future::join_all;

use crate::util::{
    app::TestApp,
    internals::{Config, StorageKind},
    login::{LoginSetup, code_form},
    postgres::database,
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
