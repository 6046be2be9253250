//! Throttles logins and guesses (`limits.logins_per_minute`, decisions 9.9).
//!
//! Logins count by address. Failures and attempts in flight also count by account, except at addresses of its recent
//! successes. Clients count by address, join codes by person. Full caches evict the longest unused.

use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use aws_lc_rs::digest::{SHA256, digest};
use governor::{
    DefaultDirectRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use moka::{policy::EvictionPolicy, sync::Cache};

const COUNTED: u64 = 100_000;

const COUNTED_FOR: Duration = Duration::from_mins(3);

const KNOWN_FOR: Duration = Duration::from_hours(24);

/// The digest of an account that attempts count for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Account([u8; 32]);

impl Account {
    /// A login account, existing or not.
    pub fn login(tenant_id: i64, login_id: &str) -> Self {
        Self::of(&format!("login\0{tenant_id}\0{login_id}"))
    }

    /// An application, existing or not.
    pub fn client(client_id: &str) -> Self {
        Self::of(&format!("client\0{client_id}"))
    }

    /// A person who tries join codes of groups.
    pub fn join_codes_of(tenant_id: i64, user_id: &str) -> Self {
        Self::of(&format!("join-codes\0{tenant_id}\0{user_id}"))
    }

    fn clients_at(address: IpAddr) -> Self {
        Self::of(&format!("clients-at\0{}", network(address)))
    }

    /// All issuer sign-ins at an address.
    pub fn sign_ins_at(address: IpAddr) -> Self {
        Self::of(&format!("sign-ins-at\0{}", network(address)))
    }

    fn of(text: &str) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        Self(hash)
    }
}

/// Too many attempts; holds the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled(pub Duration);

/// Counts attempts and failures.
pub struct LoginThrottle {
    per_minute: u32,
    quota: Quota,
    logins: Cache<IpAddr, Arc<DefaultDirectRateLimiter>>,
    failures: Cache<Account, Arc<Failures>>,
    /// Separate, so that strangers evict no known account.
    guesses: Cache<Account, Arc<Failures>>,
    known: Cache<(IpAddr, Account), ()>,
}

impl LoginThrottle {
    /// An empty throttle with this limit per minute.
    pub fn new(per_minute: u32) -> Self {
        fn cache<K, V>(life: Duration) -> Cache<K, V>
        where
            K: std::hash::Hash + Eq + Send + Sync + 'static,
            V: Clone + Send + Sync + 'static,
        {
            let policy = EvictionPolicy::lru();
            Cache::builder().max_capacity(COUNTED).time_to_idle(life).eviction_policy(policy).build()
        }
        let at_least_one = NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN);
        Self {
            per_minute: at_least_one.get(),
            quota: Quota::per_minute(at_least_one),
            logins: cache(COUNTED_FOR),
            failures: cache(COUNTED_FOR),
            guesses: cache(COUNTED_FOR),
            known: cache(KNOWN_FOR),
        }
    }

    fn count_login(&self, address: IpAddr) -> Result<(), Throttled> {
        let limiter = self.logins.get_with(network(address), || Arc::new(RateLimiter::direct(self.quota)));
        limiter.check().map_err(|until| Throttled(until.wait_time_from(DefaultClock::default().now())))
    }

    /// Begins a login unless too many failed or are in flight.
    pub fn begin_login(&self, address: IpAddr, account: Account) -> Result<LoginAttempt<'_>, Throttled> {
        self.count_login(address)?;
        let place = (network(address), account);
        let failures = if self.known.contains_key(&place) { None } else { Some(self.failures_of(account)) };
        if let Some(failures) = &failures {
            failures.begin()?;
        }
        Ok(LoginAttempt { attempts: self, place, failures })
    }

    /// Begins a guess, unless throttled.
    pub fn begin_guess(&self, account: Account) -> Result<PendingGuess, Throttled> {
        let failures = self.guesses.get_with(account, || Arc::new(Failures::new(self.per_minute)));
        failures.begin()?;
        Ok(PendingGuess { failures, is_free: false })
    }

    /// Throttles an application, except at addresses of recent success.
    pub fn check_client(&self, address: IpAddr, account: Option<Account>) -> Result<(), Throttled> {
        let is_known = account.is_some_and(|account| self.known.contains_key(&(network(address), account)));
        if is_known {
            return Ok(());
        }
        self.failures.get(&Account::clients_at(address)).map_or(Ok(()), |failures| failures.check())
    }

    /// Records a failed authentication of an application.
    pub fn client_failed(&self, address: IpAddr) {
        self.failures_of(Account::clients_at(address)).fail();
    }

    /// Records a success.
    pub fn succeeded(&self, address: IpAddr, account: Account) {
        self.known.insert((network(address), account), ());
    }

    fn failures_of(&self, account: Account) -> Arc<Failures> {
        self.failures.get_with(account, || Arc::new(Failures::new(self.per_minute)))
    }
}

/// A login in flight; dropped without a result, it does not count.
pub struct LoginAttempt<'a> {
    attempts: &'a LoginThrottle,
    place: (IpAddr, Account),
    /// None after a recent success.
    failures: Option<Arc<Failures>>,
}

impl LoginAttempt<'_> {
    /// Records the failure.
    pub fn failed(self) {
        if let Some(failures) = &self.failures {
            failures.fail();
        }
    }

    /// Records the success.
    pub fn succeeded(self) {
        self.attempts.known.insert(self.place, ());
    }
}

impl Drop for LoginAttempt<'_> {
    fn drop(&mut self) {
        if let Some(failures) = &self.failures {
            failures.end();
        }
    }
}

