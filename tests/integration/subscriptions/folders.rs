//! Folders of files on the server's machine.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::Path,
    thread,
    time::{Duration, SystemTime},
};

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    external::with,
    items::NEW_YEAR,
    subscriptions::{SUBSCRIPTIONS, counts},
};

async fn start(root: &Path) -> (TestApp, Application, Caller) {
    let (app, acme) =
        TestApp::start_acme_with(|config| config.subscriptions.folders = vec![root.to_owned()]).await;
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

/// A writer of the folder can link a file without reading it.
#[tokio::test]
async fn hard_link_to_a_file_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return; // Nobody else gives files away.
    }
    let root = tempfile::tempdir().unwrap();
    let (app, acme, operator) = start(root.path()).await;
    let secret = tempfile::NamedTempFile::new_in(root.path().parent().unwrap()).unwrap();
    fs::write(secret.path(), "harbour secret").unwrap();
    write(root.path(), "shared/own.txt", "harbour", 1);
    write(root.path(), "shared/given.txt", "harbour", 2);
    let shared = root.path().join("shared");
    let [own, given] = ["own.txt", "given.txt"].map(|name| shared.join(name));
    fs::hard_link(secret.path(), shared.join("linked.txt")).unwrap();
    // Names of one file that its owner keeps, as backups do.
    fs::hard_link(&own, shared.join("own again.txt")).unwrap();
    for path in [&shared, &own] {
        chown(path, Some(1_000), None).unwrap();
    }
    // Files with one name may be anybody's.
    chown(&given, Some(1_001), None).unwrap();
    let shown = operator.subscribe(&form(root.path())).await;
    assert_eq!(counts(&shown), json!(["read", 4, 3, 0, 0, 1]), "{shown}");
    let problem = &shown["lastRun"]["problems"][0];
    assert_eq!(problem["id"], "shared/linked.txt");
    assert!(problem["reason"].as_str().unwrap().contains("hard links"), "{problem}");
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["given.txt", "own again.txt", "own.txt"]);
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
async fn run_counts_ignored_and_incomplete_files() {
    let root = tempfile::tempdir().unwrap();
    let (app, acme, operator) = start(root.path()).await;
    for debris in
        ["~$plan.docx", "Thumbs.db", "desktop.ini", ".~lock.plan.odt#", "plan.docx.tmp", "@eaDir/plan.txt"]
    {
        write(root.path(), debris, "harbour", 1);
    }
    write(root.path(), "long.txt", format!("harbour {}", "tide ".repeat(14_000)), 2);
    write(root.path(), "broken.pdf", "%PDF-1.7 harbour", 3);
    write(root.path(), "picture of the harbour.png", b"\x89PNG\r\n\x1a\n\0\0", 4);
    let shown = operator.subscribe(&form(root.path())).await;
    let run = &shown["lastRun"];
    assert_eq!(
        (&run["received"], &run["leftOut"], &run["incomplete"]),
        (&json!(3), &json!(6), &json!(2)),
        "{run}"
    );
    assert_eq!(run["problems"][1]["id"], "long.txt");
    assert_eq!(run["problems"][1]["reason"], "its text is cut at 65536 bytes");
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["long.txt", "picture of the harbour.png"]);
    let item = operator.get("/admin/v1/contents/article/plans:long.txt").await.ok();
    let attached: Value = serde_json::from_str(item.data()["attachInfo"].as_str().unwrap()).unwrap();
    assert_eq!(attached["textProblem"], "its text is cut at 65536 bytes");

    // What was read once counts in later runs, too.
    let shown = operator.run_subscription("plans").await;
    let run = &shown["lastRun"];
    assert_eq!(
        (&run["changed"], &run["leftOut"], &run["incomplete"]),
        (&json!(0), &json!(6), &json!(2)),
        "{run}"
    );
}

#[tokio::test]
async fn ignored_names_are_an_operators_choice() {
    let root = tempfile::tempdir().unwrap();
    let (app, acme) = TestApp::start_acme_with(|config| {
        config.subscriptions.folders = vec![root.path().to_owned()];
        config.subscriptions.ignored_names = vec!["*.bak".to_owned()];
    })
    .await;
    let operator = app.operator().await.caller.on("acme");
    for name in ["plan.tmp", "plan.BAK", "Thumbs.db"] {
        write(root.path(), name, "harbour", 1);
    }
    operator.subscribe(&form(root.path())).await;
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["Thumbs.db", "plan.tmp"]);
}

#[tokio::test]
async fn item_whose_file_became_too_old_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let (app, acme, operator) = start(root.path()).await;
    write(root.path(), "quay.txt", "harbour", 1);
    write(root.path(), "pier.txt", "harbour", 1);
    operator.subscribe(&with(form(root.path()), "keepDays", 30)).await;
    let path = root.path().join("quay.txt");
    fs::write(&path, "lighthouse").unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let shown = operator.run_subscription("plans").await;
    assert_eq!(counts(&shown), json!(["read", 2, 0, 0, 1, 0]), "{shown}");
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["pier.txt"]);
}

