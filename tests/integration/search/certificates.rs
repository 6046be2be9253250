//! External sources over TLS.

use serde_json::json;
use tokio::{io::AsyncReadExt, net::TcpListener};

use crate::util::{
    app::TestApp,
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

/// Of TLS 1.3, and of TLS 1.2 those with ephemeral keys and authenticated encryption (RFC 9325 §4.2).
const RECOMMENDED: [u16; 9] = [0x1301, 0x1302, 0x1303, 0xc02b, 0xc02c, 0xc02f, 0xc030, 0xcca8, 0xcca9];
/// Tells that renegotiation is secure (RFC 5746 §3.3); no cipher suite.
const RENEGOTIATION: u16 = 0x00ff;

/// Takes what begins with its length.
fn take<'t>(rest: &mut &'t [u8], length_bytes: usize) -> &'t [u8] {
    let (length, after) = rest.split_at(length_bytes);
    let length = length.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte));
    let (taken, after) = after.split_at(length);
    *rest = after;
    taken
}

fn numbers(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
}

/// Versions and cipher suites of a client's first message (RFC 8446 §4.1.2).
async fn receive_offer(listener: TcpListener) -> [Vec<u16>; 2] {
    let (mut client, _) = listener.accept().await.unwrap();
    let mut head = [0; 5];
    client.read_exact(&mut head).await.unwrap();
    let mut message = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
    client.read_exact(&mut message).await.unwrap();
    // Before it are type, length, version and 32 random bytes.
    let mut rest = &message[1 + 3 + 2 + 32..];
    let _session = take(&mut rest, 1);
    let suites = take(&mut rest, 2);
    let _compressions = take(&mut rest, 1);
    let mut extensions = take(&mut rest, 2);
    let mut versions: &[u8] = &[];
    while let Some((kind, after)) = extensions.split_first_chunk::<2>() {
        extensions = after;
        let mut content = take(&mut extensions, 2);
        if *kind == [0, 43] {
            versions = take(&mut content, 1);
        }
    }
    [numbers(versions), numbers(suites)]
}

#[tokio::test]
async fn source_is_offered_tls_1_2_and_1_3_with_recommended_ciphers_alone() {
    let (app, acme) = TestApp::start_with_acme().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/search", listener.local_addr().unwrap());
    let source = json!({"id": "x", "name": "X", "url": url, "auth": {"type": "NONE"}});
    app.register_source(&acme, source, "x", &["x"]).await;
    let ([versions, mut suites], _) = tokio::join!(receive_offer(listener), acme.caller.search(&X));
    assert_eq!(versions, [0x0304, 0x0303]);
    suites.retain(|suite| *suite != RENEGOTIATION);
    assert!(!suites.is_empty() && suites.iter().all(|suite| RECOMMENDED.contains(suite)), "{suites:04x?}");
}
