//! Tokens of people from a source's authorization server (RFC 7523, RFC 8693).

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;
use url::form_urlencoded;

use super::{
    claims,
    searches::{envelope, row},
};
use crate::util::{
    app::{Application, TestApp},
    external::with,
    items::{department, user},
    own_search::{OwnSearch, ReceivedRequest},
};

const SEARCH: [(&str, &str); 2] = [("moduleId", "crm"), ("keyword", "customer")];

/// A row for each person, by their token.
fn answer(request: &ReceivedRequest) -> Response {
    if request.uri.path() != "/token" {
        let token = request.headers.get("authorization").map_or("", |value| value.to_str().unwrap());
        return match token.strip_prefix("Bearer token-of-") {
            Some(person) => envelope(&[row(&format!("of-{person}"))]),
            None => StatusCode::UNAUTHORIZED.into_response(),
        };
    }
    let claims = claims(&assertion(request));
    match claims["sub"].as_str().unwrap() {
        "omar" => (StatusCode::BAD_REQUEST, r#"{"error":"invalid_grant"}"#).into_response(),
        person => json!({"access_token": format!("token-of-{person}"), "expires_in": 3600})
            .to_string()
            .into_response(),
    }
}

fn assertion(request: &ReceivedRequest) -> String {
    let mut fields = form_urlencoded::parse(&request.body);
    let assertion = fields.find(|(name, _)| name == "assertion" || name == "subject_token");
    assertion.map(|(_, assertion)| assertion.into_owned()).unwrap_or_default()
}

async fn start(auth_type: &str) -> (TestApp, Application, OwnSearch) {
    let (app, acme) = TestApp::start_with_acme().await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
    let system = OwnSearch::start(answer).await;
    let source = json!({
        "id": "crm", "name": "CRM", "url": system.base.join("search").unwrap(), "timeoutMs": 10_000,
        "auth": {
            "type": auth_type, "tokenUrl": system.base.join("token").unwrap(), "clientId": "trawl",
            "clientSecret": "hush-hush-hush", "scope": "search",
        },
    });
    app.register_source(&acme, source, "crm", &["crm"]).await;
    (app, acme, system)
}

fn granted(system: &OwnSearch) -> usize {
    system.received().iter().filter(|request| request.uri.path() == "/token").count()
}

#[tokio::test]
async fn source_is_called_with_the_token_of_the_person_who_searches() {
    for (auth_type, grant) in [
        ("OAUTH2_JWT_BEARER", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        ("OAUTH2_TOKEN_EXCHANGE", "urn:ietf:params:oauth:grant-type:token-exchange"),
    ] {
        let (app, acme, system) = start(auth_type).await;
        let shown = app.operator().await.caller.on("acme").get("/admin/v1/sources/crm").await.ok();
        assert_eq!(shown.data()["identity"]["type"], "token");
        let mei = app.user(&acme, "mei").await;
        for _ in 0..3 {
            assert_eq!(mei.search(&SEARCH).await.ok().ids(), ["of-mei"]);
        }
        assert_eq!(granted(&system), 1);
        let request = system.received().into_iter().find(|request| request.uri.path() == "/token").unwrap();
        let fields: Vec<(String, String)> = form_urlencoded::parse(&request.body).into_owned().collect();
        for (name, value) in [("grant_type", grant), ("scope", "search")] {
            assert!(fields.contains(&(name.to_owned(), value.to_owned())), "{fields:?}");
        }
        let claims = claims(&assertion(&request));
        assert_eq!((&claims["login"], &claims["tenant"]), (&json!("mei"), &json!("acme")));
        assert_eq!(claims["aud"], system.base.join("token").unwrap().as_str());
        assert_eq!(claims["iss"], app.base);
        assert!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap() <= 120);

        let omar = app.user(&acme, "omar").await;
        let refused = omar.search(&SEARCH).await;
        assert_eq!(refused.source("crm")["status"], "unauthorized", "{}", refused.text);
        assert_eq!(mei.search(&SEARCH).await.ok().ids(), ["of-mei"]);
    }
}

#[tokio::test]
async fn token_of_a_person_is_renewed_when_their_department_changes() {
    let (app, acme, system) = start("OAUTH2_TOKEN_EXCHANGE").await;
    app.sync(&acme.caller, "organizations", &json!([department("hr", "")])).await;
    let mei = app.user(&acme, "mei").await;
    mei.search(&SEARCH).await.ok();
    mei.search(&SEARCH).await.ok();
    assert_eq!(granted(&system), 1);
    app.sync(&acme.caller, "users", &json!([user("mei", "hr")])).await;
    mei.search(&SEARCH).await.ok();
    assert_eq!(granted(&system), 2, "the token of the earlier departments is used");
}

#[tokio::test]
async fn token_of_a_person_is_gone_when_they_sign_out_or_are_deleted() {
    let (app, acme, system) = start("OAUTH2_TOKEN_EXCHANGE").await;
    let session = app.web_session("mei").await;
    let ask = async |session: &crate::util::caller::Caller| {
        let path = "/contents/search?moduleId=crm&keyword=customer";
        session.post_empty(path).await.ok().ids().iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (ask(&session).await, ask(&session).await),
        (vec!["of-mei".to_owned()], vec!["of-mei".to_owned()])
    );
    assert_eq!(granted(&system), 1);

    session.post_empty("/session/end").await;
    session.assert_ended().await;
    let session = app.web_session("mei").await;
    ask(&session).await;
    assert_eq!(granted(&system), 2, "the token of the ended session is used");

    let gone = json!([{"userId": "mei", "deleted": true}]);
    let deleted = acme.caller.put("/v1/users/sync", &gone).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text);
    session.assert_ended().await;
    assert_eq!(granted(&system), 2);
    let again = with(user("mei", ""), "deleted", false);
    app.sync(&acme.caller, "users", &json!([again])).await;
    let mei = app.user(&acme, "mei").await;
    assert_eq!(mei.search(&SEARCH).await.ok().ids(), ["of-mei"]);
    assert_eq!(granted(&system), 3, "the token of the deleted person is used");
}
