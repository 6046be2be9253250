//! Multipart uploads (book: reference/files.md).

use reqwest::Method;
use serde_json::json;

use crate::util::{
    app::TestApp,
    caller::send,
    files::{bytes, commit_form, commit_parts, send_part, sha256, start, take, try_to_send},
    groups::people,
};

const MIN: usize = 5 << 20;

#[tokio::test]
async fn multipart_file_is_its_listed_parts_in_order() {
    let (app, _, [mei]) = TestApp::start_with_people(["mei"]).await;
    let upload = start(&mei).await;
    let (first, second, last) = (bytes(1, MIN), bytes(2, MIN + 1), bytes(3, 7));
    // Parts come in any order, some twice, some not listed.
    let e_tags = [
        send_part(&mei, &upload, 9, &last).await,
        send_part(&mei, &upload, 1, &last).await,
        send_part(&mei, &upload, 4, &second).await,
        send_part(&mei, &upload, 5, b"left out").await,
    ];
    let again = send_part(&mei, &upload, 1, &first).await;
    let whole = [first, second, last].concat();
    let mut form = commit_form(&upload, "root", "whole.bin", whole.len());
    form["fileHash"] = json!(sha256(&whole));
    let old: &str = &e_tags[1];
    commit_parts(&mei, form.clone(), &[(1, old), (4, &e_tags[2]), (9, &e_tags[0])])
        .await
        .fails_in_business(400, "part 1");
    let file = commit_parts(&mei, form, &[(1, &again), (4, e_tags[2].trim_matches('"')), (9, &e_tags[0])])
        .await
        .ok();
    assert_eq!(file.data()["fileHash"], sha256(&whole));
    assert_eq!(take(&mei, file.data()["id"].as_str().unwrap(), None).await, whole);
    assert!(app.app.blobs.parts(&upload).await.unwrap().is_empty());
}

#[tokio::test]
async fn wrong_part_list_names_the_part_and_keeps_the_upload() {
    let (app, acme) = TestApp::start_acme_with(|config| config.limits.part_bytes = 5).await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    let upload = start(&mei).await;
    let mut e_tags = Vec::new();
    for (number, content) in (1..).zip([&b"first"[..], b"tiny", b"third"]) {
        e_tags.push(send_part(&mei, &upload, number, content).await);
    }
    let [first, second, third]: [&str; 3] = [&e_tags[0], &e_tags[1], &e_tags[2]];
    let form = commit_form(&upload, "root", "list.txt", 10);
    let lists: [(&[(u32, &str)], &str); 7] = [
        (&[(3, third), (1, first)], "part 1 follows part 3"),
        (&[(1, first), (1, first)], "part 1 follows part 1"),
        (&[(2, second), (3, third)], "part 2 has 4 bytes"),
        (&[(1, first), (7, third)], "part 7 has not been uploaded"),
        (&[(1, third)], "the eTag of part 1"),
        (&[], "at least one part"),
        (&[(1, first), (2, second)], "fileSize: 9 bytes were received, not 10"),
    ];
    for (list, message) in lists {
        commit_parts(&mei, form.clone(), list).await.fails_in_business(400, message);
    }
    let commit = "/v1/stream/multipart/upload/commit";
    mei.post(commit, &form).await.fails_in_business(400, "at least one part");
    for (text, message) in [
        (json!("[{"), "partETags: must be a text that holds a JSON array"),
        (json!(r#"[{"eTag": "a"}]"#), "partETags[0]: partNumber: is required"),
        (json!(r#"[{"eTag": "a", "partNumber": 10001}]"#), "partETags[0].partNumber"),
        (json!([]), "partETags"),
    ] {
        let mut form = form.clone();
        form["partETags"] = text;
        mei.post(commit, &form).await.fails(400, message);
    }
    mei.post("/v1/stream/upload/commit", &form)
        .await
        .fails_in_business(400, "commit it by /v1/stream/multipart/upload/commit");
    let lower = format!(r#"[{{"etag": {first}, "partnumber": 1}}, {{"etag": {third}, "partnumber": 3}}]"#);
    let mut good = form.clone();
    good["partETags"] = json!(lower);
    let file = mei.post(commit, &good).await.ok();
    assert_eq!(take(&mei, file.data()["id"].as_str().unwrap(), None).await, b"firstthird");
}

#[tokio::test]
async fn multipart_upload_begins_by_get_or_post() {
    let (app, _, [mei]) = TestApp::start_with_people(["mei"]).await;
    let path = "/v1/stream/multipart/upload/start";
    send(mei.request(Method::GET, path)).await.ok();
    mei.get(&format!("{path}?fileSize=12&dirId=root")).await.ok();
    mei.post(path, &json!({})).await.ok();
    mei.post(path, &json!({"fileSize": 13, "dirId": "root"})).await.ok();
    assert_eq!(app.number("SELECT SUM(reserved_bytes) FROM uploads WHERE root_id IS NOT NULL").await, 25);
    mei.get(&format!("{path}?fileSize=much")).await.fails(400, "fileSize");
    mei.get(&format!("{path}?fileSize=-1")).await.fails(400, "fileSize");
    mei.post(path, &json!({"fileSize": "13"})).await.fails(400, "fileSize");
    mei.post(path, &json!({"dirId": "nowhere"})).await.fails_in_business(430_001, "no folder");
    mei.post(path, &json!({"fileSize": (5_i64 << 30) + 1})).await.fails_in_business(400, "fileSize");
    let upload = start(&mei).await;
    let parts = "/v1/stream/multipart/upload/parts";
    for number in [0, 10_001, -1] {
        mei.post(parts, &json!({"uploadId": upload, "partNumber": number}))
            .await
            .fails(400, "partNumber: must be 1 to 10000");
    }
    mei.post(parts, &json!({"uploadId": upload})).await.fails(400, "partNumber");
    mei.post(parts, &json!({"uploadId": "nothing", "partNumber": 1}))
        .await
        .fails_in_business(400, "no such upload");
    let signed =
        mei.post(parts, &json!({"uploadId": upload, "partNumber": 10_000, "fileSize": 3})).await.ok();
    assert_eq!(signed.data()["uploadId"], upload);
    assert_eq!(try_to_send(&mei, signed.data(), b"four").await.status(), 413);
}
