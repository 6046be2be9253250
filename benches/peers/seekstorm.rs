use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::json;

use crate::{
    engine::{BATCH, Client, Engine, Found, Http, LIMIT, Process, free_address},
    queries::{Language, Order, Query, Row},
};

const VERSION: &str = "4.0.1";

/// The key for making keys, of a server to which no secret was given.
const MASTER_KEY: &str = "A6xnQhbz4Vx2HuGl4lXwZ5U2I8iziLRFnhP5eNfIRvQ=";

/// Its HTTP server.
///
/// `cargo install seekstorm_server --version 4.0.1 --root target/tools/seekstorm` installs it, with
/// `RUSTFLAGS="-C target-cpu=native"`.
pub(crate) struct SeekStorm {
    directory: tempfile::TempDir,
    address: SocketAddr,
    process: Process,
    key: String,
}

struct SeekStormClient(Http);

impl SeekStorm {
    /// `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/seekstorm/bin/seekstorm_server");
        if !program.exists() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let address = free_address();
        let mut command = Command::new(program);
        command
            .arg(format!("index_path={}", directory.path().join("index").display()))
            .args(["local_ip=127.0.0.1".to_owned(), format!("local_port={}", address.port())])
            .current_dir(directory.path())
            // It ends with its input.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = Process::start(&mut command, address);
        let quota = json!({
            "indices_max": 10, "indices_size_max": 100_000, "documents_max": 100_000_000,
            "operations_max": 1_000_000_000, "rate_limit": 1_000_000_000,
        });
        let mut master = Http::open(address, None).with_header("apikey", MASTER_KEY);
        let key = master.call("POST", "/api/v1/apikey".to_owned(), Some(quota.to_string()), "");
        let key = String::from_utf8(key.to_vec()).unwrap().trim_matches('"').to_owned();
        Some(Self { directory, address, process, key })
    }

    fn open(&self) -> Http {
        Http::open(self.address, None).with_header("apikey", &self.key)
    }
}

impl Engine for SeekStorm {
    fn name(&self) -> String {
        format!("SeekStorm {VERSION}")
    }

    fn fill(&mut self, language: Language, rows: &[Row]) {
        let (tokenizer, stemmer) = match language {
            Language::English => ("UnicodeAlphanumeric", "English"),
            Language::Chinese => ("UnicodeAlphanumericZH", "None"),
        };
        let index = json!({
            "index_name": "texts", "tokenizer": tokenizer, "stemmer": stemmer,
            "schema": [
                { "field": "title", "field_type": "Text", "store": true, "index_lexical": true },
                { "field": "id", "field_type": "String32", "store": true, "index_lexical": false },
                { "field": "time", "field_type": "I64", "store": true, "index_lexical": false, "facet": true },
            ],
        });
        let mut client = self.open();
        client.call("POST", "/api/v1/index".to_owned(), Some(index.to_string()), "0");
        for batch in rows.chunks(BATCH) {
            let texts: Vec<_> = batch
                .iter()
                .map(|row| json!({ "title": row.title, "id": row.id, "time": row.time }))
                .collect();
            let body = serde_json::to_string(&texts).unwrap();
            client.call("POST", "/api/v1/index/0/doc".to_owned(), Some(body), "");
        }
        client.call("PATCH", "/api/v1/index/0".to_owned(), None, "");
        while client.json("GET", "/api/v1/index/0".to_owned(), None)["indexed_doc_count"] != rows.len() {}
    }

    fn connect(&self) -> Box<dyn Client> {
        Box::new(SeekStormClient(self.open()))
    }

    fn process(&self) -> Option<u32> {
        Some(self.process.id())
    }

    fn files(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

impl Client for SeekStormClient {
    fn search(&mut self, query: &Query) -> Found {
        let words = query.joined();
        let mut request = json!({
            "query": if query.is_phrase { format!("\"{words}\"") } else { words },
            "query_type_default": if query.order == Order::Newest { "Intersection" } else { "Union" },
            "length": LIMIT, "result_type": "TopkCount", "realtime": false,
        });
        if query.order == Order::Newest {
            request["result_sort"] = json!([{ "field": "time", "order": "Descending", "base": "None" }]);
        }
        let answer = self.0.json("POST", "/api/v1/index/0/query".to_owned(), Some(request.to_string()));
        Found {
            total: answer["count_total"].as_u64().unwrap(),
            rows: answer["results"].as_array().unwrap().len(),
        }
    }
}
