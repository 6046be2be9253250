//! Serves HTTP/1.1 within limits.
//!
//! Beyond `limits.connections`, connections wait in the system's queue. Late heads, idleness and unread answers close
//! them (`activity`).
//!
//! HTTP/2 is the TLS proxy's: its clients could request much without blocking.

mod activity;

use std::{
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
};
use hyper::{body::Incoming, server::conn::http1::Builder, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service;

use self::activity::{Activity, AnswerBody, ConnectionTimeouts, MonitoredStream};
use crate::config::Limits;

/// Larger buffers pile up in the allocator.
const BUFFER_BYTES: usize = 64 << 10;

const ACCEPT_RETRY: Duration = Duration::from_secs(1);

#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 128 << 10;

/// Serves until `stop`, then drains requests.
pub async fn serve(listener: TcpListener, router: Router, limits: &Limits, stop: CancellationToken) {
    let timeouts = ConnectionTimeouts {
        head: Duration::from_millis(limits.header_timeout_ms),
        idle: Duration::from_millis(limits.idle_timeout_ms),
    };
    let router = router.with_state(());
    let permits = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
    let connections = TaskTracker::new();
    while let Some(Some((connection, peer, permit))) =
        stop.run_until_cancelled(accept(&listener, &permits)).await
    {
        connections.spawn(serve_connection(connection, peer, router.clone(), timeouts, stop.clone(), permit));
    }
    // The system refuses new connections.
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((connection, peer)) => return Some((connection, peer, permit)),
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
    connection: TcpStream,
    peer: SocketAddr,
    router: Router,
    timeouts: ConnectionTimeouts,
    stop: CancellationToken,
    _permit: OwnedSemaphorePermit,
) {
    // Answers are written whole; Nagle's algorithm only delays them.
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = socket2::SockRef::from(&connection).set_tcp_notsent_lowat(UNSENT_BYTES) {
        tracing::debug!(%error, "cannot set TCP_NOTSENT_LOWAT");
    }
    let activity = Arc::new(Activity::new(Instant::now()));
    let io = TokioIo::new(MonitoredStream::new(connection, Arc::clone(&activity)));
    let service = {
        let activity = Arc::clone(&activity);
        service_fn(move |mut request: Request<Incoming>| {
            let in_flight = activity.begin_request();
            request.extensions_mut().insert(ConnectInfo(peer));
            let answer = router.clone().call(request);
            async move { answer.await.map(|answer| answer.map(|body| AnswerBody::new(body, in_flight))) }
        })
    };
    let mut served = pin!(Builder::new().max_buf_size(BUFFER_BYTES).serve_connection(io, service));
    let mut timer = pin!(sleep_until(Instant::now()));
    let mut stopped = pin!(stop.cancelled());
    let mut is_stopping = false;
    loop {
        tokio::select! {
            biased;
            ended = served.as_mut() => {
                if let Err(error) = ended {
                    tracing::trace!(%error, "connection broke off");
                }
                return;
            }
            () = stopped.as_mut(), if !is_stopping => {
                is_stopping = true;
                served.as_mut().graceful_shutdown();
            }
            // Activity changes only while `served` is polled.
            () = poll_fn(|context| {
                let Some(deadline) = activity.deadline(timeouts) else { return Poll::Pending };
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
