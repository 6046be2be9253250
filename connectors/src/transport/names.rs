//! Names resolved to addresses that may be called, at every connection: what a name resolved to when the source was
//! registered says nothing about what it resolves to now (decisions 7.4).

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::TransportError;
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

/// Look-ups of names, of which a bounded number is under way. Nothing ends one before the system does, so one that nobody
/// waits for any more still counts, here and for whoever asked for it: else who names servers that do not answer has all the
/// threads.
#[derive(Clone)]
pub(crate) struct LookUps {
    places: Arc<Semaphore>,
    look_up: Arc<LookUp>,
}

/// Looks one name up on the thread that calls it, which may take as long as it likes.
pub(crate) type LookUp = dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync;

impl LookUps {
    /// The system's, at most so many of them at once.
    pub(crate) fn new(at_once: usize) -> Self {
        // Port 0 stands for the one of the URL.
        Self::by(at_once, Arc::new(|name: &str| Ok((name, 0).to_socket_addrs()?.collect())))
    }

    /// The same with another way to look a name up.
    pub(crate) fn by(at_once: usize, look_up: Arc<LookUp>) -> Self {
        Self { places: Arc::new(Semaphore::new(at_once)), look_up }
    }

    /// All addresses of a name, no matter whether they may be called. `held` is let go when the look-up has ended, also where
    /// nobody waits for it any more.
    ///
    /// # Errors
    /// [`TransportError::UNKNOWN_NAME`].
    pub(crate) async fn find(
        &self,
        name: &str,
        held: impl Send + 'static,
    ) -> Result<Vec<SocketAddr>, TransportError> {
        let unknown = TransportError::UNKNOWN_NAME;
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return Err(unknown) };
        let (look_up, name) = (Arc::clone(&self.look_up), name.to_owned());
        let found = spawn_blocking(move || {
            let _held = (place, held);
            look_up(&name)
        });
        found.await.ok().and_then(Result::ok).ok_or(unknown)
    }
}

tokio::task_local! {
    static FOUND: Vec<SocketAddr>;
}

/// Lets `request` connect to these addresses, where its client's names are [`FoundNames`].
pub(crate) async fn with_addresses<T>(addresses: Vec<SocketAddr>, request: impl Future<Output = T>) -> T {
    FOUND.scope(addresses, request).await
}

/// What was looked up for the very request that connects ([`with_addresses`]), and never anything else: so no look-up can
/// hang behind that one. For clients that keep no connections, which connect on the task of the request.
pub(crate) struct FoundNames;

impl Resolve for FoundNames {
    fn resolve(&self, _: Name) -> Resolving {
        let found = FOUND.try_with(Vec::clone);
        Box::pin(async move { Ok(Box::new(found?.into_iter()) as Addrs) })
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
