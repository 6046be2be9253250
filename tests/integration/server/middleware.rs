//! Middleware, with routes that only a test has.

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, routing::get};
use tokio::net::TcpListener;

use crate::util::{
    app::TestApp,
    internals::{App, wrap},
};

async fn serve(app: &TestApp, routes: Router<Arc<App>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let service = wrap(routes, [], Arc::clone(&app.app));
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    base
}

async fn failing_handler() -> &'static str {
    panic!("secret detail of /tmp/trawl.db")
}

/// Book: reference/errors.md.
#[tokio::test]
async fn panic_is_500_with_the_envelope() {
    let app = TestApp::start().await;
    let routes = Router::new().route("/healthz", get(failing_handler)).route("/readyz", get(async || "fine"));
    let mut caller = app.caller("");
    caller.base = serve(&app, routes).await;
    for _ in 0..3 {
        let answer = caller.get("/healthz").await.fails(500, "x-request-id");
        assert!(!answer.text.contains("secret detail"), "{}", answer.text);
        assert_eq!(caller.get("/readyz").await.text, "fine");
    }
}

/// Book: explanation/security.md.
#[tokio::test]
async fn route_without_an_access_rule_is_refused() {
    let (app, acme) = TestApp::start_with_acme().await;
    let mut caller = acme.caller.clone();
    caller.base = serve(&app, Router::new().route("/v1/forgotten", get(async || "open"))).await;
    caller.get("/v1/forgotten").await.fails(500, "");
}
