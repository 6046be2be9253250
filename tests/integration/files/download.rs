use proptest::{
    prelude::*,
    test_runner::{TestCaseError, TestRunner},
};
use reqwest::{Method, Response};

use crate::util::{
    answer::Answer,
    app::TestApp,
    files::sha256,
    stored::{NEVER, bytes, started},
};

async fn ask(app: &TestApp, method: Method, address: &str, lines: &[(&str, &str)]) -> Response {
    let request = lines
        .iter()
        .fold(app.http.request(method, address), |request, (name, value)| request.header(*name, *value));
    request.send().await.unwrap()
}

async fn get(app: &TestApp, address: &str) -> Answer {
    Answer::read(ask(app, Method::GET, address, &[]).await).await
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn download_is_an_inert_attachment() {
    let (app, acme) = started().await;
    let content = bytes(1_300_000);
    let file = app.file(&acme, "mei", "计划 \"1\".html", content.clone()).await;
    let address = app.file_address(&file, "mei", NEVER).await;
    let given = ask(&app, Method::GET, &address, &[]).await;
    assert_eq!(given.status(), 200);
    let e_tag = format!("\"{}\"", sha256(&content));
    let headers = [
        ("content-length", "1300000"),
        ("content-type", "application/octet-stream"),
        (
            "content-disposition",
            "attachment; filename=\"__ _1_.html\"; filename*=UTF-8''%E8%AE%A1%E5%88%92%20%221%22.html",
        ),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("cache-control", "private, no-cache"),
        ("accept-ranges", "bytes"),
        ("last-modified", "Tue, 14 Nov 2023 22:13:20 GMT"),
        ("etag", e_tag.as_str()),
    ];
    for (name, value) in headers {
        assert_eq!(header(&given, name), value, "{name}");
    }
    assert!(given.bytes().await.unwrap() == content);

    let shown = ask(&app, Method::HEAD, &address, &[("range", "bytes=0-1")]).await;
    assert_eq!(shown.status(), 200);
    for (name, value) in headers {
        assert_eq!(header(&shown, name), value, "{name}");
    }
    assert!(shown.bytes().await.unwrap().is_empty());

    let known = ask(&app, Method::GET, &address, &[("if-none-match", &e_tag)]).await;
    assert_eq!((known.status().as_u16(), header(&known, "etag")), (304, e_tag.as_str()));
    assert!(known.bytes().await.unwrap().is_empty());
    let of_this = ask(&app, Method::GET, &address, &[("range", "bytes=5-"), ("if-range", &e_tag)]).await;
    assert_eq!(of_this.status(), 206);
    let of_another = ask(&app, Method::GET, &address, &[("range", "bytes=5-"), ("if-range", "\"x\"")]).await;
    assert_eq!((of_another.status().as_u16(), header(&of_another, "content-length")), (200, "1300000"));
    Answer::read(ask(&app, Method::GET, &address, &[("if-match", "\"x\"")]).await)
        .await
        .fails(412, "If-Match");
    let beyond = ask(&app, Method::GET, &address, &[("range", "bytes=1300000-")]).await;
    assert_eq!(header(&beyond, "content-range"), "bytes */1300000");
    Answer::read(beyond).await.fails(416, "1300000 bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn range_is_the_requested_slice() {
    let (app, acme) = started().await;
    let content = bytes(700_001);
    let file = app.file(&acme, "mei", "a.bin", content.clone()).await;
    let address = app.file_address(&file, "mei", NEVER).await;
    let runtime = tokio::runtime::Handle::current();
    let size = content.len();
    let near_an_edge =
        prop_oneof![0..size + 10, (0..4_usize).prop_map(|piece| piece * 262_144), size - 5..size + 5];
    let bounds = (proptest::option::of(near_an_edge.clone()), proptest::option::of(near_an_edge));
    let walked = tokio::task::spawn_blocking(move || {
        TestRunner::new(trawl_seeds::cases(100)).run(&bounds, |(first, last)| {
            let text = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
            let asked = format!("bytes={}-{}", text(first), text(last));
            let expected = match (first, last) {
                (None, None) => None,
                (Some(first), Some(last)) if last < first => None,
                (Some(first), last) => Some(first..last.map_or(size, |last| last + 1).min(size)),
                (None, Some(count)) => Some(size - count.min(size)..size),
            };
            let (status, told, body) = runtime.block_on(async {
                let given = ask(&app, Method::GET, &address, &[("range", &asked)]).await;
                let told = header(&given, "content-range").to_owned();
                (given.status().as_u16(), told, given.bytes().await.unwrap())
            });
            let is_right = match expected {
                None => status == 200 && told.is_empty() && body == content,
                Some(range) if range.is_empty() => status == 416 && told == format!("bytes */{size}"),
                Some(range) => {
                    let expected = format!("bytes {}-{}/{size}", range.start, range.end - 1);
                    status == 206 && told == expected && body == content[range]
                }
            };
            if is_right {
                Ok(())
            } else {
                Err(TestCaseError::fail(format!("{asked}: {status} {told} {}", body.len())))
            }
        })
    });
    walked.await.unwrap().unwrap();
}

#[tokio::test]
async fn empty_file_is_downloaded() {
    let (app, acme) = started().await;
    let file = app.file(&acme, "mei", "empty.txt", Vec::new()).await;
    let address = app.file_address(&file, "mei", NEVER).await;
    for range in ["bytes=-5", "none"] {
        let given = ask(&app, Method::GET, &address, &[("range", range)]).await;
        assert_eq!((given.status().as_u16(), header(&given, "content-length")), (200, "0"));
        assert!(given.bytes().await.unwrap().is_empty());
    }
    assert_eq!(ask(&app, Method::GET, &address, &[("range", "bytes=0-")]).await.status(), 416);
}

#[tokio::test]
async fn expired_download_url_is_refused() {
    let (app, acme) = started().await;
    let file = app.file(&acme, "mei", "a.txt", b"abc".to_vec()).await;
    let expired = app.file_address(&file, "mei", 1_700_000_000).await;
    get(&app, &expired).await.fails(403, "this address is invalid or expired");
}

#[tokio::test]
async fn lost_content_is_a_server_error() {
    let (app, acme) = started().await;
    let file = app.file(&acme, "mei", "a.txt", b"abc".to_vec()).await;
    let address = app.file_address(&file, "mei", NEVER).await;
    app.app.blobs.remove(&file.sha256).await.unwrap();
    get(&app, &address).await.fails(500, "internal error");
}

#[tokio::test]
async fn cors_permits_signed_urls_only() {
    let (app, acme) = started().await;
    let file = app.file(&acme, "mei", "a.txt", b"abc".to_vec()).await;
    let asks = [
        ("origin", "https://other.example"),
        ("access-control-request-method", "PUT"),
        ("access-control-request-headers", "content-type"),
    ];
    let upload = app.upload(&acme, "mei", None).await;
    let (to, from) = (app.part_address(&upload, 1, 100).await, app.file_address(&file, "mei", NEVER).await);
    for address in [&to, &from] {
        let leave = ask(&app, Method::OPTIONS, address, &asks).await;
        assert_eq!(leave.status(), 200);
        assert_eq!(header(&leave, "access-control-allow-origin"), "*");
        assert_eq!(header(&leave, "access-control-allow-headers"), "*");
        assert!(header(&leave, "access-control-allow-methods").contains("PUT"));
        assert_eq!(header(&leave, "access-control-allow-credentials"), "");
    }
    let sent = app.http.put(&to).header("origin", "https://other.example").body("abc").send().await.unwrap();
    assert_eq!(header(&sent, "access-control-allow-origin"), "*");
    assert!(header(&sent, "access-control-expose-headers").contains("etag"));
    let refused = ask(&app, Method::GET, &from.replace("signature=", "signature=x"), &asks[..1]).await;
    assert_eq!((refused.status().as_u16(), header(&refused, "access-control-allow-origin")), (403, "*"));
    let deleted = ask(&app, Method::DELETE, &from, &asks[..1]).await;
    assert_eq!((deleted.status().as_u16(), header(&deleted, "allow")), (405, "GET,HEAD"));
    for other in ["/contents/search", "/storage/pictures/x", "/oauth2/token"] {
        let refused = ask(&app, Method::OPTIONS, &format!("{}{other}", app.base), &asks).await;
        assert_eq!(
            (refused.status().as_u16(), header(&refused, "access-control-allow-origin")),
            (405, ""),
            "{other}"
        );
    }
}
