//! What the commands leave in a data directory: its rights and its master key.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::{Command, Output},
};

use serde_json::json;

use crate::util::{
    items::{NEW_YEAR, item},
    postgres::is_store,
    program::{Server, create_application, create_operator, run, text, trawl, trawl_over},
};

/// The command of a shell whose new files everybody may read.
fn under_open_umask(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0 && exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.current_dir(command.get_current_dir().unwrap());
    shell
}

/// Paths at and beneath `path` that group or others have rights on.
fn exposed(path: &Path) -> Vec<String> {
    // The server removes files meanwhile.
    let Ok(status) = fs::symlink_metadata(path) else { return Vec::new() };
    let mut found = Vec::new();
    if !status.is_symlink() && status.mode() & 0o077 != 0 {
        found.push(format!("{} {:o}", path.display(), status.mode()));
    }
    if status.is_dir() {
        found.extend(
            fs::read_dir(path).into_iter().flatten().flatten().flat_map(|entry| exposed(&entry.path())),
        );
    }
    found
}

fn expose(path: &Path) {
    let status = fs::metadata(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(if status.is_dir() { 0o755 } else { 0o644 })).unwrap();
}

#[tokio::test]
async fn data_directory_of_an_open_umask_is_the_users_alone() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    let mut create = trawl_over(&data, &["app", "create", "--tenant", "acme", "--kind", "admin"]);
    create.current_dir(outer.path());
    let output = run(under_open_umask(&create)).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(exposed(&data), Vec::<String>::new());
}

#[tokio::test]
async fn exposed_entries_are_mended_at_start_with_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    create_application(data, "acme").await;
    let (elsewhere, deep) = (tempfile::tempdir().unwrap(), data.join("files/kept"));
    fs::create_dir_all(&deep).unwrap();
    expose(elsewhere.path());
    symlink(elsewhere.path(), data.join("moved")).unwrap();
    symlink("nowhere", data.join("broken")).unwrap();
    for entry in fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        if path.exists() {
            expose(&path);
        }
    }
    expose(data);
    expose(&deep);

    let mut server = Server::start(data).await;
    let left: Vec<_> = exposed(data).into_iter().filter(|path| !path.contains("/kept ")).collect();
    assert_eq!(left, Vec::<String>::new(), "of this start or at the top");
    assert_eq!(exposed(elsewhere.path()), Vec::<String>::new());
    assert_eq!(server.log().matches("had rights on entries").count(), 1, "{}", server.log());
    server.terminate();
    server.wait_for_end().await;
    let again = Server::start(data).await;
    assert!(!again.log().contains("had rights on entries"), "{}", again.log());
}

#[tokio::test]
async fn directory_that_users_share_keeps_its_rights() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o1777)).unwrap();
    let other = directory.path().join("of-another-program");
    fs::write(&other, "").unwrap();
    expose(&other);
    create_application(directory.path(), "acme").await;
    let left = exposed(directory.path());
    assert_eq!(left.len(), 2, "the directory and the other file alone: {left:?}");
}

#[track_caller]
fn refused_without_key(output: &Output, data: &Path) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("master.key is missing") && said.contains("TRAWL_MASTER_KEY"), "{said}");
    assert!(!data.join("master.key").exists());
}

#[tokio::test]
async fn database_without_its_master_key_is_refused_until_it_is_back() {
    if is_store() {
        return; // The key is a setting there.
    }
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    create_operator(data, "acme").await;
    let (file, aside) = (data.join("master.key"), data.join("aside"));
    fs::rename(&file, &aside).unwrap();
    let create = ["app", "create", "--tenant", "other", "--kind", "admin"];
    for arguments in [&create[..], &["storage", "verify"], &["serve", "--listen", "127.0.0.1:0"]] {
        refused_without_key(&run(trawl_over(data, arguments)).await, data);
    }
    let key = fs::read_to_string(&aside).unwrap();
    let mut with_key = trawl_over(data, &create);
    with_key.env("TRAWL_MASTER_KEY", key);
    assert!(run(with_key).await.status.success());
    refused_without_key(&run(trawl_over(data, &create)).await, data);
    fs::rename(&aside, &file).unwrap();
    create_operator(data, "acme").await;
}

#[tokio::test]
async fn copied_database_needs_the_key_of_its_source() {
    if is_store() {
        return;
    }
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    create_operator(source.path(), "acme").await;
    let [from, to] = [&source, &target].map(|directory| directory.path().to_str().unwrap());
    let copied = run(trawl(&["store", "copy", "--from", from, "--to", to])).await;
    assert!(copied.status.success(), "{}", text(&copied.stderr));
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    refused_without_key(&run(trawl_over(target.path(), &serve)).await, target.path());
    fs::copy(source.path().join("master.key"), target.path().join("master.key")).unwrap();
    let server = Server::start(target.path()).await;
    let caller = server.caller(&create_application(target.path(), "acme").await).await;
    caller.put("/v1/contents/article", &json!([item("1", "harbour", NEW_YEAR)])).await.ok();
}
