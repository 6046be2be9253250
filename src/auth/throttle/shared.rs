//! Attempts as rows, which count over all replicas.
//!
//! A row counts until its time. An attempt in flight counts until its process must have ended, a failure until it is
//! forgiven, a success until its address is forgotten.

use std::net::IpAddr;

use aws_lc_rs::digest::{SHA256, digest};
use uuid::Uuid;

use super::{
    KNOWN_FOR, Throttled, ThrottledAccount,
    limit::{AttemptEnding, Attempts, FailureLimit},
};
use crate::{
    error::Result,
    store::{self, Connection, FromRow, Store, Transaction, now_millis, sql},
};

/// Milliseconds after which an attempt has surely ended.
const IN_FLIGHT_FOR: i64 = 60 * 1_000;

const IN_FLIGHT: &str = "in flight";
const FAILED: &str = "failed";
const SUCCEEDED: &str = "succeeded";

/// Attempts of all replicas.
#[derive(Clone)]
pub(super) struct SharedAttempts {
    pub(super) store: Store,
    pub(super) limit: FailureLimit,
}

/// A row of an attempt in flight.
#[derive(Clone)]
pub(super) struct SharedAttempt {
    shared: SharedAttempts,
    id: Vec<u8>,
    account: ThrottledAccount,
}

#[derive(FromRow)]
struct Counts {
    forgiven_at: Option<i64>,
    in_flight: i64,
}

impl SharedAttempts {
    /// Whether another attempt may begin.
    pub(super) async fn check(&self, account: ThrottledAccount) -> Result<Result<(), Throttled>> {
        let now = now_millis();
        Ok(self.limit.check(count(self.store.reader(), account, now).await?, now))
    }

    /// Begins an attempt, unless throttled.
    pub(super) async fn begin(&self, account: ThrottledAccount) -> Result<Result<SharedAttempt, Throttled>> {
        let limit = self.limit;
        // Throttled attempts write nothing.
        if let Err(throttled) = self.check(account).await? {
            return Ok(Err(throttled));
        }
        let id = Uuid::new_v4().as_bytes().to_vec();
        let attempt = SharedAttempt { shared: self.clone(), id: id.clone(), account };
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let now = now_millis();
                let ended = sql("DELETE FROM login_attempts WHERE ends_at <= ?", [now.into()]);
                ended.execute(transaction).await?;
                let admitted = limit.check(count(transaction, account, now).await?, now);
                if admitted.is_ok() {
                    put(transaction, id, account, IN_FLIGHT, now + IN_FLIGHT_FOR).await?;
                }
                Ok(admitted)
            })
        });
        Ok(job.await?.map(|()| attempt))
    }

    /// Whether the account succeeded in this network lately.
    pub(super) async fn is_known(&self, network: IpAddr, account: ThrottledAccount) -> Result<bool> {
        let statement = sql(
            "SELECT 1 FROM login_attempts WHERE id = ? AND ends_at > ?",
            [success_id(network, account).into(), now_millis().into()],
        );
        Ok(statement.exists(self.store.reader()).await?)
    }

    /// Records a success.
    pub(super) async fn succeeded(&self, network: IpAddr, account: ThrottledAccount) -> Result<()> {
        let id = success_id(network, account);
        let job = self.store.write(move |transaction| {
            Box::pin(async move {
                let until = now_millis() + i64::try_from(KNOWN_FOR.as_millis()).unwrap_or(i64::MAX);
                Ok(put(transaction, id, account, SUCCEEDED, until).await?)
            })
        });
        job.await
    }
}

impl SharedAttempt {
    pub(super) async fn end(self, ending: AttemptEnding) -> Result<()> {
        let Self { shared: SharedAttempts { store, limit }, id, account } = self;
        let job = store.write(move |transaction| {
            Box::pin(async move {
                match ending {
                    AttemptEnding::Uncounted => {
                        let delete = sql("DELETE FROM login_attempts WHERE id = ?", [id.into()]);
                        delete.execute(transaction).await?;
                    }
                    AttemptEnding::Failed => {
                        let now = now_millis();
                        let before = count(transaction, account, now).await?;
                        let until = limit.after_failure(before.forgiven_at, now);
                        put(transaction, id, account, FAILED, until).await?;
                    }
                }
                Ok(())
            })
        });
        job.await
    }
}

async fn count(connection: &Connection, account: ThrottledAccount, now: i64) -> store::Result<Attempts> {
    let statement = sql(
        "SELECT MAX(CASE WHEN state = ? THEN ends_at END) AS forgiven_at, \
           COUNT(CASE WHEN state = ? THEN 1 END) AS in_flight \
         FROM login_attempts WHERE account = ? AND ends_at > ?",
        [FAILED.into(), IN_FLIGHT.into(), account.0.as_slice().into(), now.into()],
    );
    let Counts { forgiven_at, in_flight } = statement.fetch_one(connection).await?;
    Ok(Attempts { forgiven_at: forgiven_at.unwrap_or_default(), in_flight })
}

async fn put(
    transaction: &Transaction,
    id: Vec<u8>,
    account: ThrottledAccount,
    state: &str,
    ends_at: i64,
) -> store::Result<()> {
    let statement = sql(
        "INSERT INTO login_attempts (id, account, state, ends_at) VALUES (?, ?, ?, ?) \
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, ends_at = excluded.ends_at",
        [id.into(), account.0.as_slice().into(), state.into(), ends_at.into()],
    );
    statement.execute(transaction).await.map(drop)
}

fn success_id(network: IpAddr, account: ThrottledAccount) -> Vec<u8> {
    let text = [network.to_string().as_bytes(), b"\0", &account.0].concat();
    digest(&SHA256, &text).as_ref().to_vec()
}
