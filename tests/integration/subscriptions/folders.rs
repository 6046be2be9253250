//! Folders of files on the server's machine.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    items::NEW_YEAR,
    subscriptions::SUBSCRIPTIONS,
};

async fn start(root: &Path) -> (TestApp, Application, Caller) {
    let app = TestApp::start_with(|config| config.subscriptions.folders = vec![root.to_owned()]).await;
    let acme = app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    (app, acme, operator)
}

fn form(path: &Path) -> Value {
    json!({"id": "plans", "name": "Plans", "module": "article", "folder": {"path": path}})
}

/// The seconds after New Year are its time.
fn write(root: &Path, path: &str, text: impl AsRef<[u8]>, seconds: u64) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(NEW_YEAR).unwrap());
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(time + Duration::from_secs(seconds))
        .unwrap();
}

fn counts(shown: &Value) -> Value {
    let run = &shown["lastRun"];
    json!([run["outcome"], run["received"], run["added"], run["changed"], run["removed"], run["refused"]])
}

#[tokio::test]
async fn files_are_items_until_they_are_gone() {
    let root = tempfile::tempdir().unwrap();
    let (app, acme, operator) = start(root.path()).await;
    write(root.path(), "north/quay.txt", "harbour and crane", 1);
    write(root.path(), "notes.md", "# harbour *master*", 2);
    write(root.path(), "page.html", "<p>the <b>harbour</b></p>", 3);
    write(root.path(), "picture of the harbour.png", b"\x89PNG\r\n\x1a\n\0\0", 4);
    write(root.path(), ".hidden.txt", "harbour", 5);
    let shown = operator.subscribe(&form(root.path())).await;
    assert_eq!((counts(&shown), &shown["items"]), (json!(["read", 4, 4, 0, 0, 0]), &json!(4)), "{shown}");
    assert_eq!(
        app.titles(&acme.caller, "harbour").await,
        ["notes.md", "page.html", "picture of the harbour.png", "quay.txt"]
    );
    let item = operator.get("/admin/v1/contents/article/plans:north%2Fquay.txt").await.ok();
    let item = item.data();
    assert_eq!((&item["subTitle"], &item["brief"]), (&json!("north"), &json!("harbour and crane")));
    assert_eq!(item["displayTime"], json!(NEW_YEAR + 1_000));

    write(root.path(), "notes.md", "lighthouse", 20);
    fs::remove_file(root.path().join("page.html")).unwrap();
    let shown = operator.run_subscription("plans").await;
    assert_eq!((counts(&shown), &shown["items"]), (json!(["read", 3, 0, 1, 1, 0]), &json!(3)), "{shown}");
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["picture of the harbour.png", "quay.txt"]);
    assert_eq!(app.titles(&acme.caller, "lighthouse").await, ["notes.md"]);
    let shown = operator.run_subscription("plans").await;
    assert_eq!(counts(&shown), json!(["read", 3, 0, 0, 0, 0]));
}

#[tokio::test]
async fn links_lead_out_of_no_folder() {
    let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(outside.path(), "secret.txt", "harbour secret", 1);
    write(root.path(), "plans/open.txt", "harbour plan", 1);
    let (app, acme, operator) = start(root.path()).await;
    symlink(outside.path(), root.path().join("plans/linked")).unwrap();
    symlink(outside.path().join("secret.txt"), root.path().join("plans/secret.txt")).unwrap();
    let plans = root.path().join("plans");
    let shown = operator.subscribe(&form(&plans)).await;
    assert_eq!(counts(&shown), json!(["read", 1, 1, 0, 0, 0]), "{shown}");
    fs::rename(&plans, root.path().join("before")).unwrap();
    symlink(outside.path(), &plans).unwrap();
    let shown = operator.run_subscription("plans").await;
    assert_eq!(shown["lastRun"]["outcome"], "failed", "{shown}");
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["open.txt"], "a failed run removes nothing");
}

#[tokio::test]
async fn folder_outside_of_the_settings_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let (app, _, operator) = start(root.path()).await;
    for path in ["/etc", "relative", &format!("{}/../etc", root.path().display())] {
        operator.post(SUBSCRIPTIONS, &form(Path::new(path))).await.fails(400, "folder.path: ");
    }
    let both = json!({"name": "x", "module": "article", "folder": {"path": root.path()}, "feed": {"url": "https://example.org/"}});
    operator.post(SUBSCRIPTIONS, &both).await.fails(400, "only one of them");
    let app = app.restart_with(|config| config.subscriptions.folders = Vec::new()).await;
    let operator = app.operator().await.caller.on("acme");
    operator.post(SUBSCRIPTIONS, &form(root.path())).await.fails(400, "subscriptions.folders");
}
