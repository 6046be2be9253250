//! The search page, the console, the account page and their assets.
//!
//! A hash in the asset path lets browsers cache forever and never mix versions.

mod bundle;
pub mod session;

use axum::{
    Router,
    body::Body,
    extract::{FromRef, Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use headers::{ETag, HeaderMapExt, IfNoneMatch};
use minijinja::{Environment, Value, context};

use self::bundle::{Bundle, Encoded, Encoding};
use crate::{
    auth::AuthState,
    error::{Error, Result},
};

/// The content security policy: own resources only, no inline code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const OPEN_SEARCH: &str = include_str!("pages/opensearch.xml");
const MISSING: &str = include_str!("pages/missing.html");

/// The pages and their assets.
pub fn pages<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    AuthState: FromRef<S>,
{
    Router::new()
        .route("/", get(show_search))
        .route("/console", get(show_console))
        .route("/account", get(show_account))
        .route("/assets/{hash}/{*path}", get(show_asset))
        .route("/opensearch.xml", get(show_open_search))
}

async fn show_search(headers: HeaderMap) -> Result<Response> {
    show_page(&headers, "search.html").await
}

async fn show_console(headers: HeaderMap) -> Result<Response> {
    show_page(&headers, "console.html").await
}

async fn show_account(headers: HeaderMap) -> Result<Response> {
    show_page(&headers, "account.html").await
}

async fn show_page(headers: &HeaderMap, name: &str) -> Result<Response> {
    let bundle = Bundle::get().await?;
    let page = bundle.page(name).ok_or_else(|| Error::internal(format!("there is no page {name}")))?;
    let mut response = encoded(headers, page);
    protect(response.headers_mut(), POLICY);
    Ok(response)
}

/// Adds the headers of every page, with its content security policy.
pub fn protect(headers: &mut HeaderMap, policy: &'static str) {
    for (name, value) in [
        // Shows new versions at once.
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// The 404 page, if the request accepts HTML by name.
///
/// Links are relative, since a proxy may add a path prefix.
pub async fn missing_page(method: &Method, headers: &HeaderMap, path: &str) -> Option<Response> {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let is_navigation = matches!(*method, Method::GET | Method::HEAD)
        && accepted.flat_map(|line| line.split(',')).any(|range| range.trim().starts_with("text/html"));
    if !is_navigation {
        return None;
    }
    let bundle = Bundle::get().await.ok()?;
    let depth = path.matches('/').count().saturating_sub(1);
    let root = if depth == 0 { "./".to_owned() } else { "../".repeat(depth) };
    let text = Environment::new()
        .render_named_str(
            "missing.html",
            MISSING,
            context! { root => Value::from_safe_string(root), hash => bundle.hash() },
        )
        .ok()?;
    let mut response = (StatusCode::NOT_FOUND, Html(text)).into_response();
    protect(response.headers_mut(), POLICY);
    Some(response)
}

async fn show_asset(headers: HeaderMap, Path((hash, path)): Path<(String, String)>) -> Result<Response> {
    let bundle = Bundle::get().await?;
    let asset = (hash == bundle.hash()).then(|| bundle.asset(&path)).flatten();
    let asset = asset
        .ok_or_else(|| Error::not_found("there is no such page file; the page may be of another version"))?;
    let mut response = encoded(&headers, asset);
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, kept);
    Ok(response)
}

fn encoded(headers: &HeaderMap, file: &Encoded) -> Response {
    let encoding = Encoding::accepted(headers);
    let mut response = Response::new(Body::empty());
    let is_known =
        |tag: &ETag| headers.typed_get::<IfNoneMatch>().is_some_and(|known| !known.precondition_passes(tag));
    if let Ok(tag) = file.tag(encoding).parse::<ETag>() {
        if is_known(&tag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        response.headers_mut().typed_insert(tag);
    }
    let answered = response.headers_mut();
    answered.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    answered.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(name) = encoding.name() {
        answered.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    if response.status() == StatusCode::OK {
        *response.body_mut() = Body::from(file.bytes(encoding));
    }
    response
}

async fn show_open_search(State(auth): State<AuthState>) -> Result<Response> {
    let public_url = auth.public_url;
    let mut environment = Environment::new();
    // The template's extension enables escaping.
    environment.add_template("opensearch.xml", OPEN_SEARCH).map_err(Error::internal)?;
    let template = environment.get_template("opensearch.xml").map_err(Error::internal)?;
    let text = template.render(context! { public_url }).map_err(Error::internal)?;
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/opensearchdescription+xml; charset=utf-8"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, text).into_response())
}