#[tokio::test]
async fn empty_folder_keeps_its_items() {
    let root = tempfile::tempdir().unwrap();
    let (app, acme, operator) = start(root.path()).await;
    let (plans, away) = (root.path().join("plans"), root.path().join("away"));
    write(&plans, "quay.txt", "harbour", 1);
    operator.subscribe(&form(&plans)).await;
    // Simulates a disk that is not mounted.
    fs::rename(&plans, &away).unwrap();
    fs::create_dir(&plans).unwrap();
    let shown = operator.run_subscription("plans").await;
    assert_eq!((counts(&shown), &shown["items"]), (json!(["failed", 0, 0, 0, 0, 0]), &json!(1)), "{shown}");
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("no readable file"), "{shown}");
    assert_eq!(app.titles(&acme.caller, "harbour").await, ["quay.txt"]);
    fs::remove_dir(&plans).unwrap();
    fs::rename(&away, &plans).unwrap();
    let shown = operator.run_subscription("plans").await;
    assert_eq!(counts(&shown), json!(["read", 1, 0, 0, 0, 0]), "{shown}");
}

#[test]
fn unreadable_folder_is_named_and_keeps_its_items() {
    without_rights_of_root(async || {
        let root = tempfile::tempdir().unwrap();
        let (app, acme, operator) = start(root.path()).await;
        for path in ["north/deep/quay.txt", "south/pier.txt", "south/crane.txt"] {
            write(root.path(), path, "harbour", 1);
        }
        operator.subscribe(&form(root.path())).await;
        let north = root.path().join("north");
        fs::set_permissions(&north, Permissions::from_mode(0o000)).unwrap();
        fs::remove_file(root.path().join("south/crane.txt")).unwrap();
        let shown = operator.run_subscription("plans").await;
        assert_eq!(counts(&shown), json!(["read", 1, 0, 0, 1, 1]), "{shown}");
        let problem = &shown["lastRun"]["problems"][0];
        assert_eq!(problem["id"], "north");
        assert!(problem["reason"].as_str().unwrap().contains("Permission denied"), "{shown}");
        assert_eq!(app.titles(&acme.caller, "harbour").await, ["pier.txt", "quay.txt"]);

        fs::set_permissions(&north, Permissions::from_mode(0o700)).unwrap();
        fs::remove_dir_all(&north).unwrap();
        let shown = operator.run_subscription("plans").await;
        assert_eq!((counts(&shown), &shown["items"]), (json!(["read", 1, 0, 0, 1, 0]), &json!(1)), "{shown}");
    });
}

/// Root reads everything; the threads of this test do not.
fn without_rights_of_root(test: impl AsyncFnOnce() + Send + 'static) {
    let thread = thread::spawn(|| {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(test());
    });
    thread.join().unwrap();
}

#[tokio::test]
async fn too_deep_folder_is_named_and_others_are_read() {
    let root = tempfile::tempdir().unwrap();
    let (_app, _, operator) = start(root.path()).await;
    let deep = ["d"; 33].join("/");
    write(root.path(), &format!("{deep}/deep.txt"), "harbour", 1);
    write(root.path(), "quay.txt", "harbour", 1);
    let shown = operator.subscribe(&form(root.path())).await;
    assert_eq!(counts(&shown), json!(["read", 1, 1, 0, 0, 1]), "{shown}");
    let problem = &shown["lastRun"]["problems"][0];
    assert_eq!(problem["id"], json!(deep));
    assert!(problem["reason"].as_str().unwrap().contains("32 levels"), "{shown}");
}

#[tokio::test]
async fn failure_of_the_server_is_shown_and_backed_off() {
    let root = tempfile::tempdir().unwrap();
    let app = TestApp::start_with(|config| {
        config.subscriptions.folders = vec![root.path().to_owned()];
        config.storage.text_program = Some("/nothing".into());
    })
    .await;
    app.tenant("acme").await;
    let operator = app.operator().await.caller.on("acme");
    write(root.path(), "quay.txt", "harbour", 1);
    let shown = operator.subscribe(&form(root.path())).await;
    assert_eq!(
        (counts(&shown), &shown["failures"]),
        (json!(["failed", 1, 0, 0, 0, 0]), &json!(1)),
        "{shown}"
    );
    assert!(shown["lastRun"]["error"].as_str().unwrap().contains("internal error"), "{shown}");
    let pause = shown["nextRunAt"].as_i64().unwrap() - NEW_YEAR;
    assert!((600_000..=900_000).contains(&pause), "{pause}");
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
