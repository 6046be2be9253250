//! Writes items with recognisable ids beside searches, and deletes them afterwards.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bytes::Bytes;
use hyper::Method;
use serde::de::IgnoredAny;
use serde_json::json;

use super::{
    connections::{ConnectionPool, PreparedRequest},
    results::GeneratedItems,
};
use crate::cli::client::{ApiClient, CallError};

const ID_PREFIX: &str = "trawl-bench-";
/// Items of one deletion; few, as the server's limit may be low.
const DELETED_AT_ONCE: u64 = 100;
/// Longer than the minute of the write limit (`limits.writes_per_minute`).
pub(super) const RETRY_TIME: Duration = Duration::from_mins(3);
const FIRST_PAUSE: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct WriteLoad {
    pub(super) per_second: f64,
    pub(super) target: PreparedRequest,
    module: String,
    prefix: String,
    /// One above the highest number sent.
    sent: AtomicU64,
}

impl WriteLoad {
    pub(super) fn new(connections: &ConnectionPool, module: &str, per_second: f64) -> Result<Self, String> {
        let code =
            percent_encoding::utf8_percent_encode(module, percent_encoding::NON_ALPHANUMERIC).to_string();
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        Ok(Self {
            per_second,
            target: connections.target(Method::PUT, &format!("/v1/contents/{code}"))?,
            module: module.to_owned(),
            prefix: format!("{ID_PREFIX}{now}-{:04x}-", fastrand::u16(..)),
            sent: AtomicU64::new(0),
        })
    }

    pub(super) fn item(&self, number: u64) -> Bytes {
        self.sent.fetch_max(number + 1, Ordering::Relaxed);
        let id = self.id(number);
        let item = json!([{
            "id": id,
            "title": "Made up by trawl bench",
            "brief": format!("Item {number} of a run that measures how fast this server is; deleted at its end."),
        }]);
        Bytes::from(item.to_string())
    }

    fn id(&self, number: u64) -> String {
        format!("{}{number}", self.prefix)
    }

    pub(super) async fn check(&self, client: &ApiClient) -> Result<(), CallError> {
        self.delete(client, 0..0).await
    }

    /// Deletes the written items; returns the failure if some are left.
    pub(super) async fn clean_up(
        &self,
        client: &ApiClient,
        patience: Duration,
    ) -> (GeneratedItems, Option<CallError>) {
        let sent = self.sent.load(Ordering::Relaxed);
        let mut waited = Duration::ZERO;
        let mut pause = FIRST_PAUSE;
        let mut next = 0;
        let failure = loop {
            if next == sent {
                break None;
            }
            let end = sent.min(next + DELETED_AT_ONCE);
            let failure = match self.delete(client, next..end).await {
                Ok(()) => {
                    (next, pause) = (end, FIRST_PAUSE);
                    continue;
                }
                Err(failure) => failure,
            };
            let wait = match &failure {
                CallError::Busy { wait, .. } => (*wait).max(FIRST_PAUSE),
                failure if failure.may_pass() => pause,
                _ => break Some(failure),
            };
            if waited + wait > patience {
                break Some(failure);
            }
            tokio::time::sleep(wait).await;
            waited += wait;
            pause = (pause * 2).min(Duration::from_secs(10));
        };
        (GeneratedItems { id_prefix: self.prefix.clone(), sent, left: sent - next }, failure)
    }

    async fn delete(&self, client: &ApiClient, numbers: std::ops::Range<u64>) -> Result<(), CallError> {
        let ids: Vec<String> = numbers.map(|number| self.id(number)).collect();
        let body = Bytes::from(json!(ids).to_string());
        let path = ["v1", "contents", &self.module, "delete"];
        client.send::<IgnoredAny>(Method::POST, &path, body).await.map(drop)
    }
}
