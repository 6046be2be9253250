//! Contents beside a bare axum handler, and the server's memory.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::{StreamExt, future::join_all, stream};
use serde_json::{Value, json};
use trawl::auth::applications::Kind;

use crate::{
    Scale,
    common::{data_directory::DataDirectory, report::Report, server::Server},
    peers,
    process::resident_mib,
};

const CLIENTS: usize = 32;
const FILE_BYTES: usize = 100 << 20;
const MIB: f64 = 1_048_576.0;

/// The bar for uploads.
const MOST_GROWTH_MIB: f64 = 200.0;

const LOOK_EVERY: Duration = Duration::from_millis(5);

const PERSON: &str = "mei.chen";

pub(crate) fn run(scale: &Scale, report: &mut Report) {
    let prepared = DataDirectory::new(Kind::Application);
    let trawl = Server::trawl(prepared.directory.path(), &[("LOG__FILTER", "warn")]);
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let peer = |how: &str, place: usize| {
        Server::peer(&[peers::FILES, how, &directories[place].path().display().to_string()])
    };
    let (lazy, durable) = (peer("lazy", 0), peer("durable", 1));
    let person = person(&trawl, &prepared);
    let store = |server, person| FileServer { server, http: client(), person, content: contents::binary };
    let servers = [store(&trawl, Some(person)), store(&lazy, None), store(&durable, None)];

    writeln!(report, "\n## Contents of files\n");
    writeln!(
        report,
        "Distinct files of {} MiB. trawl uploads by signing, sending and committing (durable, SHA-256 computed), and downloads by signing and \
         sending. The peers write and send a file, without and with an fsync before the answer. MiB per second.\n",
        FILE_BYTES >> 20
    );
    writeln!(report, "| direction | clients | trawl | bare | × of it | bare, durable | × of it |");
    writeln!(report, "|---|---|---|---|---|---|---|");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut growth = 0.0_f64;
    for (clients, rounds) in [(1, scale.files), (CLIENTS, scale.files.div_ceil(4))] {
        let (mut up, mut down) = ([0.0; 3], [0.0; 3]);
        for round in 0..=rounds {
            for (place, store) in servers.iter().enumerate() {
                let memory = (place == 0).then(|| MemoryWatch::start(store.server.process.id()));
                let (ids, took) = runtime.block_on(store.upload(clients, round));
                if let Some(memory) = memory {
                    growth = growth.max(memory.growth_mib());
                }
                let taken = runtime.block_on(store.download(&ids));
                runtime.block_on(store.remove(&ids));
                if round > 0 {
                    up[place] += took.as_secs_f64();
                    down[place] += taken.as_secs_f64();
                }
            }
        }
        let volume = (clients * rounds * FILE_BYTES) as f64 / MIB;
        for (name, seconds) in [("up", up), ("down", down)] {
            let [ours, lazy, durable] = seconds.map(|seconds| volume / seconds);
            writeln!(
                report,
                "| {name} | {clients} | {ours:.0} | {lazy:.0} | {:.2} | {durable:.0} | {:.2} |",
                ours / lazy,
                ours / durable
            );
        }
    }
    let texts = FileServer { content: contents::text, ..servers.into_iter().next().unwrap() };
    let memory = MemoryWatch::start(texts.server.process.id());
    runtime.block_on(texts.upload(CLIENTS, 0));
    let of_texts = memory.growth_mib();
    writeln!(
        report,
        "\nWhile {CLIENTS} clients uploaded {} MiB each, trawl's memory grew by at most {growth:.0} MiB (bar: {MOST_GROWTH_MIB:.0} MiB); with texts, \
         which are indexed concurrently, by {of_texts:.0} MiB more.",
        FILE_BYTES >> 20
    );
}

fn person(trawl: &Server, prepared: &DataDirectory) -> String {
    let application = trawl.token(prepared);
    let person = json!([{ "userId": "mei", "loginId": PERSON, "name": "Mei Chen", "sex": 2 }]);
    crate::common::load::block_on(async {
        let sync = client().put(format!("http://{}/v1/users/sync", trawl.address));
        let answer = sync.bearer_auth(&application).json(&person).send().await.unwrap();
        assert!(answer.status().is_success());
    });
    trawl.grant(
        &prepared.registered,
        &[
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token_type", "urn:trawl:params:oauth:token-type:login-id"),
            ("subject_token", PERSON),
        ],
    )
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// A peer needs no token.
struct FileServer<'a> {
    server: &'a Server,
    http: reqwest::Client,
    person: Option<String>,
    /// By file name.
    content: fn(&str) -> contents::Content,
}