/// A guess in flight; dropped, it counts as wrong, since its result may be learnt elsewhere.
pub struct PendingGuess {
    failures: Arc<Failures>,
    is_free: bool,
}

impl PendingGuess {
    /// The guess was right and does not count.
    pub fn succeeded(mut self) {
        self.is_free = true;
    }

    /// The guess was not judged and does not count.
    pub fn withdrawn(mut self) {
        self.is_free = true;
    }
}

impl Drop for PendingGuess {
    fn drop(&mut self) {
        if !self.is_free {
            self.failures.fail();
        }
        self.failures.end();
    }
}

/// A token bucket with refunds, which the limiter crate lacks.
struct Failures {
    per_minute: u32,
    bucket: Mutex<Bucket>,
}

struct Bucket {
    /// Failures left at that time; negative beyond the limit.
    left: f64,
    at: Instant,
    under_way: u32,
}

impl Failures {
    fn new(per_minute: u32) -> Self {
        let bucket = Bucket { left: f64::from(per_minute), at: Instant::now(), under_way: 0 };
        Self { per_minute, bucket: Mutex::new(bucket) }
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, most) = (Instant::now(), f64::from(self.per_minute));
        let filled = now.saturating_duration_since(bucket.at).as_secs_f64() * most / 60.0;
        (bucket.left, bucket.at) = ((bucket.left + filled).min(most), now);
        bucket
    }

    fn allows(&self, bucket: &Bucket) -> Result<(), Throttled> {
        let missing = 1.0 - (bucket.left - f64::from(bucket.under_way));
        if missing <= 0.0 {
            return Ok(());
        }
        Err(Throttled(Duration::from_secs_f64(missing * 60.0 / f64::from(self.per_minute))))
    }

    fn check(&self) -> Result<(), Throttled> {
        self.allows(&self.bucket())
    }

    fn begin(&self) -> Result<(), Throttled> {
        let mut bucket = self.bucket();
        self.allows(&bucket)?;
        bucket.under_way += 1;
        Ok(())
    }

    fn end(&self) {
        self.bucket().under_way -= 1;
    }

    fn fail(&self) {
        let mut bucket = self.bucket();
        // Bounds the wait.
        bucket.left = (bucket.left - 1.0).max(-f64::from(self.per_minute));
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

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn logins_count_by_address_and_by_network() {
        let attempts = LoginThrottle::new(2);
        for name in ["192.0.2.1", "2001:db8::1"] {
            attempts.count_login(address(name)).unwrap();
            attempts.count_login(address(name)).unwrap();
            let Throttled(wait) = attempts.count_login(address(name)).unwrap_err();
            assert!(wait <= Duration::from_secs(30), "{wait:?}");
        }
        assert!(attempts.count_login(address("::ffff:192.0.2.1")).is_err());
        assert!(attempts.count_login(address("2001:db8::ffff:2")).is_err());
        attempts.count_login(address("192.0.2.2")).unwrap();
        attempts.count_login(address("2001:db8:0:1::1")).unwrap();
    }

    #[test]
    fn failures_count_from_all_addresses_and_in_flight() {
        let attempts = LoginThrottle::new(2);
        let (mei, omar) = (Account::login(1, "mei"), Account::login(1, "omar"));
        attempts.begin_login(address("192.0.2.7"), mei).unwrap().succeeded();
        drop(attempts.begin_login(address("192.0.2.8"), mei).unwrap());
        let first = attempts.begin_login(address("192.0.2.1"), mei).unwrap();
        let second = attempts.begin_login(address("192.0.2.2"), mei).unwrap();
        let Err(Throttled(wait)) = attempts.begin_login(address("192.0.2.3"), mei) else {
            panic!("a third one")
        };
        assert!(wait <= Duration::from_secs(30), "{wait:?}");
        first.failed();
        assert!(attempts.begin_login(address("192.0.2.3"), mei).is_err());
        second.failed();
        assert!(attempts.begin_login(address("192.0.2.3"), mei).is_err());
        attempts.begin_login(address("192.0.2.7"), mei).unwrap().failed();
        attempts.begin_login(address("192.0.2.4"), omar).unwrap().failed();
        attempts.begin_login(address("192.0.2.4"), Account::login(2, "mei")).unwrap().failed();
    }

    #[test]
    fn guesses_count_by_person_in_flight_and_failed() {
        let attempts = LoginThrottle::new(2);
        let (mei, omar) = (Account::join_codes_of(1, "mei"), Account::join_codes_of(1, "omar"));
        for _ in 0..5 {
            attempts.begin_guess(mei).unwrap().succeeded();
        }
        let (first, second) = (attempts.begin_guess(mei).unwrap(), attempts.begin_guess(mei).unwrap());
        assert!(attempts.begin_guess(mei).is_err());
        drop((first, second));
        assert!(attempts.begin_guess(mei).is_err());
        attempts.begin_guess(omar).unwrap().succeeded();
        attempts.begin_guess(Account::join_codes_of(2, "mei")).unwrap().succeeded();
    }

    #[test]
    fn applications_count_by_address() {
        let attempts = LoginThrottle::new(2);
        let here = address("192.0.2.1");
        let one = Account::client("one");
        for _ in 0..10 {
            attempts.client_failed(here);
        }
        let Throttled(wait) = attempts.check_client(here, Some(one)).unwrap_err();
        assert!((60..=90).contains(&wait.as_secs()), "{wait:?}");
        attempts.check_client(address("192.0.2.2"), Some(one)).unwrap();
        attempts.succeeded(here, one);
        attempts.check_client(here, Some(one)).unwrap();
        assert!(attempts.check_client(here, None).is_err());
    }
}
