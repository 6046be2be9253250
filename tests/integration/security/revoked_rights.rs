//! Rights revoked while a body arrives.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::{Caller, send},
    groups::people,
    internals::{Kind, TokenScope},
    items::{department, user},
    raw::Connection,
};

struct Begun {
    connection: Connection,
    rest: String,
}

impl Begun {
    async fn begin(caller: &Caller, method: &str, path: &str, body: &Value) -> Self {
        let mut connection = Connection::open(&caller.base).await;
        let body = body.to_string();
        let (first, rest) = body.split_at(2);
        let tenant = caller.tenant.as_ref().map(|code| format!("indicated-e-code: {code}\r\n"));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{}content-type: application/json\r\n\
             content-length: {}\r\nexpect: 100-continue\r\n\r\n",
            caller.token,
            tenant.unwrap_or_default(),
            body.len()
        );
        connection.write(head.as_bytes()).await;
        // The server asks for the body, so the caller was admitted.
        assert_eq!(connection.read().await.status, 100);
        connection.write(first.as_bytes()).await;
        Self { connection, rest: rest.to_owned() }
    }

    async fn ends_with(mut self, status: u16, said: &str) {
        self.connection.write(self.rest.as_bytes()).await;
        self.connection.read().await.says(status, said);
    }
}

async fn sync_begun(application: &Application, id: &str) -> Begun {
    Begun::begin(&application.caller, "PUT", "/v1/users/sync", &json!([user(id, "")])).await
}

#[tokio::test]
async fn revoked_rights_apply_to_calls_in_flight() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let acme = app.tenant("acme").await;

    let begun = sync_begun(&acme, "frozen").await;
    operator.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    begun.ends_with(403, "tenant is frozen").await;
    operator.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();

    let begun = sync_begun(&acme, "disabled").await;
    let path = format!("/admin/v1/applications/{}", acme.client_id);
    operator.on("acme").put(&path, &json!({"disabled": true})).await.ok();
    begun.ends_with(401, "revoked").await;

    let reader = app.tenant("acme").await;
    assert_eq!(reader.caller.get("/v1/users/sync").await.ok().items(), [] as [Value; 0]);
    sync_begun(&reader, "kept").await.ends_with(200, "\"data\":[]").await;
}

#[tokio::test]
async fn removed_operator_cannot_create_another() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    let stolen = app.operator().await;
    let begun =
        Begun::begin(&stolen.caller, "POST", "/admin/v1/applications", &json!({"kind": "admin"})).await;
    let path = format!("/admin/v1/applications/{}", stolen.client_id);
    operator.caller.delete(&path).await.ok();
    begun.ends_with(401, "no longer").await;
    let left = operator.caller.get("/admin/v1/applications").await.ok();
    assert_eq!(left.items().len(), 1, "{}", left.text);
}

#[tokio::test]
async fn calls_on_a_tenant_deleted_meanwhile_are_401() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    let acme = app.tenant("acme").await;
    let bodies = [
        ("PUT", "/v1/organizations/sync", json!([department("d1", "")])),
        ("POST", "/api/todo/create", json!({"appTaskId": "1", "title": "t", "assigneeLoginId": "mei"})),
        ("PUT", "/v1/contents/article", json!([{"id": "a", "title": "t"}])),
    ];
    let mut begun = Vec::new();
    for (method, path, body) in &bodies {
        begun.push(Begun::begin(&acme.caller, method, path, body).await);
    }
    operator.post_empty("/v1/enterprises/delete?eCode=acme").await.ok();
    for begun in begun {
        begun.ends_with(401, "no longer").await;
    }
    let answer = send(operator.on("acme").request(Method::GET, "/v1/users/sync")).await;
    answer.fails(403, "indicated-e-code");
}

/// The moment of the complete body counts.
#[tokio::test]
async fn late_search_body_is_answered_by_current_visibility() {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", "")])).await;
    app.sync(&acme.caller, "users", &json!([user("mei", "d1")])).await;
    let mei = app.user(&acme, "mei").await;
    let search = json!({"keyword": "harbour", "moduleId": "article"});
    let begun = Begun::begin(&mei, "POST", "/contents/search", &search).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "email": "mei@acme.example"}])).await;
    begun.ends_with(200, "\"total\":0").await;
    let begun = Begun::begin(&mei, "POST", "/contents/search", &search).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "orgId": ""}])).await;
    begun.ends_with(503, "have just changed").await;
    let group = json!({"name": "Harbour"});
    let begun = Begun::begin(&mei, "POST", "/v1/groups", &group).await;
    mei.post("/v1/groups", &group).await.ok();
    begun.ends_with(200, "\"code\":200").await;
    let begun = Begun::begin(&mei, "POST", "/v1/groups", &group).await;
    app.sync(&acme.caller, "users", &json!([{"userId": "mei", "loginId": "mei.chen"}])).await;
    begun.ends_with(503, "have just changed").await;
}

#[tokio::test]
async fn losing_act_as_user_ends_tokens_of_people() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller.on("acme");
    let acme = app.tenant("acme").await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    mei.post_empty("/modules").await.ok();
    let path = format!("/admin/v1/applications/{}", acme.client_id);
    operator.put(&path, &json!({"scopes": ["contents:read"]})).await.ok();
    mei.post_empty("/modules").await.fails(401, "revoked");
}

#[tokio::test]
async fn queued_write_repeats_every_admission_check() {
    let app = TestApp::start().await;
    let operator = app.operator().await.caller;
    app.tenant("acme").await;
    let scopes = vec![TokenScope::DirectoryWrite, TokenScope::ContentsRead];
    for (path, body, said) in [
        ("/v1/enterprises/freeze?eCode=home", json!({}), "frozen"),
        ("/v1/enterprises/freeze?eCode=acme", json!({}), "frozen"),
        ("/admin/v1/applications/ID", json!({"scopes": ["contents:read"]}), "revoked"),
        ("/admin/v1/applications/ID", json!({"bound": []}), "indicated-e-code"),
        ("/admin/v1/applications/ID", json!({"disabled": true}), "revoked"),
        ("/oauth2/revoke", json!({}), "revoked"),
        ("/v1/enterprises/delete?eCode=home", json!({}), "no longer"),
    ] {
        let domain = app.register("home", Kind::Domain, &["acme"], scopes.clone()).await;
        let caller = app.app.authenticator.authenticate(&domain.caller.token, Some("acme")).await.unwrap();
        let confirm = async || {
            let caller = Arc::clone(&caller);
            let job = app
                .app
                .store
                .write(move |transaction| Box::pin(async move { caller.confirm(transaction).await }));
            job.await
        };
        confirm().await.unwrap();
        let path = path.replace("ID", &domain.client_id);
        match path.as_str() {
            "/oauth2/revoke" => {
                let request = app.http.post(format!("{}{path}", app.base));
                let request = request.basic_auth(&domain.client_id, Some(domain.secret()));
                assert_eq!(send(request.form(&[("token", &domain.caller.token)])).await.status, 200);
            }
            path if path.starts_with("/admin") => drop(operator.on("home").put(path, &body).await.ok()),
            path => drop(operator.post_empty(path).await.ok()),
        }
        let refused = confirm().await.unwrap_err();
        assert!(refused.message.contains(said), "{path} {body}: {refused}");
        for code in ["home", "acme"] {
            operator.post_empty(&format!("/v1/enterprises/unfreeze?eCode={code}")).await;
        }
    }
}
