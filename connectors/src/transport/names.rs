//! Names resolved to addresses that may be called, at every connection: what a name resolved to when the source was
//! registered says nothing about what it resolves to now (decisions 7.4).

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::addresses::check_ip;

/// The system's resolver.
pub(super) struct SystemNames;

impl Resolve for SystemNames {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // Port 0 stands for the one of the URL.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The system's resolver, with a bounded number of look-ups under way. Nothing ends one before the system does, so one that
/// nobody waits for any more still counts: else whoever names servers that do not answer has all the threads.
pub(crate) struct BoundedNames(Arc<Semaphore>);

impl BoundedNames {
    pub(crate) fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }
}

impl Resolve for BoundedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let places = Arc::clone(&self.0);
        Box::pin(async move {
            let place = places.acquire_owned().await?;
            let look_up = move || {
                let _place = place;
                (name.as_str(), 0).to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>)
            };
            Ok(Box::new(spawn_blocking(look_up).await??.into_iter()) as Addrs)
        })
    }
}

/// A resolver of one endpoint's name that lets through only the addresses that may be called.
pub(super) struct GuardedNames {
    names: Arc<dyn Resolve>,
    is_listed: bool,
}

impl GuardedNames {
    /// Guards `names`; `is_listed` tells whether the operator lists the endpoint's host.
    pub(super) fn new(names: Arc<dyn Resolve>, is_listed: bool) -> Self {
        Self { names, is_listed }
    }
}

impl Resolve for GuardedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolving, is_listed) = (self.names.resolve(name), self.is_listed);
        Box::pin(async move {
            let mut refused = None;
            let mut allowed = Vec::new();
            for address in resolving.await? {
                match check_ip(address.ip(), is_listed) {
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
