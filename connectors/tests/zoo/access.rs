//! Faults of authentication, tokens and concurrent calls.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use futures::FutureExt;
use serde_json::json;

use super::fault::{Act, Fault};
use super::layer::{Call, SourceRequest};
use super::reference::source;

pub(super) fn faults() -> Vec<Fault> {
    let mut faults = token_endpoints();
    faults.extend(sources());
    faults
}

fn token_endpoints() -> Vec<Fault> {
    vec![
        Fault::failing(
            "token-endpoint-500",
            "token",
            ("error", "the token endpoint"),
            Act::Token(|| answer(StatusCode::INTERNAL_SERVER_ERROR)),
        ),
        Fault::failing(
            "token-endpoint-refuses-the-client",
            "token",
            ("unauthorized", "invalid_client"),
            Act::Token(|| answer((StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_client"}))))),
        ),
        Fault::failing(
            "token-endpoint-refuses-the-scope",
            "token",
            ("unauthorized", "invalid_scope"),
            Act::Token(|| answer((StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_scope"}))))),
        ),
        Fault::unusable(
            "token-endpoint-is-a-page",
            "token",
            "the token endpoint",
            Act::Token(|| answer(Html("<html><form>Log in</form></html>"))),
        ),
        Fault::unusable(
            "token-empty",
            "token",
            "the token endpoint",
            Act::Token(|| answer(Json(json!({"access_token": "", "token_type": "Bearer"})))),
        ),
        Fault::unusable(
            "token-of-another-type",
            "token",
            "the token endpoint",
            Act::Token(|| answer(Json(json!({"access_token": "a", "token_type": "mac"})))),
        ),
        Fault::failing(
            "token-endpoint-never-answers",
            "token",
            ("timeout", "answer"),
            Act::Token(|| std::future::pending().boxed()),
        ),
    ]
}

fn answer(response: impl IntoResponse) -> futures::future::BoxFuture<'static, Response> {
    std::future::ready(response.into_response()).boxed()
}

fn sources() -> Vec<Fault> {
    vec![
        Fault::unseen("no-token-needed", "auth-required", Act::Search(|call| need_no_token(call).boxed())),
        Fault::unseen(
            "no-token-200",
            "auth-required",
            Act::Search(|call| refuse_in_the_envelope_only(call).boxed()),
        ),
        Fault::unseen(
            "any-token-will-do",
            "auth-wrong-token",
            Act::Search(|call| take_any_token(call).boxed()),
        ),
        Fault::unseen(
            "wrong-token-403",
            "auth-wrong-token",
            Act::Search(|call| forbid_wrong_tokens(call).boxed()),
        ),
        Fault::unseen("any-scope-will-do", "auth-scope", Act::Search(|call| take_any_scope(call).boxed())),
        Fault::unseen("four-at-once", "concurrency", Act::Search(|call| serve_four_at_once(call).boxed())),
    ]
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
