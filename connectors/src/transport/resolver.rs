//! Resolvers that check addresses at every connection.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::failure::TransportError;
use crate::addresses::AddressRules;

pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Bounded name lookups.
///
/// An abandoned lookup keeps its permit until it ends. Otherwise silent name servers could occupy every blocking thread.
#[derive(Clone)]
pub(crate) struct NameLookups {
    permits: Arc<Semaphore>,
    lookup: Arc<LookupFn>,
}

pub(crate) type LookupFn = dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync;

impl NameLookups {
    pub(crate) fn new(at_once: usize) -> Self {
        // The URL's port replaces it.
        Self::with_lookup(at_once, Arc::new(|name: &str| Ok((name, 0).to_socket_addrs()?.collect())))
    }

    pub(crate) fn with_lookup(at_once: usize, lookup: Arc<LookupFn>) -> Self {
        Self { permits: Arc::new(Semaphore::new(at_once)), lookup }
    }

    /// Unchecked. `guard` is dropped when the lookup ends, even if abandoned.
    pub(crate) async fn find(
        &self,
        name: &str,
        guard: impl Send + 'static,
    ) -> Result<Vec<SocketAddr>, TransportError> {
        let unknown = TransportError::UNKNOWN_NAME;
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return Err(unknown) };
        let (lookup, name) = (Arc::clone(&self.lookup), name.to_owned());
        let found = spawn_blocking(move || {
            let _permits = (permit, guard);
            lookup(&name)
        });
        found.await.ok().and_then(Result::ok).ok_or(unknown)
    }
}

tokio::task_local! {
    static FOUND: Vec<SocketAddr>;
}

pub(crate) async fn with_addresses<T>(addresses: Vec<SocketAddr>, request: impl Future<Output = T>) -> T {
    FOUND.scope(addresses, request).await
}

/// Resolves to [`with_addresses`], so that a connection waits for no lookup.
///
/// For clients without a pool, which connect on the request's task.
pub(crate) struct PreresolvedNames;

impl Resolve for PreresolvedNames {
    fn resolve(&self, _: Name) -> Resolving {
        let found = FOUND.try_with(Vec::clone);
        Box::pin(async move { Ok(Box::new(found?.into_iter()) as Addrs) })
    }
}

/// Drops refused addresses.
pub(super) struct GuardedResolver {
    names: Arc<dyn Resolve>,
    rules: Arc<AddressRules>,
    is_listed: bool,
}

impl GuardedResolver {
    pub(super) fn new(names: Arc<dyn Resolve>, rules: &AddressRules, is_listed: bool) -> Self {
        Self { names, rules: Arc::new(rules.clone()), is_listed }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolving, rules, is_listed) =
            (self.names.resolve(name), Arc::clone(&self.rules), self.is_listed);
        Box::pin(async move {
            let mut refused = None;
            let mut allowed = Vec::new();
            for address in resolving.await? {
                match rules.check_ip(address.ip(), is_listed) {
                    Ok(()) => allowed.push(address),
                    Err(refusal) => refused = refused.or(Some(refusal)),
                }
            }
            if allowed.is_empty() {
                return Err(refused.map_or_else(|| "the name has no address".into(), Into::into));
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
