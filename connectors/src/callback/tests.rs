use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, mpsc};

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::mpsc::error::TryRecvError::Disconnected;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::*;

/// Longer than any of these calls takes: what they wait for is let go by the test.
const LONG: Duration = Duration::from_mins(1);

/// A name server that answers `here.example` with this machine, and no other name until it is let go.
struct HangingNames {
    look_ups: LookUps,
    /// The names that it was asked for.
    asked: UnboundedReceiver<String>,
    /// Lets go the look-ups of a name, one for each message.
    let_go: HashMap<&'static str, mpsc::Sender<()>>,
}

impl HangingNames {
    fn new(at_once: usize, hanging: &[&'static str]) -> Self {
        let (ask, asked) = unbounded_channel();
        let (mut let_go, mut held) = (HashMap::new(), HashMap::new());
        for &name in hanging {
            let (go, going) = mpsc::channel();
            let_go.insert(name, go);
            held.insert(name.to_owned(), Mutex::new(going));
        }
        let look_up = move |name: &str| {
            ask.send(name.to_owned()).unwrap();
            if let Some(going) = held.get(name) {
                // It ends with the test, too.
                let _ = going.lock().unwrap().recv();
            }
            Ok(vec![SocketAddr::from(([127, 0, 0, 1], 0))])
        };
        Self { look_ups: LookUps::by(at_once, Arc::new(look_up)), asked, let_go }
    }
}

async fn start() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().fallback(|| async { "taken" });
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

/// A place, and what ends when it is given up.
fn place() -> (UnboundedSender<()>, UnboundedReceiver<()>) {
    unbounded_channel()
}

fn client(names: &HangingNames, listed: &[&str]) -> CallbackClient {
    CallbackClient::with_look_ups(&AddressRules::new(listed).unwrap(), names.look_ups.clone()).unwrap()
}

async fn post(
    client: &CallbackClient,
    url: &str,
    place: impl Send + 'static,
    within: Duration,
) -> Result<(), CallbackError> {
    client.post(&Url::parse(url).unwrap(), HeaderMap::new(), Vec::new(), within, place).await
}

#[tokio::test]
async fn a_place_stays_taken_until_its_look_up_ends_and_others_go_on() {
    let port = start().await;
    let mut names = HangingNames::new(2, &["hangs.example"]);
    let client = client(&names, &["here.example"]);
    let (taken, mut given_up) = place();
    let hanging = tokio::spawn({
        let client = client.clone();
        async move { post(&client, "https://hangs.example/", taken, LONG).await }
    });
    assert_eq!(names.asked.recv().await.unwrap(), "hangs.example");
    hanging.abort();
    assert!(hanging.await.unwrap_err().is_cancelled());
    assert!(given_up.try_recv().is_err_and(|error| error != Disconnected));

    for _ in 0..3 {
        let (taken, mut given_up_here) = place();
        let here = format!("http://here.example:{port}/");
        assert_eq!(post(&client, &here, taken, LONG).await, Ok(()));
        assert_eq!(names.asked.recv().await.unwrap(), "here.example");
        assert_eq!(given_up_here.recv().await, None);
    }
    assert!(given_up.try_recv().is_err_and(|error| error != Disconnected));

    names.let_go["hangs.example"].send(()).unwrap();
    assert_eq!(given_up.recv().await, None);
}

#[tokio::test]
async fn a_call_whose_look_up_takes_too_long_is_late_and_its_place_stays_taken() {
    let mut names = HangingNames::new(1, &["hangs.example"]);
    let client = client(&names, &[]);
    let (taken, mut given_up) = place();
    let within = Duration::from_millis(1);
    let late = post(&client, "https://hangs.example/", taken, within).await;
    assert_eq!(late, Err(CallbackError::Timeout(within)));
    // Nothing is looked up for an address, so it is not held up either.
    let (taken, mut given_up_elsewhere) = place();
    let refused = post(&client, "https://127.0.0.1/", taken, LONG).await.unwrap_err().to_string();
    assert!(refused.contains("a loopback address"), "{refused}");
    assert_eq!(given_up_elsewhere.recv().await, None);

    assert_eq!(names.asked.recv().await.unwrap(), "hangs.example");
    assert!(given_up.try_recv().is_err_and(|error| error != Disconnected));
    names.let_go["hangs.example"].send(()).unwrap();
    assert_eq!(given_up.recv().await, None);
    assert!(names.asked.try_recv().is_err(), "another look-up");
}

#[tokio::test]
async fn what_was_looked_up_is_guarded_at_the_connection() {
    let port = start().await;
    let names = HangingNames::new(1, &[]);
    let here = format!("https://here.example:{port}/");
    // Its listing on another port counts for nothing.
    for listed in [&[][..], &["here.example:1"]] {
        let refused = post(&client(&names, listed), &here, (), LONG).await.unwrap_err().to_string();
        assert!(refused.starts_with("the address of the callback leads to a loopback address"), "{refused}");
    }
}
