use serde_json::json;

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::Caller,
    files::{commit, commit_form, commit_parts, send_part, send_to, sent, sign, start, try_to_send},
};

async fn cancel(caller: &Caller, upload: &str) -> Answer {
    caller.post("/v1/stream/upload/cancel", &json!({"uploadId": upload})).await
}

#[tokio::test]
async fn cancelled_upload_frees_its_reservation_and_contents() {
    let (app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    app.execute("UPDATE tenants SET quota_bytes = 60, subject_quota_bytes = 60").await;
    // The periodic sweep takes no part.
    app.app.maintenance.stop().await;

    let signed = sign(&mei, &json!({"fileSize": 60})).await;
    send_to(&mei, &signed, b"high tide").await;
    let upload = signed["uploadId"].as_str().unwrap();
    cancel(&omar, upload).await.fails_in_business(400, "no such upload");
    assert_eq!(app.app.blobs.parts(upload).await.unwrap().len(), 1);
    omar.post("/v1/stream/upload", &json!({"fileSize": 1})).await.fails_in_business(430_016, "quota");
    assert_eq!(cancel(&mei, upload).await.ok_epoch().data(), "the upload is given up");
    assert!(app.app.blobs.uploads().await.unwrap().is_empty());
    cancel(&mei, upload).await.fails_in_business(400, "no such upload");
    commit(&mei, &commit_form(upload, "root", "tide.txt", 9)).await.fails_in_business(400, "no such upload");
    assert_eq!(try_to_send(&mei, &signed, b"high tide").await.status(), 404);

    let said = json!({"fileSize": 60});
    let answer = mei.post("/v1/stream/multipart/upload/start", &said).await.ok();
    let in_parts = answer.data().as_str().unwrap();
    let e_tag = send_part(&mei, in_parts, 1, b"high tide").await;
    cancel(&mei, in_parts).await.ok_epoch();
    assert!(app.app.blobs.uploads().await.unwrap().is_empty());
    let part = json!({"uploadId": in_parts, "partNumber": 2});
    mei.post("/v1/stream/multipart/upload/parts", &part).await.fails_in_business(400, "no such upload");
    let form = commit_form(in_parts, "root", "tide.txt", 9);
    commit_parts(&mei, form, &[(1, &e_tag)]).await.fails_in_business(400, "no such upload");
    assert_eq!(app.number("SELECT COUNT(*) FROM uploads").await, 0);
    sign(&omar, &json!({"fileSize": 60})).await;
}

#[tokio::test]
async fn committed_or_unknown_upload_cannot_be_cancelled() {
    let (app, _, [mei]) = TestApp::start_with_people(["mei"]).await;
    let upload = sent(&mei, b"high tide").await;
    commit(&mei, &commit_form(&upload, "root", "tide.txt", 9)).await.ok();
    cancel(&mei, &upload).await.fails_in_business(400, "no such upload");
    for (body, named) in [(json!({}), "uploadId"), (json!({"uploadId": 7}), "uploadId"), (json!([]), "body")]
    {
        mei.post("/v1/stream/upload/cancel", &body).await.fails(400, named);
    }
    let open = start(&mei).await;
    app.execute("UPDATE users SET epoch = epoch + 1").await;
    cancel(&mei, &open).await.fails(401, "sign in again");
    assert_eq!(app.number("SELECT COUNT(*) FROM uploads").await, 1);
}