impl FileServer<'_> {
    /// One file per client concurrently; returns the ids and the duration.
    async fn upload(&self, clients: usize, round: usize) -> (Vec<String>, Duration) {
        let started = Instant::now();
        let ids = join_all((0..clients).map(|client| self.upload_one(format!("{round}-{client}"))));
        (ids.await, started.elapsed())
    }

    async fn upload_one(&self, name: String) -> String {
        let Some(person) = &self.person else {
            let address = format!("http://{}/{name}", self.server.address);
            self.send(&address, &name).await;
            return name;
        };
        let signed = self.call(person, "/v1/stream/upload", &json!({ "fileSize": FILE_BYTES })).await;
        self.send(signed["url"].as_str().unwrap(), &name).await;
        let commit = json!({
            "uploadId": signed["uploadId"], "dirId": "root", "fileName": format!("{name}.bin"), "fileSize": FILE_BYTES,
        });
        let file = self.call(person, "/v1/stream/upload/commit", &commit).await;
        file["id"].as_str().unwrap().to_owned()
    }

    async fn send(&self, address: &str, name: &str) {
        let request = self.http.put(address).header("content-length", FILE_BYTES);
        let answer = request.body(reqwest::Body::wrap_stream((self.content)(name))).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    async fn download(&self, ids: &[String]) -> Duration {
        let started = Instant::now();
        join_all(ids.iter().map(|id| self.download_one(id))).await;
        started.elapsed()
    }

    async fn download_one(&self, id: &str) {
        let address = match &self.person {
            None => format!("http://{}/{id}", self.server.address),
            Some(person) => {
                let signed = self.call(person, "/v1/stream/download", &json!({ "fileId": id })).await;
                signed.as_str().unwrap().to_owned()
            }
        };
        let answer = self.http.get(address).send().await.unwrap();
        assert!(answer.status().is_success());
        let pieces = answer.bytes_stream();
        let bytes = pieces.fold(0, async |bytes, piece| bytes + piece.unwrap().len()).await;
        assert_eq!(bytes, FILE_BYTES);
    }

    async fn remove(&self, ids: &[String]) {
        match &self.person {
            Some(person) => drop(self.call(person, "/v1/files/delete", &json!(ids)).await),
            None => {
                for id in ids {
                    let address = format!("http://{}/{id}", self.server.address);
                    self.http.delete(address).send().await.unwrap();
                }
            }
        }
    }

    async fn call(&self, person: &str, path: &str, body: &Value) -> Value {
        let request = self.http.post(format!("http://{}{path}", self.server.address));
        let answer = request.bearer_auth(person).json(body).send().await.unwrap();
        let mut answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["code"], 200, "{path}: {answer}");
        answer["data"].take()
    }
}

/// Contents that cost no time to make, another for each name.
mod contents {
    use super::{Bytes, FILE_BYTES, StreamExt, stream};

    const PIECE_BYTES: usize = 256 << 10;

    pub(super) type Content = stream::BoxStream<'static, std::io::Result<Bytes>>;

    pub(super) fn binary(name: &str) -> Content {
        of(name, &[0, 255, 7, 128])
    }

    pub(super) fn text(name: &str) -> Content {
        of(&format!("The log of {name}. "), b"The tide was late, and so was the pilot. ")
    }

    fn of(name: &str, filling: &[u8]) -> Content {
        let piece = |begin: &[u8]| -> Bytes {
            begin.iter().chain(filling.iter().cycle()).take(PIECE_BYTES).copied().collect()
        };
        let first = piece(&[filling, name.as_bytes()].concat());
        let others = stream::repeat(piece(b"")).take(FILE_BYTES / PIECE_BYTES - 1);
        stream::once(async { first }).chain(others).map(Ok).boxed()
    }
}

struct MemoryWatch {
    before: f64,
    is_over: Arc<AtomicBool>,
    peak: std::thread::JoinHandle<f64>,
}

impl MemoryWatch {
    fn start(process: u32) -> Self {
        let before = resident_mib(process);
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_over);
        let peak = std::thread::spawn(move || {
            let mut peak = before;
            while !ended.load(Ordering::Relaxed) {
                peak = peak.max(resident_mib(process));
                std::thread::sleep(LOOK_EVERY);
            }
            peak
        });
        Self { before, is_over, peak }
    }

    fn growth_mib(self) -> f64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.peak.join().unwrap() - self.before
    }
}
