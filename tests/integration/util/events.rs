//! Reading server-sent events as they come.

use reqwest::{Method, Response};
use serde_json::Value;

use super::{PATIENCE, caller::Caller};

pub(crate) const EVENTS: &str = "text/event-stream";

/// A stream under way.
pub(crate) struct Events {
    response: Response,
    unread: Vec<u8>,
}

impl Events {
    /// What POST answers as a stream.
    pub(crate) async fn open(caller: &Caller, path: &str, parameters: &[(&str, &str)]) -> Self {
        let response = Self::ask(caller, path, parameters).await;
        assert_eq!(response.status(), 200);
        Self { response, unread: Vec::new() }
    }

    /// What POST answers where a stream is asked for, be it one or not.
    pub(crate) async fn ask(caller: &Caller, path: &str, parameters: &[(&str, &str)]) -> Response {
        let request = caller.request(Method::POST, path).header("accept", EVENTS).query(parameters);
        request.send().await.unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The next event's name and data; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            let Some(end) = self.unread.windows(2).position(|window| window == b"\n\n") else {
                let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
                let chunk = chunk.expect("no event came").expect("the stream broke off");
                if chunk.is_none() {
                    assert!(self.unread.is_empty(), "the last event is cut");
                }
                self.unread.extend(chunk?);
                continue;
            };
            let event: Vec<u8> = self.unread.drain(..end + 2).collect();
            let event = String::from_utf8(event).unwrap();
            // A sign of life is a comment.
            if !event.starts_with(':') {
                let (name, data) = event.trim_end().split_once('\n').unwrap();
                let name = name.strip_prefix("event: ").unwrap().to_owned();
                // One line, which is JSON.
                let data = data.strip_prefix("data: ").unwrap();
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// The next event, which has to be a module.
    pub(crate) async fn module(&mut self) -> Value {
        let (name, data) = self.next().await.expect("the stream has ended");
        assert_eq!(name, "module", "{data}");
        data
    }

    /// The next event, which has to be the last one.
    pub(crate) async fn done(&mut self) -> Value {
        let (name, data) = self.next().await.expect("the stream has ended");
        assert_eq!(name, "done", "{data}");
        data
    }

    /// Every module and what `done` says.
    pub(crate) async fn read_to_end(mut self) -> (Vec<Value>, Value) {
        let mut modules = Vec::new();
        loop {
            let (name, data) = self.next().await.expect("the stream ended without `done`");
            if name == "done" {
                assert!(self.next().await.is_none(), "nothing comes after `done`");
                return (modules, data);
            }
            assert_eq!(name, "module");
            modules.push(data);
        }
    }

    /// Every module.
    pub(crate) async fn all(self) -> Vec<Value> {
        self.read_to_end().await.0
    }
}
