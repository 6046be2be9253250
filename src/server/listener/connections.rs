//! Open connections by network. At the limit, idle ones give way to new ones.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use crate::http::client_address::network_of;

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
    by_network: HashMap<IpAddr, HashMap<u64, IdleCheck>>,
}

/// What tells whether a connection is idle, and ends it.
#[derive(Debug)]
struct IdleCheck {
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

    /// Waits for a place. While there is none, the longest idle connection of the network with most is closed.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr, activity: &Arc<Activity>) -> ConnectionPlace {
        let network = network_of(peer);
        loop {
            let ended = self.ended.notified();
            {
                let mut state = self.lock();
                if state.count < self.most {
                    return self.place(&mut state, network, activity);
                }
                state.close_idle();
            }
            ended.await;
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
        let check = IdleCheck { activity: Arc::clone(activity), closing: closing.clone() };
        state.by_network.entry(network).or_default().insert(number, check);
        ConnectionPlace { connections: Arc::clone(self), network, number, closing }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionState {
    /// Asks the longest idle connection to end, in the largest network that has one.
    fn close_idle(&self) {
        let idle = self.by_network.values().filter_map(|connections| {
            let idle = connections.values().filter_map(|check| Some((check.activity.idle_since()?, check)));
            Some((connections.len(), idle.min_by_key(|(since, _)| *since)?.1))
        });
        if let Some((_, check)) = idle.max_by_key(|(connections, _)| *connections) {
            metrics::counter!("trawl_connections_closed_for_others_total").increment(1);
            check.closing.cancel();
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut state = self.connections.lock();
        state.count -= 1;
        if let Some(connections) = state.by_network.get_mut(&self.network) {
            connections.remove(&self.number);
            if connections.is_empty() {
                state.by_network.remove(&self.network);
            }
        }
        drop(state);
        self.connections.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use tokio::time::{Instant, advance};

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
        let activity = active();
        let mut waiting = connections.admit(small, &activity).boxed();
        assert!((&mut waiting).now_or_never().is_none());
        let asked: Vec<bool> = places.iter().map(|place| place.closing.is_cancelled()).collect();
        assert_eq!((asked, first_of_small.closing.is_cancelled()), (vec![false, true, false], false));
        places.remove(1);
        let _admitted = waiting.await;
        assert_eq!(connections.lock().count, 4);
    }

    #[tokio::test]
    async fn new_connection_waits_while_all_have_requests() {
        let connections = OpenConnections::new(1);
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let busy = active();
        let request = busy.begin_request();
        let place = connections.admit(address, &busy).await;
        let activity = active();
        let mut waiting = connections.admit(address, &activity).boxed();
        assert!((&mut waiting).now_or_never().is_none() && !place.closing.is_cancelled());
        drop((request, place));
        waiting.await;
    }
}
