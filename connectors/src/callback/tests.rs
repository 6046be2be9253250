use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::mpsc::error::TryRecvError::Disconnected;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::*;

const LONG: Duration = Duration::from_mins(1);

/// Answers `here.example` at once, and hanging names when released.
struct HangingResolver {
    lookups: NameLookups,
    requested: UnboundedReceiver<String>,
    release: HashMap<&'static str, mpsc::Sender<()>>,
}

impl HangingResolver {
    fn new(at_once: usize, hanging: &[&'static str]) -> Self {
        let (request, requested) = unbounded_channel();
        let (mut release, mut held) = (HashMap::new(), HashMap::new());
        for &name in hanging {
            let (release_one, waiting) = mpsc::channel();
            release.insert(name, release_one);
            held.insert(name.to_owned(), Mutex::new(waiting));
        }
        let lookup = move |name: &str| {
            request.send(name.to_owned()).unwrap();
            if let Some(waiting) = held.get(name) {
                let _ = waiting.lock().unwrap().recv();
            }
            Ok(vec![SocketAddr::from(([127, 0, 0, 1], 0))])
        };
        Self { lookups: NameLookups::with_lookup(at_once, Arc::new(lookup)), requested, release }
    }
}

async fn start() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().fallback(|| async { "ok" });
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

fn new_permit() -> (UnboundedSender<()>, UnboundedReceiver<()>) {
    unbounded_channel()
}

fn client(names: &HangingResolver, listed: &[&str]) -> CallbackClient {
    CallbackClient::with_lookups(&AddressRules::new(listed).unwrap(), names.lookups.clone()).unwrap()
}

async fn post(
    client: &CallbackClient,
    url: &str,
    permit: impl Send + 'static,
    within: Duration,
) -> Result<(), CallbackError> {
    client.post(&Url::parse(url).unwrap(), HeaderMap::new(), Vec::new(), within, permit).await
}

#[tokio::test]
async fn abandoned_lookup_keeps_its_permit_until_it_ends() {
    let port = start().await;
    let mut names = HangingResolver::new(2, &["hangs.example"]);
    let client = client(&names, &["here.example"]);
    let (permit, mut released) = new_permit();
    let hanging = tokio::spawn({
        let client = client.clone();
        async move { post(&client, "https://hangs.example/", permit, LONG).await }
    });
    assert_eq!(names.requested.recv().await.unwrap(), "hangs.example");
    hanging.abort();
    assert!(hanging.await.unwrap_err().is_cancelled());
    assert!(released.try_recv().is_err_and(|error| error != Disconnected));

    for _ in 0..3 {
        let (permit, mut released_here) = new_permit();
        let here = format!("http://here.example:{port}/");
        assert_eq!(post(&client, &here, permit, LONG).await, Ok(()));
        assert_eq!(names.requested.recv().await.unwrap(), "here.example");
        assert_eq!(released_here.recv().await, None);
    }
    assert!(released.try_recv().is_err_and(|error| error != Disconnected));

    names.release["hangs.example"].send(()).unwrap();
    assert_eq!(released.recv().await, None);
}

#[tokio::test]
async fn call_times_out_while_its_lookup_keeps_its_permit() {
    let mut names = HangingResolver::new(1, &["hangs.example"]);
    let client = client(&names, &[]);
    let (permit, mut released) = new_permit();
    let within = Duration::from_millis(1);
    let late = post(&client, "https://hangs.example/", permit, within).await;
    assert_eq!(late, Err(CallbackError::Timeout(within)));
    let (permit, mut released_elsewhere) = new_permit();
    let refused = post(&client, "https://127.0.0.1/", permit, LONG).await.unwrap_err().to_string();
    assert!(refused.contains("a loopback address"), "{refused}");
    assert_eq!(released_elsewhere.recv().await, None);

    assert_eq!(names.requested.recv().await.unwrap(), "hangs.example");
    assert!(released.try_recv().is_err_and(|error| error != Disconnected));
    names.release["hangs.example"].send(()).unwrap();
    assert_eq!(released.recv().await, None);
    assert!(names.requested.try_recv().is_err(), "another look-up");
}

#[tokio::test]
async fn looked_up_address_is_checked_at_the_connection() {
    let port = start().await;
    let names = HangingResolver::new(1, &[]);
    let here = format!("https://here.example:{port}/");
    for listed in [&[][..], &["here.example:1"]] {
        let refused = post(&client(&names, listed), &here, (), LONG).await.unwrap_err().to_string();
        assert!(refused.starts_with("the address of the callback leads to a loopback address"), "{refused}");
    }
}
