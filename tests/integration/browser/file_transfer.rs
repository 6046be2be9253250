use std::{fs, sync::Arc};

use aws_lc_rs::digest::{SHA256, digest};
use axum::{
    Json, Router,
    extract::{Path, State},
    response::Html,
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::util::{app::TestApp, browser::Browser, caller::Caller, eventually, files::put_file};

const PAGE: &str = include_str!("file_transfer.html");

async fn application(person: Caller) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new()
        .route("/", get(Html(PAGE)))
        .route("/api/{*path}", post(ask))
        .with_state(Arc::new(person));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

async fn ask(State(person): State<Arc<Caller>>, Path(path): Path<String>, body: String) -> Json<Value> {
    let body: Value = serde_json::from_str(&body).unwrap();
    Json(person.post(&format!("/{path}"), &body).await.body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browser_uploads_and_downloads_a_file() {
    let (_app, _, [mei]) = TestApp::start_with_people(["mei"]).await;
    let page = application(mei.clone()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("航海日志 'log'.txt");
    let content = "the harbour's log\n".repeat((12 << 20) / 18);
    fs::write(&file, &content).unwrap();
    let hash = hex::encode(digest(&SHA256, content.as_bytes()));

    let browser = Browser::start().await;
    let client = &browser.client;
    client.goto(&page).await.unwrap();
    let input = client.find("#file").await.unwrap();
    input.send_keys(file.to_str().unwrap()).await.unwrap();
    let said = eventually("the page's result", async || {
        let said = client.find("#said").await.unwrap().text().await.unwrap();
        (!said.is_empty()).then_some(said)
    })
    .await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["taken"], json!([hash, hash]), "{said}");
    assert_eq!(said["whole"]["name"], "航海日志 'log'.txt");
    assert_eq!(said["parts"]["size"], content.len());

    let hostile = "<!doctype html><title>before</title><script>document.title = 'it ran'</script>";
    for name in ["page.html", "picture.svg", "page.xhtml", "script.js", "no extension"] {
        let id = put_file(&mei, "root", name, hostile.as_bytes()).await;
        let signed = mei.post("/v1/stream/download", &json!({ "fileId": id })).await.ok();
        // The driver may report a download as a failed navigation.
        let _ = client.goto(signed.data().as_str().unwrap()).await;
        let title = client.execute("return document.title", Vec::new()).await.unwrap();
        assert_eq!(title, "Hand in", "{name}");
    }
    browser.close().await;
}
