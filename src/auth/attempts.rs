//! How often someone may try to prove who he is, so that nobody finds a password or a secret by trying
//! (`limits.logins_per_minute`, decisions 9.9).
//!
//! Logins count by address, whether they succeed or not. Failures count by whom they were tried for as well, from wherever,
//! so that many addresses do not help; from an address where he succeeded lately he goes on all the same, so that nobody is
//! locked out by the failures of others. What is counted is bounded: what was longest unused goes first.

use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use aws_lc_rs::digest::{SHA256, digest};
use governor::{
    DefaultDirectRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock, QuantaInstant},
    middleware::StateInformationMiddleware,
    state::{InMemoryState, NotKeyed},
};
use moka::{policy::EvictionPolicy, sync::Cache};

/// Addresses, and accounts, of which something is counted.
const COUNTED: u64 = 100_000;

/// A count is whole again after a minute.
const COUNTED_FOR: Duration = Duration::from_mins(2);

/// For so long an address is known as one from where somebody succeeded.
const KNOWN_FOR: Duration = Duration::from_hours(24);

/// For whom something was tried: a digest, as what was typed may be long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Account([u8; 32]);

impl Account {
    /// A login account of a tenant, there or not.
    pub fn login(tenant_id: i64, login_id: &str) -> Self {
        Self::of(&format!("login\0{tenant_id}\0{login_id}"))
    }

    /// An application, there or not.
    pub fn client(client_id: &str) -> Self {
        Self::of(&format!("client\0{client_id}"))
    }

    /// Everyone who tries to prove himself as an application from there.
    fn clients_at(address: IpAddr) -> Self {
        Self::of(&format!("clients-at\0{}", network(address)))
    }

    fn of(text: &str) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        Self(hash)
    }
}

/// More was tried than is allowed; holds when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany(pub Duration);

/// What was tried.
pub struct Attempts {
    quota: Quota,
    logins: Cache<IpAddr, Arc<DefaultDirectRateLimiter>>,
    failures: Cache<Account, Arc<Failures>>,
    known: Cache<(IpAddr, Account), ()>,
}

impl Attempts {
    /// Nothing was tried yet, and so much may be in a minute.
    pub fn new(per_minute: u32) -> Self {
        fn cache<K, V>(life: Duration) -> Cache<K, V>
        where
            K: std::hash::Hash + Eq + Send + Sync + 'static,
            V: Clone + Send + Sync + 'static,
        {
            let policy = EvictionPolicy::lru();
            Cache::builder().max_capacity(COUNTED).time_to_idle(life).eviction_policy(policy).build()
        }
        Self {
            quota: Quota::per_minute(NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN)),
            logins: cache(COUNTED_FOR),
            failures: cache(COUNTED_FOR),
            known: cache(KNOWN_FOR),
        }
    }

    /// Counts a login from an address.
    pub fn count_login(&self, address: IpAddr) -> Result<(), TooMany> {
        let limiter = self.logins.get_with(network(address), || Arc::new(RateLimiter::direct(self.quota)));
        limiter.check().map_err(|until| TooMany(until.wait_time_from(DefaultClock::default().now())))
    }

    /// Whether there is more to be tried from there for this account, after what failed.
    pub fn check(&self, address: IpAddr, account: Account) -> Result<(), TooMany> {
        if self.known.contains_key(&(network(address), account)) {
            return Ok(());
        }
        self.failures.get(&account).map_or(Ok(()), |failures| failures.check())
    }

    /// The same for an application, and for all that anyone tried from there to prove himself as one.
    pub fn check_client(&self, address: IpAddr, account: Option<Account>) -> Result<(), TooMany> {
        if let Some(account) = account {
            if self.known.contains_key(&(network(address), account)) {
                return Ok(());
            }
            self.check(address, account)?;
        }
        self.check(address, Account::clients_at(address))
    }

    /// It failed.
    pub fn failed(&self, account: Account) {
        self.failures.get_with(account, || Arc::new(Failures::new(self.quota))).count(self.quota);
    }

    /// An application did not prove itself from there.
    pub fn client_failed(&self, address: IpAddr, account: Option<Account>) {
        self.failed(Account::clients_at(address));
        if let Some(account) = account {
            self.failed(account);
        }
    }

    /// It succeeded.
    pub fn succeeded(&self, address: IpAddr, account: Account) {
        self.known.insert((network(address), account), ());
    }
}

