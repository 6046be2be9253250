use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect};
use trawl_connectors::{AddressRules, SourceError, fetch_document};
use url::Url;

use crate::support::Server;

async fn fetch(url: &Url, listed: &[&str]) -> Result<Vec<u8>, SourceError> {
    fetch_document("the issuer", url, &AddressRules::new(listed).unwrap(), 10).await
}

#[tokio::test]
async fn document_is_fetched_within_bound_and_origin() {
    let server = Server::start(|request| async move {
        match request.path.as_str() {
            "/ten" => "0123456789".into_response(),
            "/eleven" => "0123456789.".into_response(),
            "/moved" => Redirect::temporary("/ten").into_response(),
            "/away" => Redirect::temporary("http://127.0.0.1:1/ten").into_response(),
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    })
    .await;
    let get = async |path: &str| fetch(&server.base.join(path).unwrap(), &["127.0.0.1"]).await;
    assert_eq!(get("ten").await.unwrap(), b"0123456789");
    assert_eq!(get("moved").await.unwrap(), b"0123456789");
    assert!(
        matches!(get("eleven").await, Err(SourceError::Invalid(text)) if text.contains("more than 10 bytes"))
    );
    assert!(matches!(get("away").await, Err(SourceError::Invalid(text)) if text.contains("not followed")));
    let missing = SourceError::Failed("the issuer answered with HTTP 404".to_owned());
    assert_eq!(get("missing").await.unwrap_err(), missing);
    assert_eq!(server.received("/ten")[0].header("accept"), "application/json");
}

#[tokio::test]
async fn document_is_refused_by_the_address_rules() {
    let server = Server::start(|_| async { "x".into_response() }).await;
    let refused = fetch(&server.base, &[]).await.unwrap_err();
    assert!(matches!(&refused, SourceError::Forbidden(text) if text.contains("must be https")), "{refused}");
    for url in ["https://169.254.169.254/", "https://127.0.0.1/", "file:///etc/passwd"] {
        let refused = fetch(&Url::parse(url).unwrap(), &["127.0.0.1:1"]).await.unwrap_err();
        assert!(matches!(refused, SourceError::Forbidden(_)), "{url}: {refused}");
    }
    assert_eq!(server.connections(), 0);
}
