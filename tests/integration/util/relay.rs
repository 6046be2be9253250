//! A TCP relay that can be cut.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};

pub(crate) struct Relay {
    pub(crate) base: String,
    state: Arc<State>,
    _relaying: JoinSet<()>,
}

struct State {
    target: Mutex<String>,
    is_cut: AtomicBool,
    cut: Notify,
}

impl Relay {
    /// `base` begins with `http://`.
    pub(crate) async fn to(base: &str) -> Self {
        let target = base.strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (is_cut, cut) = (AtomicBool::new(false), Notify::new());
        let state = Arc::new(State { target: Mutex::new(target), is_cut, cut });
        let mut relaying = JoinSet::new();
        relaying.spawn(relay(listener, Arc::clone(&state)));
        Self { base, state, _relaying: relaying }
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        self.base.strip_prefix("http://").unwrap()
    }

    /// Relays new connections to another host and port.
    pub(crate) fn redirect(&self, target: &str) {
        target.clone_into(&mut self.state.target.lock().unwrap());
        self.mend();
    }

    pub(crate) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        self.state.cut.notify_waiters();
    }

    pub(crate) fn mend(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
    }
}

async fn relay(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let (mut near, _) = listener.accept().await.unwrap();
        let state = Arc::clone(&state);
        connections.spawn(async move {
            // Subscribed before the check: no cut is missed.
            let cut = state.cut.notified();
            if state.is_cut.load(Ordering::SeqCst) {
                return;
            }
            let target = state.target.lock().unwrap().clone();
            let Ok(mut far) = TcpStream::connect(target).await else { return };
            tokio::select! {
                _ = copy_bidirectional(&mut near, &mut far) => {}
                () = cut => {}
            }
        });
    }
}
