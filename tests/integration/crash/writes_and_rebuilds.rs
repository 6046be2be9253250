//! Kills during rebuilds and imports, and an index that is missing or damaged at the start.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::util::{
    eventually,
    items::{NEW_YEAR, item, lines, many},
    paging::{ids_of, walk_by_cursor},
    program::{Server, create_application, create_operator, own_address, text, trawl, trawl_over},
};

const ARTICLES: [(&str, &str); 2] = [("keyword", "harbour"), ("moduleId", "article")];

#[tokio::test]
async fn kill_9_during_a_requested_rebuild_resumes_it() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    fs::write(data.join("trawl.toml"), "[index]\nwriter_memory_bytes = 33554432\n").unwrap();
    let mut server = Server::start(data).await;
    let (acme, operator) = (create_application(data, "acme").await, create_operator(data, "ops").await);
    let mut expected = many("i", "harbour", 6_000, 7);
    let caller = server.caller(&acme).await;
    for batch in expected.chunks(1_000) {
        caller.put("/v1/contents/article", &Value::from(batch)).await.ok();
    }
    server.wait_for_index().await;
    let mut in_the_middle = 0;
    // The last positions are around the swap of the indexes.
    for until in [0, 0, 2_000, 4_000, 6_000, 6_001, 6_002] {
        let asked = server.caller(&operator).await.post_empty("/admin/v1/index/rebuild").await;
        assert!([200, 409].contains(&asked.status), "{}", asked.text);
        let caller = server.caller(&acme).await;
        let new = item(&format!("new-{}", expected.len()), "harbour", NEW_YEAR);
        caller.put("/v1/contents/article", &Value::from(vec![new.clone()])).await.ok();
        expected.push(new);
        let is_rebuilding = eventually("the rebuild's progress", async || {
            let readiness = server.readyz().await?.body;
            let is_rebuilding = readiness["rebuilding"] == true;
            (!is_rebuilding || readiness["itemsDone"].as_u64()? >= until).then_some(is_rebuilding)
        })
        .await;
        server.kill();
        in_the_middle += usize::from(is_rebuilding);

        server = Server::start(data).await;
        let answer = server.caller(&acme).await.search(&ARTICLES).await.ok();
        assert_eq!((answer.total(), &answer.body["partial"]), (expected.len() as u64, &false.into()));
    }
    assert!(in_the_middle > 0, "every rebuild ended before its kill");
    server.wait_until_complete().await;
    walk_by_cursor(&server.caller(&acme).await, &ARTICLES, 1_000).await.assert_met(ids_of(&expected));
    let index = server.caller(&operator).await.get("/admin/v1/index").await.ok();
    assert_eq!(index.data()["documents"], expected.len(), "{}", index.text);
}

#[tokio::test]
async fn import_cut_off_by_kill_9_is_completed_by_the_same_command() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let listen = own_address();
    // Few concurrent calls: the import must not finish between two polls.
    let settings = data.join("trawl.toml");
    fs::write(&settings, "[limits]\nwrites_per_minute = 75\n").unwrap();
    let mut server = Server::start_at(data, &listen, &[]).await;
    let application = create_application(data, "acme").await;
    let items = many("i", "harbour", 8_000, 11);
    let file = data.join("items.jsonl");
    fs::write(&file, lines(&items)).unwrap();

    let mut child = import(&server, &application, &file).spawn().unwrap();
    for until in [300, 1_500, 2_500] {
        reached(&server, until).await;
        server.kill();
        if child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            panic!("the import ended: {} {}", text(&output.stdout), text(&output.stderr));
        }
        server = Server::start_at(data, &listen, &[]).await;
    }
    reached(&server, 3_500).await;
    child.kill().unwrap();
    child.wait().unwrap();
    server.kill();
    fs::remove_file(&settings).unwrap();
    server = Server::start_at(data, &listen, &[]).await;
    let output = tokio::task::spawn_blocking({
        let mut command = import(&server, &application, &file);
        move || command.output().unwrap()
    })
    .await
    .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!([&report["sent"], &report["rejected"]], [8_000, 0], "{report}");
    server.wait_for_index().await;
    let caller = server.caller(&application).await;
    walk_by_cursor(&caller, &ARTICLES, 1_000).await.assert_met(ids_of(&items));
    let total = caller.search(&ARTICLES).await.ok().total();
    assert_eq!(total, 8_000);
}

