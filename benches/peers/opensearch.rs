use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    engine::{BATCH, Client, Engine, Found, Http, LIMIT, Process, free_address, run},
    queries::{Language, Order, Query, Row},
};

/// One shard without replicas, with the analyser of the language.
///
/// `tests/opensearch/install "$PWD/target/tools/opensearch-languages" --languages` installs it.
pub(crate) struct OpenSearch {
    directory: tempfile::TempDir,
    address: SocketAddr,
    process: Process,
    version: String,
}

struct OpenSearchClient(Http);

impl OpenSearch {
    /// `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        let installed = project.join("target/tools/opensearch-languages");
        if !installed.join("bin/opensearch").exists() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("node");
        run(Command::new("chmod").arg("a+rx").arg(directory.path()));
        // Its user may not read the project's directory.
        let home = directory.path().join("home");
        run(Command::new("cp").arg("-r").arg(installed).arg(&home));
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

    fn fill(&mut self, language: Language, rows: &[Row]) {
        let analyzer = match language {
            Language::English => "english",
            Language::Chinese => "cjk",
        };
        let mut client = Http::open(self.address, None);
        let settings = json!({
            "settings": { "number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1" },
            "mappings": { "properties": {
                "title": { "type": "text", "analyzer": analyzer },
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
        self.directory.path().join("node")
    }
}

impl Client for OpenSearchClient {
    fn search(&mut self, query: &Query) -> Found {
        let words = query.joined();
        let matching = if query.is_phrase {
            json!({ "match_phrase": { "title": words } })
        } else {
            let operator = if query.order == Order::Newest { "and" } else { "or" };
            json!({ "match": { "title": { "query": words, "operator": operator } } })
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
