//! `kill -9` at random moments under changes of files and folders.
//!
//! `FILE_KILLS` sets the number of kills; `KILL_SEED` repeats the choices, not the moments.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::Arc,
    time::Duration,
};

use aws_lc_rs::digest::{SHA256, digest};
use fastrand::Rng;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::util::{
    caller::Caller,
    database::read,
    items::user,
    postgres::open_store,
    program::{Server, create_with_scopes, run, text, trawl_over},
    sizes::size,
};

const WRITERS: usize = 4;
/// A kill comes after a random number of acknowledged calls, at most this many.
const MAX_CALLS_BEFORE_KILL: u32 = 24;
const FOLDERS: [&str; 3] = ["Bay", "Cove", "Dock"];
const FILES: [&str; 4] = ["one.txt", "two.txt", "three.bin", "four.bin"];
const SCOPES: [&str; 4] = ["directory:write", "contents:read", "files", "act-as-user"];
const SETTINGS: &str = "[limits]\npart_bytes = 1000\n";

type Tree = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Clone, Debug)]
enum Call {
    Put { folder: String, file: String, content: String, parts: usize },
    DeleteFile { folder: String, file: String },
    CreateFolder(String),
    RenameFolder { from: String, to: String },
    DeleteFolder(String),
}

impl Call {
    fn any(random: &mut Rng, tree: &Tree, content: String) -> Self {
        let some_folder = |random: &mut Rng| {
            let place = random.usize(..tree.len());
            tree.iter().nth(place).map(|(name, files)| (name.clone(), files.clone())).unwrap()
        };
        let missing: Vec<&str> = FOLDERS.into_iter().filter(|name| !tree.contains_key(*name)).collect();
        let kind = random.u8(..20);
        if tree.is_empty() || (kind < 3 && !missing.is_empty()) {
            return Self::CreateFolder(missing[random.usize(..missing.len())].to_owned());
        }
        let (folder, files) = some_folder(random);
        match kind {
            3..6 if !files.is_empty() => {
                let place = random.usize(..files.len());
                Self::DeleteFile { folder, file: files.keys().nth(place).unwrap().clone() }
            }
            6..8 if !missing.is_empty() => {
                Self::RenameFolder { from: folder, to: missing[random.usize(..missing.len())].to_owned() }
            }
            8 => Self::DeleteFolder(folder),
            _ => Self::Put {
                folder,
                file: FILES[random.usize(..FILES.len())].to_owned(),
                content,
                parts: if random.bool() { random.usize(1..=6) } else { 0 },
            },
        }
    }

    fn apply(&self, tree: &mut Tree) {
        match self {
            Self::Put { folder, file, content, .. } => {
                tree.get_mut(folder).unwrap().insert(file.clone(), content.clone());
            }
            Self::DeleteFile { folder, file } => drop(tree.get_mut(folder).unwrap().remove(file)),
            Self::CreateFolder(name) => drop(tree.insert(name.clone(), BTreeMap::new())),
            Self::RenameFolder { from, to } => {
                let files = tree.remove(from).unwrap();
                tree.insert(to.clone(), files);
            }
            Self::DeleteFolder(name) => drop(tree.remove(name)),
        }
    }
}

fn bytes_of(content: &str) -> Vec<u8> {
    let number = content.bytes().fold(7_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 100_003);
    let length = if number % 5 == 0 { number * 5 } else { 1 + number % 9_000 };
    format!("harbour {content} ").bytes().cycle().take(length).collect()
}

fn hash_of(bytes: &[u8]) -> String {
    hex::encode(digest(&SHA256, bytes))
}

#[derive(Clone, Debug)]
struct Writer {
    caller: Caller,
    home: String,
    acknowledged: Tree,
    unanswered: Option<Call>,
    folders: BTreeMap<String, String>,
    files: BTreeMap<(String, String), String>,
}

struct Gone;

impl Writer {
    async fn write_until_killed(
        mut self,
        mut random: Rng,
        name: String,
        acknowledged: Arc<Semaphore>,
    ) -> Self {
        for number in 0.. {
            let call = Call::any(&mut random, &self.acknowledged, format!("{name}.{number}"));
            if self.make(&call, &mut random).await.is_err() {
                self.unanswered = Some(call);
                break;
            }
            call.apply(&mut self.acknowledged);
            acknowledged.add_permits(1);
        }
        self
    }

