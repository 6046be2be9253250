//! Serves HTTP/1.1 within limits.
//!
//! At `limits.connections`, a connection that waits for its client gives way (`connections`). If there is none, new ones wait in the system's
//! queue. Late heads, idleness and unread answers close connections (`activity`).
//!
//! HTTP/2 is the TLS proxy's: its clients could request much without blocking.

mod activity;
mod bodies;
mod connections;

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use axum::{
    Router,
    extract::{ConnectInfo, Request},
    http::{HeaderValue, header},
};
use hyper::{body::Incoming, server::conn::http1::Builder, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service;

use self::{
    activity::{Activity, ConnectionTimeouts, MonitoredStream},
    bodies::{AnswerBody, ArrivingBody},
    connections::{ConnectionPlace, OpenConnections},
};
use crate::config::Limits;

/// Larger buffers pile up in the allocator.
const BUFFER_BYTES: usize = 64 << 10;

const ACCEPT_RETRY: Duration = Duration::from_secs(1);

/// For requests that have not arrived whole when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 128 << 10;

/// Serves until `stop`, then drains requests.
pub async fn serve(listener: TcpListener, router: Router, limits: &Limits, stop: CancellationToken) {
    let timeouts = ConnectionTimeouts {
        head: Duration::from_millis(limits.header_timeout_ms),
        idle: Duration::from_millis(limits.idle_timeout_ms),
        stop: STOP_TIMEOUT,
    };
    let router = router.with_state(());
    let open = OpenConnections::new(limits.connections);
    let connections = TaskTracker::new();
    while let Some(accepted) = stop.run_until_cancelled(accept(&listener, &open)).await {
        connections.spawn(serve_connection(accepted, router.clone(), timeouts, stop.clone()));
    }
    // The system refuses new connections.
    drop(listener);
    connections.close();
    connections.wait().await;
}

struct AcceptedConnection {
    stream: TcpStream,
    peer: SocketAddr,
    activity: Arc<Activity>,
    place: ConnectionPlace,
}

async fn accept(listener: &TcpListener, open: &Arc<OpenConnections>) -> AcceptedConnection {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let activity = Arc::new(Activity::new(Instant::now()));
                let place = open.admit(peer.ip(), &activity).await;
                return AcceptedConnection { stream, peer, activity, place };
            }
            Err(error) if is_peer_gone(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

fn is_peer_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve_connection(
    accepted: AcceptedConnection,
    router: Router,
    timeouts: ConnectionTimeouts,
    stop: CancellationToken,
) {
    let AcceptedConnection { stream: connection, peer, activity, place } = accepted;
    // Answers are written whole; Nagle's algorithm only delays them.
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = socket2::SockRef::from(&connection).set_tcp_notsent_lowat(UNSENT_BYTES) {
        tracing::debug!(%error, "cannot set TCP_NOTSENT_LOWAT");
    }
    let io = TokioIo::new(MonitoredStream::new(connection, Arc::clone(&activity)));
    let service = {
        let activity = Arc::clone(&activity);
        service_fn(move |mut request: Request<Incoming>| {
            let in_flight = activity.begin_request();
            request.extensions_mut().insert(ConnectInfo(peer));
            let (parts, body) = request.into_parts();
            let expects_continue = parts.headers.contains_key(header::EXPECT);
            let (body, unread) = ArrivingBody::new(body, expects_continue, &activity);
            let answer = router.clone().call(Request::from_parts(parts, body));
            async move {
                let mut answer = answer.await?;
                let unread = unread.and_then(|mut unread| unread.try_recv().ok());
                if unread.as_ref().is_some_and(|unread| unread.closes_connection(answer.status())) {
                    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(answer.map(|body| AnswerBody::new(body, unread, in_flight)))
            }
        })
    };
    let mut served = pin!(Builder::new().max_buf_size(BUFFER_BYTES).serve_connection(io, service));
    let mut timer = pin!(sleep_until(Instant::now()));
    let mut stopped = pin!(stop.cancelled());
    let mut given_way = pin!(place.closing.cancelled());
    let mut stopped_at = None;
    let mut is_closing = false;
    loop {
        tokio::select! {
            biased;
            ended = served.as_mut() => {
                if let Err(error) = ended {
                    tracing::trace!(%error, "connection broke off");
                }
                return;
            }
            () = stopped.as_mut(), if stopped_at.is_none() => {
                stopped_at = Some(Instant::now());
                served.as_mut().graceful_shutdown();
            }
            () = given_way.as_mut(), if !is_closing => {
                if activity.idle_since().is_some() {
                    tracing::debug!("an idle connection gives way to a new one");
                    return;
                }
                is_closing = true;
                served.as_mut().graceful_shutdown();
            }
            // Activity changes only while `served` is polled.
            () = poll_fn(|context| {
                let Some(deadline) = activity.deadline(timeouts, stopped_at) else { return Poll::Pending };
                if timer.deadline() != deadline {
                    timer.as_mut().reset(deadline);
                }
                timer.as_mut().poll(context)
            }) => {
                tracing::debug!("connection timed out");
                return;
            }
        }
    }
}
