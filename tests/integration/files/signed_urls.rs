//! Altered, replayed, late and revoked URLs; file names with traversal.

use std::collections::BTreeSet;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use crate::util::{
    app::TestApp,
    caller::{Caller, send},
    files::put_file,
    raw::Connection,
};

const CONTENT: &[u8] = b"the harbour's log";

async fn sign(person: &Caller, bytes: usize) -> (Url, String) {
    let signed = person.post("/v1/stream/upload", &json!({ "fileSize": bytes })).await.ok();
    let url = signed.data()["url"].as_str().unwrap().parse().unwrap();
    (url, signed.data()["uploadId"].as_str().unwrap().to_owned())
}

async fn status(person: &Caller, method: Method, url: &Url, body: &[u8]) -> StatusCode {
    person.http.request(method, url.clone()).body(body.to_vec()).send().await.unwrap().status()
}

async fn commit(person: &Caller, upload_id: &str, folder: &str, name: &str) -> Value {
    let commit =
        json!({ "uploadId": upload_id, "dirId": folder, "fileName": name, "fileSize": CONTENT.len() });
    person.post("/v1/stream/upload/commit", &commit).await.body
}

async fn download(person: &Caller, file: &str) -> Url {
    let signed = person.post("/v1/stream/download", &json!({ "fileId": file })).await.ok();
    signed.data().as_str().unwrap().parse().unwrap()
}

/// Each parameter changed, left out or doubled; each path segment changed.
fn forgeries(url: &Url, others: &Url) -> Vec<Url> {
    let mut forged = Vec::new();
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let with = |pairs: &[(String, String)]| {
        let mut forged = url.clone();
        forged.query_pairs_mut().clear().extend_pairs(pairs);
        forged
    };
    for place in 0..pairs.len() {
        let mut values = vec![String::new(), "0".to_owned(), format!("{}0", pairs[place].1), "-1".to_owned()];
        values.push("99999999999999999999".to_owned());
        values.extend(pairs[place].1.parse::<i64>().ok().map(|number| (number + 1).to_string()));
        values.push(pairs[place].1.chars().rev().collect());
        for value in values.into_iter().filter(|value| *value != pairs[place].1) {
            let mut changed = pairs.clone();
            changed[place].1 = value;
            forged.push(with(&changed));
        }
        let mut fewer = pairs.clone();
        fewer.remove(place);
        forged.push(with(&fewer));
        let mut twice = pairs.clone();
        twice.push((pairs[place].0.clone(), "1".to_owned()));
        forged.push(with(&twice));
    }
    let segments: Vec<String> = url.path_segments().unwrap().map(str::to_owned).collect();
    let others: Vec<String> = others.path_segments().unwrap().map(str::to_owned).collect();
    for place in 2..segments.len() {
        for value in [others.get(place).cloned(), Some("7".to_owned()), Some("..%2F..".to_owned())] {
            let mut changed = segments.clone();
            changed[place] = value.unwrap_or_default();
            if changed != segments {
                let mut other = url.clone();
                other.set_path(&changed.join("/"));
                forged.push(other);
            }
        }
    }
    forged
}

