//! Load over keep-alive connections, each with one request in flight (closed loop).

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;

/// A number unique to the request replaces it.
pub(crate) const NUMBER: &str = "{n}";

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) method: &'static str,
    /// May contain [`NUMBER`].
    pub(crate) path: String,
    pub(crate) token: Option<String>,
    /// JSON; may contain [`NUMBER`].
    pub(crate) body: Option<String>,
    /// The answer must contain it, with status 200.
    pub(crate) expected: String,
}

impl Target {
    fn request(&self, headers: &[(&'static str, String)]) -> Request<Full<Bytes>> {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed).to_string();
        let fill = |text: &str| {
            if text.contains(NUMBER) { text.replace(NUMBER, &number) } else { text.to_owned() }
        };
        let mut request =
            Request::builder().method(self.method).uri(fill(&self.path)).header("host", "bench");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
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

pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// Sent with each call.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Connection {
    /// The current runtime drives the connection.
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        Self { sender, headers: Vec::new() }
    }

    pub(crate) async fn call(&mut self, target: &Target) -> Bytes {
        self.sender.ready().await.unwrap();
        let response = self.sender.send_request(target.request(&self.headers)).await.unwrap();
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
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// Milliseconds, ascending.
    latencies: Vec<f64>,
    seconds: f64,
}

impl Samples {
    pub(crate) fn new(latencies: Vec<Duration>, time: Duration) -> Self {
        let mut latencies: Vec<f64> =
            latencies.into_iter().map(|latency| latency.as_secs_f64() * 1_000.0).collect();
        latencies.sort_unstable_by(f64::total_cmp);
        Self { latencies, seconds: time.as_secs_f64() }
    }

    /// The quantile in milliseconds.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
        let place = (self.latencies.len() as f64 * share) as usize;
        self.latencies.get(place.min(self.latencies.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }

    /// Requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