    async fn make(&mut self, call: &Call, random: &mut Rng) -> Result<(), Gone> {
        match call {
            Call::Put { folder, file, content, parts } => {
                let bytes = bytes_of(content);
                let commit = json!({
                    "dirId": self.folders[folder], "fileName": file, "fileSize": bytes.len(), "ondup": true,
                    "fileHash": hash_of(&bytes),
                });
                let committed = if *parts == 0 {
                    self.put_whole(bytes, commit).await?
                } else {
                    self.put_in_parts(bytes, *parts, commit, random).await?
                };
                let id = committed["id"].as_str().unwrap().to_owned();
                self.files.insert((folder.clone(), file.clone()), id);
            }
            Call::DeleteFile { folder, file } => {
                let id = self.files.remove(&(folder.clone(), file.clone())).unwrap();
                self.post("/v1/files/delete", json!([id])).await?;
            }
            Call::CreateFolder(name) => {
                let made = json!({ "name": name, "parentId": self.home });
                let made = self.post("/v1/directories/create", made).await?;
                self.folders.insert(name.clone(), made["id"].as_str().unwrap().to_owned());
            }
            Call::RenameFolder { from, to } => {
                let id = self.folders.remove(from).unwrap();
                self.post("/v1/directories/rename", json!({ "dirId": id, "name": to })).await?;
                self.folders.insert(to.clone(), id);
                let files = std::mem::take(&mut self.files);
                let renamed =
                    |((folder, file), id)| ((if folder == *from { to.clone() } else { folder }, file), id);
                self.files = files.into_iter().map(renamed).collect();
            }
            Call::DeleteFolder(name) => {
                let id = self.folders.remove(name).unwrap();
                self.post("/v1/directories/delete", json!({ "dirId": id })).await?;
                self.files.retain(|(folder, _), _| folder != name);
            }
        }
        Ok(())
    }

    async fn put_whole(&self, bytes: Vec<u8>, mut commit: Value) -> Result<Value, Gone> {
        let signed = self.post("/v1/stream/upload", json!({ "fileSize": bytes.len() })).await?;
        self.send(&signed, bytes).await?;
        commit["uploadId"] = signed["uploadId"].clone();
        self.post("/v1/stream/upload/commit", commit).await
    }

    async fn put_in_parts(
        &self,
        bytes: Vec<u8>,
        parts: usize,
        mut commit: Value,
        random: &mut Rng,
    ) -> Result<Value, Gone> {
        let upload = self.post("/v1/stream/multipart/upload/start", json!({})).await?;
        let piece = bytes.len().div_ceil(parts).max(1_000);
        let mut pieces: Vec<(usize, &[u8])> = (1..).zip(bytes.chunks(piece)).collect();
        random.shuffle(&mut pieces);
        let mut tags = BTreeMap::new();
        for (number, piece) in pieces {
            let sign = json!({ "uploadId": upload, "partNumber": number });
            let signed = self.post("/v1/stream/multipart/upload/parts", sign).await?;
            tags.insert(number, self.send(&signed, piece.to_vec()).await?);
        }
        let tags: Vec<Value> =
            tags.into_iter().map(|(number, tag)| json!({ "partNumber": number, "eTag": tag })).collect();
        commit["uploadId"] = upload;
        commit["partETags"] = Value::String(Value::from(tags).to_string());
        self.post("/v1/stream/multipart/upload/commit", commit).await
    }

