//! Throttles logins and guesses (`limits.logins_per_minute`).
//!
//! Logins count by address. Failures and attempts in flight also count by account, except at addresses of its recent
//! successes; those of all browsers that an account is known to use count apart. Clients count by address; join codes, codes of second factors and changes of these by person. Full caches
//! evict the longest unused. Over PostgreSQL, accounts and persons count over all replicas.

mod account;
mod limit;
mod shared;

use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use governor::{
    DefaultDirectRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use moka::{policy::EvictionPolicy, sync::Cache};
use tokio::runtime::Handle;

pub use self::account::ThrottledAccount;
use self::{
    limit::{AttemptEnding, FailureLimit, Failures},
    shared::{SharedAttempt, SharedAttempts},
};
use crate::{
    error::{ErrorKind, Result},
    store::Store,
};

const COUNTED: u64 = 100_000;

const COUNTED_FOR: Duration = Duration::from_mins(3);

const KNOWN_FOR: Duration = Duration::from_hours(24);

/// Too many attempts; holds the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled(pub Duration);

/// Counts attempts and failures.
pub struct LoginThrottle {
    limit: FailureLimit,
    quota: Quota,
    logins: Cache<IpAddr, Arc<DefaultDirectRateLimiter>>,
    failures: Cache<ThrottledAccount, Arc<Failures>>,
    /// Separate, so that strangers evict no known account.
    guesses: Cache<ThrottledAccount, Arc<Failures>>,
    known: Cache<(IpAddr, ThrottledAccount), ()>,
    shared: Option<SharedAttempts>,
}

impl LoginThrottle {
    /// An empty throttle; `shared` is a store that replicas share.
    pub fn new(per_minute: u32, shared: Option<Store>) -> Self {
        fn cache<K, V>(life: Duration) -> Cache<K, V>
        where
            K: std::hash::Hash + Eq + Send + Sync + 'static,
            V: Clone + Send + Sync + 'static,
        {
            let policy = EvictionPolicy::lru();
            Cache::builder().max_capacity(COUNTED).time_to_idle(life).eviction_policy(policy).build()
        }
        let at_least_one = NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN);
        let limit = FailureLimit::new(at_least_one);
        Self {
            limit,
            quota: Quota::per_minute(at_least_one),
            logins: cache(COUNTED_FOR),
            failures: cache(COUNTED_FOR),
            guesses: cache(COUNTED_FOR),
            known: cache(KNOWN_FOR),
            shared: shared.map(|store| SharedAttempts { store, limit }),
        }
    }

    fn count_login(&self, address: IpAddr) -> Result<(), Throttled> {
        let limiter = self.logins.get_with(network(address), || Arc::new(RateLimiter::direct(self.quota)));
        limiter.check().map_err(|until| Throttled(until.wait_time_from(DefaultClock::default().now())))
    }

    /// Begins a login unless too many failed or are in flight, counted for `counted`.
    pub async fn begin_login(
        &self,
        address: IpAddr,
        account: ThrottledAccount,
        counted: ThrottledAccount,
    ) -> Result<Result<LoginAttempt<'_>, Throttled>> {
        match self.count_login(address) {
            Ok(()) => self.continue_login(address, account, counted).await,
            Err(throttled) => Ok(Err(throttled)),
        }
    }

    /// Begins a further step of a login that its address has counted.
    pub async fn continue_login(
        &self,
        address: IpAddr,
        account: ThrottledAccount,
        counted: ThrottledAccount,
    ) -> Result<Result<LoginAttempt<'_>, Throttled>> {
        let place = (network(address), account);
        let is_known = match &self.shared {
            Some(shared) => shared.is_known(place.0, account).await?,
            None => self.known.contains_key(&place),
        };
        let attempt = |counted| LoginAttempt { throttle: self, place, counted };
        if is_known {
            return Ok(Ok(attempt(None)));
        }
        let begun = self.begin(&self.failures, counted, AttemptEnding::Uncounted).await?;
        Ok(begun.map(|counted| attempt(Some(counted))))
    }

    /// The wait for this account's next login from an unknown address.
    pub async fn wait_of(&self, account: ThrottledAccount) -> Result<Option<Duration>> {
        let checked = match &self.shared {
            Some(shared) => shared.check(account).await?,
            None => self.failures.get(&account).map_or(Ok(()), |failures| failures.check()),
        };
        Ok(checked.err().map(|Throttled(wait)| wait))
    }

    /// Begins a guess, unless throttled.
    pub async fn begin_guess(&self, account: ThrottledAccount) -> Result<Result<PendingGuess, Throttled>> {
        Ok(self.begin(&self.guesses, account, AttemptEnding::Failed).await?.map(PendingGuess))
    }

    async fn begin(
        &self,
        counts: &Cache<ThrottledAccount, Arc<Failures>>,
        account: ThrottledAccount,
        dropped_as: AttemptEnding,
    ) -> Result<Result<InFlight, Throttled>> {
        let counter = if let Some(shared) = &self.shared {
            shared.begin(account).await?.map(AttemptCounter::Shared)
        } else {
            let failures = counts.get_with(account, || Arc::new(Failures::new(self.limit)));
            failures.begin().map(|()| AttemptCounter::Memory(failures))
        };
        Ok(counter.map(|counter| InFlight { counter, dropped_as: Some(dropped_as) }))
    }

    /// Throttles an application, except at addresses of recent success.
    pub fn check_client(&self, address: IpAddr, account: Option<ThrottledAccount>) -> Result<(), Throttled> {
        let is_known = account.is_some_and(|account| self.known.contains_key(&(network(address), account)));
        if is_known {
            return Ok(());
        }
        self.failures.get(&ThrottledAccount::clients_at(address)).map_or(Ok(()), |failures| failures.check())
    }

    /// Records a failed authentication of an application.
    pub fn client_failed(&self, address: IpAddr) {
        let account = ThrottledAccount::clients_at(address);
        self.failures.get_with(account, || Arc::new(Failures::new(self.limit))).fail();
    }

    /// Records an application's success.
    pub fn succeeded(&self, address: IpAddr, account: ThrottledAccount) {
        self.known.insert((network(address), account), ());
    }
}