#[tokio::test]
async fn upload_url_is_valid_for_its_upload_only() {
    let (_app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let (url, upload_id) = sign(&mei, CONTENT.len()).await;
    let (others, _) = sign(&omar, 1 << 20).await;
    for forged in forgeries(&url, &others) {
        let status = status(&mei, Method::PUT, &forged, CONTENT).await;
        assert!(matches!(status.as_u16(), 400 | 403 | 404), "{status} {forged}");
    }
    let mut borrowed = url.clone();
    borrowed.set_query(others.query());
    assert_eq!(status(&mei, Method::PUT, &borrowed, CONTENT).await, 403);
    for method in [Method::GET, Method::POST, Method::DELETE, Method::PATCH] {
        let status = status(&mei, method.clone(), &url, CONTENT).await;
        assert!(matches!(status.as_u16(), 403..=405), "{method}: {status}");
    }
    assert_eq!(status(&mei, Method::PUT, &url, &[b'x'; 18]).await, 413);
    let unannounced = reqwest::Body::wrap_stream(futures::stream::iter(
        (0..40).map(|_| Ok::<_, std::io::Error>(vec![b'x'; 10])),
    ));
    let sent = mei.http.put(url.clone()).body(unannounced).send().await.unwrap();
    assert_eq!(sent.status(), 413);
    assert_eq!(commit(&mei, &upload_id, "root", "log.txt").await["code"], 400);

    assert_eq!(status(&mei, Method::PUT, &url, b"the harbour's fog").await, 200);
    assert_eq!(status(&mei, Method::PUT, &url, CONTENT).await, 200);
    assert_eq!(commit(&omar, &upload_id, "root", "log.txt").await["code"], 400);
    let committed = commit(&mei, &upload_id, "root", "log.txt").await;
    let address = download(&mei, committed["data"]["id"].as_str().unwrap()).await;
    let taken = mei.http.get(address).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(&taken[..], CONTENT);
    let late = status(&mei, Method::PUT, &url, b"the harbour's bog").await;
    assert!(matches!(late.as_u16(), 404 | 410), "{late}");
    assert_eq!(commit(&mei, &upload_id, "root", "again.txt").await["code"], 400);
}

#[tokio::test]
async fn download_url_is_valid_for_its_version_only() {
    let (_app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let log = put_file(&mei, "root", "log.txt", CONTENT).await;
    let others = download(&omar, &put_file(&omar, "root", "secret.txt", CONTENT).await).await;
    let url = download(&mei, &log).await;
    for _ in 0..2 {
        assert_eq!(status(&mei, Method::GET, &url, b"").await, 200);
    }
    for forged in forgeries(&url, &others) {
        let status = status(&mei, Method::GET, &forged, b"").await;
        assert!(matches!(status.as_u16(), 400 | 403 | 404), "{status} {forged}");
    }
    let mut borrowed = others.clone();
    borrowed.set_query(url.query());
    assert_eq!(status(&mei, Method::GET, &borrowed, b"").await, 403);
    for method in [Method::PUT, Method::POST, Method::DELETE] {
        let status = status(&mei, method.clone(), &url, CONTENT).await;
        assert!(matches!(status.as_u16(), 403..=405), "{method}: {status}");
    }
}

#[tokio::test]
async fn download_url_dies_with_the_file_or_the_right() {
    let (app, acme, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let folder =
        mei.post("/v1/directories/create", &json!({ "name": "Logs" })).await.ok().data()["id"].clone();
    let folder = folder.as_str().unwrap();
    let log = put_file(&mei, folder, "log.txt", CONTENT).await;
    let authorize = |roles: Value| {
        let body = json!({ "dirId": folder, "roleIds": roles, "authTarget": ["omar"], "targetType": 1 });
        let mei = mei.clone();
        async move { mei.post("/v1/directories/authorize", &body).await.ok() }
    };
    authorize(json!(["downloader"])).await;
    let (owners, his) = (download(&mei, &log).await, download(&omar, &log).await);
    assert_eq!(status(&omar, Method::GET, &his, b"").await, 200);
    authorize(json!(["viewer"])).await;
    assert_eq!(status(&omar, Method::GET, &his, b"").await, 404);
    authorize(json!(["manager"])).await;
    assert_eq!(status(&omar, Method::GET, &his, b"").await, 200);
    let remove = json!({ "dirId": folder, "target": "omar", "targetType": 1 });
    mei.post("/v1/directories/authorize/remove", &remove).await.ok();
    assert_eq!(status(&omar, Method::GET, &his, b"").await, 404);
    assert_eq!(status(&mei, Method::GET, &owners, b"").await, 200);

    authorize(json!(["downloader"])).await;
    app.sync(&acme.caller, "users", &json!([{ "userId": "omar", "status": 0 }])).await;
    assert_eq!(status(&omar, Method::GET, &his, b"").await, 404);
    app.sync(&acme.caller, "users", &json!([{ "userId": "omar", "status": 1 }])).await;
    assert_eq!(status(&omar, Method::GET, &his, b"").await, 200);
    let operator = app.operator().await.caller;
    operator.post_empty("/v1/enterprises/freeze?eCode=acme").await.ok();
    assert_eq!(status(&omar, Method::GET, &his, b"").await, 403);
    operator.post_empty("/v1/enterprises/unfreeze?eCode=acme").await.ok();

    mei.post("/v1/files/delete", &json!([log])).await.ok();
    for url in [&owners, &his] {
        assert_eq!(status(&mei, Method::GET, url, b"").await, 404);
    }
    let other = put_file(&mei, folder, "other.txt", CONTENT).await;
    let url = download(&mei, &other).await;
    mei.post("/v1/directories/delete", &json!({ "dirId": folder })).await.ok();
    send(mei.http.get(url)).await.fails(404, "there is no such file, or you may no longer download it");
}

const ELSEWHERE: [&str; 14] = [
    "..",
    ".",
    "../escaped.txt",
    "..\\escaped.txt",
    "/etc/passwd",
    "C:\\escaped.txt",
    "a/../../escaped.txt",
    "a\0b",
    "%2e%2e%2fescaped.txt",
    "..%2f..%2fescaped.txt",
    "..\u{2215}escaped.txt",
    "\u{ff0e}\u{ff0e}/escaped.txt",
    "\u{202e}txt.exe",
    "con",
];

#[tokio::test]
async fn hostile_names_do_not_traverse() {
    let (app, _, [mei, _]) = TestApp::start_with_people(["mei", "omar"]).await;
    let mut names = BTreeSet::new();
    for name in ELSEWHERE {
        let made = mei.post("/v1/directories/create", &json!({ "name": name })).await.body;
        let signed = mei.post("/v1/stream/upload", &json!({ "fileName": name })).await.body;
        let (url, upload_id) = sign(&mei, CONTENT.len()).await;
        assert_eq!(status(&mei, Method::PUT, &url, CONTENT).await, 200);
        let committed = commit(&mei, &upload_id, "root", name).await;
        let codes = [&made["code"], &signed["code"], &committed["code"]];
        // Refused by every operation or treated as an ordinary name.
        assert!(
            codes == [400, 400, 400] || codes == [200, 200, 200],
            "{name:?}: {made} {signed} {committed}"
        );
        if name.contains(['/', '\\', '\0', '\u{202e}']) || matches!(name, "." | ".." | "con") {
            assert_eq!(codes, [400, 400, 400], "{name:?}");
        } else {
            names.insert(name);
            let address = download(&mei, committed["data"]["id"].as_str().unwrap()).await;
            assert_eq!(status(&mei, Method::GET, &address, b"").await, 200);
        }
    }
    let listed = mei.get("/v1/directories/file/list?dirId=root").await.ok();
    let listed: BTreeSet<&str> = listed.items().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(listed, names);
    for id in ["../root", "..", "root/..", "", "\0", "%2e%2e"] {
        let answer = mei.post("/v1/stream/download", &json!({ "fileId": id })).await.body;
        assert!(matches!(answer["code"].as_i64(), Some(400 | 430_003)), "{id:?}: {answer}");
        let answer = mei.post("/v1/directories/delete", &json!({ "dirId": id })).await.body;
        assert!(matches!(answer["code"].as_i64(), Some(400 | 430_003)), "{id:?}: {answer}");
        assert_ne!(commit(&mei, id, "root", "x").await["code"], 200);
    }
    for path in [
        "/storage/../master.key",
        "/storage/files/../../master.key",
        "/storage/uploads/..%2f..%2fmaster.key/1?size=1&expires=9999999999&signature=00",
        "/storage/files/%2e%2e/1?user=mei&expires=9999999999&signature=00",
        "/storage//etc/passwd",
    ] {
        let mut connection = Connection::open(&app.base).await;
        connection.write(format!("GET {path} HTTP/1.1\r\nhost: trawl\r\n\r\n").as_bytes()).await;
        let answer = connection.read().await;
        assert!(matches!(answer.status, 400 | 403 | 404 | 405), "{path}: {answer:?}");
    }
}
