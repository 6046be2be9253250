//! External sources over TLS.

use serde_json::json;

use crate::util::{
    external::{ExternalSystem, with},
    items::many,
    program::{Server, create_application, create_operator},
    tls::{Authority, TlsRelay},
};

const X: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "x")];

#[tokio::test]
async fn expired_certificate_fails_a_source_until_renewal() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let system = ExternalSystem::start(many("x", "harbour", 3, 1)).await;
    let registration = system.registration("x");
    let relay = TlsRelay::to(registration["url"].as_str().unwrap(), &authority).await;
    let environment = [
        ("SSL_CERT_FILE", authority.file().display().to_string()),
        ("TRAWL_CONNECTORS__ALLOW_AUTH_NONE", "true".to_owned()),
        ("TRAWL_CONNECTORS__ALLOW_HTTP_HOSTS", "localhost".to_owned()),
        ("TRAWL_CACHE__FRESH_MS", "0".to_owned()),
        ("TRAWL_CACHE__STALE_MS", "0".to_owned()),
    ];
    let server = Server::launch_by(directory.path(), "127.0.0.1:0", environment.into(), &[]).await;
    server.wait_until_ready().await;
    let operator = server.caller(&create_operator(directory.path(), "acme").await).await.on("acme");
    operator.register_source(&with(registration, "url", relay.url.as_str()), "x", &["x"]).await;
    let caller = server.caller(&create_application(directory.path(), "acme").await).await;
    let before = caller.search(&X).await.ok();
    assert_eq!(before.items().len(), 3);
    relay.show_expired(true);
    let failed = caller.search(&X).await.fails_without_sources(502);
    let report = failed.source("x");
    assert_eq!(report["status"], json!("unavailable"), "{report}");
    assert!(report["message"].as_str().unwrap().contains("check its certificate"), "{report}");
    relay.show_expired(false);
    assert_eq!(caller.search(&X).await.ok().ids(), before.ids());
}
