//! The same request without trawl: its bytes, sent again by a bare client.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use trawl_engine::{Engine, Request};
use trawl_opensearch::{Client, Credentials, Layout, OpenSearch};
use url::Url;

use crate::engines::STORE;

/// A request as [`OpenSearch`] sends it.
pub(crate) struct Bare {
    http: reqwest::Client,
    url: Url,
    body: Vec<u8>,
}

impl Bare {
    /// Records what the engine sends for a request that takes one call.
    pub(crate) async fn record(node: &Url, layout: Layout, request: &Arc<Request>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let client = Client::new(vec![address], Credentials::None, None).unwrap();
        let engine = OpenSearch::new(client, layout, STORE);
        let asked = async {
            engine.progress().await.unwrap();
            engine.view().search(request).await
        };
        let recorded = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            loop {
                let (head, body) = read_request(&mut stream).await;
                if !head.starts_with("GET ") {
                    let refusal = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}";
                    stream.write_all(refusal).await.unwrap();
                    return (head, body);
                }
                // The state of the indexes.
                let state = reqwest::get(node.join(path_of(&head)).unwrap()).await.unwrap();
                let state = String::from_utf8(state.bytes().await.unwrap().to_vec()).unwrap();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", state.len());
                stream.write_all((head + &state).as_bytes()).await.unwrap();
            }
        };
        let (answer, (head, body)) = tokio::join!(asked, recorded);
        assert!(answer.is_err(), "the recorder answers no search");
        Self {
            http: reqwest::Client::builder().gzip(true).build().unwrap(),
            url: node.join(path_of(&head)).unwrap(),
            body,
        }
    }

    /// Sends it, and reads the whole answer.
    pub(crate) async fn send(&self) -> usize {
        let request = self.http.post(self.url.clone()).header("content-type", "application/x-ndjson");
        let answer = request.body(self.body.clone()).send().await.unwrap().error_for_status().unwrap();
        answer.bytes().await.unwrap().len()
    }
}

fn path_of(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

async fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut received = Vec::new();
    loop {
        stream.read_buf(&mut received).await.unwrap();
        let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(received[..end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
        });
        if received.len() == end + 4 + length.unwrap_or(0) {
            return (head, received.split_off(end + 4));
        }
    }
}
