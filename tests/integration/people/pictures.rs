//! Avatars: `PUT /v1/users/sync` and `GET /storage/pictures/{id}`.

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    directory::{PNG, content, packed, read_one},
    items::user,
};

const GIF: &[u8] = b"GIF89a and so on";

struct Album {
    app: TestApp,
    acme: Application,
}

impl Album {
    async fn start() -> Self {
        let app = TestApp::start_with(|config| {
            config.limits.picture_bytes = 4_096;
            config.public_url = Some("https://trawl.example.org/".parse().unwrap());
        })
        .await;
        let acme = app.tenant("acme").await;
        app.sync(&acme.caller, "users", &json!([user("mei", "")])).await;
        Self { app, acme }
    }

    async fn set(&self, picture: Value) {
        self.app.sync(&self.acme.caller, "users", &json!([{"userId": "mei", "pictureParam": picture}])).await;
    }

    async fn refused(&self, picture: Value, named: &str) {
        let rows = json!([{"userId": "mei", "pictureParam": picture}, {"userId": "mei", "name": "Mei"}]);
        let answer = self.acme.caller.put("/v1/users/sync", &rows).await.ok();
        assert_eq!(answer.ids(), ["mei"], "{}", answer.text);
        let message = answer.items()[0]["message"].as_str().unwrap();
        assert!(message.starts_with("pictureParam") && message.contains(named), "{message}");
    }

    async fn address(&self) -> Value {
        read_one(&self.acme.caller, "users", "mei").await["picture"].clone()
    }

    async fn path(&self) -> String {
        let address = self.address().await;
        let path = address.as_str().unwrap().strip_prefix("https://trawl.example.org/storage/pictures/");
        format!("/storage/pictures/{}", path.unwrap_or_else(|| panic!("{address}")))
    }

    async fn load(&self, path: &str) -> reqwest::Response {
        self.app.http.get(format!("{}{path}", self.app.base)).send().await.unwrap()
    }

    async fn kept(&self) -> i64 {
        self.app.count_rows("pictures").await
    }
}

