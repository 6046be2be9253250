//! Files of up to 2 GiB through `curl`. `CURL_MIB` sets the size of the large file.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use aws_lc_rs::digest::{Context, SHA256, digest};
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::util::{
    caller::Caller,
    items::user,
    program::{Server, create_with_scopes, own_address, run, text},
    sizes::size,
};

const SCOPES: [&str; 4] = ["directory:write", "contents:read", "files", "act-as-user"];

struct Place {
    directory: tempfile::TempDir,
    address: String,
    server: Server,
    mei: Caller,
}

impl Place {
    async fn with(settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("trawl.toml"), settings).unwrap();
        let address = own_address();
        let server = Server::start_at(directory.path(), &address, &[]).await;
        let application = create_with_scopes(directory.path(), "acme", &SCOPES).await;
        let caller = server.caller(&application).await;
        caller.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
        let mei = server.user(&application, "mei").await;
        Self { directory, address, server, mei }
    }

    async fn killed_and_back(self) -> Self {
        let Self { directory, address, server, mei } = self;
        server.kill();
        let server = Server::start_at(directory.path(), &address, &[]).await;
        Self { directory, address, server, mei }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        self.mei.post(path, body).await.ok().data().clone()
    }

    async fn send(&self, signed: &Value, file: &Path) -> String {
        assert_eq!((&signed["method"], &signed["headers"]), (&json!("PUT"), &Value::Null));
        let mut command = curl(&["--fail-with-body", "--upload-file"]);
        command.arg(file).args(["--output", "/dev/null", "--write-out", "%header{etag}"]);
        let output = done(run(with_url(command, signed)).await);
        text(&output.stdout).to_owned()
    }

    async fn take(&self, file_id: &Value) -> (String, u64) {
        let signed = self.post("/v1/stream/download", &json!({ "fileId": file_id })).await;
        let script = r#"curl --silent --show-error --fail "$1" | tee >(wc --bytes >&2) | sha256sum"#;
        let mut command = Command::new("bash");
        command.args(["-o", "pipefail", "-c", script, "bash", signed.as_str().unwrap()]);
        let output = done(run(command).await);
        let hash = text(&output.stdout).split_whitespace().next().unwrap().to_owned();
        (hash, text(&output.stderr).trim().parse().unwrap())
    }
}

fn curl(arguments: &[&str]) -> Command {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error"]).args(arguments);
    command
}

fn with_url(mut command: Command, signed: &Value) -> Command {
    command.arg(signed["url"].as_str().unwrap());
    command
}

#[track_caller]
fn done(output: Output) -> Output {
    assert!(output.status.success(), "{} {}", text(&output.stdout), text(&output.stderr));
    output
}

