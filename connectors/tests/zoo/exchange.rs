use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{FutureExt, StreamExt, stream};

use super::fault::Fault;
use super::layer::{SourceRequest, send_json};

/// Fewer bytes than announced.
const ENDS_EARLY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json;charset=UTF-8\r\n\
    content-length: 1000\r\n\r\n{\"code\":200,\"message\":null,\"data\":[";
/// One chunk, without the last one.
const BREAKS_OFF: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json;charset=UTF-8\r\n\
    transfer-encoding: chunked\r\n\r\n10\r\n{\"code\":200,\"mes\r\n";

pub(super) fn faults() -> Vec<Fault> {
    vec![
        Fault::bytes("closes-the-connection", "http", b"").failing("unavailable", "closed the connection"),
        Fault::bytes("greets-by-smtp", "http", b"220 mail.example ESMTP ready\r\n").unusable("HTTP"),
        Fault::search("never-answers", "in-time", |_| std::future::pending().boxed())
            .failing("timeout", "answer"),
        Fault::send("drips-without-end", "in-time", |_, text| drip(&text)).failing("timeout", "answer"),
        Fault::bytes("ends-before-its-content-length", "complete", ENDS_EARLY)
            .failing("unavailable", "before its answer was complete"),
        Fault::bytes("breaks-off-between-chunks", "complete", BREAKS_OFF)
            .failing("unavailable", "before its answer was complete"),
        Fault::send("redirects-to-another-host", "redirect", |request, _| {
            redirect(StatusCode::FOUND, &format!("https://search.example{}?{}", request.path, request.query))
        })
        .unusable("redirect"),
        Fault::send("redirects-to-itself", "redirect", |request, _| {
            redirect(StatusCode::FOUND, &format!("{}?{}", request.path, request.query))
        })
        .unusable("redirect"),
        Fault::send("redirects-four-times", "redirect", redirect_four_times).unusable("redirect"),
        Fault::send("redirects-nowhere", "redirect", |_, _| StatusCode::TEMPORARY_REDIRECT.into_response())
            .unusable("redirect"),
        Fault::send("refuses-the-method", "method", |_, _| {
            (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "QUERY")]).into_response()
        })
        .failing("error", "405"),
        Fault::send("status-500", "status", |_, _| StatusCode::INTERNAL_SERVER_ERROR.into_response())
            .failing("error", "500"),
        Fault::send("status-503", "status", |_, _| {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response()
        })
        .failing("unavailable", "503"),
        Fault::send("status-403-for-everyone", "status", |_, _| StatusCode::FORBIDDEN.into_response())
            .failing("unauthorized", "403"),
        Fault::send("status-204", "status", |_, _| StatusCode::NO_CONTENT.into_response()).unusable("204"),
        Fault::send("status-201", "status", |_, text| {
            let mut response = super::layer::send_json(text);
            *response.status_mut() = StatusCode::CREATED;
            response
        })
        .unusable("201"),
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
