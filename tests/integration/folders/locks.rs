//! `/v1/directories/lock` and `unlock`.

use serde_json::json;

use crate::util::{
    app::TestApp,
    caller::Caller,
    folders::{allowed, ask, folder, give, list, nested_folders, put_files},
};

async fn lock(caller: &Caller, id: &str) -> crate::util::answer::Answer {
    ask(caller, "lock", json!({"dirId": id})).await
}

async fn unlock(caller: &Caller, id: &str) -> crate::util::answer::Answer {
    ask(caller, "unlock", json!({"dirId": id})).await
}

async fn three() -> (TestApp, [Caller; 2], [String; 3]) {
    let (app, _, [mei, omar]) = TestApp::start_with_people(["mei", "omar"]).await;
    let [top, middle, bottom] = nested_folders(&mei).await;
    give(&mei, &top, "manager", &["omar"]).await;
    (app, [mei, omar], [top, middle, bottom])
}

#[tokio::test]
async fn locked_folder_cannot_be_locked_again_below() {
    let (_app, [mei, omar], [top, middle, bottom]) = three().await;
    unlock(&mei, &middle).await.fails_in_business(400, "not locked");
    let answer = lock(&mei, &middle).await.ok_epoch();
    let only = json!({"id": middle, "name": null, "fullPath": null, "parentId": null, "version": null, "permissions": null});
    assert_eq!(answer.data(), &only);
    for caller in [&mei, &omar] {
        lock(caller, &middle).await.fails_in_business(430_017, "locked");
        lock(caller, &bottom).await.fails_in_business(430_017, "locked");
        unlock(caller, &bottom).await.fails_in_business(430_017, "above");
    }
    // A lock above takes precedence.
    lock(&omar, &top).await.ok_epoch();
    unlock(&mei, &middle).await.fails_in_business(430_017, "above");
    unlock(&mei, &top).await.ok_epoch();
    assert_eq!(unlock(&omar, &middle).await.ok_epoch().data(), &only);
    unlock(&mei, &middle).await.fails_in_business(400, "not locked");
    for answer in [lock(&mei, "root").await, unlock(&mei, "root").await] {
        answer.fails_in_business(430_011, "root");
    }
}

#[tokio::test]
async fn locked_tree_is_changed_only_by_its_locker() {
    let (_app, [mei, omar], [top, middle, bottom]) = three().await;
    lock(&omar, &middle).await.ok_epoch();
    for id in [&middle, &bottom] {
        for (operation, body) in [
            ("create", json!({"name": "New", "parentId": id})),
            ("create", json!({"name": "a/b", "parentId": id})),
            ("rename", json!({"dirId": id, "name": "New"})),
            ("delete", json!({"dirId": id})),
        ] {
            ask(&mei, operation, body).await.fails_in_business(430_017, "locked");
        }
    }
    ask(&mei, "delete", json!({"dirId": top})).await.fails_in_business(430_017, "below");
    ask(&mei, "rename", json!({"dirId": top, "name": "Summit"})).await.ok_epoch();
    folder(&mei, &top, "Beside").await;
    let seen = list(&mei, &top).await.ok_epoch().items().to_vec();
    assert_eq!(allowed(&seen[1]), "downloadable manageable previewable readable shareable unlockable");
    let below = list(&mei, &middle).await.ok_epoch();
    assert_eq!(allowed(&below.items()[0]), "downloadable manageable previewable readable shareable");
    give(&mei, &bottom, "viewer", &["omar"]).await;

    let own = list(&omar, &top).await.ok_epoch().items()[1].clone();
    let all_but_locking = "deleteable downloadable editable manageable previewable readable restoreable shareable unlockable uploadable";
    assert_eq!(allowed(&own), all_but_locking);
    folder(&omar, &middle, "New").await;
    ask(&omar, "rename", json!({"dirId": bottom, "name": "Ground"})).await.ok_epoch();
    ask(&omar, "delete", json!({"dirId": bottom})).await.ok_epoch();
    ask(&omar, "delete", json!({"dirId": top})).await.ok_epoch();
    lock(&mei, &top).await.fails_in_business(430_003, "no folder");
}

#[tokio::test]
async fn folder_with_an_unsafe_file_cannot_be_locked_or_unlocked() {
    let (app, [mei, omar], [top, middle, bottom]) = three().await;
    let beside = folder(&mei, &top, "Beside").await;
    put_files(&app, &bottom, "bad", &[5]).await;
    put_files(&app, &beside, "good", &[5]).await;
    lock(&mei, &middle).await.ok_epoch();
    app.execute("UPDATE blobs SET verdict = 'Eicar' WHERE sha256 = (SELECT sha256 FROM files WHERE name = 'bad0.txt')").await;
    for caller in [&mei, &omar] {
        unlock(caller, &middle).await.fails_in_business(430_020, "unsafe");
        lock(caller, &top).await.fails_in_business(430_020, "unsafe");
        // A lock above is reported first.
        lock(caller, &bottom).await.fails_in_business(430_017, "locked");
    }
    lock(&mei, &beside).await.ok_epoch();
    unlock(&mei, &beside).await.ok_epoch();
    app.execute("UPDATE files SET sha256 = (SELECT sha256 FROM files WHERE name = 'good0.txt') WHERE name = 'bad0.txt'").await;
    unlock(&mei, &middle).await.ok_epoch();
    lock(&mei, &top).await.ok_epoch();
}
