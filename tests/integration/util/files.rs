use std::io::{Cursor, Write as _};

use aws_lc_rs::digest::{SHA256, digest};
use reqwest::Method;
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use super::{answer::Answer, app::TestApp, caller::Caller, eventually};

pub(crate) fn sha256(content: &[u8]) -> String {
    hex::encode(digest(&SHA256, content))
}

/// Reproducible by seed.
pub(crate) fn bytes(seed: u64, size: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..size).map(|_| random.u8(..)).collect()
}

/// An archive whose last entry has so many spaces.
pub(crate) fn bomb(entries: &[(&str, &str)], zeros: (&str, u64)) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().large_file(true);
    for (name, content) in entries {
        archive.start_file(*name, options).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.start_file(zeros.0, options).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(b' '), zeros.1), &mut archive).unwrap();
    archive.finish().unwrap().into_inner()
}

/// A PDF of these objects, whose first is the catalog.
pub(crate) fn pdf(objects: &[&str]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = Vec::new();
    for (number, object) in (1..).zip(objects) {
        writeln!(table, "{:010} 00000 n ", file.len()).unwrap();
        write!(file, "{number} 0 obj\n{object}\nendobj\n").unwrap();
    }
    let (start, size) = (file.len(), objects.len() + 1);
    write!(file, "xref\n0 {size}\n0000000000 65535 f \n").unwrap();
    file.extend(table);
    write!(file, "trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF").unwrap();
    file
}

pub(crate) async fn sign(caller: &Caller, said: &Value) -> Value {
    caller.post("/v1/stream/upload", said).await.ok().data().clone()
}

/// Needs no token; returns the `ETag`.
pub(crate) async fn send_to(caller: &Caller, signed: &Value, content: &[u8]) -> String {
    let response = try_to_send(caller, signed, content).await;
    assert!(response.status().is_success(), "{}: {}", response.status(), response.text().await.unwrap());
    response.headers()["etag"].to_str().unwrap().to_owned()
}

pub(crate) async fn try_to_send(caller: &Caller, signed: &Value, content: &[u8]) -> reqwest::Response {
    let method: Method = signed["method"].as_str().unwrap().parse().unwrap();
    let mut request = caller.http.request(method, signed["url"].as_str().unwrap()).body(content.to_vec());
    for (name, value) in signed["headers"].as_object().into_iter().flatten() {
        request = request.header(name, value.as_str().unwrap());
    }
    request.send().await.unwrap()
}

pub(crate) async fn sent(caller: &Caller, content: &[u8]) -> String {
    let signed = sign(caller, &json!({})).await;
    send_to(caller, &signed, content).await;
    signed["uploadId"].as_str().unwrap().to_owned()
}

pub(crate) fn commit_form(upload: &str, directory: &str, name: &str, size: usize) -> Value {
    json!({"uploadId": upload, "dirId": directory, "fileName": name, "fileSize": size})
}

pub(crate) async fn commit(caller: &Caller, form: &Value) -> Answer {
    caller.post("/v1/stream/upload/commit", form).await
}

/// Signs, uploads and commits a file in a folder; `root` is the person's own.
pub(crate) async fn put(caller: &Caller, directory: &str, name: &str, content: &[u8]) -> Answer {
    let upload = sent(caller, content).await;
    commit(caller, &commit_form(&upload, directory, name, content.len())).await
}

/// Returns the file's id.
pub(crate) async fn put_file(caller: &Caller, directory: &str, name: &str, content: &[u8]) -> String {
    let answer = put(caller, directory, name, content).await.ok();
    answer.data()["id"].as_str().unwrap().to_owned()
}

/// A new version of an existing name.
pub(crate) async fn put_version(caller: &Caller, directory: &str, name: &str, content: &[u8]) -> Answer {
    let upload = sent(caller, content).await;
    let mut form = commit_form(&upload, directory, name, content.len());
    form["ondup"] = json!(true);
    commit(caller, &form).await
}

pub(crate) async fn take(caller: &Caller, file: &str, version: Option<i64>) -> Vec<u8> {
    let form = json!({"fileId": file, "version": version});
    let answer = caller.post("/v1/stream/download", &form).await.ok();
    let response = caller.http.get(answer.data().as_str().unwrap()).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.bytes().await.unwrap().to_vec()
}

pub(crate) async fn start(caller: &Caller) -> String {
    let answer = caller.post_empty("/v1/stream/multipart/upload/start").await.ok();
    answer.data().as_str().unwrap().to_owned()
}

pub(crate) async fn send_part(caller: &Caller, upload: &str, number: u32, content: &[u8]) -> String {
    let form = json!({"uploadId": upload, "partNumber": number});
    let signed = caller.post("/v1/stream/multipart/upload/parts", &form).await.ok();
    send_to(caller, signed.data(), content).await
}

pub(crate) async fn commit_parts(caller: &Caller, mut form: Value, parts: &[(u32, &str)]) -> Answer {
    let tags: Vec<Value> =
        parts.iter().map(|(number, e_tag)| json!({"eTag": e_tag, "partNumber": number})).collect();
    form["partETags"] = Value::from(Value::from(tags).to_string());
    caller.post("/v1/stream/multipart/upload/commit", &form).await
}

pub(crate) async fn delete(caller: &Caller, files: &[&str]) -> Answer {
    caller.post("/v1/files/delete", &json!(files)).await
}

/// A concurrent round of maintenance may hold some back.
pub(crate) async fn sweep_until_contents_are(app: &TestApp, count: i64) {
    eventually("the removal of contents", async || {
        app.app.maintenance.make_round().await.unwrap();
        (app.number("SELECT COUNT(*) FROM blobs").await == count).then_some(())
    })
    .await;
}
