use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    engine::{BATCH, Client, Engine, Found, Http, LIMIT, Process, encode, free_address, version},
    queries::{Language, Order, Query, Row},
};

const PROGRAM: &str = "groonga";

/// Its HTTP server, which closes connections, without its cache of answers.
pub(crate) struct Groonga {
    directory: tempfile::TempDir,
    address: SocketAddr,
    process: Process,
    version: String,
}

struct GroongaClient(Http);

impl Groonga {
    /// `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let version = version(Path::new(PROGRAM), &["--version"])?;
        let directory = tempfile::tempdir().unwrap();
        let address = free_address();
        let mut command = Command::new(PROGRAM);
        command.args([
            "--protocol",
            "http",
            "--bind-address",
            "127.0.0.1",
            "--port",
            &address.port().to_string(),
        ]);
        command.args(["-s", "-n"]).arg(directory.path().join("texts")).stdout(Stdio::null());
        let process = Process::start(&mut command, address);
        Some(Self { directory, address, process, version })
    }
}

impl Engine for Groonga {
    fn name(&self) -> String {
        self.version.split('[').next().unwrap_or_default().trim().to_owned()
    }

    fn fill(&mut self, _language: Language, rows: &[Row]) {
        let mut client = Http::open(self.address, None);
        for command in [
            "plugin_register?name=token_filters/stem",
            "table_create?name=Texts&flags=TABLE_HASH_KEY&key_type=ShortText",
            "column_create?table=Texts&name=title&flags=COLUMN_SCALAR&type=ShortText",
            "column_create?table=Texts&name=time&flags=COLUMN_SCALAR&type=Int64",
            "table_create?name=Words&flags=TABLE_PAT_KEY&key_type=ShortText&default_tokenizer=TokenBigram\
             &normalizer=NormalizerAuto&token_filters=TokenFilterStem",
        ] {
            client.open_again().call("GET", format!("/d/{command}"), None, "true");
        }
        for batch in rows.chunks(BATCH) {
            let rows: Vec<_> = batch
                .iter()
                .map(|row| json!({ "_key": row.id, "title": row.title, "time": row.time }))
                .collect();
            let body = serde_json::to_string(&rows).unwrap();
            client.open_again().call(
                "POST",
                "/d/load?table=Texts".to_owned(),
                Some(body),
                &batch.len().to_string(),
            );
        }
        // An index of filled columns is built at once.
        let index = "/d/column_create?table=Words&name=titles&flags=COLUMN_INDEX|WITH_POSITION&type=Texts&source=title";
        client.open_again().call("GET", index.replace('|', "%7C"), None, "true");
    }

    fn connect(&self) -> Box<dyn Client> {
        Box::new(GroongaClient(Http::open(self.address, None)))
    }

    fn process(&self) -> Option<u32> {
        Some(self.process.id())
    }

    fn files(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

impl Client for GroongaClient {
    fn search(&mut self, query: &Query) -> Found {
        let words = match (query.is_phrase, query.order) {
            (true, _) => format!("\"{}\"", query.joined()),
            (false, Order::Newest) => query.joined(),
            (false, Order::Best) => query.words.join(" OR "),
        };
        let order = if query.order == Order::Best { "-_score" } else { "-time" };
        let path = format!(
            "/d/select?table=Texts&match_columns=title&query={}&sort_keys={order}&limit={LIMIT}\
             &output_columns=_key,title,time&cache=no",
            encode(&words)
        );
        let answer = self.0.open_again().json("GET", path, None);
        let found: &Value = &answer[1][0];
        // The number of matches, the columns, then the rows.
        let rows = found.as_array().unwrap().len() - 2;
        Found { total: found[0][0].as_u64().unwrap(), rows }
    }
}
