//! Observes other replicas' commits: the log's end, and stale cached data.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Connection, DatabaseError, FromRow, Result,
    generations::{Cached, Generations},
    sql,
};
use crate::error::Error;

/// Interval between observations that nobody waits for.
const INTERVAL: Duration = Duration::from_millis(20);

/// Time for the database to answer a request that needs an observation.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(5);

/// Observes the database in the background, and at once on request.
///
/// Requests that arrive during an observation share the next one. So at most one statement is in flight.
pub(super) struct Observer {
    wanted: Arc<Notify>,
    /// The number of the last observation that has begun.
    begun: Arc<AtomicU64>,
    finished: watch::Receiver<Finished>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Clone, Default)]
struct Finished {
    number: u64,
    is_failure: bool,
}

/// A kind of data that became stale, or a row without kind.
///
/// There is always a row, for the position.
#[derive(FromRow)]
struct ObservedRow {
    position: i64,
    generation: i64,
    timeline: i64,
    kind: Option<String>,
    tenant_id: Option<i64>,
}

impl Observer {
    /// Observes what follows the commits that were visible before.
    pub(super) async fn start(
        connection: Arc<Connection>,
        positions: watch::Sender<i64>,
        generations: Arc<Generations>,
    ) -> Result<Self> {
        let text = "SELECT generation, timeline FROM change_log_end";
        let (generation, timeline) = sql(text, []).fetch_one(&connection).await?;
        let (announce, finished) = watch::channel(Finished::default());
        let (wanted, begun) = (Arc::new(Notify::new()), Arc::new(AtomicU64::new(0)));
        let task = ObserverTask {
            connection,
            positions,
            generations,
            generation,
            timeline,
            wanted: Arc::clone(&wanted),
            begun: Arc::clone(&begun),
            announce,
        };
        Ok(Self { wanted, begun, finished, _task: AbortOnDropHandle::new(tokio::spawn(task.run())) })
    }

    /// Waits for an observation that begins after this call.
    ///
    /// # Errors
    /// 503 if the database does not answer.
    pub(super) async fn refresh(&self) -> Result<(), Error> {
        let begun = self.begun.load(Ordering::Acquire);
        self.wanted.notify_one();
        let mut finished = self.finished.clone();
        let observed = timeout(REFRESH_TIMEOUT, finished.wait_for(|last| last.number > begun)).await;
        match observed {
            Ok(Ok(last)) if !last.is_failure => Ok(()),
            _ => Err(Error::unavailable("the database does not answer", Duration::from_secs(1))),
        }
    }
}

struct ObserverTask {
    connection: Arc<Connection>,
    positions: watch::Sender<i64>,
    generations: Arc<Generations>,
    generation: i64,
    timeline: i64,
    wanted: Arc<Notify>,
    begun: Arc<AtomicU64>,
    announce: watch::Sender<Finished>,
}

impl ObserverTask {
    async fn run(mut self) {
        let mut was_failure = false;
        loop {
            drop(timeout(INTERVAL, self.wanted.notified()).await);
            let number = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
            let failure = self.observe().await.err();
            if matches!(failure, Some(DatabaseError::PoolClosed)) {
                return;
            }
            let is_failure = failure.is_some();
            if let Some(error) = failure.filter(|_| !was_failure) {
                tracing::error!(%error, "other replicas' changes cannot be read from the database");
            }
            was_failure = is_failure;
            self.announce.send_replace(Finished { number, is_failure });
        }
    }

    async fn observe(&mut self) -> Result<(), DatabaseError> {
        let text = "SELECT last.position, last.generation, last.timeline, stale.kind, stale.tenant_id FROM change_log_end AS last \
                    LEFT JOIN invalidations AS stale ON stale.generation > ?";
        let rows: Vec<ObservedRow> = sql(text, [self.generation.into()]).fetch_all(&self.connection).await?;
        self.generations
            .raise(rows.iter().filter_map(|row| Cached::of_key(row.kind.as_deref()?, row.tenant_id?)));
        if let Some(ObservedRow { position, generation, timeline, .. }) = rows.first() {
            // Cached data may come from changes that a failover lost.
            if *timeline != self.timeline {
                self.generations.raise_all();
            }
            (self.generation, self.timeline) = (*generation, *timeline);
            advance(&self.positions, *position);
        }
        Ok(())
    }
}

/// Announces a position that may be older than the last announced one.
pub(super) fn advance(positions: &watch::Sender<i64>, position: i64) {
    positions.send_if_modified(|last| {
        let is_newer = position > *last;
        *last = position.max(*last);
        is_newer
    });
}
