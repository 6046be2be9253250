//! Last uses, written in batches rather than per request.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use crate::{
    error::{Error, Result},
    store::{Store, Value, now_millis, sql},
};

const PORTION: usize = 1_000;

/// A last use, epoch milliseconds; 0 before the first in this process.
#[derive(Debug, Default)]
pub struct LastUse {
    noted: AtomicI64,
    written: AtomicI64,
}

impl LastUse {
    /// Records a use now.
    pub fn note(&self) {
        self.noted.store(now_millis(), Relaxed);
    }
}

/// Last uses by client id, or by a session id's hexadecimal digits.
#[derive(Debug)]
pub struct LastUses {
    /// Its text before and after the rows of ids and times.
    statement: (&'static str, &'static str),
    row: fn(&str, i64) -> Result<[Value; 2]>,
    used: Mutex<HashMap<Arc<str>, Arc<LastUse>>>,
}

impl LastUses {
    /// The uses of applications.
    pub fn for_applications() -> Self {
        Self::written_by(
            (
                "UPDATE applications SET last_used_at = noted.column2 FROM (VALUES ",
                ") AS noted WHERE client_id = noted.column1",
            ),
            |client_id, at| Ok([client_id.into(), at.into()]),
        )
    }

    /// The uses of sessions.
    pub fn for_sessions() -> Self {
        Self::written_by(
            (
                "UPDATE sessions SET used_at = MAX(used_at, noted.column2) FROM (VALUES ",
                ") AS noted WHERE sessions.id = noted.column1",
            ),
            |id, at| Ok([hex::decode(id).map_err(Error::internal)?.into(), at.into()]),
        )
    }

    fn written_by(statement: (&'static str, &'static str), row: fn(&str, i64) -> Result<[Value; 2]>) -> Self {
        Self { statement, row, used: Mutex::default() }
    }

    /// The last use of this id.
    pub fn of(&self, id: &str) -> Arc<LastUse> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = used.get(id) {
            return Arc::clone(known);
        }
        let last_use = Arc::new(LastUse::default());
        used.insert(id.into(), Arc::clone(&last_use));
        last_use
    }

    /// The last use of this id in this process, epoch milliseconds.
    pub fn noted(&self, id: &str) -> Option<i64> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(id).map(|last_use| last_use.noted.load(Relaxed)).filter(|at| *at > 0)
    }

    /// Writes new uses, drops unused entries.
    ///
    /// # Errors
    /// The first; other batches are still written.
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
        let rows: Vec<[Value; 2]> =
            noted.iter().map(|(id, _, at)| (self.row)(id, *at)).collect::<Result<_>>()?;
        let (before, after) = self.statement;
        let text = format!("{before}{}{after}", vec!["(?, ?)"; rows.len()].join(", "));
        let statement = sql(text, rows.into_iter().flatten());
        let job = store.write(move |transaction| {
            Box::pin(async move {
                statement.execute(transaction).await?;
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

    #[tokio::test]
    async fn uses_are_written_down_in_portions() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let usage = LastUses::for_sessions();
        let job = store.write(|transaction| {
            Box::pin(async move {
                let tenant = tenants::insert(transaction, NewTenant::named_as_its_code("acme")).await?;
                let rows = "INSERT INTO sessions (id, tenant_id, user_id, user_epoch, login_id, client_id, client_epoch, created_at, used_at) \
                     WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500) \
                     SELECT unhex(printf('%064x', n)), ?, 'mei', 0, 'mei', 'page', 0, 0, 0 FROM numbers";
                sql(rows, [tenant.id.into()]).execute(transaction).await?;
                let trigger = "CREATE TRIGGER stubborn BEFORE UPDATE ON sessions WHEN NEW.id = unhex(printf('%064x', 7)) \
                     BEGIN SELECT RAISE(ABORT, 'no'); END";
                sql(trigger, []).execute(transaction).await?;
                Ok(())
            })
        });
        job.await.unwrap();
        for number in 1..=2_500 {
            usage.of(&format!("{number:064x}")).note();
        }
        let unwritten = async || {
            let statement = sql("SELECT COUNT(*) AS n FROM sessions WHERE used_at = 0", []);
            statement.fetch_value::<i64>(store.reader()).await.unwrap()
        };
        usage.write_down(&store).await.unwrap_err();
        let left = unwritten().await;
        assert!((1..=1_000).contains(&left), "{left}");
        let job = store.write(|transaction| {
            Box::pin(async move {
                sql("DROP TRIGGER stubborn", []).execute(transaction).await?;
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
