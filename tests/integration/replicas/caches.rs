//! Changes that hold at every replica from the answer on.

use serde_json::{Value, json};

use crate::util::{
    cluster::{Cluster, at},
    program::Server,
    sizes::size,
};

async fn revoke(server: &Server, application: &Value, token: &str) {
    let request = reqwest::Client::new()
        .post(format!("{}/oauth2/revoke", server.base))
        .basic_auth(application["clientId"].as_str().unwrap(), application["clientSecret"].as_str())
        .form(&[("token", token)]);
    assert_eq!(request.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn revoked_token_is_refused_by_the_other_replica_at_once() {
    let mut cluster = Cluster::new("revocation");
    let (one, other) = (cluster.add().await, cluster.add().await);
    let acme = cluster.application("acme", "application").await;
    for round in 0..size(20, 200) {
        let (revoking, asked) = if round % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let caller = revoking.caller(&acme).await;
        let elsewhere = at(asked, &caller);
        elsewhere.post_empty("/modules").await.ok();
        revoke(revoking, &acme, &caller.token).await;
        elsewhere.post_empty("/modules").await.fails(401, "revoked");
    }
}

#[tokio::test]
async fn changed_module_is_searched_by_the_other_replica_at_once() {
    let mut cluster = Cluster::new("modules");
    let (one, other) = (cluster.add().await, cluster.add().await);
    let operator = one.caller(&cluster.application("acme", "admin").await).await;
    let elsewhere = at(&other, &operator);
    for round in 0..20 {
        let code = format!("module-{round}");
        let module =
            json!({"id": code, "name": code, "code": code, "type": 101, "sources": ["builtin:article"]});
        operator.post("/admin/v1/modules", &module).await.ok();
        let parameters = [("moduleId", code.as_str()), ("keyword", "harbour")];
        elsewhere.search(&parameters).await.ok();
        operator.delete(&format!("/admin/v1/modules/{code}")).await.ok();
        elsewhere.search(&parameters).await.fails(404, "moduleId");
    }
}

#[tokio::test]
async fn rotated_signing_key_verifies_at_every_replica() {
    let mut cluster = Cluster::new("keys");
    let (one, other) = (cluster.add().await, cluster.add().await);
    let admin = cluster.application("acme", "admin").await;
    let operator = one.caller(&admin).await;
    for _ in 0..5 {
        let rotated = operator.post_empty("/admin/v1/signing_keys").await.ok();
        let kid = &rotated.body["data"]["kid"];
        let known = at(&other, &operator).get("/oauth2/jwks").await;
        assert!(
            known.body["keys"].as_array().unwrap().iter().any(|key| key["kid"] == *kid),
            "{}",
            known.text
        );
        let fresh = one.caller(&admin).await;
        at(&other, &fresh).get("/admin/v1/signing_keys").await.ok();
    }
}
