//! Mixed writes: made-up items with recognisable ids, put in one by one while the searches run, and deleted at the end.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bytes::Bytes;
use hyper::Method;
use serde::de::IgnoredAny;
use serde_json::json;

use super::{
    connections::{Connections, Target},
    results::MadeUpItems,
};
use crate::cli::client::{Client, Failure};

/// What the id of every made-up item begins with.
const ID_PREFIX: &str = "trawl-bench-";
/// Items that one request deletes; the server may be set to take few.
const DELETED_AT_ONCE: u64 = 100;
/// How long the deletion waits in all because the server asks for it, or fails: longer than the minute after which a limit
/// lets writes through again (decisions 9.9).
pub(super) const PATIENCE: Duration = Duration::from_mins(3);
/// The first pause after a failure that may pass.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The writes of one run.
#[derive(Debug)]
pub(super) struct Writes {
    pub(super) per_second: f64,
    pub(super) target: Target,
    module: String,
    prefix: String,
    /// One more than the highest number sent.
    sent: AtomicU64,
}

impl Writes {
    /// Writes into a module, at this rate.
    ///
    /// # Errors
    /// The module's code cannot be part of a path.
    pub(super) fn new(connections: &Connections, module: &str, per_second: f64) -> Result<Self, String> {
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

    /// The body that puts in item `number`, which counts as sent from now on.
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

    /// Finds out whether the items will be taken, without sending one.
    pub(super) async fn check(&self, client: &Client) -> Result<(), Failure> {
        self.delete(client, 0..0).await
    }

    /// Deletes what was sent, and waits for that no longer than `patience`; the failure where some could not be.
    pub(super) async fn clean_up(
        &self,
        client: &Client,
        patience: Duration,
    ) -> (MadeUpItems, Option<Failure>) {
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
                Failure::Busy { wait, .. } => (*wait).max(FIRST_PAUSE),
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
        (MadeUpItems { id_prefix: self.prefix.clone(), sent, left: sent - next }, failure)
    }

    async fn delete(&self, client: &Client, numbers: std::ops::Range<u64>) -> Result<(), Failure> {
        let ids: Vec<String> = numbers.map(|number| self.id(number)).collect();
        let body = Bytes::from(json!(ids).to_string());
        let path = ["v1", "contents", &self.module, "delete"];
        client.send::<IgnoredAny>(Method::POST, &path, body).await.map(drop)
    }
}
