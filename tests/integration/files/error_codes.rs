//! Business error codes by operation (book: reference/errors.md), and scanner verdicts.

use std::sync::Arc;

use futures::StreamExt;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::Caller,
    files::{commit, commit_form, commit_parts, delete, put, put_file, send_part, sent, start, take},
    folders::{folder, give},
    groups::people,
    internals::{BusinessCode, Error, Pieces, Result, Scanner, Verdict},
};

struct Words;

#[async_trait::async_trait]
impl Scanner for Words {
    async fn scan(&self, mut content: Pieces) -> Result<Verdict> {
        let mut whole = Vec::new();
        while let Some(piece) = content.next().await {
            whole.extend_from_slice(&piece?);
        }
        let text = String::from_utf8_lossy(&whole);
        if text.contains("locked away") {
            return Err(Error::business(
                BusinessCode::General,
                "the file could not be scanned: it is encrypted",
            ));
        }
        let is_found = text.contains("virus");
        Ok(if is_found { Verdict::Unsafe("Test.Virus".to_owned()) } else { Verdict::Safe })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Sign,
    Start,
    SignPart,
    Commit,
    MultipartCommit,
    Download,
    Delete,
}
use Operation::{Commit, Delete, Download, MultipartCommit, Sign, SignPart, Start};

const COMMITS: &[Operation] = &[Commit, MultipartCommit];

/// Codes and texts by operation.
const TABLE: [(u32, &str, &[Operation]); 9] = [
    (400, "General failure", &[Sign, Start, SignPart, Commit, MultipartCommit, Download, Delete]),
    (430_001, "Parent folder does not exist", COMMITS),
    (430_003, "resource not found", &[Download, Delete]),
    (430_005, "File name exceeds the system length", COMMITS),
    (430_011, "Insufficient operation permission", &[Commit, MultipartCommit, Download, Delete]),
    (430_012, "File is unsafe", &[Commit, MultipartCommit, Download]),
    (430_015, "Subject quota insufficient", COMMITS),
    (430_016, "Enterprise quota insufficient", COMMITS),
    // Commits obey locks too (book: reference/files.md).
    (430_017, "Folder or a parent folder is locked", &[Commit, MultipartCommit, Delete]),
];

/// Mei's folder with a file; Omar may view it, Lin may write in it.
struct World {
    app: TestApp,
    mei: Caller,
    omar: Caller,
    lin: Caller,
    folder: String,
    file: String,
}

impl World {
    async fn new() -> Self {
        let app = TestApp::start_scanning(Arc::new(Words)).await;
        let acme = app.tenant("acme").await;
        let [mei, omar, lin] = people(&app, &acme, ["mei", "omar", "lin"]).await;
        let folder = folder(&mei, "", "Plans").await;
        give(&mei, &folder, "viewer", &["omar"]).await;
        give(&mei, &folder, "editor", &["lin"]).await;
        let file = put_file(&mei, &folder, "there.txt", b"there").await;
        Self { app, mei, omar, lin, folder, file }
    }

