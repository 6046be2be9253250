//! The faulty sources do what their table says, as far as the client sees it; the server's account of each is tested
//! with the server.

use std::collections::HashSet;
use std::time::Duration;

use trawl_connectors::{
    AddressRules, Authentication, DEFAULT_MAX_BODY_BYTES, Method, Question, SourceClient, SourceError,
    SourceSettings,
};

use crate::zoo::{self, Rows, Running};

fn client(running: &Running) -> SourceClient {
    let settings = SourceSettings {
        url: running.url.clone(),
        method: Method::Post,
        authentication: Authentication::OAuth2Client(running.credentials()),
        timeout: Duration::from_millis(500),
        max_concurrency: 1,
        max_body_bytes: DEFAULT_MAX_BODY_BYTES,
    };
    SourceClient::new(settings, &AddressRules::allowing([&running.url, &running.token_url])).unwrap()
}

#[tokio::test]
async fn x() {
    for f in zoo::faults() {
        let r = zoo::start(&f).await;
        let a = client(&r).search(&Question { keyword: &f.keyword, limit: 10, cursor: None }).await;
        eprintln!(
            "{f}\n    {}",
            match a {
                Ok(a) => format!("ok {} {:?} {:?}", a.items.len(), a.notes, a.broken),
                Err(e) => format!("{e:?}"),
            }
        );
    }
}
