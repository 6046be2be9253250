//! A server without a store of contents (`storage.kind = "none"`).

use serde_json::json;

use crate::util::{
    app::TestApp,
    files::{commit, commit_form, commit_parts, send_part, sent, start},
    internals::StorageKind,
};

#[tokio::test]
async fn operations_on_contents_without_a_store_are_unavailable() {
    let (app, _, [mei]) = TestApp::start_with_people(["mei"]).await;
    let single = sent(&mei, b"low tide").await;
    let multipart = start(&mei).await;
    let e_tag = send_part(&mei, &multipart, 1, b"low tide").await;
    let app = app.restart_with(|config| config.storage.kind = StorageKind::None).await;

    let mei = app.caller(&mei.token);
    let form = |upload| commit_form(upload, "root", "low.txt", 8);
    let part = json!({"uploadId": multipart, "partNumber": 2});
    for answer in [
        mei.post("/v1/stream/upload", &json!({})).await,
        commit(&mei, &form(&single)).await,
        mei.post("/v1/stream/multipart/upload/parts", &part).await,
        commit_parts(&mei, form(&multipart), &[(1, &e_tag)]).await,
    ] {
        answer.fails(503, "no store of contents is configured");
    }
    // Rows alone are enough for these.
    for upload in [single, multipart] {
        mei.post("/v1/stream/upload/cancel", &json!({"uploadId": upload})).await.ok_epoch();
    }
}
