use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{FutureExt, StreamExt, stream};

use super::fault::{Act, Fault};
use super::layer::{SourceRequest, send_json};

/// Fewer bytes than announced.
const ENDS_EARLY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json;charset=UTF-8\r\n\
    content-length: 1000\r\n\r\n{\"code\":200,\"message\":null,\"data\":[";
/// One chunk, without the last one.
const BREAKS_OFF: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json;charset=UTF-8\r\n\
    transfer-encoding: chunked\r\n\r\n10\r\n{\"code\":200,\"mes\r\n";

pub(super) fn faults() -> Vec<Fault> {
    let mut faults = lateness();
    faults.extend(redirects());
    faults.extend(statuses());
    faults
}

fn lateness() -> Vec<Fault> {
    vec![
        Fault::failing(
            "closes-the-connection",
            "http",
            ("unavailable", "closed the connection"),
            Act::Bytes(b""),
        ),
        Fault::unusable("greets-by-smtp", "http", "HTTP", Act::Bytes(b"220 mail.example ESMTP ready\r\n")),
        Fault::failing(
            "never-answers",
            "in-time",
            ("timeout", "answer"),
            Act::Search(|_| std::future::pending().boxed()),
        ),
        Fault::failing(
            "drips-without-end",
            "in-time",
            ("timeout", "answer"),
            Act::Send(|_, text| drip(&text)),
        ),
        Fault::failing(
            "ends-before-its-content-length",
            "complete",
            ("unavailable", "before its answer was complete"),
            Act::Bytes(ENDS_EARLY),
        ),
        Fault::failing(
            "breaks-off-between-chunks",
            "complete",
            ("unavailable", "before its answer was complete"),
            Act::Bytes(BREAKS_OFF),
        ),
    ]
}

fn drip(text: &str) -> Response {
    let half: Bytes = text.as_bytes()[..text.len() / 2].to_vec().into();
    let drops = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Some((Ok(Bytes::from_static(b" ")), ()))
    });
    let pieces = stream::iter([Ok::<_, std::io::Error>(half)]).chain(drops);
    send_json(Body::from_stream(pieces))
}

fn redirects() -> Vec<Fault> {
    vec![
        Fault::unusable(
            "redirects-to-another-host",
            "redirect",
            "redirect",
            Act::Send(|request, _| {
                redirect(
                    StatusCode::FOUND,
                    &format!("https://search.example{}?{}", request.path, request.query),
                )
            }),
        ),
        Fault::unusable(
            "redirects-to-itself",
            "redirect",
            "redirect",
            Act::Send(|request, _| {
                redirect(StatusCode::FOUND, &format!("{}?{}", request.path, request.query))
            }),
        ),
        Fault::unusable("redirects-four-times", "redirect", "redirect", Act::Send(redirect_four_times)),
        Fault::unusable(
            "redirects-nowhere",
            "redirect",
            "redirect",
            Act::Send(|_, _| StatusCode::TEMPORARY_REDIRECT.into_response()),
        ),
    ]
}

fn redirect_four_times(request: &SourceRequest, text: String) -> Response {
    let hop: usize = request.path.strip_prefix("/hop/").map_or(0, |hop| hop.parse().unwrap());
    if hop == 4 {
        return send_json(text);
    }
    redirect(StatusCode::TEMPORARY_REDIRECT, &format!("/hop/{}?{}", hop + 1, request.query))
}

fn redirect(status: StatusCode, location: &str) -> Response {
    (status, [(header::LOCATION, location.to_owned())]).into_response()
}

fn statuses() -> Vec<Fault> {
    vec![
        Fault::failing(
            "refuses-the-method",
            "method",
            ("error", "405"),
            Act::Send(|_, _| (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "QUERY")]).into_response()),
        ),
        Fault::failing(
            "status-500",
            "status",
            ("error", "500"),
            Act::Send(|_, _| StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        ),
        Fault::failing(
            "status-503",
            "status",
            ("unavailable", "503"),
            Act::Send(|_, _| (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response()),
        ),
        Fault::failing(
            "status-403-for-everyone",
            "status",
            ("unauthorized", "403"),
            Act::Send(|_, _| StatusCode::FORBIDDEN.into_response()),
        ),
        Fault::unusable(
            "status-204",
            "status",
            "204",
            Act::Send(|_, _| StatusCode::NO_CONTENT.into_response()),
        ),
        Fault::unusable(
            "status-201",
            "status",
            "201",
            Act::Send(|_, text| {
                let mut response = super::layer::send_json(text);
                *response.status_mut() = StatusCode::CREATED;
                response
            }),
        ),
    ]
}