fn bytes_of(number: usize, length: usize) -> Vec<u8> {
    format!("part {number} of the harbour's log\n").bytes().cycle().take(length).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_files_survive_a_round_trip() {
    let place = Place::with("").await;
    for length in [0, 1, 5 << 20] {
        let content = bytes_of(length, length);
        let file = place.path("content");
        fs::write(&file, &content).unwrap();
        let hash = hex::encode(digest(&SHA256, &content));
        let signed =
            place.post("/v1/stream/upload", &json!({ "fileHash": hash, "fileName": "日志 log.txt" })).await;
        assert_eq!(place.send(&signed, &file).await.trim_matches('"'), hash);
        let commit = json!({
            "uploadId": signed["uploadId"], "dirId": "root", "fileName": format!("日志 {length}.txt"), "fileSize": length,
        });
        let made = place.post("/v1/stream/upload/commit", &commit).await;
        assert_eq!((&made["fileHash"], &made["size"]), (&json!(hash), &json!(length)));
        assert_eq!(place.take(&made["id"]).await, (hash, length as u64));
    }
    let listed = place.mei.get("/v1/directories/file/list?dirId=root").await.ok();
    let file = listed.items().iter().find(|file| file["size"] == 5 << 20).unwrap().clone();
    let content = bytes_of(5 << 20, 5 << 20);
    let signed = place.post("/v1/stream/download", &json!({ "fileId": file["id"] })).await;
    let output = run({
        let mut command = curl(&["--fail", "--range", "7-20", "--write-out", "%{http_code}"]);
        command.arg(signed.as_str().unwrap());
        command
    });
    assert_eq!(text(&done(output.await).stdout), format!("{}206", text(&content[7..21])));
    let folder = place.path("downloads");
    fs::create_dir(&folder).unwrap();
    let name = folder.join(file["name"].as_str().unwrap());
    fs::write(&name, &content[..1_000_000]).unwrap();
    let output = run({
        let mut command = curl(&["--fail", "--continue-at", "-", "--output"]);
        command.arg(&name).arg(signed.as_str().unwrap());
        command
    });
    done(output.await);
    assert_eq!(fs::read(&name).unwrap(), content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn multipart_survives_a_broken_part_and_a_killed_server() {
    let mib: usize = std::env::var("CURL_MIB").map_or_else(|_| size(24, 2_048), |mib| mib.parse().unwrap());
    let part_mib = size(6, 128);
    let mut place = Place::with("").await;
    let parts = mib.div_ceil(part_mib);
    let upload = place.post("/v1/stream/multipart/upload/start", &json!({ "fileSize": mib << 20 })).await;
    let (mut hash, mut tags) = (Context::new(&SHA256), Vec::new());
    let file = place.path("part");
    for number in 1..=parts {
        let length = part_mib.min(mib - (number - 1) * part_mib) << 20;
        let content = bytes_of(number, length);
        hash.update(&content);
        fs::write(&file, content).unwrap();
        let signed = place
            .post("/v1/stream/multipart/upload/parts", &json!({ "uploadId": upload, "partNumber": number }))
            .await;
        if number == parts / 2 {
            break_off(&signed, &file);
        }
        if number == parts / 2 + 1 {
            place = place.killed_and_back().await;
        }
        let tag = place.send(&signed, &file).await;
        tags.push(json!({ "partNumber": number, "eTag": tag }));
    }
    let hash = hex::encode(hash.finish());
    let commit = json!({
        "uploadId": upload, "dirId": "root", "fileName": "dump.bin", "fileSize": mib << 20, "fileHash": hash,
        "partETags": Value::from(tags).to_string(),
    });
    // This takes longer than an ordinary call may.
    let made = place.post("/v1/stream/multipart/upload/commit", &commit).await;
    assert_eq!(place.take(&made["id"]).await, (hash, (mib as u64) << 20));
}

fn break_off(signed: &Value, file: &Path) {
    let url = url::Url::parse(signed["url"].as_str().unwrap()).unwrap();
    let address = url.socket_addrs(|| None).unwrap();
    let mut connection = std::net::TcpStream::connect(&address[..]).unwrap();
    let content = fs::read(file).unwrap();
    let head = format!(
        "PUT {}?{} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
        url.path(),
        url.query().unwrap(),
        url.authority(),
        content.len()
    );
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(&content[..content.len() / 2]).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_parts_make_one_file() {
    let count = size(400, 10_000);
    let place = Place::with("[limits]\npart_bytes = 1\n").await;
    let upload = place.post("/v1/stream/multipart/upload/start", &json!({})).await;
    let signed: Vec<Value> = stream::iter((1..=count).rev())
        .map(|number| {
            let (place, upload) = (&place, &upload);
            async move {
                let sign = json!({ "uploadId": upload, "partNumber": number });
                place.post("/v1/stream/multipart/upload/parts", &sign).await
            }
        })
        .buffered(16)
        .collect()
        .await;
    let folder = place.path("parts");
    fs::create_dir(&folder).unwrap();
    let settings = place.path("curl.conf");
    let mut lines = File::create(&settings).unwrap();
    let (mut hash, mut length) = (Context::new(&SHA256), 0);
    for (number, signed) in (1..=count).zip(signed.iter().rev()) {
        let content = bytes_of(number, 1 + number % 19);
        hash.update(&content);
        length += content.len();
        let file = folder.join(number.to_string());
        fs::write(&file, content).unwrap();
        let url = signed["url"].as_str().unwrap();
        writeln!(lines, "upload-file = \"{}\"\nurl = \"{url}\"\noutput = \"/dev/null\"", file.display())
            .unwrap();
    }
    drop(lines);
    let mut command = curl(&["--fail", "--parallel", "--parallel-max", "16", "--write-out"]);
    command.args(["%{filename_effective} %{urlnum} %header{etag}\\n", "--config"]).arg(&settings);
    let output = done(run(command).await);
    let mut tags = std::collections::BTreeMap::new();
    for line in text(&output.stdout).lines() {
        let mut words = line.split_whitespace().skip(1);
        let number = words.next().unwrap().parse::<usize>().unwrap() + 1;
        tags.insert(number, words.next().unwrap().to_owned());
    }
    let tags: Vec<Value> =
        tags.iter().map(|(number, tag)| json!({ "partnumber": number, "etag": tag })).collect();
    assert_eq!(tags.len(), count);
    let hash = hex::encode(hash.finish());
    let commit = json!({
        "uploadId": upload, "dirId": "root", "fileName": "many.txt", "fileSize": length,
        "partETags": Value::from(tags).to_string(),
    });
    let made = place.post("/v1/stream/multipart/upload/commit", &commit).await;
    assert_eq!(made["fileHash"], json!(hash));
    assert_eq!(place.take(&made["id"]).await, (hash, length as u64));
}
