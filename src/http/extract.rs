//! Reads bodies and query parameters; unknown fields and parameters are ignored.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{BodyDataStream, Bytes},
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::{HeaderMap, header, request::Parts},
};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use tokio::{task::spawn_blocking, time::timeout};
use tokio_util::task::AbortOnDropHandle;
use trawl_connectors::JsonValueCounter;

use crate::{
    budget::{BodyReservation, BudgetExhausted},
    error::{Error, Result},
    json,
};

/// Announced bytes may never come.
const RESERVED_BYTES: usize = 64 << 10;

/// Largest JSON that is parsed on the runtime's threads, and whose values are not counted.
const FEW_BYTES: usize = 64 << 10;

/// Memory that a value of JSON counts for while a body is read.
const VALUE_BYTES: usize = 64;

const FULL_FOR: Duration = Duration::from_secs(1);

/// The query parameters of an operation in a JSON body, for its description.
#[derive(utoipa::ToSchema)]
pub struct QueryInBody {}

/// The limits on a request's body.
#[derive(Clone)]
pub struct BodyRule {
    /// Maximum bytes.
    pub most_bytes: usize,
    /// Maximum items of a body that is a list.
    pub most_items: usize,
    /// Timeout for the whole body.
    pub timeout: Duration,
    /// Accounts for the body's bytes.
    pub reservation: BodyReservation,
    /// Admits the caller again after the body, if required.
    pub recheck: Option<Arc<dyn AdmissionRecheck>>,
}

/// Repeats the admission after a slow body.
#[async_trait::async_trait]
pub trait AdmissionRecheck: Send + Sync {
    /// # Errors
    /// Those of admission; 503 where visibility has changed.
    async fn confirm(&self) -> Result<()>;
}

/// A JSON body.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned + Send + 'static, S: Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _state: &S) -> Result<Self> {
        check_content_type(request.headers(), "application/json")?;
        read_json_body(request, |body| json::read(body)).await.map(Self)
    }
}

/// A JSON body that is an object.
pub struct JsonObject<T>(pub T);

impl<T: DeserializeOwned + Send + 'static, S: Sync> FromRequest<S> for JsonObject<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _state: &S) -> Result<Self> {
        check_content_type(request.headers(), "application/json")?;
        read_json_body(request, |body| json::read_object(body)).await.map(Self)
    }
}

/// A JSON body that is a list of at most the rule's items.
pub struct JsonList<T>(pub Vec<T>);

impl<T: DeserializeOwned + Send + 'static, S: Sync> FromRequest<S> for JsonList<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _state: &S) -> Result<Self> {
        check_content_type(request.headers(), "application/json")?;
        let most = request.extensions().get::<BodyRule>().map_or(0, |rule| rule.most_items);
        read_json_body(request, move |body| json::read_list(body, most)).await.map(Self)
    }
}

/// The path's parameter, or a tuple of several in its order.
pub struct PathParameter<T = String>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParameter<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let Path(read) = Path::<T>::from_request_parts(parts, state).await.map_err(|rejection| {
            Error::bad_request("path: must be UTF-8, percent-encoded").caused_by(rejection)
        })?;
        Ok(Self(read))
    }
}

/// Query parameters, each at most once.
pub struct QueryParameters<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for QueryParameters<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        json::read_form(parts.uri.query().unwrap_or_default().as_bytes())
            .map(Self)
            .map_err(Error::bad_request)
    }
}

/// 503: no room for the body.
fn no_room() -> Error {
    let message =
        "the bodies of other requests use all memory that your tenant may have for bodies; try again shortly";
    Error::unavailable(message, FULL_FOR)
}

/// Reserves bytes for what a body becomes; `too_large` says what would fit.
///
/// # Errors
/// 503 while others have the room; 413 if there is never so much.
pub fn reserve(
    reservation: &BodyReservation,
    bytes: usize,
    too_large: impl FnOnce() -> String,
) -> Result<()> {
    reservation.grow(bytes).map_err(|refusal| match refusal {
        BudgetExhausted::Busy => no_room(),
        BudgetExhausted::TooLarge => Error::too_large(too_large()),
    })
}

/// Whether the request has a body.
pub fn has_body(request: &Request) -> bool {
    request.extensions().get::<BodyRule>().is_some()
}

/// Requires the content type `expected` and UTF-8.
pub fn check_content_type(headers: &HeaderMap, expected: &str) -> Result<()> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = value.split(';').map(str::trim);
    let is_expected = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(expected));
    let is_utf8 = parts
        .filter_map(|parameter| parameter.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .all(|(_, charset)| charset.trim().trim_matches('"').eq_ignore_ascii_case("utf-8"));
    if is_expected && is_utf8 {
        Ok(())
    } else {
        Err(Error::unsupported_media_type(format!(
            "Content-Type: must be {expected} in UTF-8, not {value:?}"
        )))
    }
}

