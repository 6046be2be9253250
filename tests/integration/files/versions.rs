//! Upload, download and deletion of single files (book: reference/files.md).

use reqwest::Method;
use serde_json::json;

use crate::util::{
    app::TestApp,
    files::{
        bytes, commit, commit_form, delete, put, put_file, put_version, send_to, sent, sha256, sign,
        sweep_until_contents_are, take, try_to_send,
    },
    folders::{ask, folder, give},
    internals::now_millis,
};

#[tokio::test]
async fn file_is_signed_uploaded_committed_and_downloaded() {
    let (app, _, [mei, ..]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let folder = folder(&mei, "", "Plans").await;
    let content = bytes(1, 100_000);
    let said = json!({"fileHash": sha256(&content).to_uppercase(), "fileName": "Harbour.PDF", "fileSize": content.len(), "dirId": folder});
    let signed = sign(&mei, &said).await;
    assert_eq!(signed["method"], "PUT");
    assert!(
        signed["headers"].is_null() && signed["url"].as_str().unwrap().starts_with(&mei.base),
        "{signed}"
    );
    send_to(&mei, &signed, &content).await;
    let mut form = commit_form(signed["uploadId"].as_str().unwrap(), &folder, "Harbour.PDF", content.len());
    form["fileHash"] = json!(sha256(&content));
    let before = now_millis();
    let file = commit(&mei, &form).await.ok();
    assert!(file.body["date"].as_i64().unwrap() >= before);
    let file = file.data();
    let all = [
        "uploadable",
        "previewable",
        "deleteable",
        "shareable",
        "downloadable",
        "editable",
        "restoreable",
        "manageable",
        "lockable",
        "readable",
    ];
    let permissions = file["permissions"].as_object().unwrap();
    assert!(
        all.iter().all(|name| permissions[*name] == true) && permissions["unlockable"] == false,
        "{file}"
    );
    assert!(file["createdAt"].as_i64().unwrap() >= before && file["createdAt"] == file["updatedAt"]);
    let mut rest = file.clone();
    for name in ["id", "permissions", "createdAt", "updatedAt"] {
        rest.as_object_mut().unwrap().remove(name);
    }
    let expected = json!({
        "name": "Harbour.PDF", "fileExt": "pdf", "size": 100_000, "version": 1, "fileHash": sha256(&content),
        "locked": false, "lockedAt": null,
    });
    assert_eq!(rest, expected);
    let id = file["id"].as_str().unwrap();
    assert_eq!(take(&mei, id, None).await, content);
    assert_eq!(take(&mei, id, Some(1)).await, content);
    mei.post("/v1/stream/download", &json!({"fileId": id, "version": 2}))
        .await
        .fails_in_business(430_003, "version 2");
    commit(&mei, &form).await.fails_in_business(400, "there is no such upload");
    assert_eq!(
        app.number("SELECT (SELECT COUNT(*) FROM uploads) + (SELECT COUNT(*) FROM doubtful_blobs)").await,
        0
    );
}

#[tokio::test]
async fn empty_file_in_the_persons_root_is_accepted() {
    let (_app, _, [mei, omar, _]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let id = put_file(&mei, "root", "empty", b"").await;
    assert_eq!(take(&mei, &id, None).await, b"");
    let other = put_file(&omar, "root", "empty", b"omar's").await;
    assert_eq!(take(&omar, &other, None).await, b"omar's");
    mei.post("/v1/stream/download", &json!({"fileId": other}))
        .await
        .fails_in_business(430_003, "no such file");
    let signed = sign(&mei, &json!({"dirId": "root", "fileSize": 3})).await;
    assert_eq!(try_to_send(&mei, &signed, b"four").await.status(), 413);
    send_to(&mei, &signed, b"two").await;
}

#[tokio::test]
async fn new_version_keeps_the_file_id_and_older_versions() {
    let (app, _, [mei, ..]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let folder = folder(&mei, "", "Plans").await;
    let id = put_file(&mei, &folder, "Tides.txt", b"first").await;
    put(&mei, &folder, "tides.TXT", b"second")
        .await
        .fails_in_business(400, "fileName: the folder has a file of this name");
    let second = put_version(&mei, &folder, "tides.TXT", b"the second").await.ok();
    let second = second.data();
    assert_eq!(
        (&second["id"], &second["name"], &second["version"]),
        (&json!(id), &json!("Tides.txt"), &json!(2))
    );
    assert_eq!((&second["size"], &second["fileHash"]), (&json!(10), &json!(sha256(b"the second"))));
    assert_eq!(take(&mei, &id, None).await, b"the second");
    assert_eq!(take(&mei, &id, Some(1)).await, b"first");
    assert_eq!(app.number("SELECT stored_bytes FROM files").await, 15);
    let copy = put_file(&mei, "root", "Copy.txt", b"first").await;
    delete(&mei, &[&id]).await.ok();
    sweep_until_contents_are(&app, 1).await;
    assert_eq!(take(&mei, &copy, None).await, b"first");
    assert_eq!(app.number("SELECT file_bytes FROM tenants WHERE code = 'acme'").await, 5);
}

#[tokio::test]
async fn refused_commit_keeps_the_upload() {
    let (_app, _, [mei, omar, _]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let upload = sent(&mei, b"high tide").await;
    let good = commit_form(&upload, "root", "tide.txt", 9);
    let with = |field: &str, value: serde_json::Value| {
        let mut form = good.clone();
        form[field] = value;
        form
    };
    for (field, value, code, message) in [
        ("fileSize", json!(8), 400, "fileSize: 9 bytes were received, not 8"),
        ("fileHash", json!(sha256(b"low tide")), 400, "fileHash: the received content has another SHA-256"),
        ("dirId", json!("nowhere"), 430_001, "no folder"),
        ("fileName", json!("a/b"), 400, "fileName: "),
        ("fileName", json!("x".repeat(256)), 430_005, "fileName: must be at most 255 bytes"),
        ("uploadId", json!("nothing"), 400, "no such upload"),
        ("fileSize", json!((5_i64 << 30) + 1), 400, "fileSize: a file has at most 5368709120 bytes"),
    ] {
        commit(&mei, &with(field, value)).await.fails_in_business(code, message);
    }
    for (field, value, message) in [
        ("fileSize", json!(null), "fileSize"),
        ("fileSize", json!("9"), "fileSize"),
        ("fileSize", json!(-1), "fileSize: must be 0 to"),
        ("fileHash", json!("abc"), "fileHash: must be a SHA-256"),
        ("ondup", json!("yes"), "ondup"),
        ("dirId", json!(""), "dirId: must be 1 to"),
        ("uploadId", json!(7), "uploadId"),
        ("fileName", json!(null), "fileName"),
    ] {
        commit(&mei, &with(field, value)).await.fails(400, message);
    }
    for field in ["uploadId", "dirId", "fileName", "fileSize"] {
        let mut form = good.clone();
        form.as_object_mut().unwrap().remove(field);
        commit(&mei, &form).await.fails(400, field);
    }
    commit(&omar, &good).await.fails_in_business(400, "no such upload");
    mei.post("/v1/stream/multipart/upload/commit", &good)
        .await
        .fails_in_business(400, "commit it by /v1/stream/upload/commit");
    let part = json!({"uploadId": upload, "partNumber": 1});
    mei.post("/v1/stream/multipart/upload/parts", &part)
        .await
        .fails_in_business(400, "not a multipart upload");
    commit(&mei, &good).await.ok();
}

#[tokio::test]
async fn commit_must_match_the_signed_announcement() {
    let (_app, _, [mei, omar, _]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let folder = folder(&mei, "", "Plans").await;
    let refused = async |said, code, message: &str| {
        omar.post("/v1/stream/upload", &said).await.fails_in_business(code, message);
    };
    refused(json!({"fileName": "a:b"}), 400, "fileName: ").await;
    refused(json!({"fileName": "x".repeat(300)}), 430_005, "fileName: ").await;
    refused(json!({"fileSize": (5_i64 << 30) + 1}), 400, "fileSize: a file has at most").await;
    refused(json!({"dirId": folder}), 430_001, "no folder").await;
    give(&mei, &folder, "downloader", &["omar"]).await;
    refused(json!({"dirId": folder}), 430_011, "editor").await;
    omar.post("/v1/stream/upload", &json!({"fileHash": "0".repeat(63)})).await.fails(400, "fileHash");
    omar.post("/v1/stream/upload", &json!({"fileSize": -1})).await.fails(400, "fileSize");
    give(&mei, &folder, "editor", &["omar"]).await;
    let signed = sign(&omar, &json!({"dirId": folder, "fileHash": sha256(b"low tide")})).await;
    send_to(&omar, &signed, b"high tide").await;
    let form = commit_form(signed["uploadId"].as_str().unwrap(), &folder, "tide.txt", 9);
    commit(&omar, &form).await.fails_in_business(400, "than was given when the upload was signed");
    send_to(&omar, &signed, b"low tide").await;
    let form = commit_form(signed["uploadId"].as_str().unwrap(), &folder, "tide.txt", 8);
    let file = commit(&omar, &form).await.ok();
    assert_eq!(
        (&file.data()["permissions"]["manageable"], &file.data()["permissions"]["editable"]),
        (&json!(false), &json!(true))
    );
    let nothing = sign(&omar, &json!({})).await;
    let form = commit_form(nothing["uploadId"].as_str().unwrap(), &folder, "nothing", 0);
    commit(&omar, &form).await.fails_in_business(400, "nothing has been sent");
}

#[tokio::test]
async fn files_are_deleted_all_or_nothing() {
    let (app, _, [mei, omar, lin]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let folder = folder(&mei, "", "Plans").await;
    let mut files = Vec::new();
    for number in 0..3_u8 {
        files.push(put_file(&mei, &folder, &format!("{number}.txt"), &[number; 4]).await);
    }
    let own = put_file(&omar, "root", "own.txt", b"own").await;
    let [first, second, third] = [&files[0], &files[1], &files[2]];
    delete(&lin, &[first]).await.fails_in_business(430_003, "no such file");
    delete(&mei, &[first, "nothing"]).await.fails_in_business(430_003, "no such file");
    give(&mei, &folder, "downloader", &["omar"]).await;
    delete(&omar, &[&own, first]).await.fails_in_business(430_011, "editor");
    for (ids, message) in [
        (json!([]), "at least one file id"),
        (json!([first, second, first]), "[2]: is given twice"),
        (json!({}), "array"),
        (json!([1]), "[0]"),
    ] {
        mei.post("/v1/files/delete", &ids).await.fails(400, message);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM files").await, 4);
    give(&mei, &folder, "editor", &["omar"]).await;
    delete(&omar, &[&own, first, second]).await.ok();
    mei.post("/v1/stream/download", &json!({"fileId": first}))
        .await
        .fails_in_business(430_003, "no such file");
    assert_eq!(take(&mei, third, None).await, [2; 4]);
    assert_eq!(app.number("SELECT SUM(file_bytes) FROM directories").await, 4);
    sweep_until_contents_are(&app, 1).await;
}

#[tokio::test]
async fn lock_is_listed_and_excludes_others() {
    let (_app, _, [mei, omar, _]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let folder = folder(&mei, "", "Plans").await;
    give(&mei, &folder, "editor", &["omar"]).await;
    let upload = sent(&omar, b"tide").await;
    let file = put_file(&mei, &folder, "old.txt", b"old").await;
    let before = now_millis();
    ask(&mei, "lock", json!({"dirId": folder})).await.ok_epoch();
    commit(&omar, &commit_form(&upload, &folder, "tide.txt", 4)).await.fails_in_business(430_017, "locked");
    delete(&omar, &[&file]).await.fails_in_business(430_017, "locked");
    omar.post("/v1/stream/upload", &json!({"dirId": folder})).await.fails_in_business(430_017, "locked");
    assert_eq!(take(&omar, &file, None).await, b"old");
    let told = put(&mei, &folder, "new.txt", b"new").await.ok();
    assert_eq!(told.data()["locked"], true);
    assert!(told.data()["lockedAt"].as_i64().unwrap() >= before, "{}", told.text);
    delete(&mei, &[&file]).await.ok();
}

#[tokio::test]
async fn open_uploads_of_a_person_are_limited() {
    let (_app, _, [mei, omar, _]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    for number in 0..200 {
        let method = if number % 2 == 0 { Method::GET } else { Method::POST };
        crate::util::caller::send(mei.request(method, "/v1/stream/multipart/upload/start")).await.ok();
    }
    mei.post("/v1/stream/upload", &json!({}))
        .await
        .fails_in_business(400, "cancel them by /v1/stream/upload/cancel");
    sign(&omar, &json!({})).await;
}

#[tokio::test]
async fn uncommitted_uploads_expire_with_their_contents() {
    let (app, _, [mei, ..]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let old = sent(&mei, b"old").await;
    app.execute("UPDATE uploads SET created_at = created_at - 24 * 3600000 - 1").await;
    let fresh = sent(&mei, b"fresh").await;
    app.app.maintenance.make_round().await.unwrap();
    commit(&mei, &commit_form(&old, "root", "old", 3)).await.fails_in_business(400, "no such upload");
    assert!(app.app.blobs.parts(&old).await.unwrap().is_empty());
    assert_eq!(app.app.blobs.parts(&fresh).await.unwrap().len(), 1);
    commit(&mei, &commit_form(&fresh, "root", "fresh", 5)).await.ok();
}

#[tokio::test]
async fn deleted_tenant_leaves_no_upload_and_no_content() {
    let (app, _, [mei, ..]) = TestApp::start_with_people(["mei", "omar", "lin"]).await;
    let upload = sent(&mei, b"sent").await;
    put_file(&mei, "root", "kept", b"kept").await;
    app.operator().await.caller.post_empty("/v1/enterprises/delete?eCode=acme").await.ok();
    sweep_until_contents_are(&app, 0).await;
    assert!(app.app.blobs.parts(&upload).await.unwrap().is_empty());
    let left = "SELECT (SELECT COUNT(*) FROM uploads) + (SELECT COUNT(*) FROM files)";
    assert_eq!(app.number(left).await, 0);
}
