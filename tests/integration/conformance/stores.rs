//! One suite for every content store, and tests of S3 alone.

use std::process::Command;

use futures::stream;
use reqwest::{Response, StatusCode};

use super::store_suite::{Bench, far_off, suite};
use crate::util::{
    TIMEOUT,
    app::TestApp,
    internals::{BlobStore, Download, Expected, S3Store, SignedPart, now_millis},
    program::{run, text, trawl},
    s3::{CheckingServer, S3Server},
};

struct S3Bench {
    store: S3Store,
    http: reqwest::Client,
}

#[async_trait::async_trait]
impl Bench for S3Bench {
    fn store(&self) -> &dyn BlobStore {
        &self.store
    }

    async fn begin(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }

    async fn send(&self, upload_id: &str, part_number: u32, content: Vec<u8>) -> String {
        let expected = Expected { upload_id, part_number, most_bytes: 1 << 30, expires_at: far_off() };
        let signed = self.store.sign_upload(expected).await.unwrap();
        let sent = put(&self.http, &signed.url, content).await;
        assert_eq!(sent.status(), 200);
        sent.headers()["etag"].to_str().unwrap().trim_matches('"').to_owned()
    }
}

struct LocalBench {
    app: TestApp,
    tenant_id: i64,
}

#[async_trait::async_trait]
impl Bench for LocalBench {
    fn store(&self) -> &dyn BlobStore {
        self.app.app.blobs.as_ref()
    }

    async fn begin(&self) -> String {
        let upload_id = uuid::Uuid::now_v7().to_string();
        let text = "INSERT INTO uploads (id, tenant_id, user_id, is_multipart, reserved_bytes, created_at) \
            VALUES (?, ?, 'mei', TRUE, 0, ?)";
        let values = vec![upload_id.as_str().into(), self.tenant_id.into(), now_millis().into()];
        self.app.execute_with(text, values).await;
        upload_id
    }

    async fn send(&self, upload_id: &str, part_number: u32, content: Vec<u8>) -> String {
        let store = self.app.app.embedded.as_ref().unwrap();
        let part = SignedPart { upload_id: upload_id.to_owned(), part_number, most_bytes: 1 << 30 };
        let arrived = store.receive(&part, stream::iter([Ok(content.into())])).await.unwrap();
        store.place(arrived).await.unwrap().e_tag
    }
}

async fn put(http: &reqwest::Client, url: &str, content: Vec<u8>) -> Response {
    http.put(url).body(content).send().await.unwrap()
}

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap()
}

#[tokio::test]
async fn embedded_store_passes_the_suite() {
    let app = TestApp::start().await;
    let tenant_id = app.tenant("acme").await.tenant_id;
    suite(&LocalBench { app, tenant_id }).await;
}

#[tokio::test]
async fn s3_store_passes_the_suite() {
    let server = S3Server::start().await;
    suite(&S3Bench { store: S3Store::new(&server.settings).unwrap(), http: http() }).await;
}