/// Reads a body.
///
/// # Errors
/// 413 too large, 408 timeout, 503 no room, 400 incomplete.
pub async fn read_body(request: Request) -> Result<Bytes> {
    receive(request, None).await
}

async fn receive(mut request: Request, values: Option<JsonValueCounter>) -> Result<Bytes> {
    let Some(rule) = request.extensions_mut().remove::<BodyRule>() else { return Ok(Bytes::new()) };
    let late = |_elapsed| {
        Error::request_timeout(format!("body: did not arrive within {} ms", rule.timeout.as_millis()))
    };
    let announced = announced_bytes(request.headers());
    let mut chunks = request.into_body().into_data_stream();
    let read = timeout(rule.timeout, read_chunks(&mut chunks, announced, &rule, values)).await;
    let body = read.map_err(late).flatten()?;
    if let Some(recheck) = &rule.recheck {
        recheck.confirm().await?;
    }
    Ok(body)
}

/// Reads a body of JSON, and pays for the memory that its values take.
///
/// # Errors
/// Those of [`read_body`]; 413 if the values take more than one tenant's bodies may; 400 by `read`.
async fn read_json_body<T: Send + 'static>(
    request: Request,
    read: impl FnOnce(&[u8]) -> Result<T, String> + Send + 'static,
) -> Result<T> {
    // A body that is read for a caller who has gone stays paid for.
    let paid = request.extensions().get::<BodyRule>().map(|rule| rule.reservation.clone());
    let body = receive(request, Some(JsonValueCounter::default())).await?;
    let read = if body.len() > FEW_BYTES {
        let reading = spawn_blocking(move || {
            let read = read(&body);
            drop((body, paid));
            read
        });
        AbortOnDropHandle::new(reading).await.map_err(Error::internal)?
    } else {
        read(&body)
    };
    read.map_err(|reason| Error::bad_request(format!("body: {reason}")))
}

fn announced_bytes(headers: &HeaderMap) -> usize {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or(0)
}

async fn read_chunks(
    chunks: &mut BodyDataStream,
    announced: usize,
    BodyRule { most_bytes, reservation, .. }: &BodyRule,
    mut counter: Option<JsonValueCounter>,
) -> Result<Bytes> {
    let limit = *most_bytes;
    let mut body = Vec::with_capacity(announced.min(limit).min(RESERVED_BYTES));
    let mut paid = 0;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| Error::bad_request("body: ended early").caused_by(error))?;
        if body.len() + chunk.len() > limit || announced > limit {
            return Err(Error::too_large(format!("body: must be at most {limit} bytes")));
        }
        let values = counter.as_mut().map_or(0, |counter| counter.count(&chunk));
        body.extend_from_slice(&chunk);
        let paid_values = if body.len() > FEW_BYTES { values } else { 0 };
        let due = body.len() + paid_values.saturating_mul(VALUE_BYTES);
        reserve(reservation, due - paid, || {
            let most = reservation.max_share().saturating_sub(announced.max(body.len())) / VALUE_BYTES;
            format!("body: must hold at most {most} values of JSON")
        })?;
        paid = due;
    }
    Ok(body.into())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use axum::body::Body;
    use tokio::{sync::oneshot, task::yield_now};

    use super::*;
    use crate::budget::{ByteBudget, Holder};

    #[tokio::test]
    async fn body_that_is_parsed_for_a_caller_who_has_gone_stays_paid_for() {
        let (total, length) = (1 << 20, FEW_BYTES + 1);
        let budget = ByteBudget::new(total);
        let mut request = Request::new(Body::from(vec![b' '; length]));
        request.extensions_mut().insert(BodyRule {
            most_bytes: total,
            most_items: 1,
            timeout: Duration::from_mins(1),
            reservation: BodyReservation::new(&budget, Holder::Tenant(1)),
            recheck: None,
        });
        let (begin, has_begun) = oneshot::channel();
        let (go_on, held_up) = mpsc::channel::<()>();
        let parse = move |_body: &[u8]| {
            begin.send(()).map_err(|()| "nobody waits")?;
            held_up.recv().map_err(|error| error.to_string())
        };
        let caller = tokio::spawn(read_json_body(request, parse));
        has_begun.await.unwrap();
        caller.abort();
        assert!(caller.await.is_err());
        assert_eq!(budget.available(), total - length);
        go_on.send(()).unwrap();
        while budget.available() < total {
            yield_now().await;
        }
    }
}
