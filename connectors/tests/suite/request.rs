use axum::http::Method as HttpMethod;
use serde_json::{Value, json};
use trawl_connectors::{AddressRefusal, Authentication, Method, Question, SettingsError, SourceSettings};
use url::Url;

use crate::support::{QUESTION, Server, connect, good_answer};

#[tokio::test]
async fn get_keeps_the_query_of_the_address() {
    let server = Server::start(|_| async { good_answer() }).await;
    let settings = SourceSettings {
        url: server.base.join("search?site=a%26b").unwrap(),
        ..server.settings(Method::Get)
    };
    let client = connect(settings).unwrap();
    let question = Question { keyword: "报告 & co", limit: 25, cursor: Some("a=1&b"), person: None };

    let answer = client.search(&question).await.unwrap();

    assert_eq!(answer.items.len(), 1);
    let request = server.received("/search").remove(0);
    assert_eq!(request.method, HttpMethod::GET);
    let pairs: Vec<(String, String)> =
        url::form_urlencoded::parse(request.query.as_bytes()).into_owned().collect();
    let expected = [("site", "a&b"), ("keyword", "报告 & co"), ("limit", "25"), ("cursor", "a=1&b")];
    assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(request.header("accept"), "application/json");
    assert_eq!(request.header("accept-encoding"), "gzip");
    assert_eq!(request.header("authorization"), "");
    assert_eq!(request.body, "");
}

#[tokio::test]
async fn post_sends_json_with_the_contracts_content_type() {
    let server = Server::start(|_| async { good_answer() }).await;
    let client = connect(server.settings(Method::Post)).unwrap();

    client.search(&QUESTION).await.unwrap();
    client.search(&Question { cursor: Some("2"), ..QUESTION }).await.unwrap();

    let requests = server.received("/search");
    let bodies: Vec<Value> =
        requests.iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect();
    assert_eq!(
        bodies,
        [json!({"keyword": "budget", "limit": 10}), json!({"keyword": "budget", "limit": 10, "cursor": "2"})]
    );
    for request in requests {
        assert_eq!(request.method, HttpMethod::POST);
        assert_eq!(request.query, "");
        assert_eq!(request.header("content-type"), "application/json;charset=UTF-8");
    }
}

#[tokio::test]
async fn sequential_searches_share_a_connection() {
    let server = Server::start(|_| async { good_answer() }).await;
    let client = server.client();

    for _ in 0..5 {
        client.clone().search(&QUESTION).await.unwrap();
    }

    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn unworkable_settings_are_refused() {
    let server = Server::start(|_| async { good_answer() }).await;
    let refusal = |change: fn(&mut SourceSettings)| {
        let mut settings = server.settings(Method::Get);
        change(&mut settings);
        connect(settings).unwrap_err()
    };
    assert_eq!(refusal(|settings| settings.max_concurrency = 0), SettingsError::Zero("maxConcurrency"));
    assert_eq!(
        refusal(|settings| settings.timeout = std::time::Duration::ZERO),
        SettingsError::Zero("timeout")
    );
    let address = |text: &str| {
        let settings = SourceSettings { url: Url::parse(text).unwrap(), ..server.settings(Method::Get) };
        connect(settings).unwrap_err()
    };
    assert_eq!(
        address("file:///etc/passwd"),
        SettingsError::Address { setting: "url", refusal: AddressRefusal::Scheme }
    );
    assert_eq!(
        address("https://name:word@host/"),
        SettingsError::Address { setting: "url", refusal: AddressRefusal::UserInfo }
    );
}

#[tokio::test]
async fn debug_output_hides_the_secret() {
    let server = Server::start(|_| async { good_answer() }).await;
    let authentication = Authentication::OAuth2Client(server.credentials());
    let settings = SourceSettings { authentication, ..server.settings(Method::Get) };

    let shown = format!("{settings:?} {:?}", connect(settings.clone()).unwrap());

    assert!(shown.contains("client_id") && !shown.contains("the:secret"), "{shown}");
}
