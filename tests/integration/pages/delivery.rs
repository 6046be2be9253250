//! HTTP delivery of the pages: headers, caching, size.

use std::collections::BTreeSet;

use regex::Regex;

use crate::util::{answer::Answer, app::TestApp};

/// For the search page, in bytes.
const FIRST_LOAD: usize = 100_000;

async fn load(app: &TestApp, path: &str, encoding: &str, known: &str) -> reqwest::Response {
    let http = reqwest::Client::builder().no_proxy().no_gzip().build().unwrap();
    let request = http.get(format!("{}{path}", app.base)).header("accept-encoding", encoding);
    let request = if known.is_empty() { request } else { request.header("if-none-match", known) };
    request.send().await.unwrap()
}

fn header<'a>(response: &'a reqwest::Response, name: &str) -> &'a str {
    response.headers().get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
}

fn is_script(path: &str) -> bool {
    path.rsplit('.').next() == Some("js")
}

/// Includes transitive imports.
async fn assets_of(app: &TestApp, page: &str) -> BTreeSet<String> {
    let text = load(app, page, "", "").await.text().await.unwrap();
    let in_page = Regex::new(r#"(?:stylesheet|icon)" href="(assets/[^"]+)"|src="(assets/[^"]+)""#).unwrap();
    let imported = Regex::new(r#"(?m)^(?:import|export)[^;]*?from "([^"]+)"|^import "([^"]+)""#).unwrap();
    let mut found: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = in_page
        .captures_iter(&text)
        .map(|found| format!("/{}", found.get(1).or(found.get(2)).unwrap().as_str()))
        .collect();
    while let Some(path) = open.pop() {
        if !found.insert(path.clone()) || !is_script(&path) {
            continue;
        }
        let text = load(app, &path, "", "").await.text().await.unwrap();
        let base = url::Url::parse("http://x").unwrap().join(&path).unwrap();
        for import in imported.captures_iter(&text) {
            let import = import.get(1).or(import.get(2)).unwrap().as_str();
            open.push(base.join(import).unwrap().path().to_owned());
        }
    }
    found
}

#[tokio::test]
async fn page_policy_permits_own_assets_only() {
    let app = TestApp::start().await;
    let inline = Regex::new(r"(?i)<script(?: [^>]*)?>[^<]|<style| style=| on[a-z]+=").unwrap();
    for path in ["/", "/console"] {
        let page = load(&app, path, "br", "").await;
        assert_eq!(page.status(), 200, "{path}");
        assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
        assert_eq!(header(&page, "x-content-type-options"), "nosniff");
        assert_eq!(header(&page, "referrer-policy"), "no-referrer");
        assert_eq!(header(&page, "x-frame-options"), "DENY");
        assert_eq!(header(&page, "cache-control"), "no-cache");
        let policy = header(&page, "content-security-policy");
        for directive in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.split(';').any(|given| given.trim() == directive), "{directive}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        let text = load(&app, path, "", "").await.text().await.unwrap();
        assert!(!inline.is_match(&text), "{text}");
    }
}

#[tokio::test]
async fn assets_are_immutable_and_named_by_content() {
    let app = TestApp::start().await;
    let assets = assets_of(&app, "/").await;
    assert!(assets.len() > 5, "{assets:?}");
    for path in &assets {
        let brotli = load(&app, path, "gzip, deflate, br", "").await;
        assert_eq!(brotli.status(), 200, "{path}");
        assert_eq!(header(&brotli, "content-encoding"), "br");
        assert_eq!(header(&brotli, "cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(header(&brotli, "vary"), "accept-encoding");
        assert_eq!(header(&brotli, "x-content-type-options"), "nosniff");
        let gzip = load(&app, path, "gzip", "").await;
        assert_eq!(header(&gzip, "content-encoding"), "gzip");
        assert_ne!(header(&gzip, "etag"), header(&brotli, "etag"));
        let plain = load(&app, path, "", "").await;
        assert_eq!(header(&plain, "content-encoding"), "");
        let tag = header(&plain, "etag").to_owned();
        assert!(!plain.bytes().await.unwrap().is_empty());
        let again = load(&app, path, "", &tag).await;
        assert_eq!((again.status().as_u16(), header(&again, "etag")), (304, tag.as_str()));
        assert!(again.bytes().await.unwrap().is_empty());
    }
    // The page itself is revalidated each time.
    let page = load(&app, "/", "br", "").await;
    let again = load(&app, "/", "br", header(&page, "etag")).await;
    assert_eq!(again.status(), 304);
    let asset = assets.iter().next().unwrap();
    let (_, rest) = asset.strip_prefix("/assets/").unwrap().split_once('/').unwrap();
    for path in
        [format!("/assets/0000000000000000/{rest}"), asset.replace(rest, "search.html"), format!("{asset}/x")]
    {
        app.caller("").get(&path).await.fails(404, "no such page file");
    }
}

#[tokio::test]
async fn page_preloads_every_module_it_imports() {
    let app = TestApp::start().await;
    let named = Regex::new(r#"<link rel="modulepreload" href="([^"]+)""#).unwrap();
    for path in ["/", "/console"] {
        let text = load(&app, path, "", "").await.text().await.unwrap();
        let named: BTreeSet<String> =
            named.captures_iter(&text).map(|found| format!("/{}", &found[1])).collect();
        let imported = assets_of(&app, path).await.into_iter().filter(|path| is_script(path));
        assert_eq!(named, imported.collect::<BTreeSet<String>>(), "{path}");
    }
}

#[tokio::test]
async fn first_load_stays_below_its_size_limit() {
    let app = TestApp::start().await;
    let mut bytes = load(&app, "/", "br", "").await.bytes().await.unwrap().len();
    for path in assets_of(&app, "/").await {
        bytes += load(&app, &path, "br", "").await.bytes().await.unwrap().len();
    }
    println!("the first load of / takes {bytes} bytes");
    assert!(bytes < FIRST_LOAD, "{bytes}");
}

#[tokio::test]
async fn opensearch_description_is_linked_and_valid() {
    let app = TestApp::start_with(|config| {
        config.public_url = Some("https://search.example/a&b".parse().unwrap());
    })
    .await;
    let answer: Answer = app.caller("").get("/opensearch.xml").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/opensearchdescription+xml; charset=utf-8");
    let text = answer.text.replace("&#x2f;", "/");
    assert!(text.contains(r#"template="https://search.example/a&amp;b/?q={searchTerms}""#), "{text}");
}
