//! The server's edge: takes connections and serves HTTP/1.1 on them, within bounds that no client can stretch.
//!
//! So many connections are open at once; further ones wait in the system's queue. A connection whose request's head does not
//! arrive in time is closed, and so is one on which nothing is asked for long, or nothing taken of an answer. Bodies have
//! their own bounds, where they are read (`api/extract`).
//!
//! HTTP/2 is left to the proxy that brings TLS: it lets a client ask for a great deal at once and take none of it, on a
//! connection that is never held up.

mod activity;
mod watched;

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

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

use self::{
    activity::{Activity, Patience, Verdict},
    watched::{Answering, WatchedStream},
};
use crate::config::Limits;

/// What is read of a connection at once, and the head of a request at the most, in bytes. Larger buffers, as many as there are
/// connections on which contents come, would pile up with the allocator.
const BUFFER_BYTES: usize = 64 << 10;

/// How long to wait when the system gives no connection: it has no descriptors left, say.
const PAUSE: Duration = Duration::from_secs(1);

/// Bytes of answers that wait in the system for each connection, besides those that are on their way.
#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 128 << 10;

/// Serves until `stop`; then no connection is taken any more, and it ends when what was asked is answered.
pub async fn serve(listener: TcpListener, router: Router, limits: &Limits, stop: CancellationToken) {
    let patience = Patience {
        head: Duration::from_millis(limits.header_timeout_ms),
        idle: Duration::from_millis(limits.idle_timeout_ms),
    };
    // Done once, and not again for each request.
    let router = router.with_state(());
    let places = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
    let connections = TaskTracker::new();
    while let Some(Some((connection, peer, place))) = stop.run_until_cancelled(take(&listener, &places)).await
    {
        connections.spawn(carry(connection, peer, router.clone(), patience, stop.clone(), place));
    }
    // Those who wait to be taken learn at once that nobody will.
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// The next connection, once there is a place for it.
async fn take(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((connection, peer)) => return Some((connection, peer, place)),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection could be taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// It went away before it was taken.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Carries one connection through to its end.
async fn carry(
    connection: TcpStream,
    peer: SocketAddr,
    router: Router,
    patience: Patience,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
) {
    // Answers are small and whole: waiting for more to send only delays them.
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    // Who takes a large answer slowly has little of it held for him.
    #[cfg(target_os = "linux")]
    if let Err(error) = socket2::SockRef::from(&connection).set_tcp_notsent_lowat(UNSENT_BYTES) {
        tracing::debug!(%error, "a connection may have much of an answer waiting");
    }
    let activity = Arc::new(Activity::new(Instant::now()));
    let io = TokioIo::new(WatchedStream::new(connection, Arc::clone(&activity)));
    let service = {
        let activity = Arc::clone(&activity);
        service_fn(move |mut request: Request<Incoming>| {
            let asked = activity.ask();
            // Whose it is where no proxy says so (`api/address`).
            request.extensions_mut().insert(ConnectInfo(peer));
            let answer = router.clone().call(request);
            async move { answer.await.map(|answer| answer.map(|body| Answering::new(body, asked))) }
        })
    };
    let mut served = pin!(Builder::new().max_buf_size(BUFFER_BYTES).serve_connection(io, service));
    let mut look = pin!(sleep_until(Instant::now() + patience.least()));
    let mut stopped = pin!(stop.cancelled());
    let mut is_stopping = false;
    loop {
        tokio::select! {
            biased;
            ended = served.as_mut() => {
                if let Err(error) = ended {
                    tracing::trace!(%error, "a connection broke");
                }
                return;
            }
            () = stopped.as_mut(), if !is_stopping => {
                is_stopping = true;
                served.as_mut().graceful_shutdown();
            }
            () = look.as_mut() => match activity.judge(Instant::now(), patience) {
                Verdict::LookAgain(at) => look.as_mut().reset(at),
                Verdict::Close => {
                    tracing::debug!("a connection on which nothing was asked or taken in time is closed");
                    return;
                }
            },
        }
    }
}
