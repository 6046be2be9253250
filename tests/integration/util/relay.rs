//! A way to a server that can be cut: what is behind it is not reached then, and keeps what it has.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};

/// A way to a server, through an address of its own.
pub(crate) struct Relay {
    /// `http://` and the address.
    pub(crate) base: String,
    state: Arc<State>,
    _relaying: JoinSet<()>,
}

#[derive(Default)]
struct State {
    is_cut: AtomicBool,
    cut: Notify,
}

impl Relay {
    /// A way to the server at this address, which begins with `http://`.
    pub(crate) async fn to(base: &str) -> Self {
        let target = base.strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let mut relaying = JoinSet::new();
        relaying.spawn(relay(listener, target, Arc::clone(&state)));
        Self { base, state, _relaying: relaying }
    }

    /// Cuts it: connections break off, and new ones too.
    pub(crate) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        self.state.cut.notify_waiters();
    }

    /// Mends it.
    pub(crate) fn mend(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
    }
}

async fn relay(listener: TcpListener, target: String, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let (mut near, _) = listener.accept().await.unwrap();
        let (target, state) = (target.clone(), Arc::clone(&state));
        connections.spawn(async move {
            // Before the look, so that no cut is missed.
            let cut = state.cut.notified();
            if state.is_cut.load(Ordering::SeqCst) {
                return;
            }
            let Ok(mut far) = TcpStream::connect(target).await else { return };
            tokio::select! {
                // Whichever end broke off has been told so.
                _ = copy_bidirectional(&mut near, &mut far) => {}
                () = cut => {}
            }
        });
    }
}
