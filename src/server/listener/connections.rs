//! Open connections by network.
//!
//! At the limit, those that wait for their clients give way to new ones.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use crate::http::client_address::network_of;

/// Time between two looks for an idle connection at the limit.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The open connections, up to a limit.
#[derive(Debug)]
pub(super) struct OpenConnections {
    most: usize,
    state: Mutex<ConnectionState>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct ConnectionState {
    count: usize,
    last_number: u64,
    by_network: HashMap<IpAddr, HashMap<u64, WaitCheck>>,
}

/// A connection's activity, and the token that ends it.
#[derive(Debug)]
struct WaitCheck {
    activity: Arc<Activity>,
    closing: CancellationToken,
}

/// A place among the open connections.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    connections: Arc<OpenConnections>,
    network: IpAddr,
    number: u64,
    /// Asks for the end of the connection, if it is idle.
    pub(super) closing: CancellationToken,
}

impl OpenConnections {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default(), ended: Notify::new() })
    }

    /// Gives a place, if need be that of another connection.
    ///
    /// An idle one gives way. If there is none, one amid a request that waits for its client does, in a network with more
    /// connections. Waits while there is neither.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr, activity: &Arc<Activity>) -> ConnectionPlace {
        let network = network_of(peer);
        loop {
            let ended = self.ended.notified();
            {
                let mut state = self.lock();
                if state.count < self.most || state.make_room(network) {
                    return self.place(&mut state, network, activity);
                }
            }
            // A connection begins to wait for its client without a word.
            _ = timeout(LOOK_INTERVAL, ended).await;
        }
    }

    fn place(
        self: &Arc<Self>,
        state: &mut ConnectionState,
        network: IpAddr,
        activity: &Arc<Activity>,
    ) -> ConnectionPlace {
        state.count += 1;
        state.last_number += 1;
        let (number, closing) = (state.last_number, CancellationToken::new());
        let check = WaitCheck { activity: Arc::clone(activity), closing: closing.clone() };
        state.by_network.entry(network).or_default().insert(number, check);
        ConnectionPlace { connections: Arc::clone(self), network, number, closing }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionState {
    /// Ends a connection for one of the network `newcomer`; its place is free at once.
    fn make_room(&mut self, newcomer: IpAddr) -> bool {
        let own = self.by_network.get(&newcomer).map_or(0, HashMap::len);
        let stalled = || {
            let (count, place) = self.longest(Activity::stalled_since)?;
            (count > own + 1).then_some(place)
        };
        let found = self.longest(Activity::idle_since).map(|(_, place)| (place, false));
        let Some(((network, number), is_stalled)) = found.or_else(|| Some((stalled()?, true))) else {
            return false;
        };
        let Some(check) = self.remove(network, number) else { return false };
        metrics::counter!("trawl_connections_closed_for_others_total").increment(1);
        if is_stalled {
            check.activity.abandon();
        }
        check.closing.cancel();
        true
    }

    /// Finds the connection that waits longest, by its network and number.
    ///
    /// It is in the largest network that has one, whose number of connections comes first.
    fn longest(&self, since: impl Fn(&Activity) -> Option<Instant>) -> Option<(usize, (IpAddr, u64))> {
        let longest = self.by_network.iter().filter_map(|(network, connections)| {
            let waiting =
                connections.iter().filter_map(|(number, check)| Some((since(&check.activity)?, *number)));
            let (_, number) = waiting.min_by_key(|(since, _)| *since)?;
            Some((connections.len(), (*network, number)))
        });
        longest.max_by_key(|(count, _)| *count)
    }

    /// Frees a place, if it was not taken before.
    fn remove(&mut self, network: IpAddr, number: u64) -> Option<WaitCheck> {
        let connections = self.by_network.get_mut(&network)?;
        let check = connections.remove(&number)?;
        if connections.is_empty() {
            self.by_network.remove(&network);
        }
        self.count -= 1;
        Some(check)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.connections.lock().remove(self.network, self.number);
        self.connections.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::time::advance;

    use super::*;

    fn active() -> Arc<Activity> {
        Arc::new(Activity::new(Instant::now()))
    }

    #[tokio::test(start_paused = true)]
    async fn longest_idle_connection_of_the_largest_network_gives_way_at_the_limit() {
        let connections = OpenConnections::new(4);
        let [large, small] = ["192.0.2.1", "198.51.100.1"].map(|address| address.parse().unwrap());
        let first_of_small = connections.admit(small, &active()).await;
        let busy = active();
        let _request = busy.begin_request();
        let mut places = vec![connections.admit(large, &busy).await];
        for _ in 0..2 {
            advance(Duration::from_secs(1)).await;
            places.push(connections.admit(large, &active()).await);
        }
        let _admitted = connections.admit(small, &active()).await;
        let asked: Vec<bool> = places.iter().map(|place| place.closing.is_cancelled()).collect();
        assert_eq!((asked, first_of_small.closing.is_cancelled()), (vec![false, true, false], false));
        places.remove(1);
        assert_eq!(connections.lock().count, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn stalled_request_gives_way_to_a_smaller_network() {
        let connections = OpenConnections::new(3);
        let [large, small] = ["192.0.2.1", "198.51.100.1"].map(|address| address.parse().unwrap());
        let stalled = [(); 3].map(|()| active());
        let _requests = stalled.each_ref().map(Activity::begin_request);
        let mut places = Vec::new();
        for activity in &stalled {
            places.push(connections.admit(large, activity).await);
        }
        assert!(connections.admit(small, &active()).now_or_never().is_none(), "all are worked on");
        stalled[1].send(false);
        assert!(connections.admit(large, &active()).now_or_never().is_none(), "of their own network");
        let _admitted = connections.admit(small, &active()).await;
        assert!(places[1].closing.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn new_connection_waits_until_one_has_no_request() {
        let connections = OpenConnections::new(1);
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let busy = active();
        let request = busy.begin_request();
        let place = connections.admit(address, &busy).await;
        let activity = active();
        let mut waiting = connections.admit(address, &activity).boxed();
        assert!((&mut waiting).now_or_never().is_none() && !place.closing.is_cancelled());
        drop(request);
        waiting.await;
        assert!(place.closing.is_cancelled());
    }
}
