use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    engine::{BATCH, Client, Engine, Found, Http, LIMIT, Process, free_address},
    queries::{Order, Query, Row},
};

/// One shard without replicas, with the standard analyser.
///
/// Its stemmers are a module that `./tests/run` does not install.
pub(crate) struct OpenSearch {
    directory: tempfile::TempDir,
    address: SocketAddr,
    process: Process,
    version: String,
}

struct OpenSearchClient(Http);

impl OpenSearch {
    /// `None` if `./tests/run` has not installed it.
    pub(crate) fn start() -> Option<Self> {
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        let home = project.join("target/tools/opensearch");
        if !home.join("bin/opensearch").exists() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("node");
        assert!(Command::new("chmod").arg("a+rx").arg(directory.path()).status().unwrap().success());
        let [address, transport] = [(); 2].map(|()| free_address());
        let mut command = Command::new(project.join("tests/opensearch/node"));
        command.arg(&home).arg(&folder).arg(address.port().to_string());
        command.arg(format!("-Etransport.port={}", transport.port())).arg("-Ediscovery.type=single-node");
        // The tests make do with less.
        command.env("OPENSEARCH_HEAP", "4g").stdout(Stdio::null()).stderr(Stdio::null());
        let process = Process::start(&mut command, address);
        let mut client = Http::open(address, None);
        let version =
            client.json("GET", "/".to_owned(), None)["version"]["number"].as_str().unwrap().to_owned();
        client.call("GET", "/_cluster/health?wait_for_status=yellow&timeout=60s".to_owned(), None, "");
        Some(Self { directory, address, process, version })
    }
}

impl Engine for OpenSearch {
    fn name(&self) -> String {
        format!("OpenSearch {}", self.version)
    }

    fn fill(&mut self, rows: &[Row]) {
        let mut client = Http::open(self.address, None);
        let settings = json!({
            "settings": { "number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1" },
            "mappings": { "properties": {
                "title": { "type": "text", "analyzer": "standard" },
                "time": { "type": "date", "format": "epoch_millis" },
            }},
        });
        client.call("PUT", "/texts".to_owned(), Some(settings.to_string()), "");
        for batch in rows.chunks(BATCH) {
            let mut body = String::new();
            for row in batch {
                let [action, source] =
                    [json!({ "index": { "_id": row.id } }), json!({ "title": row.title, "time": row.time })];
                body.extend([action.to_string(), source.to_string()].map(|line| line + "\n"));
            }
            client.call("POST", "/texts/_bulk".to_owned(), Some(body), "\"errors\":false");
        }
        client.call("POST", "/texts/_forcemerge?max_num_segments=1".to_owned(), None, "");
        client.call("POST", "/texts/_refresh".to_owned(), None, "");
    }

    fn connect(&self) -> Box<dyn Client> {
        Box::new(OpenSearchClient(Http::open(self.address, None)))
    }

    fn process(&self) -> Option<u32> {
        Some(self.process.id())
    }

    fn files(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

impl Client for OpenSearchClient {
    fn search(&mut self, query: &Query) -> Found {
        let words = query.words.join(" ");
        let matching = if query.is_phrase {
            json!({ "match_phrase": { "title": words } })
        } else {
            json!({ "match": { "title": { "query": words, "operator": "and" } } })
        };
        let mut request = json!({ "query": matching, "size": LIMIT, "track_total_hits": true });
        if query.order == Order::Newest {
            request["query"] = json!({ "bool": { "filter": matching } });
            request["sort"] = json!([{ "time": "desc" }]);
        }
        let answer = self.0.json("POST", "/texts/_search".to_owned(), Some(request.to_string()));
        let hits: &Value = &answer["hits"];
        Found {
            total: hits["total"]["value"].as_u64().unwrap(),
            rows: hits["hits"].as_array().unwrap().len(),
        }
    }
}
