//! `/v1/directories/lock` and `unlock` (decisions 10.2).

use serde_json::json;

use crate::util::{
    app::TestApp,
    caller::Caller,
    folders::{allowed, ask, folder, give, list, put_files},
    groups::people,
};

async fn lock(caller: &Caller, id: &str) -> crate::util::answer::Answer {
    ask(caller, "lock", json!({"dirId": id})).await
}

async fn unlock(caller: &Caller, id: &str) -> crate::util::answer::Answer {
    ask(caller, "unlock", json!({"dirId": id})).await
}

/// Three folders, each in the one before, that two people manage.
async fn three() -> (TestApp, [Caller; 2], [String; 3]) {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    let [mei, omar] = people(&app, &acme, ["mei", "omar"]).await;
    let top = folder(&mei, "", "Top").await;
    let middle = folder(&mei, &top, "Middle").await;
    let bottom = folder(&mei, &middle, "Bottom").await;
    give(&mei, &top, "manager", &["omar"]).await;
    (app, [mei, omar], [top, middle, bottom])
}

#[tokio::test]
async fn one_lock_stands_on_each_way_up() {
    let (_app, [mei, omar], [top, middle, bottom]) = three().await;
    unlock(&mei, &middle).await.refuses(400, "not locked");
    let answer = lock(&mei, &middle).await.ok_timed();
    let only = json!({"id": middle, "name": null, "fullPath": null, "parentId": null, "version": null, "permissions": null});
    assert_eq!(answer.data(), &only);
    for caller in [&mei, &omar] {
        lock(caller, &middle).await.refuses(430_017, "locked");
        lock(caller, &bottom).await.refuses(430_017, "locked");
        unlock(caller, &bottom).await.refuses(430_017, "above");
    }
    // One above may be, and then hides the one below.
    lock(&omar, &top).await.ok_timed();
    unlock(&mei, &middle).await.refuses(430_017, "above");
    // Whoever manages it unlocks it.
    unlock(&mei, &top).await.ok_timed();
    assert_eq!(unlock(&omar, &middle).await.ok_timed().data(), &only);
    unlock(&mei, &middle).await.refuses(400, "not locked");
    for answer in [lock(&mei, "root").await, unlock(&mei, "root").await] {
        answer.refuses(430_011, "root");
    }
}

#[tokio::test]
async fn below_a_lock_only_who_locked_changes_anything() {
    let (_app, [mei, omar], [top, middle, bottom]) = three().await;
    lock(&omar, &middle).await.ok_timed();
    for id in [&middle, &bottom] {
        for (operation, body) in [
            ("create", json!({"name": "New", "parentId": id})),
            ("create", json!({"name": "a/b", "parentId": id})),
            ("rename", json!({"dirId": id, "name": "New"})),
            ("delete", json!({"dirId": id})),
        ] {
            ask(&mei, operation, body).await.refuses(430_017, "locked");
        }
    }
    // What is below would go along.
    ask(&mei, "delete", json!({"dirId": top})).await.refuses(430_017, "below");
    ask(&mei, "rename", json!({"dirId": top, "name": "Summit"})).await.ok_timed();
    folder(&mei, &top, "Beside").await;
    let seen = list(&mei, &top).await.ok_timed().items().to_vec();
    assert_eq!(allowed(&seen[1]), "downloadable manageable previewable readable shareable unlockable");
    let below = list(&mei, &middle).await.ok_timed();
    assert_eq!(allowed(&below.items()[0]), "downloadable manageable previewable readable shareable");
    // Rights are not what is in it.
    give(&mei, &bottom, "viewer", &["omar"]).await;

    let own = list(&omar, &top).await.ok_timed().items()[1].clone();
    let all_but_locking = "deleteable downloadable editable manageable previewable readable restoreable shareable unlockable uploadable";
    assert_eq!(allowed(&own), all_but_locking);
    folder(&omar, &middle, "New").await;
    ask(&omar, "rename", json!({"dirId": bottom, "name": "Ground"})).await.ok_timed();
    ask(&omar, "delete", json!({"dirId": bottom})).await.ok_timed();
    ask(&omar, "delete", json!({"dirId": top})).await.ok_timed();
    lock(&mei, &top).await.refuses(430_003, "no folder");
}

#[tokio::test]
async fn a_lock_is_kept_over_a_restart_and_shown_to_who_sees_little() {
    let (app, [mei, omar], [top, middle, _]) = three().await;
    lock(&omar, &middle).await.ok_timed();
    let token = mei.token.clone();
    let app = app.restart().await;
    let mei = app.caller(&token);
    ask(&mei, "create", json!({"name": "New", "parentId": middle})).await.refuses(430_017, "locked");
    unlock(&mei, &middle).await.ok_timed();
    folder(&mei, &middle, "New").await;
    assert_eq!(list(&mei, &top).await.ok_timed().total(), 1);
}

#[tokio::test]
async fn a_folder_that_holds_what_is_unsafe_is_neither_locked_nor_unlocked() {
    let (app, [mei, omar], [top, middle, bottom]) = three().await;
    let beside = folder(&mei, &top, "Beside").await;
    put_files(&app, &bottom, "bad", &[5]).await;
    put_files(&app, &beside, "good", &[5]).await;
    lock(&mei, &middle).await.ok_timed();
    app.execute("UPDATE blobs SET verdict = 'Eicar' WHERE sha256 = (SELECT sha256 FROM files WHERE name = 'bad0.txt')").await;
    for caller in [&mei, &omar] {
        unlock(caller, &middle).await.refuses(430_020, "unsafe");
        lock(caller, &top).await.refuses(430_020, "unsafe");
        // Whoever is above counts first.
        lock(caller, &bottom).await.refuses(430_017, "locked");
    }
    lock(&mei, &beside).await.ok_timed();
    unlock(&mei, &beside).await.ok_timed();
    // What was unsafe is an earlier version only.
    app.execute("UPDATE files SET sha256 = (SELECT sha256 FROM files WHERE name = 'good0.txt') WHERE name = 'bad0.txt'").await;
    unlock(&mei, &middle).await.ok_timed();
    lock(&mei, &top).await.ok_timed();
}
