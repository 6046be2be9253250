//! The load generator: keep-alive connections that each send their next request when the last one was answered.

use std::{
    net::SocketAddr,
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;

/// The turns that servers take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// How long one turn of one server is.
    pub(crate) slice: Duration,
    /// Turns of each server in one case, after one that warms up.
    pub(crate) slices: usize,
}

/// Stands for a number that is another one in each request.
pub(crate) const NUMBER: &str = "{n}";

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// A request to a server, and what its answer must be.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The server.
    pub(crate) address: SocketAddr,
    /// Method.
    pub(crate) method: &'static str,
    /// Path and query; [`NUMBER`] in it is replaced.
    pub(crate) path: String,
    /// A bearer token.
    pub(crate) token: Option<String>,
    /// A JSON body; [`NUMBER`] in it is replaced.
    pub(crate) body: Option<String>,
    /// What the body of the answer must hold, beside a status of 200.
    pub(crate) expected: String,
}

impl Target {
    fn request(&self) -> Request<Full<Bytes>> {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed).to_string();
        let fill = |text: &str| {
            if text.contains(NUMBER) { text.replace(NUMBER, &number) } else { text.to_owned() }
        };
        let mut request =
            Request::builder().method(self.method).uri(fill(&self.path)).header("host", "bench");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = match &self.body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Bytes::from(fill(body))
            }
            None => Bytes::new(),
        };
        request.body(Full::new(body)).unwrap()
    }
}

/// One connection to a server.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Connects; the connection's own work is done on the current runtime.
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        Self { sender }
    }

    /// Sends a request and checks its answer, which it gives back.
    pub(crate) async fn call(&mut self, target: &Target) -> Bytes {
        self.sender.ready().await.unwrap();
        let response = self.sender.send_request(target.request()).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let text = std::str::from_utf8(&body).unwrap();
        assert!(
            status == 200 && text.rfind(&target.expected).is_some(),
            "{}: expected {:?}, got {status} {text}",
            target.path,
            target.expected
        );
        body
    }

    async fn call_until(&mut self, target: &Target, end: Instant, latencies: &mut Vec<Duration>) {
        loop {
            let started = Instant::now();
            if started >= end {
                return;
            }
            self.call(target).await;
            latencies.push(started.elapsed());
        }
    }
}

/// What was measured of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// Milliseconds, ascending.
    latencies: Vec<f64>,
    seconds: f64,
}

impl Samples {
    /// Samples taken in this time.
    pub(crate) fn new(latencies: Vec<Duration>, time: Duration) -> Self {
        let mut latencies: Vec<f64> =
            latencies.into_iter().map(|latency| latency.as_secs_f64() * 1_000.0).collect();
        latencies.sort_unstable_by(f64::total_cmp);
        Self { latencies, seconds: time.as_secs_f64() }
    }

    /// Milliseconds that this share of the requests did not exceed.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
        let place = (self.latencies.len() as f64 * share) as usize;
        self.latencies.get(place.min(self.latencies.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }

    /// Requests a second.
    pub(crate) fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }
}

/// Drives the servers in turns, each with `clients` connections; gives what was measured of each.
///
/// Two threads at the most make the load, and leave the other cores to the servers.
pub(crate) fn alternate<const N: usize>(targets: &[Target; N], clients: usize, turns: Turns) -> [Samples; N] {
    let threads = clients.min(2);
    let barrier = Barrier::new(threads);
    let per_thread: Vec<[Turn; N]> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| drive(targets, clients / threads, turns, &barrier)))
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all = [const { Turn::NONE }; N];
    for thread in per_thread {
        for (all, its) in all.iter_mut().zip(thread) {
            all.latencies.extend(its.latencies);
            all.took = all.took.max(its.took);
        }
    }
    all.map(|all| Samples::new(all.latencies, all.took))
}

/// What one thread measured of one server.
struct Turn {
    latencies: Vec<Duration>,
    /// Until the last request that was begun in a turn was answered.
    took: Duration,
}

impl Turn {
    const NONE: Self = Self { latencies: Vec::new(), took: Duration::ZERO };
}

fn drive<const N: usize>(
    targets: &[Target; N],
    clients: usize,
    turns: Turns,
    barrier: &Barrier,
) -> [Turn; N] {
    block_on(async {
        let mut all = [const { Turn::NONE }; N];
        let mut connections: Vec<Vec<Connection>> = Vec::new();
        for target in targets {
            connections.push(join_all((0..clients).map(|_| Connection::open(target.address))).await);
        }
        for turn in 0..=turns.slices {
            for ((target, connections), all) in targets.iter().zip(&mut connections).zip(&mut all) {
                // No connection of this thread has anything to do here, so that it may wait.
                barrier.wait();
                let started = Instant::now();
                let end = started + turns.slice;
                let measured = join_all(connections.iter_mut().map(|connection| async move {
                    let mut latencies = Vec::new();
                    connection.call_until(target, end, &mut latencies).await;
                    latencies
                }))
                .await;
                if turn > 0 {
                    all.took += started.elapsed();
                    all.latencies.extend(measured.into_iter().flatten());
                }
            }
        }
        all
    })
}

/// Runs a future on a runtime of this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
