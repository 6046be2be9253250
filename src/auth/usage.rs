//! When each application, and each session, was last used: noted in memory at every request, written down now and then.
//!
//! A write for each request would cost more than the request.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use sea_orm::ConnectionTrait;

use crate::{
    error::{Error, Result},
    store::{Store, now_millis, sql},
};

/// What is written down in one statement.
const PORTION: usize = 1_000;

/// When one of them was last used, epoch milliseconds; 0 before the first time in this process.
#[derive(Debug, Default)]
pub struct LastUse {
    noted: AtomicI64,
    written: AtomicI64,
}

impl LastUse {
    /// Notes a use now.
    pub fn note(&self) {
        self.noted.store(now_millis(), Relaxed);
    }
}

/// The last uses of what was used since they were last written down, or is remembered: applications by their client id,
/// sessions by the hexadecimal digits of their id.
#[derive(Debug)]
pub struct Usage {
    /// Writes down a map of them.
    statement: &'static str,
    used: Mutex<HashMap<Arc<str>, Arc<LastUse>>>,
}

impl Usage {
    /// That of applications.
    pub fn of_applications() -> Self {
        Self::written_by(
            "UPDATE applications SET last_used_at = noted.value FROM json_each(?) AS noted \
             WHERE client_id = noted.key",
        )
    }

    /// That of sessions.
    pub fn of_sessions() -> Self {
        Self::written_by(
            "UPDATE sessions SET used_at = MAX(used_at, noted.value) FROM json_each(?) AS noted \
             WHERE sessions.id = unhex(noted.key)",
        )
    }

    fn written_by(statement: &'static str) -> Self {
        Self { statement, used: Mutex::default() }
    }

    /// Where the uses of what has this id are noted.
    pub fn of(&self, id: &str) -> Arc<LastUse> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = used.get(id) {
            return Arc::clone(known);
        }
        let last_use = Arc::new(LastUse::default());
        used.insert(id.into(), Arc::clone(&last_use));
        last_use
    }

    /// When what has this id was last used, epoch milliseconds, as far as this process knows.
    pub fn noted(&self, id: &str) -> Option<i64> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(id).map(|last_use| last_use.noted.load(Relaxed)).filter(|at| *at > 0)
    }

    /// Writes down what is not written yet, and lets go of what nobody notes in any more.
    ///
    /// # Errors
    /// That of the first portion that cannot be written; the others are written all the same.
    pub async fn write_down(&self, store: &Store) -> Result<()> {
        let mut outcome = Ok(());
        for portion in self.unwritten().chunks(PORTION) {
            let written = self.write_portion(store, portion).await;
            outcome = outcome.and(written);
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, last_use| Arc::strong_count(last_use) > 1 || !last_use.is_written());
        outcome
    }

    async fn write_portion(&self, store: &Store, noted: &[(Arc<str>, Arc<LastUse>, i64)]) -> Result<()> {
        let values: HashMap<&str, i64> = noted.iter().map(|(id, _, at)| (&**id, *at)).collect();
        let values = serde_json::to_string(&values).map_err(Error::internal)?;
        let statement = sql(self.statement, [values.into()]);
        let job = store.write(move |transaction| {
            Box::pin(async move {
                transaction.execute_raw(statement).await?;
                Ok(())
            })
        });
        job.await?;
        for (_, last_use, at) in noted {
            last_use.written.store(*at, Relaxed);
        }
        Ok(())
    }

    fn unwritten(&self) -> Vec<(Arc<str>, Arc<LastUse>, i64)> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.iter()
            .filter(|(_, last_use)| !last_use.is_written())
            .map(|(id, last_use)| (Arc::clone(id), Arc::clone(last_use), last_use.noted.load(Relaxed)))
            .collect()
    }
}

impl LastUse {
    fn is_written(&self) -> bool {
        self.noted.load(Relaxed) == self.written.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tenants::{self, NewTenant};

    /// As many as a large enterprise has in half a minute hold nobody up, and what is wrong with one costs few of the others.
    #[tokio::test]
    async fn uses_are_written_down_in_portions() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let usage = Usage::of_sessions();
        let job = store.write(|transaction| {
            Box::pin(async move {
                let tenant = tenants::insert(transaction, NewTenant::named_as_its_code("acme")).await?;
                let rows = "INSERT INTO sessions (id, tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, created_at, used_at) \
                     WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500) \
                     SELECT unhex(printf('%064x', n)), ?, 'mei', 0, 'mei', 'page', 0, 0, 0 FROM numbers";
                transaction.execute_raw(sql(rows, [tenant.id.into()])).await?;
                let trigger = "CREATE TRIGGER stubborn BEFORE UPDATE ON sessions WHEN NEW.id = unhex(printf('%064x', 7)) \
                     BEGIN SELECT RAISE(ABORT, 'no'); END";
                transaction.execute_raw(sql(trigger, [])).await?;
                Ok(())
            })
        });
        job.await.unwrap();
        for number in 1..=2_500 {
            usage.of(&format!("{number:064x}")).note();
        }
        let unwritten = async || {
            let statement = sql("SELECT COUNT(*) AS n FROM sessions WHERE used_at = 0", []);
            let row = store.reader().query_one_raw(statement).await.unwrap().unwrap();
            row.try_get::<i64>("", "n").unwrap()
        };
        usage.write_down(&store).await.unwrap_err();
        let left = unwritten().await;
        assert!((1..=1_000).contains(&left), "{left}");
        let job = store.write(|transaction| {
            Box::pin(async move {
                transaction.execute_raw(sql("DROP TRIGGER stubborn", [])).await?;
                Ok(())
            })
        });
        job.await.unwrap();
        usage.write_down(&store).await.unwrap();
        assert_eq!(unwritten().await, 0);
        assert!(usage.used.lock().unwrap().is_empty());
        store.close().await.unwrap();
    }
}
