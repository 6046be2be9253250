//! An application's callback with scripted responses.

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

use crate::util::TIMEOUT;

const DRIP_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Clone, Debug)]
pub(crate) enum CallbackReply {
    Status(u16),
    /// Raw HTTP, then the connection closes.
    Text(String),
    Silent,
    /// Raw HTTP, then endless bytes, one at a time.
    Drips(&'static str),
    Huge,
    Closes,
    /// This status, after a release.
    Held(u16, Arc<Semaphore>),
}

impl CallbackReply {
    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Self::Text(format!(
            "HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        ))
    }

    /// Closing the semaphore releases the response.
    pub(crate) fn held(status: u16) -> (Self, Arc<Semaphore>) {
        let held = Arc::new(Semaphore::new(0));
        (Self::Held(status, Arc::clone(&held)), held)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ReceivedCall {
    /// The head in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl ReceivedCall {
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| *found == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub(crate) struct Callback {
    pub(crate) url: String,
    reply: Arc<Mutex<CallbackReply>>,
    told: watch::Receiver<Vec<ReceivedCall>>,
    connections: watch::Receiver<usize>,
}

impl Callback {
    pub(crate) async fn start(reply: CallbackReply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/handled", listener.local_addr().unwrap());
        let reply = Arc::new(Mutex::new(reply));
        let (tell, told) = watch::channel(Vec::new());
        let (count, connections) = watch::channel(0);
        tokio::spawn({
            let reply = Arc::clone(&reply);
            async move {
                loop {
                    let (connection, _) = listener.accept().await.unwrap();
                    count.send_modify(|count| *count += 1);
                    let (reply, tell) = (Arc::clone(&reply), tell.clone());
                    tokio::spawn(async move { drop(answer(connection, &reply, &tell).await) });
                }
            }
        });
        Self { url, reply, told, connections }
    }

    pub(crate) fn set_reply(&self, reply: CallbackReply) {
        *self.reply.lock().unwrap() = reply;
    }

    pub(crate) fn calls(&self) -> Vec<ReceivedCall> {
        self.told.borrow().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.borrow()
    }

    pub(crate) async fn wait_for_calls(&self, times: usize) {
        let mut told = self.told.clone();
        let waiting = told.wait_for(|told| told.len() >= times);
        drop(tokio::time::timeout(TIMEOUT, waiting).await.expect("the callback was not called").unwrap());
    }
}

async fn answer(
    mut connection: TcpStream,
    reply: &Mutex<CallbackReply>,
    tell: &watch::Sender<Vec<ReceivedCall>>,
) -> std::io::Result<()> {
    let Some(told) = read(&mut connection).await? else { return Ok(()) };
    let reply = reply.lock().unwrap().clone();
    tell.send_modify(|all| all.push(told));
    let empty = |status: u16| format!("HTTP/1.1 {status} Whatever\r\nContent-Length: 0\r\n\r\n");
    match reply {
        CallbackReply::Status(status) => connection.write_all(empty(status).as_bytes()).await,
        CallbackReply::Text(text) => connection.write_all(text.as_bytes()).await,
        CallbackReply::Silent => std::future::pending().await,
        CallbackReply::Drips(text) => {
            connection.write_all(text.as_bytes()).await?;
            loop {
                connection.write_all(b"x").await?;
                tokio::time::sleep(DRIP_INTERVAL).await;
            }
        }
        CallbackReply::Huge => {
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n").await?;
            loop {
                connection.write_all(&[b'x'; 16 << 10]).await?;
            }
        }
        CallbackReply::Closes => Ok(()),
        CallbackReply::Held(status, held) => {
            assert!(held.acquire().await.is_err(), "there are no permits");
            connection.write_all(empty(status).as_bytes()).await
        }
    }
}

async fn read(connection: &mut TcpStream) -> std::io::Result<Option<ReceivedCall>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
            let mut told = ReceivedCall { head, body: bytes[end + 4..].to_vec() };
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
