use std::path::PathBuf;

use serde_json::json;
use trawl::auth::applications::Kind;

use crate::{
    common::{data_directory::DataDirectory, server::Server},
    engine::{BATCH, Client, Engine, Found, Http, LIMIT, encode},
    queries::{Language, Order, Query, Row},
};

const MODULE: &str = "news";

/// The release build over HTTP, with durable writes.
pub(crate) struct Trawl {
    prepared: DataDirectory,
    server: Server,
    token: String,
}

impl Trawl {
    pub(crate) fn start() -> Self {
        let prepared = DataDirectory::new(Kind::Application);
        let server = Server::trawl(prepared.directory.path(), &[("CACHE__BYTES", "0")]);
        let token = server.token(&prepared);
        Self { prepared, server, token }
    }
}

impl Engine for Trawl {
    fn name(&self) -> String {
        format!("trawl {}", env!("CARGO_PKG_VERSION"))
    }

    fn fill(&mut self, _language: Language, rows: &[Row]) {
        let mut client = Http::open(self.server.address, Some(&self.token));
        for batch in rows.chunks(BATCH) {
            let items: Vec<_> = batch
                .iter()
                .map(|row| json!({ "id": row.id, "title": row.title, "displayTime": row.time }))
                .collect();
            let body = serde_json::to_string(&items).unwrap();
            client.call("PUT", format!("/v1/contents/{MODULE}"), Some(body), "\"total\":0");
        }
        let all = format!("/contents/search?moduleId={MODULE}&keyword=*&limit=1&paging=cursor");
        while client.json("POST", all.clone(), None)["total"] != rows.len() {}
    }

    fn connect(&self) -> Box<dyn Client> {
        Box::new(TrawlClient(Http::open(self.server.address, Some(&self.token))))
    }

    fn process(&self) -> Option<u32> {
        Some(self.server.process.id())
    }

    fn files(&self) -> PathBuf {
        self.prepared.directory.path().to_owned()
    }
}

struct TrawlClient(Http);

impl Client for TrawlClient {
    fn search(&mut self, query: &Query) -> Found {
        let words = query.joined();
        let keyword = if query.is_phrase { format!("\"{words}\"") } else { words };
        let sort = if query.order == Order::Best { "relevance" } else { "time" };
        // A space behind the last word prevents a prefix match.
        let path = format!(
            "/contents/search?moduleId={MODULE}&keyword={}+&sort={sort}&limit={LIMIT}&paging=cursor&exact=true",
            encode(&keyword)
        );
        let answer = self.0.json("POST", path, None);
        Found { total: answer["total"].as_u64().unwrap(), rows: answer["data"].as_array().unwrap().len() }
    }
}
