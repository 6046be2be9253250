//! OpenSearch as it is: its standard analyser, one field, no visibility.

use std::fmt::Write as _;

use serde_json::{Value, json};
use trawl_engine::{Document, TimePosition};
use url::Url;

const DOCUMENTS_AT_A_TIME: usize = 2_000;

pub(crate) struct Plain {
    http: reqwest::Client,
    index: Url,
}

impl Plain {
    pub(crate) async fn load(node: &Url, documents: &[Document]) -> Self {
        let index = node.join(&format!("plain-{}/", std::process::id())).unwrap();
        let plain = Self { http: reqwest::Client::new(), index };
        let body = json!({
            "settings": {
                "number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1",
                "index.sort.field": ["display_time", "id"], "index.sort.order": ["desc", "asc"],
            },
            "mappings": {"properties": {
                "id": {"type": "keyword"},
                "display_time": {"type": "long"},
                "title": {"type": "text"},
                "item": {"type": "keyword", "index": false, "doc_values": false},
            }},
        });
        plain.send(reqwest::Method::PUT, "", body.to_string()).await;
        for batch in documents.chunks(DOCUMENTS_AT_A_TIME) {
            let mut lines = String::new();
            for Document { id, display_time, title, item, .. } in batch {
                let document = json!({"id": id, "display_time": display_time, "title": title, "item": item});
                let action = json!({"index": {"_id": id}});
                writeln!(lines, "{action}\n{document}").unwrap();
            }
            plain.send(reqwest::Method::POST, "_bulk", lines).await;
            plain.send(reqwest::Method::POST, "_refresh", String::new()).await;
        }
        plain
    }

    /// The newest matches, with an exact total.
    pub(crate) async fn newest(
        &self,
        phrase: &str,
        from: i64,
        after: Option<&TimePosition>,
        limit: usize,
    ) -> usize {
        let mut search = json!({
            "query": {"bool": {"filter": [
                {"match_phrase": {"title": phrase}},
                {"range": {"display_time": {"gte": from}}},
            ]}},
            "size": limit, "track_total_hits": true, "_source": ["item"],
            "sort": [{"display_time": "desc"}, {"id": "asc"}],
        });
        if let Some(TimePosition { display_time, id }) = after {
            search["search_after"] = json!([display_time, id]);
        }
        self.search(&search).await
    }

    /// The best matches of any word, with an exact total.
    pub(crate) async fn best(&self, keyword: &str, from: i64, limit: usize) -> usize {
        let search = json!({
            "query": {"bool": {
                "must": {"match": {"title": keyword}},
                "filter": {"range": {"display_time": {"gte": from}}},
            }},
            "size": limit, "track_total_hits": true, "_source": ["item"],
        });
        self.search(&search).await
    }

    pub(crate) async fn delete(&self) {
        self.send(reqwest::Method::DELETE, "", String::new()).await;
    }

    async fn search(&self, search: &Value) -> usize {
        let answer = self.send(reqwest::Method::POST, "_search", search.to_string()).await;
        answer["hits"]["hits"].as_array().unwrap().len()
    }

    async fn send(&self, method: reqwest::Method, path: &str, body: String) -> Value {
        let url = self.index.join(path).unwrap();
        let url = url.as_str().trim_end_matches('/');
        let request =
            self.http.request(method, url).header("content-type", "application/x-ndjson").body(body);
        let answer = request.send().await.unwrap().error_for_status().unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }
}