fn import(server: &Server, application: &Value, file: &Path) -> std::process::Command {
    let mut command =
        trawl(&["import", "--module", "article", "--json", "--batch", "20", "--server", &server.base]);
    command.args(["--client-id", application["clientId"].as_str().unwrap()]).arg(file);
    command.env("TRAWL_CLIENT_SECRET", application["clientSecret"].as_str().unwrap());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    command
}

async fn reached(server: &Server, position: i64) {
    eventually("the import's progress", async || {
        (server.readyz().await?.body["storePosition"].as_i64()? >= position).then_some(())
    })
    .await;
}

async fn filled(data: &Path) -> (Value, Vec<String>) {
    let mut server = Server::start(data).await;
    let application = create_application(data, "acme").await;
    let caller = server.caller(&application).await;
    let items = many("i", "harbour", 300, 7);
    for batch in items.chunks(50) {
        caller.put("/v1/contents/article", &Value::from(batch)).await.ok();
    }
    caller.put("/v1/contents/article", &Value::from(&items[5..7])).await.ok();
    caller.post("/v1/contents/article/delete", &json!(["i00299"])).await.ok();
    server.wait_for_index().await;
    server.terminate();
    assert!(server.wait_for_end().await.success());
    (application, ids_of(&items[..299]))
}

async fn all_there(server: &Server, application: &Value, expected: &[String]) {
    let caller = server.caller(application).await;
    walk_by_cursor(&caller, &ARTICLES, 40).await.assert_met(expected.iter().cloned());
    assert_eq!(caller.search(&ARTICLES).await.ok().total(), expected.len() as u64);
    caller.put("/v1/contents/news", &json!([item("new", "harbour", 1)])).await.ok();
    server.wait_for_index().await;
    assert_eq!(caller.find("news", "harbour").await, ["new"]);
}

#[tokio::test]
async fn damaged_or_missing_index_is_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let index = directory.path().join("index");
    let (application, expected) = filled(directory.path()).await;
    let change = |ending: &str, change: &dyn Fn(&Path)| {
        for file in fs::read_dir(&index).unwrap().map(|entry| entry.unwrap().path()) {
            if file.to_str().unwrap().ends_with(ending) {
                change(&file);
            }
        }
    };
    let halve = |file: &Path| {
        let content = fs::read(file).unwrap();
        fs::write(file, &content[..content.len() / 2]).unwrap();
    };
    let damages: [(&str, &dyn Fn()); 8] = [
        ("the directory is gone", &|| fs::remove_dir_all(&index).unwrap()),
        ("its description is garbage", &|| fs::write(index.join("meta.json"), "garbage").unwrap()),
        ("its description is empty", &|| fs::write(index.join("meta.json"), "").unwrap()),
        ("its description is gone", &|| fs::remove_file(index.join("meta.json")).unwrap()),
        ("dictionaries are gone", &|| change(".term", &|file| fs::remove_file(file).unwrap())),
        ("postings are cut in half", &|| change(".idx", &halve)),
        ("columns are cut", &|| change(".fast", &|file| fs::write(file, "").unwrap())),
        ("stored items are cut", &|| change(".store", &|file| fs::write(file, "short").unwrap())),
    ];
    for (damage, inflict) in damages {
        inflict();
        let mut server = Server::start(directory.path()).await;
        eprintln!("{damage}");
        all_there(&server, &application, &expected).await;
        server.terminate();
        assert!(server.wait_for_end().await.success(), "{damage}: {}", server.log());
    }
}

#[tokio::test]
async fn rebuild_killed_at_startup_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let (application, expected) = filled(directory.path()).await;
    for _ in 0..3 {
        let mut command =
            trawl_over(directory.path(), &["serve", "--listen", "127.0.0.1:0", "--rebuild-index"]);
        command.stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = child.stderr.take().unwrap();
        tokio::task::spawn_blocking(move || {
            use std::io::{BufRead, BufReader};
            let begun = BufReader::new(log).lines().any(|line| line.unwrap().contains("starting to rebuild"));
            assert!(begun, "no rebuild started");
            child.kill().unwrap();
            child.wait().unwrap();
        })
        .await
        .unwrap();
    }
    let server = Server::start(directory.path()).await;
    all_there(&server, &application, &expected).await;
}