/// A login in flight; dropped without a result, it does not count.
pub struct LoginAttempt<'a> {
    throttle: &'a LoginThrottle,
    place: (IpAddr, ThrottledAccount),
    /// None after a recent success.
    counted: Option<InFlight>,
}

impl LoginAttempt<'_> {
    /// Records the failure.
    pub async fn failed(self) -> Result<()> {
        self.end(AttemptEnding::Failed).await
    }

    /// The attempt does not count, and makes no address known.
    pub async fn withdrawn(self) -> Result<()> {
        self.end(AttemptEnding::Uncounted).await
    }

    async fn end(self, ending: AttemptEnding) -> Result<()> {
        match self.counted {
            Some(counted) => counted.end(ending).await,
            None => Ok(()),
        }
    }

    /// Records the success.
    pub async fn succeeded(self) -> Result<()> {
        let Self { throttle, place: place @ (network, account), counted } = self;
        let ended = async {
            match counted {
                Some(counted) => counted.end(AttemptEnding::Uncounted).await,
                None => Ok(()),
            }
        };
        if let Some(shared) = &throttle.shared {
            // One transaction takes both.
            return tokio::try_join!(ended, shared.succeeded(network, account)).map(drop);
        }
        throttle.known.insert(place, ());
        ended.await
    }
}

/// A guess in flight.
///
/// Dropped, it counts as wrong, since its result may be learnt elsewhere.
pub struct PendingGuess(InFlight);

impl PendingGuess {
    /// The guess was right or not judged, and does not count.
    pub async fn withdrawn(self) -> Result<()> {
        self.0.end(AttemptEnding::Uncounted).await
    }

    /// Counts a refusal (403 or 409) as wrong and nothing else, as other failures judge nothing.
    ///
    /// # Errors
    /// That of the result; 503 as of [`Self::withdrawn`].
    pub async fn judged<T>(self, result: Result<T>) -> Result<T> {
        if !matches!(&result, Err(error) if matches!(error.kind, ErrorKind::Forbidden | ErrorKind::Conflict))
        {
            self.withdrawn().await?;
        }
        result
    }
}

enum AttemptCounter {
    Memory(Arc<Failures>),
    Shared(SharedAttempt),
}

/// A counted attempt, which ends once.
struct InFlight {
    counter: AttemptCounter,
    dropped_as: Option<AttemptEnding>,
}

impl InFlight {
    async fn end(mut self, ending: AttemptEnding) -> Result<()> {
        self.dropped_as = None;
        match &self.counter {
            AttemptCounter::Memory(failures) => failures.end(ending),
            AttemptCounter::Shared(attempt) => attempt.clone().end(ending).await?,
        }
        Ok(())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(ending) = self.dropped_as else { return };
        match &self.counter {
            AttemptCounter::Memory(failures) => failures.end(ending),
            AttemptCounter::Shared(attempt) => {
                let attempt = attempt.clone();
                // Outside of the runtime, the attempt counts until its row ends.
                if let Ok(runtime) = Handle::try_current() {
                    runtime.spawn(async move {
                        if let Err(error) = attempt.end(ending).await {
                            tracing::warn!(%error, "the end of a login attempt could not be recorded");
                        }
                    });
                }
            }
        }
    }
}

