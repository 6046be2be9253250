use reqwest::{Method, Response};
use serde_json::Value;

use super::{TIMEOUT, caller::Caller};

pub(crate) const EVENTS: &str = "text/event-stream";

pub(crate) struct Events {
    response: Response,
    unread: Vec<u8>,
}

impl Events {
    pub(crate) async fn open(caller: &Caller, path: &str, parameters: &[(&str, &str)]) -> Self {
        let response = Self::ask(caller, path, parameters).await;
        assert_eq!(response.status(), 200);
        Self { response, unread: Vec::new() }
    }

    pub(crate) async fn ask(caller: &Caller, path: &str, parameters: &[(&str, &str)]) -> Response {
        let request = caller.request(Method::POST, path).header("accept", EVENTS).query(parameters);
        request.send().await.unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            let Some(end) = self.unread.windows(2).position(|window| window == b"\n\n") else {
                let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await;
                let chunk = chunk.expect("no event came").expect("the stream broke off");
                if chunk.is_none() {
                    assert!(self.unread.is_empty(), "the last event is incomplete");
                }
                self.unread.extend(chunk?);
                continue;
            };
            let event: Vec<u8> = self.unread.drain(..end + 2).collect();
            let event = String::from_utf8(event).unwrap();
            if !event.starts_with(':') {
                let (name, data) = event.trim_end().split_once('\n').unwrap();
                let name = name.strip_prefix("event: ").unwrap().to_owned();
                let data = data.strip_prefix("data: ").unwrap();
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }

    pub(crate) async fn module(&mut self) -> Value {
        let (name, data) = self.next().await.expect("the stream has ended");
        assert_eq!(name, "module", "{data}");
        data
    }

    pub(crate) async fn done(&mut self) -> Value {
        let (name, data) = self.next().await.expect("the stream has ended");
        assert_eq!(name, "done", "{data}");
        data
    }

    pub(crate) async fn read_to_end(mut self) -> (Vec<Value>, Value) {
        let mut modules = Vec::new();
        loop {
            let (name, data) = self.next().await.expect("the stream ended without `done`");
            if name == "done" {
                assert!(self.next().await.is_none(), "data after `done`");
                return (modules, data);
            }
            assert_eq!(name, "module");
            modules.push(data);
        }
    }

    pub(crate) async fn all(self) -> Vec<Value> {
        self.read_to_end().await.0
    }
}
