//! Texts of shared contents; fairness between tenants.

use std::path::Path;

use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    eventually,
    files::{put_file, put_version, sha256},
    groups::people,
    internals::Config,
    program::write_script,
};

fn program(directory: &Path, lines: &str) -> impl Fn(&mut Config) + use<> {
    let path = write_script(directory, "reader", lines);
    move |config: &mut Config| config.storage.text_program = Some(path.clone())
}

async fn tenant(app: &TestApp, code: &str) -> (Application, Caller) {
    let tenant = app.tenant(code).await;
    let [mei] = people(app, &tenant, ["mei"]).await;
    (tenant, mei)
}

async fn found(caller: &Caller, keyword: &str) -> Vec<String> {
    let answer = caller.search(&[("moduleId", "file"), ("keyword", keyword), ("limit", "1000")]).await.ok();
    let mut found: Vec<String> =
        answer.items().iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect();
    found.sort();
    found
}

#[tokio::test]
async fn shared_content_is_extracted_for_every_file_type() {
    let app = TestApp::start_with(|config| config.storage.text_wait_ms = 10_000).await;
    let (_, stranger) = tenant(&app, "globex").await;
    let (_, mei) = tenant(&app, "acme").await;
    let text = b"# harbour dues\n\n[tariff](https://a.example/quay) <pier>wharf</pier>";
    let page = b"<!DOCTYPE html><p>lighthouse</p>";
    for (number, name) in ["poison.png", "poison.mp4", "poison.html", "poison.md"].into_iter().enumerate() {
        put_file(&stranger, "root", name, text).await;
        put_file(&stranger, "root", &format!("page{number}{name}"), page).await;
    }
    put_file(&mei, "root", "notes.txt", text).await;
    put_file(&mei, "root", "page.html", page).await;
    app.wait_for_texts().await;
    for keyword in ["harbour", "tariff", "quay", "pier", "wharf"] {
        assert_eq!(found(&mei, keyword).await, ["notes.txt"], "{keyword}");
    }
    assert_eq!(found(&mei, "lighthouse").await, ["page.html"]);
    // Each file type has a text of its own from now on.
    put_file(&mei, "root", "notes.md", text).await;
    put_version(&mei, "root", "page.html", text).await.ok();
    app.wait_for_texts().await;
    for (keyword, names) in [
        ("harbour", &["notes.md", "notes.txt", "page.html"][..]),
        ("quay", &["notes.txt", "page.html"]),
        ("pier", &["notes.txt"]),
        ("lighthouse", &[]),
    ] {
        assert_eq!(found(&mei, keyword).await, names, "{keyword}");
    }
    assert_eq!(found(&stranger, "quay").await, ["poison.html", "poison.mp4", "poison.png"]);
    assert_eq!(app.number("SELECT COUNT(*) FROM blob_texts").await, 6);
}

#[tokio::test]
async fn file_tells_why_its_text_is_not_whole() {
    let app = TestApp::start_with(|config| {
        config.storage.text_wait_ms = 10_000;
        config.limits.file_text_bytes = 20;
    })
    .await;
    let (_, mei) = tenant(&app, "acme").await;
    let files: [(&str, &[u8], Value); 5] = [
        ("whole.txt", b"harbour", Value::Null),
        ("long.txt", &b"harbour ".repeat(9), json!("its text is cut at 20 bytes")),
        ("broken.pdf", b"%PDF-1.7\n%%EOF", json!("it is no PDF file, or damaged")),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0", json!("no text is read from files of this format")),
        ("blank.html", b"<html></html>", json!("no text was found in it")),
    ];
    for (name, content, _) in &files {
        put_file(&mei, "root", name, content).await;
    }
    app.wait_for_texts().await;
    let listed = mei.get("/v1/directories/file/list?dirId=root").await.ok();
    for (name, _, problem) in &files {
        let file = listed.data().as_array().unwrap().iter().find(|file| file["name"] == *name).unwrap();
        assert_eq!(&file["textProblem"], problem, "{name}");
        let item = mei.get(&format!("/v1/contents/file/{}", file["id"].as_str().unwrap())).await.ok();
        let attached: Value = serde_json::from_str(item.data()["attachInfo"].as_str().unwrap()).unwrap();
        assert_eq!(&attached["textProblem"], problem, "{name}");
    }
}