    async fn send(&self, signed: &Value, bytes: Vec<u8>) -> Result<String, Gone> {
        assert_eq!(signed["method"], "PUT");
        let request = self.caller.http.put(signed["url"].as_str().unwrap()).body(bytes);
        let response = request.send().await.map_err(|_| Gone)?;
        assert_eq!(response.status(), 200, "{:?}", response.text().await);
        Ok(response.headers()["etag"].to_str().unwrap().to_owned())
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value, Gone> {
        let request = self.caller.request(Method::POST, path).json(&body);
        let response = request.send().await.map_err(|_| Gone)?;
        let mut answer: Value = response.json().await.map_err(|_| Gone)?;
        assert_eq!(answer["code"], 200, "{path} {body}: {answer}");
        Ok(answer["data"].take())
    }

    /// Expects the acknowledged state, with or without the call in flight.
    async fn settle(&mut self, base: &str) -> BTreeSet<String> {
        base.clone_into(&mut self.caller.base);
        let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        (self.folders, self.files) = Default::default();
        let folders = self.caller.get(&format!("/v1/directories/list?parentId={}", self.home)).await.ok();
        for folder in folders.items() {
            let (id, name) = (text_of(folder, "id"), text_of(folder, "name"));
            let files = self.caller.get(&format!("/v1/directories/file/list?dirId={id}")).await.ok();
            for file in files.items() {
                self.check_content(file).await;
                let file_name = text_of(file, "name");
                self.files.insert((name.clone(), file_name.clone()), text_of(file, "id"));
                found.entry(name.clone()).or_default().insert(file_name, text_of(file, "fileHash"));
            }
            found.entry(name.clone()).or_default();
            self.folders.insert(name, id);
        }
        let hashed = |tree: &Tree| -> Tree {
            let files = |files: &BTreeMap<String, String>| {
                files.iter().map(|(name, content)| (name.clone(), hash_of(&bytes_of(content)))).collect()
            };
            tree.iter().map(|(name, of_folder)| (name.clone(), files(of_folder))).collect()
        };
        let mut with_unanswered = self.acknowledged.clone();
        let call = self.unanswered.take();
        if let Some(call) = &call {
            call.apply(&mut with_unanswered);
        }
        if hashed(&self.acknowledged) != found {
            assert_eq!(hashed(&with_unanswered), found, "unanswered: {call:?}");
            self.acknowledged = with_unanswered;
        }
        self.files.values().cloned().collect()
    }

    async fn check_content(&self, file: &Value) {
        let signed = self.caller.post("/v1/stream/download", &json!({ "fileId": file["id"] })).await.ok();
        let response = self.caller.http.get(signed.data().as_str().unwrap()).send().await.unwrap();
        assert_eq!(response.status(), 200, "{file}");
        let bytes = response.bytes().await.unwrap();
        assert_eq!(hash_of(&bytes), file["fileHash"], "{file}");
        assert_eq!(bytes.len() as u64, file["size"].as_u64().unwrap(), "{file}");
    }
}

fn text_of(item: &Value, field: &str) -> String {
    item[field].as_str().unwrap_or_else(|| panic!("{field}: {item}")).to_owned()
}

async fn check_quotas(data: &Path) {
    let store = open_store(data).await;
    let tenants = "SELECT file_bytes AS noted, (SELECT CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT) FROM live WHERE live.tenant_id = tenants.id) AS summed \
         FROM tenants";
    let roots = "SELECT file_bytes AS noted, (SELECT CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT) FROM live WHERE live.root_id = directories.id) AS summed \
         FROM directories WHERE subject IS NOT NULL";
    for statement in [tenants, roots] {
        let text = format!(
            "WITH RECURSIVE below (id, root_id) AS ( \
               SELECT id, id FROM directories WHERE subject IS NOT NULL \
               UNION ALL SELECT next.id, root_id FROM directories AS next JOIN below ON next.parent_id = below.id), \
             live AS (SELECT files.tenant_id, root_id, stored_bytes FROM files JOIN below ON below.id = files.directory_id) {statement}"
        );
        for (noted, summed) in read::<(i64, i64)>(&store, &text, Vec::new()).await {
            assert_eq!(noted, summed, "{statement}");
        }
    }
    // Versions of removed files are deleted one by one.
    let sums = "SELECT files.sequence FROM files JOIN directories ON directories.id = files.directory_id AND removed_at IS NULL \
        WHERE stored_bytes <> (SELECT SUM(size) FROM file_versions WHERE file_id = files.id)";
    assert_eq!(read::<(i64,)>(&store, sums, Vec::new()).await, []);
    store.close().await.unwrap();
}

async fn verify(data: &Path) {
    let output = run(trawl_over(data, &["storage", "verify", "--json"])).await;
    assert!(output.status.success(), "{} {}", text(&output.stdout), text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_at_random_moments_keeps_acknowledged_files() {
    let from_environment = |name| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let kills =
        from_environment("FILE_KILLS").map_or_else(|| size(5, 50), |kills| usize::try_from(kills).unwrap());
    let seed = from_environment("KILL_SEED").unwrap_or_else(|| fastrand::u64(..));
    eprintln!("KILL_SEED={seed} FILE_KILLS={kills}");
    let mut random = Rng::with_seed(seed);

    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    fs::write(data.join("trawl.toml"), SETTINGS).unwrap();
    let mut server = Server::start(data).await;
    let application = create_with_scopes(data, "acme", &SCOPES).await;
    let caller = server.caller(&application).await;
    caller.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    let mei = server.user(&application, "mei").await;
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        let made =
            mei.post("/v1/directories/create", &json!({ "name": format!("Home {number}") })).await.ok();
        writers.push(Writer {
            caller: mei.clone(),
            home: text_of(made.data(), "id"),
            acknowledged: Tree::new(),
            unanswered: None,
            folders: BTreeMap::new(),
            files: BTreeMap::new(),
        });
    }
    for round in 0..kills {
        let acknowledged = Arc::new(Semaphore::new(0));
        let writing: Vec<_> = writers
            .drain(..)
            .enumerate()
            .map(|(place, writer)| {
                let (name, acknowledged) = (format!("{round}.{place}"), Arc::clone(&acknowledged));
                tokio::spawn(writer.write_until_killed(random.fork(), name, acknowledged))
            })
            .collect();
        let _calls = acknowledged.acquire_many(random.u32(..=MAX_CALLS_BEFORE_KILL)).await.unwrap();
        tokio::time::sleep(Duration::from_micros(random.u64(..10_000))).await;
        server.kill();
        for writer in writing {
            writers.push(writer.await.unwrap());
        }
        if random.usize(..4) == 0 {
            check_quotas(data).await;
        }
        server = Server::launch(data, "127.0.0.1:0", &[]).await;
        server.wait_until_ready().await;
        let mut there = BTreeSet::new();
        for writer in &mut writers {
            there.extend(writer.settle(&server.base).await);
        }
        server.wait_for_index().await;
        let found = writers[0].caller.find("file", "home").await;
        assert_eq!(found.into_iter().collect::<BTreeSet<String>>(), there);
        if random.usize(..8) == 0 {
            verify(data).await;
        }
    }

    verify(data).await;
    server.terminate();
    assert!(server.wait_for_end().await.success(), "{}", server.log());
    check_quotas(data).await;
    verify(data).await;
}