/// One customer's network: an IPv4 address or an IPv6 /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// One throttle in memory, one over a store.
    async fn throttles() -> (tempfile::TempDir, Store, [LoginThrottle; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let throttles = [None, Some(store.clone())].map(|store| LoginThrottle::new(2, store));
        (directory, store, throttles)
    }

    async fn begin<'a>(
        throttle: &'a LoginThrottle,
        from: &str,
        account: ThrottledAccount,
    ) -> LoginAttempt<'a> {
        throttle.begin_login(address(from), account, account).await.unwrap().unwrap()
    }

    async fn wait(throttle: &LoginThrottle, from: &str, account: ThrottledAccount) -> u64 {
        match throttle.begin_login(address(from), account, account).await.unwrap() {
            Ok(_) => panic!("a login was not throttled"),
            Err(Throttled(wait)) => wait.as_secs(),
        }
    }

    /// Waits until the writer has ended dropped attempts.
    async fn settle(store: &Store) {
        tokio::task::yield_now().await;
        store.write(|_| Box::pin(async { Ok(()) })).await.unwrap();
    }

    #[test]
    fn logins_count_by_address_and_by_network() {
        let throttle = LoginThrottle::new(2, None);
        for name in ["192.0.2.1", "2001:db8::1"] {
            throttle.count_login(address(name)).unwrap();
            throttle.count_login(address(name)).unwrap();
            let Throttled(wait) = throttle.count_login(address(name)).unwrap_err();
            assert!(wait <= Duration::from_secs(30), "{wait:?}");
        }
        assert!(throttle.count_login(address("::ffff:192.0.2.1")).is_err());
        assert!(throttle.count_login(address("2001:db8::ffff:2")).is_err());
        throttle.count_login(address("192.0.2.2")).unwrap();
        throttle.count_login(address("2001:db8:0:1::1")).unwrap();
    }

    #[tokio::test]
    async fn failures_count_from_all_addresses_and_in_flight() {
        let (_directory, store, throttles) = throttles().await;
        for throttle in &throttles {
            let (mei, omar) = (ThrottledAccount::login(1, "mei"), ThrottledAccount::login(1, "omar"));
            begin(throttle, "192.0.2.7", mei).await.succeeded().await.unwrap();
            drop(begin(throttle, "192.0.2.8", mei).await);
            settle(&store).await;
            for address in ["192.0.2.10", "192.0.2.11", "192.0.2.12"] {
                begin(throttle, address, mei).await.withdrawn().await.unwrap();
            }
            let first = begin(throttle, "192.0.2.1", mei).await;
            let second = begin(throttle, "192.0.2.2", mei).await;
            assert!(wait(throttle, "192.0.2.3", mei).await <= 30);
            wait(throttle, "192.0.2.10", mei).await;
            first.failed().await.unwrap();
            wait(throttle, "192.0.2.3", mei).await;
            second.failed().await.unwrap();
            assert!(wait(throttle, "192.0.2.4", mei).await <= 30);
            begin(throttle, "192.0.2.7", mei).await.failed().await.unwrap();
            begin(throttle, "192.0.2.5", omar).await.failed().await.unwrap();
            begin(throttle, "192.0.2.5", ThrottledAccount::login(2, "mei")).await.failed().await.unwrap();
        }
        drop(throttles);
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn only_a_refusal_counts_as_a_wrong_guess() {
        let (_directory, store, throttles) = throttles().await;
        for throttle in &throttles {
            let guess = async || throttle.begin_guess(ThrottledAccount::factor_changes_of(1, "mei")).await;
            for _ in 0..5 {
                let busy =
                    Err::<(), _>(Error::unavailable("too many secrets are being checked", COUNTED_FOR));
                guess().await.unwrap().unwrap().judged(busy).await.unwrap_err();
                guess().await.unwrap().unwrap().judged(Ok(())).await.unwrap();
            }
            for _ in 0..2 {
                let wrong = Err::<(), _>(Error::forbidden("code: is wrong"));
                guess().await.unwrap().unwrap().judged(wrong).await.unwrap_err();
            }
            settle(&store).await;
            assert!(guess().await.unwrap().is_err());
        }
        drop(throttles);
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn guesses_count_by_person_in_flight_and_failed() {
        let (_directory, store, throttles) = throttles().await;
        for throttle in &throttles {
            let guess = async |account| throttle.begin_guess(account).await.unwrap();
            let (mei, omar) =
                (ThrottledAccount::join_codes_of(1, "mei"), ThrottledAccount::join_codes_of(1, "omar"));
            for _ in 0..5 {
                guess(mei).await.unwrap().withdrawn().await.unwrap();
            }
            let (first, second) = (guess(mei).await.unwrap(), guess(mei).await.unwrap());
            assert!(guess(mei).await.is_err());
            drop((first, second));
            settle(&store).await;
            assert!(guess(mei).await.is_err());
            guess(omar).await.unwrap().withdrawn().await.unwrap();
            guess(ThrottledAccount::join_codes_of(2, "mei")).await.unwrap().withdrawn().await.unwrap();
        }
        drop(throttles);
        store.close().await.unwrap();
    }
}