    async fn provoke(&self, code: u32, operation: Operation) -> Answer {
        let Self { app, mei, omar, lin, folder, file } = self;
        let committed = async |by: &Caller, folder: &str, name: &str, content: &[u8], then: &'static str| {
            let mut form = commit_form("", folder, name, content.len());
            let parts = if operation == Commit {
                form["uploadId"] = json!(sent(by, content).await);
                None
            } else {
                let upload = start(by).await;
                form["uploadId"] = json!(upload);
                Some(send_part(by, &upload, 1, content).await)
            };
            if !then.is_empty() {
                app.execute(then).await;
            }
            match parts {
                None => commit(by, &form).await,
                Some(e_tag) => commit_parts(by, form, &[(1, &e_tag)]).await,
            }
        };
        let download = async |by: &Caller, form: Value| by.post("/v1/stream/download", &form).await;
        match (code, operation) {
            (400, Sign) => mei.post("/v1/stream/upload", &json!({"fileName": "a/b"})).await,
            (400, Start) => {
                mei.post("/v1/stream/multipart/upload/start", &json!({"fileSize": 1_i64 << 50})).await
            }
            (400, SignPart) => {
                let form = json!({"uploadId": "nothing", "partNumber": 1});
                mei.post("/v1/stream/multipart/upload/parts", &form).await
            }
            (400, Commit | MultipartCommit) => committed(mei, folder, "there.txt", b"x", "").await,
            (400, Download) => download(mei, json!({"fileId": file, "version": 0})).await,
            (400, Delete) => delete(mei, &[]).await,
            (430_001, _) => committed(omar, "nowhere", "new.txt", b"x", "").await,
            (430_003, Download) => download(mei, json!({"fileId": "nothing"})).await,
            (430_003, Delete) => delete(mei, &[file, "nothing"]).await,
            (430_005, _) => committed(mei, folder, &"x".repeat(256), b"x", "").await,
            (430_011, Download) => download(omar, json!({"fileId": file})).await,
            (430_011, Delete) => delete(omar, &[file]).await,
            (430_011, _) => committed(omar, folder, "new.txt", b"x", "").await,
            (430_012, Download) => {
                app.execute("UPDATE blobs SET verdict = 'Test.Virus'").await;
                download(mei, json!({"fileId": file})).await
            }
            (430_012, _) => committed(mei, folder, "new.txt", b"a virus", "").await,
            (430_015, _) => {
                committed(mei, folder, "new.txt", b"x", "UPDATE tenants SET subject_quota_bytes = 5").await
            }
            (430_016, _) => {
                committed(mei, folder, "new.txt", b"x", "UPDATE tenants SET quota_bytes = 5").await
            }
            (430_017, operation) => {
                let lock =
                    "UPDATE directories SET locked_by = 'mei', locked_at = 1 WHERE parent_id IS NOT NULL";
                if operation == Delete {
                    app.execute(lock).await;
                    return delete(lin, &[file]).await;
                }
                committed(lin, folder, "new.txt", b"x", lock).await
            }
            other => panic!("{other:?}"),
        }
    }

    async fn calm(&self) {
        self.app.execute("UPDATE tenants SET quota_bytes = 0, subject_quota_bytes = 0").await;
        self.app.execute("UPDATE directories SET locked_by = NULL, locked_at = NULL").await;
        self.app.execute("UPDATE blobs SET verdict = NULL").await;
    }
}

#[tokio::test]
async fn every_listed_error_code_is_returned_by_its_operations() {
    let world = World::new().await;
    let mut tried = 0;
    for (code, meaning, operations) in TABLE {
        for operation in operations {
            let answer = world.provoke(code, *operation).await;
            let of = format!("{code} {meaning} of {operation:?}: {}", answer.text);
            assert_eq!(answer.body["code"], code, "{of}");
            assert!(answer.body["data"].is_null() && answer.body["date"].is_i64(), "{of}");
            assert!(!answer.message().is_empty(), "{of}");
            assert!(answer.status == 200 || code == 400 && answer.status == 400, "{of}");
            world.calm().await;
            tried += 1;
        }
    }
    assert_eq!(tried, 7 + 2 + 2 + 2 + 4 + 3 + 2 + 2 + 3);
    assert_eq!(world.app.number("SELECT COUNT(*) FROM files").await, 1);
    assert_eq!(world.app.number("SELECT SUM(file_bytes) FROM directories").await, 5);
    assert_eq!(take(&world.mei, &world.file, None).await, b"there");
}

#[tokio::test]
async fn unsafe_or_unscanned_content_is_not_kept() {
    let World { app, mei, folder, .. } = World::new().await;
    put(&mei, &folder, "bad.txt", b"a virus").await.fails_in_business(430_012, "the file is unsafe");
    put(&mei, &folder, "bad.txt", b"locked away").await.fails_in_business(400, "could not be scanned");
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs").await, 1);
    // The same content is refused once its verdict turns unsafe.
    app.execute("UPDATE blobs SET verdict = 'Later.Found'").await;
    put(&mei, &folder, "again.txt", b"there").await.fails_in_business(430_012, "the file is unsafe");
    put(&mei, &folder, "good.txt", b"well").await.ok();
    assert_eq!(app.number("SELECT COUNT(*) FROM files").await, 2);
}