/// The failures of one account.
struct Failures {
    limiter: RateLimiter<NotKeyed, InMemoryState, DefaultClock, StateInformationMiddleware>,
    /// Nothing more may be tried before.
    held_until: Mutex<Option<Instant>>,
}

impl Failures {
    fn new(quota: Quota) -> Self {
        Self {
            limiter: RateLimiter::direct(quota).with_middleware::<StateInformationMiddleware>(),
            held_until: Mutex::new(None),
        }
    }

    fn check(&self) -> Result<(), TooMany> {
        let held_until = *self.held_until.lock().unwrap_or_else(PoisonError::into_inner);
        let left = held_until.map(|until| until.saturating_duration_since(Instant::now()));
        left.filter(|left| !left.is_zero()).map_or(Ok(()), |left| Err(TooMany(left)))
    }

    /// A limiter is asked by taking from it, so what took the last one holds up what comes next.
    fn count(&self, quota: Quota) {
        let now: QuantaInstant = DefaultClock::default().now();
        let wait = match self.limiter.check() {
            Ok(left) if left.remaining_burst_capacity() > 0 => return,
            Ok(_) => quota.replenish_interval(),
            Err(until) => until.wait_time_from(now),
        };
        let until = Instant::now() + wait;
        *self.held_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }
}

/// What one customer of a network has: an IPv4 address, or an IPv6 network of 64 bits.
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
        let attempts = Attempts::new(2);
        for name in ["192.0.2.1", "2001:db8::1"] {
            attempts.count_login(address(name)).unwrap();
            attempts.count_login(address(name)).unwrap();
            let TooMany(wait) = attempts.count_login(address(name)).unwrap_err();
            assert!(wait <= Duration::from_secs(30), "{wait:?}");
        }
        assert!(attempts.count_login(address("::ffff:192.0.2.1")).is_err());
        assert!(attempts.count_login(address("2001:db8::ffff:2")).is_err());
        attempts.count_login(address("192.0.2.2")).unwrap();
        attempts.count_login(address("2001:db8:0:1::1")).unwrap();
    }

    #[test]
    fn failures_count_wherever_they_came_from() {
        let attempts = Attempts::new(2);
        let (mei, omar) = (Account::login(1, "mei"), Account::login(1, "omar"));
        attempts.succeeded(address("192.0.2.7"), mei);
        attempts.failed(mei);
        attempts.check(address("192.0.2.1"), mei).unwrap();
        attempts.failed(mei);
        let TooMany(wait) = attempts.check(address("192.0.2.3"), mei).unwrap_err();
        assert!(wait <= Duration::from_secs(30), "{wait:?}");
        // Where he comes from, he still does, and others are not concerned.
        attempts.check(address("192.0.2.7"), mei).unwrap();
        attempts.check(address("192.0.2.3"), omar).unwrap();
        attempts.check(address("192.0.2.3"), Account::login(2, "mei")).unwrap();
    }

    #[test]
    fn applications_count_by_address_too() {
        let attempts = Attempts::new(2);
        let here = address("192.0.2.1");
        let one = Account::client("one");
        attempts.client_failed(here, None);
        attempts.client_failed(here, Some(Account::client("two")));
        assert!(attempts.check_client(here, Some(one)).is_err());
        attempts.check_client(address("192.0.2.2"), Some(one)).unwrap();
        attempts.succeeded(here, one);
        attempts.check_client(here, Some(one)).unwrap();
        assert!(attempts.check_client(here, None).is_err());
    }
}