#[tokio::test]
async fn picture_is_public_by_its_url_and_served_inert() {
    let album = Album::start().await;
    assert_eq!(album.address().await, Value::Null);
    album.set(content(PNG)).await;
    let path = album.path().await;
    assert!(path.len() > 40, "the path can be guessed: {path}");
    let answer = album.load(&path).await;
    assert_eq!(answer.status(), 200);
    for (name, value) in [
        ("content-type", "image/png"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("cache-control", "public, max-age=31536000, immutable"),
    ] {
        assert_eq!(answer.headers()[name], value);
    }
    let etag = answer.headers()["etag"].clone();
    assert_eq!(answer.bytes().await.unwrap(), PNG);

    let url = format!("{}{path}", album.app.base);
    let again = album.app.http.get(&url).header("if-none-match", &etag).send().await.unwrap();
    assert_eq!((again.status().as_u16(), again.bytes().await.unwrap().len()), (304, 0));
    let head = album.app.http.request(Method::HEAD, &url).send().await.unwrap();
    assert_eq!((head.status().as_u16(), head.bytes().await.unwrap().len()), (200, 0));
    let refused = [("nothing", 404), ("..%2f", 404), ("%00", 400)];
    for (id, status) in refused {
        assert_eq!(album.load(&format!("/storage/pictures/{id}")).await.status(), status, "{id}");
    }
}

#[tokio::test]
async fn new_picture_gets_a_new_url_and_the_old_one_is_gone() {
    let album = Album::start().await;
    album.set(content(PNG)).await;
    let first = album.path().await;
    let before = read_one(&album.acme.caller, "users", "mei").await;
    // The same content, the URL that was read, and an absent value are no change.
    let by_address = json!({"data": before["picture"], "type": 1});
    for same in [content(PNG), by_address, Value::Null, json!({}), json!({"fileName": "other.png"})] {
        album.set(same).await;
        assert_eq!(read_one(&album.acme.caller, "users", "mei").await, before);
    }
    album.set(content(GIF)).await;
    let second = album.path().await;
    assert_ne!(first, second);
    assert_eq!(album.load(&first).await.status(), 404);
    assert_eq!(album.load(&second).await.headers()["content-type"], "image/gif");
    assert_eq!(album.kept().await, 1);

    let elsewhere = "https://img.example.org/mei.png";
    album.set(json!({"fileName": "mei.png", "data": elsewhere, "type": 1})).await;
    assert_eq!((album.address().await, album.kept().await), (json!(elsewhere), 0));
    for cleared in [json!(""), json!({"data": ""})] {
        album.set(content(PNG)).await;
        album.set(cleared).await;
        assert_eq!((album.address().await, album.kept().await), (Value::Null, 0));
    }
}

#[tokio::test]
async fn invalid_or_oversized_picture_fails_its_row() {
    let album = Album::start().await;
    album.set(content(PNG)).await;
    let before = album.address().await;
    let bomb = [PNG, &vec![0; 100 << 20]].concat();
    for (picture, named) in [
        (content(&bomb), "at most 4096 bytes"),
        (content(&[PNG, &[7; 4_096]].concat()), "at most 4096 bytes"),
        (content(b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), "PNG"),
        (content(b"<html><script>"), "PNG"),
        (content(b""), "PNG"),
        (json!({"data": BASE64_STANDARD.encode(PNG), "type": 2}), "gzip"),
        (json!({"data": "not base64!", "type": 2}), "gzip"),
        (json!({"data": packed(PNG)}), "type"),
        (json!({"data": packed(PNG), "type": 3}), "type"),
        (json!({"data": "javascript:alert(1)", "type": 1}), "http"),
        (json!({"data": "https://user:secret@img.example.org/", "type": 1}), "credentials"),
        (json!({"data": "x".repeat(3_000), "type": 1}), "2048"),
        (json!({"data": packed(PNG), "type": 2, "fileName": "x".repeat(300)}), "fileName"),
        (json!({"data": 5, "type": 2}), "must be an object"),
        (json!("me.jpg"), "must be an object"),
        (json!([1]), "must be an object"),
    ] {
        album.refused(picture, named).await;
    }
    assert_eq!(album.address().await, before);
}

#[tokio::test]
async fn deleting_a_person_deletes_the_picture() {
    let album = Album::start().await;
    album.set(content(PNG)).await;
    let path = album.path().await;
    album.app.sync(&album.acme.caller, "users", &json!([{"userId": "mei", "isDeleted": true}])).await;
    assert_eq!((album.address().await, album.kept().await), (Value::Null, 0));
    assert_eq!(album.load(&path).await.status(), 404);
    album.set(content(PNG)).await;
    assert_eq!((album.address().await, album.kept().await), (Value::Null, 0));
    album
        .app
        .sync(
            &album.acme.caller,
            "users",
            &json!([{"userId": "mei", "isDeleted": false, "pictureParam": content(PNG)}]),
        )
        .await;
    assert_eq!(album.kept().await, 1);
}

/// Inflated pictures are charged to the byte budget of bodies.
#[tokio::test]
async fn pictures_beyond_the_byte_budget_fail_the_call() {
    let app = TestApp::start_with(|config| {
        config.limits.body_bytes = 1 << 20;
        config.limits.sync_body_bytes = 1 << 20;
        config.limits.held_body_bytes = 2 << 20;
    })
    .await;
    let acme = app.tenant("acme").await;
    let image = [PNG, &vec![0; 600 << 10]].concat();
    let person = |id: &str| {
        let mut person = user(id, "");
        person["pictureParam"] = content(&image);
        person
    };
    app.sync(&acme.caller, "users", &json!([person("mei")])).await;
    acme.caller
        .put("/v1/users/sync", &json!([person("lin"), person("omar")]))
        .await
        .fails(413, "pictureParam: all pictures of a call must be at most 1048576 bytes");
    app.sync(&acme.caller, "users", &json!([person("lin")])).await;
}
