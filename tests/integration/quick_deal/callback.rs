//! The callback of an application, which answers as a test says, byte by byte, and remembers what it was told.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
};

use crate::util::PATIENCE;

/// Between two bytes of what drips.
const DRIP_EVERY: Duration = Duration::from_millis(10);

/// How it answers.
#[derive(Clone, Debug)]
pub(crate) enum Mood {
    /// With this status and no body.
    Status(u16),
    /// With this text, bytes of HTTP, and the connection is closed.
    Text(String),
    /// Never.
    Silent,
    /// With this text, and then one byte after another without end.
    Drips(&'static str),
    /// With 200 and a body without end, as fast as it is taken.
    Huge,
    /// The connection is closed.
    Closes,
    /// With this status, once it is let go.
    Held(u16, Arc<Semaphore>),
}

impl Mood {
    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Self::Text(format!(
            "HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        ))
    }

    /// An answer that is held back, and what lets it go by being closed.
    pub(crate) fn held(status: u16) -> (Self, Arc<Semaphore>) {
        let held = Arc::new(Semaphore::new(0));
        (Self::Held(status, Arc::clone(&held)), held)
    }
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Told {
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| *found == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A running callback; it ends with its test's runtime.
pub(crate) struct Callback {
    pub(crate) url: String,
    mood: Arc<Mutex<Mood>>,
    told: watch::Receiver<Vec<Told>>,
    connections: watch::Receiver<usize>,
}

impl Callback {
    pub(crate) async fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/handled", listener.local_addr().unwrap());
        let mood = Arc::new(Mutex::new(mood));
        let (tell, told) = watch::channel(Vec::new());
        let (count, connections) = watch::channel(0);
        tokio::spawn({
            let mood = Arc::clone(&mood);
            async move {
                loop {
                    let (connection, _) = listener.accept().await.unwrap();
                    count.send_modify(|count| *count += 1);
                    let (mood, tell) = (Arc::clone(&mood), tell.clone());
                    // A caller that has gone away is what it is.
                    tokio::spawn(async move { drop(answer(connection, &mood, &tell).await) });
                }
            }
        });
        Self { url, mood, told, connections }
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// What it was told so far.
    pub(crate) fn told(&self) -> Vec<Told> {
        self.told.borrow().clone()
    }

    /// How many connections were made so far.
    pub(crate) fn connections(&self) -> usize {
        *self.connections.borrow()
    }

    /// Waits until it was told so often.
    pub(crate) async fn was_told(&self, times: usize) {
        let mut told = self.told.clone();
        let waiting = told.wait_for(|told| told.len() >= times);
        drop(tokio::time::timeout(PATIENCE, waiting).await.expect("the callback was not called").unwrap());
    }
}

async fn answer(
    mut connection: TcpStream,
    mood: &Mutex<Mood>,
    tell: &watch::Sender<Vec<Told>>,
) -> std::io::Result<()> {
    let Some(told) = read(&mut connection).await? else { return Ok(()) };
    let mood = mood.lock().unwrap().clone();
    tell.send_modify(|all| all.push(told));
    let empty = |status: u16| format!("HTTP/1.1 {status} Whatever\r\nContent-Length: 0\r\n\r\n");
    match mood {
        Mood::Status(status) => connection.write_all(empty(status).as_bytes()).await,
        Mood::Text(text) => connection.write_all(text.as_bytes()).await,
        Mood::Silent => std::future::pending().await,
        Mood::Drips(text) => {
            connection.write_all(text.as_bytes()).await?;
            loop {
                connection.write_all(b"x").await?;
                tokio::time::sleep(DRIP_EVERY).await;
            }
        }
        Mood::Huge => {
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n").await?;
            loop {
                connection.write_all(&[b'x'; 16 << 10]).await?;
            }
        }
        Mood::Closes => Ok(()),
        Mood::Held(status, held) => {
            assert!(held.acquire().await.is_err(), "there are no permits");
            connection.write_all(empty(status).as_bytes()).await
        }
    }
}

/// Reads one request with a `Content-Length`; `None` where none came.
async fn read(connection: &mut TcpStream) -> std::io::Result<Option<Told>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
            let mut told = Told { head, body: bytes[end + 4..].to_vec() };
            let length: usize = told.header("content-length").parse().unwrap();
            while told.body.len() < length {
                if connection.read_buf(&mut told.body).await? == 0 {
                    return Ok(None);
                }
            }
            return Ok(Some(told));
        }
        if connection.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}
