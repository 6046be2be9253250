//! HTTP delivery of the pages: headers, caching, size.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use regex::Regex;

use crate::util::{answer::Answer, app::TestApp};

/// Bytes of the search page's first load.
const FIRST_LOAD: usize = 80_000;

const ENVELOPE: &str = "application/json;charset=UTF-8";

async fn load(app: &TestApp, path: &str, encoding: &str, known: &str) -> reqwest::Response {
    let http = reqwest::Client::builder().no_proxy().no_gzip().build().unwrap();
    let request = http.get(format!("{}{path}", app.base)).header("accept-encoding", encoding);
    let request = if known.is_empty() { request } else { request.header("if-none-match", known) };
    request.send().await.unwrap()
}

fn header<'a>(response: &'a reqwest::Response, name: &str) -> &'a str {
    response.headers().get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
}

/// Named by the page and its style sheet.
async fn assets_of(app: &TestApp, page: &str) -> BTreeSet<String> {
    let text = load(app, page, "", "").await.text().await.unwrap();
    let in_page = Regex::new(r#"(?:href|src)="(assets/[^"]+)""#).unwrap();
    let mut found: BTreeSet<String> =
        in_page.captures_iter(&text).map(|found| format!("/{}", &found[1])).collect();
    let in_sheet = Regex::new(r#"url\("([^"]+)"\)"#).unwrap();
    for sheet in found.clone().iter().filter(|path| path.contains(".css")) {
        let text = load(app, sheet, "", "").await.text().await.unwrap();
        let base = url::Url::parse("http://x").unwrap().join(sheet).unwrap();
        found.extend(
            in_sheet.captures_iter(&text).map(|found| base.join(&found[1]).unwrap().path().to_owned()),
        );
    }
    found
}

#[tokio::test]
async fn page_policy_permits_own_assets_only() {
    let app = TestApp::start().await;
    let inline = Regex::new(r"(?i)<script(?: [^>]*)?>[^<]|<style| style=| on[a-z]+=").unwrap();
    for path in ["/", "/console", "/account"] {
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
    assert!(assets.len() >= 4, "{assets:?}");
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
async fn page_has_one_script_and_one_style_sheet_without_imports() {
    let app = TestApp::start().await;
    let import = Regex::new(r#"@import|(?:^|[;}=(,])import\s*(?:[({*"']|\w+\s*(?:,|from\b))"#).unwrap();
    for path in ["/", "/console", "/account"] {
        let assets = assets_of(&app, path).await;
        for kind in [".js", ".css"] {
            let [name] = assets.iter().filter(|name| name.ends_with(kind)).collect::<Vec<_>>()[..] else {
                panic!("{path}: {assets:?}");
            };
            let text = load(&app, name, "", "").await.text().await.unwrap();
            assert!(!import.is_match(&text), "{name}: {:?}", import.find(&text));
        }
    }
}

/// Bytes of the files below a directory, by path.
fn files_below(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let files = entries.flat_map(|entry| {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() {
            files_below(&path).into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)).collect()
        } else {
            vec![(name, fs::read(path).unwrap())]
        }
    });
    files.collect()
}

#[test]
fn committed_bundles_equal_those_of_the_present_sources() {
    let made = tempfile::tempdir().unwrap();
    let mut command = Command::new("npm");
    command.args(["run", "bundle", "--prefix", "src/pages/bundler"]).env("BUNDLED", made.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (made, committed) = (files_below(made.path()), files_below(Path::new("src/pages/bundled")));
    let differing: Vec<&String> =
        made.keys().chain(committed.keys()).filter(|name| made.get(*name) != committed.get(*name)).collect();
    assert!(differing.is_empty(), "run `npm run bundle --prefix src/pages/bundler` for {differing:?}");
}

#[tokio::test]
async fn unknown_path_answers_browsers_with_a_page() {
    let app = TestApp::start().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let assets = Regex::new(r#"href="([^"]*assets/[^"]+)""#).unwrap();
    for (path, root) in [("/nope", "./"), ("/a/b/%3Cb%3E", "../../")] {
        let get = |accept: &str| http.get(format!("{}{path}", app.base)).header("accept", accept).send();
        let page = get("text/html,application/xhtml+xml,*/*;q=0.8").await.unwrap();
        assert_eq!(
            (page.status().as_u16(), header(&page, "content-type")),
            (404, "text/html; charset=utf-8")
        );
        assert!(header(&page, "content-security-policy").contains("default-src 'none'"));
        let text = page.text().await.unwrap();
        assert!(text.contains(&format!(r#"<a href="{root}">Search</a>"#)), "{text}");
        let base = url::Url::parse(&format!("{}{path}", app.base)).unwrap();
        for asset in assets.captures_iter(&text) {
            let answer = http.get(base.join(&asset[1]).unwrap()).send().await.unwrap();
            assert_eq!(answer.status(), 200, "{}", &asset[1]);
        }
        assert_eq!(header(&get("*/*").await.unwrap(), "content-type"), ENVELOPE);
    }
    let posted = http.post(format!("{}/nope", app.base)).header("accept", "text/html").send().await.unwrap();
    assert_eq!(header(&posted, "content-type"), ENVELOPE);
}

#[tokio::test]
async fn source_and_its_metadata_are_not_served() {
    let app = TestApp::start().await;
    let asset = assets_of(&app, "/").await.pop_first().unwrap();
    let (folder, _) = asset.rsplit_once('/').unwrap();
    for file in [".git", ".git/config", ".git/HEAD", ".gitignore", ".svn/entries", "Cargo.toml"] {
        for path in [format!("/{file}"), format!("{folder}/{file}")] {
            app.caller("").get(&path).await.fails(404, "");
        }
    }
}

#[tokio::test]
async fn first_load_stays_below_its_size_limit() {
    let app = TestApp::start().await;
    let mut bytes = load(&app, "/", "br", "").await.bytes().await.unwrap().len();
    for path in assets_of(&app, "/").await {
        bytes += load(&app, &path, "br", "").await.bytes().await.unwrap().len();
    }
    assert!(bytes <= FIRST_LOAD, "{bytes}");
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
