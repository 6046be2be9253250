//! A proxy before a node, which holds one request.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use crate::engine_under_test::node;

pub(crate) struct Proxy {
    pub(crate) url: Url,
    gate: Arc<Gate>,
    _served: AbortOnDropHandle<()>,
}

struct Gate {
    hold: Mutex<Option<Hold>>,
    reached: Notify,
    released: Semaphore,
    to: reqwest::Client,
}

/// Which request is held, and where.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    /// Part of its first line.
    pub(crate) of: &'static str,
    /// Counted from 1 among these.
    pub(crate) number: usize,
    pub(crate) at: Stage,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Stage {
    /// The node does not get it.
    Request,
    /// The node has answered.
    Answer,
}

impl Proxy {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let gate = Arc::new(Gate {
            hold: Mutex::default(),
            reached: Notify::new(),
            released: Semaphore::new(0),
            to: reqwest::Client::new(),
        });
        let of_connections = Arc::clone(&gate);
        let served = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let gate = Arc::clone(&of_connections);
                connections.spawn(async move {
                    let mut stream = BufReader::new(stream);
                    while gate.forward(&mut stream).await.is_some() {}
                });
            }
        });
        Self { url, gate, _served: AbortOnDropHandle::new(served) }
    }

    pub(crate) fn hold(&self, hold: Hold) {
        *self.gate.hold.lock().unwrap() = Some(hold);
    }

    /// Waits until the request is held.
    pub(crate) async fn reached(&self) {
        self.gate.reached.notified().await;
    }

    pub(crate) fn release(&self) {
        self.gate.released.add_permits(1);
    }
}

impl Gate {
    /// Forwards a request; `None` at the connection's end.
    async fn forward(&self, stream: &mut BufReader<TcpStream>) -> Option<()> {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.ok().filter(|bytes| *bytes > 0)?;
            if line == "\r\n" {
                break;
            }
            head.push(line);
        }
        let header = |name: &str| head.iter().find_map(|line| line.strip_prefix(name));
        let length = header("content-length: ").map_or(0, |length| length.trim().parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;

        let mut words = head[0].split(' ');
        let (method, path) = (words.next()?.parse().ok()?, words.next()?);
        let stage = self.stage(&head[0]);
        if stage == Some(Stage::Request) {
            self.wait().await;
        }
        let request = self.to.request(method, node().join(path).ok()?);
        let request = request.header("content-type", header("content-type: ")?.trim());
        let response = request.body(body).send().await.unwrap();
        let status = response.status().as_u16();
        let body = response.bytes().await.unwrap();
        if stage == Some(Stage::Answer) {
            self.wait().await;
        }
        let head = format!("HTTP/1.1 {status} Any\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.ok()?;
        stream.write_all(&body).await.ok()?;
        Some(())
    }

    /// Where the request is to be held, if it is.
    fn stage(&self, line: &str) -> Option<Stage> {
        let mut wanted = self.hold.lock().unwrap();
        let hold = wanted.as_mut().filter(|hold| line.contains(hold.of))?;
        hold.number -= 1;
        (hold.number == 0).then(|| wanted.take()).flatten().map(|hold| hold.at)
    }

    async fn wait(&self) {
        self.reached.notify_one();
        self.released.acquire().await.unwrap().forget();
    }
}