#[tokio::test]
async fn upload_url_is_valid_for_its_part_only() {
    let server = CheckingServer::start().await;
    let (store, http) = (S3Store::new(&server.settings).unwrap(), http());
    let expected = Expected { upload_id: "u1", part_number: 3, most_bytes: 100, expires_at: far_off() };
    let signed = store.sign_upload(expected).await.unwrap();
    assert_eq!((signed.method, signed.headers), ("PUT", None));
    assert_eq!(put(&http, &signed.url, b"harbour".to_vec()).await.status(), 200);
    assert_eq!(server.object("uploads/u1/00003").unwrap(), b"harbour");

    for (what, url) in [
        ("another part", signed.url.replace("/00003", "/00004")),
        ("another upload", signed.url.replace("/u1/", "/u2/")),
        ("a content", signed.url.replace("uploads/u1/00003", "contents/abc")),
        ("a later end", signed.url.replace("X-Amz-Expires=", "X-Amz-Expires=9")),
        ("no signature", signed.url.split_once('?').unwrap().0.to_owned()),
    ] {
        assert_ne!(url, signed.url, "{what}");
        assert_eq!(put(&http, &url, b"other".to_vec()).await.status(), StatusCode::FORBIDDEN, "{what}");
    }
    assert_eq!(http.get(&signed.url).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(http.delete(&signed.url).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(server.object("uploads/u1/00003").unwrap(), b"harbour");
    assert_eq!(server.object("uploads/u1/00004"), None);
    assert_eq!(server.object("contents/abc"), None);
}

#[tokio::test]
async fn download_url_is_valid_unaltered_for_its_content_only() {
    let server = CheckingServer::start().await;
    let (store, http) = (S3Store::new(&server.settings).unwrap(), http());
    server.put("contents/abc", b"0123456789");
    server.put("contents/def", b"another");
    let download = Download {
        file_id: "f1".to_owned(),
        version: 1,
        name: "Häfen \"und\" Meer.html".to_owned(),
        user_id: "mei".to_owned(),
        tenant_id: 1,
        store_key: "abc".to_owned(),
        expires_at: far_off(),
    };
    let url = store.sign_download(&download).await.unwrap();
    let part = http.get(&url).header("range", "bytes=2-4").send().await.unwrap();
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    let header = |name: &str| part.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-range"), "bytes 2-4/10");
    assert!(header("content-disposition").starts_with("attachment; "), "{}", header("content-disposition"));
    assert!(header("content-disposition").contains("H%C3%A4fen"), "{}", header("content-disposition"));
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(part.bytes().await.unwrap(), "234");

    for (what, url) in [
        ("another content", url.replace("contents/abc", "contents/def")),
        ("shown by the browser", url.replace("=attachment", "=inline")),
        ("another type", url.replace("octet-stream", "xhtml")),
    ] {
        assert_eq!(http.get(&url).send().await.unwrap().status(), StatusCode::FORBIDDEN, "{what}");
    }
    assert_eq!(put(&http, &url, b"other".to_vec()).await.status(), StatusCode::FORBIDDEN);

    let over = Download { expires_at: 0, ..download };
    let url = store.sign_download(&over).await.unwrap();
    assert!(url.contains("X-Amz-Expires=1&"), "{url}");
}

fn print_config(change: (&str, &str)) -> Command {
    let mut command = trawl(&["serve", "--print-config"]);
    command.env("TRAWL_STORAGE__KIND", "s3");
    // A bucket name of digits only stays a text.
    command.env("TRAWL_STORAGE__S3__BUCKET", "2026");
    command.env("TRAWL_STORAGE__S3__REGION", "eu-north-1");
    command.env("TRAWL_STORAGE__S3__ACCESS_KEY_ID", "12345678");
    command.env("TRAWL_STORAGE__S3__SECRET_ACCESS_KEY", SECRET);
    command.env(change.0, change.1);
    command
}

const SECRET: &str = "98765432101234567890";

#[tokio::test]
async fn store_key_is_not_printed() {
    let output = run(print_config(("TRAWL_STORAGE__S3__ENDPOINT", "http://127.0.0.1:9000"))).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains(SECRET), "the key is printed");
    let printed: toml::Table = text(&output.stdout).parse().unwrap();
    let s3 = &printed["storage"]["s3"];
    assert_eq!(s3["secret_access_key"].as_str(), Some("********"));
    assert_eq!(s3["access_key_id"].as_str(), Some("12345678"));
    assert_eq!(s3["bucket"].as_str(), Some("2026"));
}

#[tokio::test]
async fn invalid_store_and_scanner_settings_are_refused() {
    for (setting, value, named) in [
        ("TRAWL_STORAGE__S3__BUCKET", "", "storage.s3.bucket"),
        ("TRAWL_STORAGE__S3__ENDPOINT", "ftp://127.0.0.1", "storage.s3.endpoint"),
        ("TRAWL_STORAGE__S3__ENDPOINT", "http://127.0.0.1/?x=y", "storage.s3.endpoint"),
        ("TRAWL_SCANNER__CLAMD", "127.0.0.1", "scanner.clamd"),
        ("TRAWL_SCANNER__CLAMD", "127.0.0.1:0", "scanner.clamd"),
        ("TRAWL_SCANNER__CLAMD", "unix:clamd.ctl", "scanner.clamd"),
        ("TRAWL_SCANNER__AT_ONCE", "0", "scanner.at_once"),
        ("TRAWL_SCANNER__IDLE_SECONDS", "0", "scanner.idle_seconds"),
    ] {
        let output = run(print_config((setting, value))).await;
        assert_eq!(output.status.code(), Some(2), "{setting}={value}");
        assert!(text(&output.stderr).contains(named), "{setting}={value}: {}", text(&output.stderr));
        assert!(!text(&output.stderr).contains(SECRET), "{setting}={value}: the key is printed");
    }
}