/// Reports its content and waits for a signal.
const TOLD: &str = r#"IFS= read -r name
printf '%s\n' "$name" >> "${0%/*}/begun"
IFS= read -r told < "${0%/*}/$name"
printf '%s' "$name""#;

#[tokio::test]
async fn tenants_take_turns_in_extraction() {
    let directory = tempfile::tempdir().unwrap();
    let set = program(directory.path(), TOLD);
    let app = TestApp::start_with(|config| {
        set(config);
        config.storage.text_wait_ms = 0;
    })
    .await;
    let (_, mei) = tenant(&app, "acme").await;
    let (_, other) = tenant(&app, "globex").await;
    let (_, third) = tenant(&app, "initech").await;
    let begun = async |count: usize| {
        eventually("started readings", async || {
            let begun = std::fs::read_to_string(directory.path().join("begun")).unwrap_or_default();
            let begun: Vec<String> = begun.lines().map(str::to_owned).collect();
            (begun.len() >= count).then_some(begun)
        })
        .await
    };
    let put = async |caller: &Caller, name: &str| {
        let made = std::process::Command::new("mkfifo").arg(directory.path().join(name)).status().unwrap();
        assert!(made.success());
        put_file(caller, "root", &format!("{name}.txt"), name.as_bytes()).await;
    };
    let tell = async |name: &str| tokio::fs::write(directory.path().join(name), "\n").await.unwrap();

    for number in 0..5 {
        put(&mei, &format!("mine{number}")).await;
    }
    let mut mine: Vec<String> = begun(2).await;
    mine.sort();
    assert_eq!(mine, ["mine0", "mine1"]);
    for number in 0..2 {
        put(&other, &format!("other{number}")).await;
    }
    put(&third, "third0").await;
    // Tenants take turns, one reader each while others wait.
    tell("mine0").await;
    assert_eq!(begun(3).await[2], "other0");
    tell("other0").await;
    assert_eq!(begun(4).await[3], "third0");
    tell("third0").await;
    assert_eq!(begun(5).await[4], "other1");
    tell("mine1").await;
    assert_eq!(begun(6).await[5], "mine2");
    tell("other1").await;
    assert_eq!(begun(7).await[6], "mine3");
    for name in ["mine2", "mine3", "mine4"] {
        tell(name).await;
    }
    eventually("the texts", async || {
        (app.number("SELECT COUNT(*) FROM blob_texts WHERE text IS NULL").await == 0).then_some(())
    })
    .await;
}

/// Uses no processor time, as on a busy machine.
const HELD_UP: &str = r#"printf harb
if [ -e "${0%/*}/busy" ]; then exec sleep 1000; fi
printf our"#;

#[tokio::test]
async fn interrupted_extraction_is_retried() {
    let directory = tempfile::tempdir().unwrap();
    let set = program(directory.path(), HELD_UP);
    std::fs::write(directory.path().join("busy"), "").unwrap();
    let app = TestApp::start_with(|config| {
        set(config);
        // Six times this by the clock.
        (config.storage.text_wait_ms, config.storage.text_seconds) = (0, 2);
    })
    .await;
    let (acme, mei) = tenant(&app, "acme").await;
    put_file(&mei, "root", "one.txt", b"one").await;
    put_file(&mei, "root", "two.txt", b"two").await;
    let until = async |app: &TestApp, condition: &str, count: i64| {
        let query = format!("SELECT COUNT(*) FROM blob_texts WHERE {condition}");
        eventually(condition, async || (app.number(&query).await == count).then_some(())).await;
    };
    until(&app, "tries = 1 AND text IS NULL AND due_at > 0", 2).await;
    // The next attempt is the last of one, and the last but one of the other.
    let one = sha256(b"one");
    app.execute(&format!("UPDATE blob_texts SET tries = CASE sha256 WHEN '{one}' THEN 3 ELSE 2 END")).await;
    let app = app.restart().await;
    until(&app, "tries = 3 AND text = 'harb'", 1).await;
    until(&app, "tries = 3 AND text IS NULL AND due_at > 0", 1).await;
    std::fs::remove_file(directory.path().join("busy")).unwrap();
    let app = app.restart().await;
    let mei = app.user(&acme, "mei").await;
    eventually("the text", async || (found(&mei, "harbour").await == ["two.txt"]).then_some(())).await;
}
