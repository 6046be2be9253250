//! A server of feeds on every address of this machine, with faults.

use std::{
    collections::{HashMap, VecDeque},
    fmt::Write as _,
    io::Write as _,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use tokio::{net::TcpListener, time::sleep};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FeedReply {
    /// The feed, or 304.
    Feed,
    Gzip,
    Status(u16),
    /// Status, and `Retry-After`.
    Pause(u16, String),
    /// The feed without its end.
    Truncated,
    Slow(Duration),
    Redirect(String),
    Body(String),
    /// A content type, and a body.
    Typed(&'static str, Vec<u8>),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ServedFeed {
    /// Id and title.
    pub(crate) entries: Vec<(String, String)>,
    /// Before the feed is served.
    pub(crate) faults: VecDeque<FeedReply>,
    /// Whether a `Last-Modified` is sent in place of an `ETag`.
    pub(crate) has_times: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct FeedRequest {
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) at: Instant,
    pub(crate) is_conditional: bool,
    pub(crate) user_agent: String,
    pub(crate) status: u16,
    /// Whether its 200 gives no validators to send back.
    pub(crate) is_faulty: bool,
    /// Seconds of `Retry-After`.
    pub(crate) retry_after: Option<u64>,
}

#[derive(Debug, Default)]
struct Served {
    feeds: HashMap<String, ServedFeed>,
    requests: Vec<FeedRequest>,
    open: HashMap<String, usize>,
    most_open: usize,
}

#[derive(Clone)]
pub(crate) struct FeedServer {
    served: Arc<Mutex<Served>>,
    port: u16,
}

impl FeedServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { served: Arc::default(), port };
        let router = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        server
    }

    pub(crate) fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    pub(crate) fn set(&self, path: &str, feed: ServedFeed) {
        self.served().feeds.insert(path.to_owned(), feed);
    }

    pub(crate) fn set_entries(&self, path: &str, entries: &[(&str, &str)]) {
        let entries = entries.iter().map(|(id, title)| ((*id).to_owned(), (*title).to_owned())).collect();
        self.served().feeds.entry(path.to_owned()).or_default().entries = entries;
    }

    pub(crate) fn reply_once(&self, path: &str, reply: FeedReply) {
        self.served().feeds.entry(path.to_owned()).or_default().faults.push_back(reply);
    }

    pub(crate) fn change(&self, path: &str, change: impl FnOnce(&mut ServedFeed)) {
        change(self.served().feeds.get_mut(path).unwrap());
    }

    pub(crate) fn requests(&self) -> Vec<FeedRequest> {
        self.served().requests.clone()
    }

    /// Requests to one host at a time, at most.
    pub(crate) fn most_open(&self) -> usize {
        self.served().most_open
    }

    /// Requests without an answer so far.
    pub(crate) fn open_requests(&self) -> usize {
        self.served().open.values().sum()
    }

    fn served(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap()
    }

    fn begin(&self, host: &str, path: &str) -> (ServedFeed, FeedReply, OpenRequest) {
        let mut served = self.served();
        let open = served.open.entry(host.to_owned()).or_default();
        *open += 1;
        let open = *open;
        served.most_open = served.most_open.max(open);
        let feed = served.feeds.entry(path.to_owned()).or_default();
        let reply = feed.faults.pop_front().unwrap_or(FeedReply::Feed);
        let open = OpenRequest { server: self.clone(), host: host.to_owned() };
        (feed.clone(), reply, open)
    }

    fn end(&self, request: FeedRequest) {
        self.served().requests.push(request);
    }
}

/// Until the answer begins, or its caller is gone.
struct OpenRequest {
    server: FeedServer,
    host: String,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        *self.server.served().open.get_mut(&self.host).unwrap() -= 1;
    }
}

async fn answer(State(server): State<FeedServer>, request: Request) -> Response {
    let (path, headers) = (request.uri().path().to_owned(), request.headers().clone());
    let text = |name| headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let host = text(header::HOST).split(':').next().unwrap().to_owned();
    let (feed, reply, _open) = server.begin(&host, &path);
    let at = Instant::now();
    if let FeedReply::Slow(time) = reply {
        sleep(time).await;
    }
    let response = respond(&feed, &reply, &headers);
    server.end(FeedRequest {
        host,
        path,
        at,
        is_conditional: headers.contains_key(header::IF_NONE_MATCH)
            || headers.contains_key(header::IF_MODIFIED_SINCE),
        user_agent: text(header::USER_AGENT),
        status: response.status().as_u16(),
        is_faulty: matches!(
            reply,
            FeedReply::Truncated | FeedReply::Gzip | FeedReply::Body(_) | FeedReply::Typed(..)
        ),
        retry_after: match reply {
            FeedReply::Pause(_, after) => after.parse().ok(),
            _ => None,
        },
    });
    response
}

fn respond(feed: &ServedFeed, reply: &FeedReply, headers: &HeaderMap) -> Response {
    let document = rss(&feed.entries);
    match reply {
        FeedReply::Status(status) => StatusCode::from_u16(*status).unwrap().into_response(),
        FeedReply::Pause(status, after) => {
            (StatusCode::from_u16(*status).unwrap(), [(header::RETRY_AFTER, after.clone())]).into_response()
        }
        FeedReply::Redirect(to) => (StatusCode::FOUND, [(header::LOCATION, to.clone())]).into_response(),
        FeedReply::Truncated => {
            let cut = document.len() - document.len() / 3;
            ([(header::ETAG, "\"cut\"")], document[..cut].to_owned()).into_response()
        }
        FeedReply::Body(body) => body.clone().into_response(),
        FeedReply::Typed(kind, body) => ([(header::CONTENT_TYPE, *kind)], body.clone()).into_response(),
        FeedReply::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(document.as_bytes()).unwrap();
            ([(header::CONTENT_ENCODING, "gzip")], encoder.finish().unwrap()).into_response()
        }
        FeedReply::Feed | FeedReply::Slow(_) => {
            let version = crc32fast::hash(document.as_bytes());
            let (name, condition, validator) = if feed.has_times {
                let time = Timestamp::from_second(version.into()).unwrap();
                let time = DateTimePrinter::new().timestamp_to_rfc9110_string(&time).unwrap();
                (header::LAST_MODIFIED, header::IF_MODIFIED_SINCE, time)
            } else {
                (header::ETAG, header::IF_NONE_MATCH, format!("\"{version}\""))
            };
            if headers.get(condition).is_some_and(|given| given.as_bytes() == validator.as_bytes()) {
                return StatusCode::NOT_MODIFIED.into_response();
            }
            ([(name, validator)], document).into_response()
        }
    }
}

pub(crate) fn rss(entries: &[(String, String)]) -> String {
    let mut items = String::new();
    for (id, title) in entries {
        let item = format_args!(
            "<item><guid isPermaLink=\"false\">{id}</guid><title>{title}</title><link>https://example.org/{id}</link></item>"
        );
        writeln!(items, "{item}").unwrap();
    }
    format!(
        "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>Feed</title>\n{items}</channel></rss>"
    )
}
