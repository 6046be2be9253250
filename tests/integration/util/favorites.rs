use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::{
    answer::Answer,
    app::{Application, TestApp},
    caller::{Caller, send},
};

pub(crate) async fn start() -> (TestApp, Application, Caller, Caller) {
    let (app, acme, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    (app, acme, mei, omar)
}

pub(crate) async fn add(caller: &Caller, favorite: &Value) -> Answer {
    caller.post("/v1/favorites", favorite).await
}

pub(crate) async fn add_text(caller: &Caller, item_id: &str, content: &str) -> i64 {
    let added = add(caller, &json!({"itemId": item_id, "contentType": 1, "content": content})).await.ok();
    added.data()["createdDate"].as_i64().unwrap()
}

pub(crate) async fn remove(caller: &Caller, item_id: &str, query: &[(&str, &str)]) -> Answer {
    let encoded: String = url::form_urlencoded::byte_serialize(item_id.as_bytes()).collect();
    let path = format!("/v1/favorites/{}", encoded.replace('+', "%20"));
    send(caller.request(Method::DELETE, &path).query(query)).await
}

pub(crate) async fn show(caller: &Caller, item_id: &str) -> Answer {
    send(caller.request(Method::GET, "/v1/favorite").query(&[("favoriteId", item_id)])).await
}

pub(crate) async fn ask(caller: &Caller, query: &[(&str, &str)]) -> Answer {
    send(caller.request(Method::GET, "/v1/favorites").query(query)).await
}

pub(crate) async fn list(caller: &Caller, query: &[(&str, &str)]) -> Vec<Value> {
    let answer = ask(caller, query).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.headers[CONTENT_TYPE], "application/json;charset=UTF-8");
    answer.body.as_array().unwrap_or_else(|| panic!("not a bare list: {}", answer.text)).clone()
}

pub(crate) async fn ids(caller: &Caller, query: &[(&str, &str)]) -> Vec<String> {
    let favorites = list(caller, query).await;
    favorites.iter().map(|favorite| favorite["itemId"].as_str().unwrap().to_owned()).collect()
}

pub(crate) async fn label(caller: &Caller, name: &str) -> String {
    let made = caller.post("/v1/favorite/label", &json!({"name": name})).await.ok();
    made.data()["id"].as_str().unwrap().to_owned()
}
