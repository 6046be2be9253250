//! Faults of authentication, tokens and concurrent calls.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use futures::FutureExt;
use serde_json::json;

use super::fault::Fault;
use super::layer::{Call, SourceRequest};
use super::reference::source;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        Fault::token("token-endpoint-500", || answer(StatusCode::INTERNAL_SERVER_ERROR))
            .failing("error", "the token endpoint"),
        Fault::token("token-endpoint-refuses-the-client", || {
            answer((StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_client"}))))
        })
        .failing("unauthorized", "invalid_client"),
        Fault::token("token-endpoint-refuses-the-scope", || {
            answer((StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_scope"}))))
        })
        .failing("unauthorized", "invalid_scope"),
        Fault::token("token-endpoint-is-a-page", || answer(Html("<html><form>Log in</form></html>")))
            .unusable("the token endpoint"),
        Fault::token("token-empty", || answer(Json(json!({"access_token": "", "token_type": "Bearer"}))))
            .unusable("the token endpoint"),
        Fault::token("token-of-another-type", || {
            answer(Json(json!({"access_token": "a", "token_type": "mac"})))
        })
        .unusable("the token endpoint"),
        Fault::token("token-endpoint-never-answers", || std::future::pending().boxed())
            .failing("timeout", "answer"),
        Fault::search("no-token-needed", "auth-required", |call| need_no_token(call).boxed()),
        Fault::search("no-token-200", "auth-required", |call| refuse_in_the_envelope_only(call).boxed()),
        Fault::search("any-token-will-do", "auth-wrong-token", |call| take_any_token(call).boxed()),
        Fault::search("wrong-token-403", "auth-wrong-token", |call| forbid_wrong_tokens(call).boxed()),
        Fault::search("any-scope-will-do", "auth-scope", |call| take_any_scope(call).boxed()),
        Fault::search("good-token-refused-once", "status", |call| refuse_once(call).boxed()),
        Fault::search("four-at-once", "concurrency", |call| serve_four_at_once(call).boxed()),
    ]
}

fn answer(response: impl IntoResponse) -> futures::future::BoxFuture<'static, Response> {
    std::future::ready(response.into_response()).boxed()
}

fn with_good_token(call: &Call) -> SourceRequest {
    let token = call.tokens.issue(vec![source::SCOPE.to_owned()]);
    let authorization = HeaderValue::try_from(format!("Bearer {token}")).unwrap();
    SourceRequest { authorization: Some(authorization), ..call.request.clone() }
}

async fn need_no_token(call: Call) -> Response {
    let request = if call.request.authorization.is_none() { with_good_token(&call) } else { call.request };
    call.reference.ask(&request).await
}

async fn refuse_in_the_envelope_only(call: Call) -> Response {
    let mut response = call.reference.ask(&call.request).await;
    if call.request.authorization.is_none() {
        *response.status_mut() = StatusCode::OK;
    }
    response
}

async fn take_any_token(call: Call) -> Response {
    let response = call.reference.ask(&call.request).await;
    if response.status() == StatusCode::UNAUTHORIZED && call.request.authorization.is_some() {
        return call.reference.ask(&with_good_token(&call)).await;
    }
    response
}

/// A 403 does not tell that a new token helps.
async fn forbid_wrong_tokens(call: Call) -> Response {
    let mut response = call.reference.ask(&call.request).await;
    if response.status() == StatusCode::UNAUTHORIZED && call.request.authorization.is_some() {
        *response.status_mut() = StatusCode::FORBIDDEN;
    }
    response
}

async fn take_any_scope(call: Call) -> Response {
    let response = call.reference.ask(&call.request).await;
    if response.status() == StatusCode::FORBIDDEN {
        return call.reference.ask(&with_good_token(&call)).await;
    }
    response
}

async fn refuse_once(call: Call) -> Response {
    if call.state.calls.fetch_add(1, Ordering::SeqCst) == 2 {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    call.reference.ask(&call.request).await
}

/// Sequential repeats meet it.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Refuses the fifth of equal searches in flight, for which repeats wait.
async fn serve_four_at_once(call: Call) -> Response {
    let Call { request, reference, state, .. } = call;
    let response = reference.ask(&request).await;
    let is_first_page = request.cursor.is_none() && request.limit.as_deref() == Some("10");
    let is_repeated = || !state.used.lock().unwrap().insert(request.keyword.unwrap_or_default());
    if response.status() != StatusCode::OK || !is_first_page || !is_repeated() {
        return response;
    }
    let crowded = state.crowded.notified();
    let Ok(_place) = state.places.try_acquire() else {
        state.crowded.notify_waiters();
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    drop(tokio::time::timeout(MAX_WAIT, crowded).await);
    response
}
