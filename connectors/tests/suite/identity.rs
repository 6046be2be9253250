//! Calls for a person: assertions, and tokens of people.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use futures::future::join_all;
use serde_json::json;
use trawl_connectors::{
    AssertionHeader, Authentication, ClientCredentials, Grant, Method, Question, SettingsError, SourceClient,
    SourceError, SourceSettings,
};
use url::form_urlencoded;

use crate::people::{People, verify};
use crate::support::{QUESTION, Server, connect, good_answer, json_answer, status_answer, token_answer};

const fn asked_by(person: &str) -> Question<'_> {
    Question { person: Some(person), ..QUESTION }
}

/// Grants `token-of-SUBJECT` for an assertion, in either grant; refuses `omar`.
async fn start_granting() -> Server {
    Server::start(|request| {
        let response = if request.path == "/token" {
            let fields: Vec<(String, String)> =
                form_urlencoded::parse(request.body.as_bytes()).into_owned().collect();
            let assertion = fields.iter().find(|(name, _)| name == "assertion" || name == "subject_token");
            let claims = assertion.and_then(|(_, assertion)| verify(assertion)).unwrap();
            match claims["sub"].as_str().unwrap() {
                "omar" => {
                    (StatusCode::BAD_REQUEST, json_answer(&json!({"error": "invalid_grant"}))).into_response()
                }
                subject => token_answer(&format!("token-of-{subject}"), 3600),
            }
        } else {
            good_answer()
        };
        std::future::ready(response)
    })
    .await
}

fn client_of(server: &Server, grant: Grant, people: &Arc<People>) -> SourceClient {
    let credentials = ClientCredentials { grant, ..server.credentials() };
    let mut identity = people.in_header();
    identity.header = None;
    let settings = SourceSettings {
        authentication: Authentication::OAuth2Client(credentials),
        identity: Some(identity),
        ..server.settings(Method::Get)
    };
    connect(settings).unwrap()
}

#[tokio::test]
async fn assertion_in_its_header_names_origin_and_person() {
    let server = Server::start(|_| std::future::ready(good_answer())).await;
    let people = People::of(&["mei", "omar"]);
    for (header, name, scheme) in
        [("X-Trawl-Assertion", "x-trawl-assertion", ""), ("Authorization", "authorization", "Bearer ")]
    {
        let mut identity = people.in_header();
        identity.header = Some(AssertionHeader::new(header).unwrap());
        identity.claims.departments = true;
        let client =
            connect(SourceSettings { identity: Some(identity), ..server.settings(Method::Get) }).unwrap();
        for person in ["mei", "omar"] {
            client.search(&asked_by(person)).await.unwrap();
            let request = server.received("/search").pop().unwrap();
            let claims = verify(request.header(name).strip_prefix(scheme).unwrap()).unwrap();
            assert_eq!(claims["sub"], person);
            assert_eq!(claims["departments"], json!(["sales"]));
            assert_eq!(claims["aud"], server.base.origin().ascii_serialization());
        }
    }
}

#[tokio::test]
async fn refusal_of_a_person_is_told_from_one_of_the_source() {
    let server = Server::start(|_| std::future::ready(status_answer(401))).await;
    let people = People::of(&["mei"]);
    let settings = SourceSettings { identity: Some(people.in_header()), ..server.settings(Method::Get) };
    let client = connect(settings).unwrap();
    for question in [asked_by("mei"), asked_by("nobody"), QUESTION] {
        let refused = client.search(&question).await;
        assert!(matches!(refused, Err(SourceError::PersonRefused(_))), "{refused:?}");
    }
    assert_eq!(server.received("/search").len(), 1, "people who do not stand are not asked about");
}

#[tokio::test]
async fn grants_of_people_send_the_assertion_as_their_rfc_has_it() {
    for (grant, expected) in [
        (Grant::JwtBearer, vec![("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")]),
        (
            Grant::TokenExchange,
            vec![
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
            ],
        ),
    ] {
        let server = start_granting().await;
        client_of(&server, grant, &People::of(&["mei"])).search(&asked_by("mei")).await.unwrap();
        let request = server.received("/token").remove(0);
        let fields: Vec<_> = form_urlencoded::parse(request.body.as_bytes()).into_owned().collect();
        for (name, value) in expected {
            assert!(fields.contains(&(name.to_owned(), value.to_owned())), "{fields:?}");
        }
        let (_, assertion) = fields.iter().find(|(_, value)| value.starts_with("eyJ")).unwrap();
        assert_eq!(verify(assertion).unwrap()["aud"], server.base.join("token").unwrap().as_str());
        assert_eq!(server.received("/search")[0].header("authorization"), "Bearer token-of-mei");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn token_of_a_person_is_fetched_once_and_sent_for_nobody_else() {
    let server = start_granting().await;
    let names: Vec<String> = (0..20).map(|number| format!("person-{number}")).collect();
    let people = People::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let client = client_of(&server, Grant::JwtBearer, &people);
    let searches = names.iter().cycle().take(200).map(|name| {
        let (client, name) = (client.clone(), name.clone());
        tokio::spawn(async move { client.search(&asked_by(&name)).await.map(drop) })
    });
    for outcome in join_all(searches).await {
        outcome.unwrap().unwrap();
    }
    assert_eq!(server.received("/token").len(), names.len());
    for name in &names {
        let expected = format!("Bearer token-of-{name}");
        let sent = server.received("/search");
        assert_eq!(sent.iter().filter(|request| request.header("authorization") == expected).count(), 10);
    }
}

#[tokio::test]
async fn token_is_dropped_with_the_standing_of_its_person() {
    let server = start_granting().await;
    let people = People::of(&["mei", "ana"]);
    let client = client_of(&server, Grant::TokenExchange, &people);
    let ask = async |person| client.search(&asked_by(person)).await.map(drop);
    for person in ["mei", "ana", "mei"] {
        ask(person).await.unwrap();
    }
    assert_eq!(server.received("/token").len(), 2);
    people.put("mei", 2);
    ask("mei").await.unwrap();
    ask("ana").await.unwrap();
    assert_eq!(server.received("/token").len(), 3, "the session of one person ended");
    people.remove("mei");
    assert!(matches!(ask("mei").await, Err(SourceError::PersonRefused(_))));
    assert_eq!(server.received("/token").len(), 3);
}

#[tokio::test]
async fn person_whom_the_token_endpoint_refuses_is_refused_alone() {
    let server = start_granting().await;
    let people = People::of(&["mei", "omar"]);
    let client = client_of(&server, Grant::JwtBearer, &people);
    let refused = client.search(&asked_by("omar")).await;
    let expected = "the token endpoint gave no token for this person (invalid_grant)";
    assert_eq!(refused, Err(SourceError::PersonRefused(expected.to_owned())));
    client.search(&asked_by("mei")).await.unwrap();
}

#[tokio::test]
async fn grant_of_people_without_an_identity_is_refused_at_once() {
    let server = start_granting().await;
    let credentials = ClientCredentials { grant: Grant::JwtBearer, ..server.credentials() };
    let settings = SourceSettings {
        authentication: Authentication::OAuth2Client(credentials),
        ..server.settings(Method::Get)
    };
    assert_eq!(connect(settings).unwrap_err(), SettingsError::NoIdentity("the grant"));
}
