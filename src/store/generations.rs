//! Generations of cached data, which rise as changes make it stale.
//!
//! A cache keeps the generation under which it read its data. Changes of other replicas arrive by
//! [`Store::refresh`](super::Store::refresh).

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{Dialect, Result, Transaction, Value, sql};

/// Data that processes cache until a change makes it stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cached {
    /// Applications, people, sessions and rights of a tenant.
    Identities(i64),
    /// Modules and sources of a tenant.
    Modules(i64),
    /// The keys that sign tokens.
    SigningKeys,
}

impl Cached {
    /// Its row in `invalidations`.
    fn key(self) -> (&'static str, i64) {
        match self {
            Self::Identities(tenant_id) => ("identities", tenant_id),
            Self::Modules(tenant_id) => ("modules", tenant_id),
            Self::SigningKeys => ("signing-keys", 0),
        }
    }

    /// `None` for a kind of a later version.
    pub(super) fn of_key(kind: &str, tenant_id: i64) -> Option<Self> {
        [Self::Identities(tenant_id), Self::Modules(tenant_id), Self::SigningKeys]
            .into_iter()
            .find(|cached| cached.key() == (kind, tenant_id))
    }
}

/// The generation of cached data at one moment.
#[derive(Clone, Debug)]
pub struct Generation {
    counter: Arc<AtomicU64>,
    /// Counted in this process alone.
    pub number: u64,
}

impl Generation {
    /// Whether no change has made the data stale since.
    pub fn is_current(&self) -> bool {
        self.counter.load(Ordering::Acquire) == self.number
    }
}

/// The present generations of all cached data in this process.
#[derive(Debug, Default)]
pub struct Generations(Mutex<HashMap<Cached, Arc<AtomicU64>>>);

impl Generations {
    /// The present generation, to be taken before the data is read.
    pub fn now(&self, cached: Cached) -> Generation {
        let counter = Arc::clone(self.lock().entry(cached).or_default());
        Generation { number: counter.load(Ordering::Acquire), counter }
    }

    pub(super) fn raise(&self, stale: impl IntoIterator<Item = Cached>) {
        let counters = self.lock();
        for cached in stale {
            // Nobody caches data without a counter.
            if let Some(counter) = counters.get(&cached) {
                counter.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    pub(super) fn raise_all(&self) {
        for counter in self.lock().values() {
            counter.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Cached, Arc<AtomicU64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells other replicas of stale data, as the transaction commits.
pub(super) async fn append(transaction: &Transaction, stale: &BTreeSet<Cached>) -> Result<()> {
    if stale.is_empty() || transaction.dialect() == Dialect::Sqlite {
        return Ok(());
    }
    let text = "UPDATE change_log_end SET generation = generation + 1 RETURNING generation";
    let generation: i64 = sql(text, []).fetch_value(transaction).await?;
    let text = format!(
        "INSERT INTO invalidations (kind, tenant_id, generation) VALUES {} \
         ON CONFLICT (kind, tenant_id) DO UPDATE SET generation = excluded.generation",
        vec!["(?, ?, ?)"; stale.len()].join(", ")
    );
    let values = stale.iter().flat_map(|cached| {
        let (kind, tenant_id) = cached.key();
        [Value::from(kind), tenant_id.into(), generation.into()]
    });
    sql(text, values).execute(transaction).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_is_current_until_its_data_becomes_stale() {
        let generations = Generations::default();
        let (one, other) = (generations.now(Cached::Identities(1)), generations.now(Cached::Identities(2)));
        generations.raise([Cached::Identities(1), Cached::Modules(2), Cached::SigningKeys]);
        assert!(!one.is_current());
        assert!(other.is_current());
        assert!(generations.now(Cached::Identities(1)).is_current());
    }

    #[test]
    fn keys_of_rows_name_their_data() {
        for cached in [Cached::Identities(7), Cached::Modules(7), Cached::SigningKeys] {
            let (kind, tenant_id) = cached.key();
            assert_eq!(Cached::of_key(kind, tenant_id), Some(cached));
        }
        assert_eq!(Cached::of_key("weather", 7), None);
    }
}
