//! Search over files.

use serde_json::{Value, json};
use std::io::{Cursor, Write as _};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::util::{
    answer::Answer,
    app::{Application, TestApp},
    caller::Caller,
    database::{read, write},
    files::{delete, put_file, put_version},
    folders::{ask, folder, give},
    groups::{group, people},
    internals::Config,
    items::{department, user},
};

/// Ascending; asserts that both orders and the total agree.
async fn found(caller: &Caller, keyword: &str) -> Vec<String> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for sort in ["time", "relevance"] {
        let parameters = [("moduleId", "file"), ("keyword", keyword), ("limit", "1000"), ("sort", sort)];
        let answer = caller.search(&parameters).await.ok();
        assert!(answer.body["corrected"].is_null(), "{}", answer.text);
        let mut titles: Vec<String> =
            answer.items().iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect();
        assert_eq!(answer.total(), titles.len() as u64, "{}", answer.text);
        titles.sort();
        found.push(titles);
    }
    assert_eq!(found[0], found[1], "{keyword}");
    found.remove(0)
}

async fn count(caller: &Caller, keyword: &str) -> u64 {
    caller.search(&[("moduleId", "file"), ("keyword", keyword), ("limit", "1")]).await.ok().total()
}

fn docx(paragraphs: &[&str]) -> Vec<u8> {
    let paragraphs = paragraphs.join("</w:t></w:r></w:p><w:p><w:r><w:t>");
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file("word/document.xml", SimpleFileOptions::default()).unwrap();
    write!(
        archive,
        "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>{paragraphs}</w:t></w:r></w:p></w:body></w:document>"
    )
    .unwrap();
    archive.finish().unwrap().into_inner()
}

async fn put_many(app: &TestApp, folder: &str, prefix: &str, count: usize, text: &str) {
    let names: Vec<String> = (0..count).map(|number| format!("{prefix}{number:04}.txt")).collect();
    let names = json!(names).to_string();
    let hash = format!("hash of {text}");
    let store = &app.app.store;
    let statements = [
        (
            "INSERT INTO blobs (sha256, size, store, store_key, created_at) VALUES (?, 9, 'local', '', 1) ON CONFLICT DO NOTHING",
            vec![hash.as_str().into()],
        ),
        (
            "INSERT INTO files (id, tenant_id, directory_id, name, name_key, extension, version, sha256, size, stored_bytes, \
               created_by, created_by_name, created_at, updated_at) \
             SELECT file.value || ?1, (SELECT tenant_id FROM directories WHERE id = ?1), ?1, file.value, file.value, 'txt', 1, \
               ?3, 9, 0, 'mei', 'User mei', 1000, 2000 FROM json_each(?2) AS file",
            vec![folder.into(), names.as_str().into(), hash.as_str().into()],
        ),
        ("UPDATE blob_texts SET text = ? WHERE sha256 = ?", vec![text.into(), hash.as_str().into()]),
    ];
    write(store, statements.map(|(text, values)| (text.to_owned(), values)).into(), Vec::new()).await;
    let ids = "SELECT tenant_id, id FROM files WHERE directory_id = ?";
    let rows: Vec<(i64, String)> = read(store, ids, vec![folder.into()]).await;
    write(store, Vec::new(), rows.into_iter().map(|(tenant_id, id)| (tenant_id, "file", id)).collect()).await;
    app.wait_for_index().await;
}

async fn acme() -> (TestApp, Application, [Caller; 3]) {
    let (app, acme) = TestApp::start_acme_with(|config| config.storage.text_wait_ms = 10_000).await;
    let callers = people(&app, &acme, ["mei", "omar", "lin"]).await;
    (app, acme, callers)
}

#[tokio::test]
async fn file_is_found_by_name_folder_and_text() {
    let (app, _acme, [mei, ..]) = acme().await;
    let contracts = folder(&mei, "", "Contracts").await;
    let year = folder(&mei, &contracts, "2026年").await;
    let text =
        docx(&["The harbour master signed the tariff.", "港口收费合同，自一月起施行。", "&lt;b&gt; quays"]);
    let id = put_file(&mei, &year, "Q3_report-final 合同书v2.DOCX", &text).await;
    put_file(&mei, "root", "shopping.md", b"# Groceries\n\n*oranges* and tea").await;
    app.wait_for_texts().await;

    for keyword in [
        "report",
        "repo",
        "final",
        "docx",
        "report.docx",
        "Q3_report-final",
        "Q3",
        "合同书",
        "contracts",
        "2026年",
        "/Contracts/2026",
        "tariff",
        "signing",
        "\"harbour master signed\"",
        "收费合同",
        "施行",
        "tariff contracts final 合同书",
        "author:mei tariff",
    ] {
        assert_eq!(found(&mei, keyword).await, ["Q3_report-final 合同书v2.DOCX"], "{keyword}");
    }
    assert_eq!(found(&mei, "oranges").await, ["shopping.md"]);
    for keyword in
        ["bananas", "\"tariff groceries\"", "author:omar tariff", "\"final harbour\"", "tariff -quays"]
    {
        assert_eq!(count(&mei, keyword).await, 0, "{keyword}");
    }

    let parameters = [("moduleId", "file"), ("keyword", "harbour report"), ("highlight", "true")];
    let answer = mei.search(&parameters).await.ok();
    let item = &answer.items()[0];
    assert_eq!(
        (item["id"].as_str(), item["subTitle"].as_str()),
        (Some(id.as_str()), Some("/Contracts/2026年"))
    );
    assert_eq!(item["author"], "User mei");
    assert!(item["action"].is_null(), "{item}");
    let attached: Value = serde_json::from_str(item["attachInfo"].as_str().unwrap()).unwrap();
    let expected = json!({"extension": "docx", "size": text.len(), "version": 1, "directoryId": year});
    assert_eq!(attached, expected);
    assert_eq!(item["brief"], "The harbour master signed the tariff. 港口收费合同，自一月起施行。 <b> quays");
    assert_eq!(item["highlight"]["title"], "Q3_<em>report</em>-final 合同书v2.DOCX");
    let brief = item["highlight"]["brief"].as_str().unwrap();
    assert!(brief.contains("The <em>harbour</em> master") && brief.contains("&lt;b&gt;"), "{brief}");
    let listed = mei.get(&format!("/v1/directories/file/list?dirId={year}")).await.ok();
    assert_eq!(item["displayTime"], listed.items()[0]["modifiedTime"], "{}", listed.text);
}

#[tokio::test]
async fn file_name_matches_rank_above_text_matches() {
    let (app, _acme, [mei, ..]) = acme().await;
    put_file(&mei, "root", "minutes.txt", "harbour ".repeat(400).as_bytes()).await;
    put_file(&mei, "root", "plan of the harbour.png", b"\x89PNG\r\n").await;
    put_file(&mei, "root", "letter.txt", b"to the master of the harbour").await;
    app.wait_for_texts().await;
    let parameters = [("moduleId", "file"), ("keyword", "harbour"), ("sort", "relevance")];
    let answer = mei.search(&parameters).await.ok();
    assert_eq!((answer.items()[0]["title"].as_str(), answer.total()), (Some("plan of the harbour.png"), 3));
}

/// Indexes of callers.
async fn finders<const N: usize>(callers: [&Caller; N], keyword: &str) -> Vec<usize> {
    let mut finders = Vec::new();
    for (number, caller) in callers.into_iter().enumerate() {
        let titles = found(caller, keyword).await;
        assert!(titles.len() < 2, "{titles:?}");
        if !titles.is_empty() {
            finders.push(number);
        }
    }
    finders
}

#[tokio::test]
async fn granted_or_removed_right_applies_to_the_next_search() {
    let (app, acme, [mei, omar, lin]) = acme().await;
    app.sync(&acme.caller, "organizations", &json!([department("d1", ""), department("d2", "d1")])).await;
    app.sync(&acme.caller, "users", &json!([user("lin", "d2")])).await;
    let lin = Caller { token: app.user(&acme, "lin").await.token, ..lin };
    let team = group(&mei, "Team", &["omar"]).await;
    let top = folder(&mei, "", "Top").await;
    let below = folder(&mei, &top, "Below").await;
    let beside = folder(&mei, &top, "Beside").await;
    put_file(&mei, &below, "tide.txt", b"harbour").await;
    app.wait_for_texts().await;
    let all = || [&mei, &omar, &lin, &acme.caller];
    let right = async |operation: &str, folder: &str, kind: i64, target: &str| {
        let form = if operation == "authorize" {
            json!({"dirId": folder, "roleIds": ["viewer"], "authTarget": [target], "targetType": kind})
        } else {
            json!({"dirId": folder, "target": target, "targetType": kind})
        };
        ask(&mei, operation, form).await.ok();
    };
    assert_eq!(finders(all(), "harbour").await, [0], "the owner");
    right("authorize", &below, 1, "omar").await;
    assert_eq!(finders(all(), "harbour").await, [0, 1], "granted");
    right("authorize/remove", &below, 1, "omar").await;
    assert_eq!(finders(all(), "harbour").await, [0], "revoked");
    right("authorize", &beside, 1, "omar").await;
    assert_eq!(finders(all(), "harbour").await, [0], "a sibling folder");
    right("authorize", &top, 2, "d1").await;
    assert_eq!(finders(all(), "harbour").await, [0, 2], "a department above hers, a folder above it");
    right("authorize/remove", &top, 2, "d1").await;
    right("authorize", &top, 2, &team).await;
    assert_eq!(finders(all(), "harbour").await, [0, 1], "a group");
    let path = format!("/v1/groups/{team}/members?userIds=lin");
    crate::util::caller::send(mei.request(reqwest::Method::POST, &path)).await.ok();
    assert_eq!(finders(all(), "harbour").await, [0, 1, 2], "a new member");
    crate::util::caller::send(mei.request(reqwest::Method::DELETE, &path)).await.ok();
    right("authorize/remove", &top, 2, &team).await;
    assert_eq!(finders(all(), "harbour").await, [0]);
}

#[tokio::test]
async fn old_versions_deleted_and_foreign_files_are_not_found() {
    let (app, _acme, [mei, ..]) = acme().await;
    let globex = app.tenant("globex").await;
    let [stranger] = people(&app, &globex, ["mei"]).await;
    let shared = folder(&mei, "", "Shared").await;
    let id = put_file(&mei, &shared, "tide.txt", b"harbour at noon").await;
    put_file(&mei, &shared, "copy.txt", b"harbour at noon").await;
    put_file(&stranger, "root", "theirs.txt", b"harbour at noon").await;
    app.wait_for_texts().await;
    assert_eq!(found(&mei, "harbour noon").await, ["copy.txt", "tide.txt"]);
    assert_eq!(found(&stranger, "harbour").await, ["theirs.txt"]);
    assert_eq!(count(&stranger, "shared").await + count(&stranger, "tide").await, 0);

    put_version(&mei, &shared, "tide.txt", b"lighthouse").await.ok();
    app.wait_for_texts().await;
    assert_eq!(found(&mei, "harbour").await, ["copy.txt"]);
    assert_eq!(found(&mei, "lighthouse").await, ["tide.txt"]);
    put_version(&mei, &shared, "tide.txt", b"harbour at noon").await.ok();
    app.wait_for_texts().await;
    assert_eq!(found(&mei, "harbour").await, ["copy.txt", "tide.txt"]);
    assert_eq!(count(&mei, "lighthouse").await, 0);

    delete(&mei, &[&id]).await.ok();
    app.wait_for_texts().await;
    assert_eq!(found(&mei, "harbour").await, ["copy.txt"]);
    assert_eq!(count(&mei, "tide").await, 0);
}

#[tokio::test]
async fn folder_rename_and_deletion_reach_all_files_below() {
    let (app, acme, [mei, omar, _]) = acme().await;
    let top = folder(&mei, "", "Harbour").await;
    let middle = folder(&mei, &top, "Dues").await;
    let deep = folder(&mei, &middle, "Old").await;
    let beside = folder(&mei, "", "Beside").await;
    give(&mei, &deep, "viewer", &["omar"]).await;
    for (folder, prefix, files) in
        [(&deep, "d", 1_200), (&middle, "m", 30), (&top, "t", 3), (&beside, "b", 5)]
    {
        put_many(&app, folder, prefix, files, "tariff").await;
    }
    let counts = async |keyword: &str| (count(&mei, keyword).await, count(&omar, keyword).await);
    assert_eq!(counts("tariff").await, (1_238, 1_200));
    assert_eq!(counts("harbour").await, (1_233, 1_200));

    ask(&mei, "rename", json!({"dirId": top, "name": "Quay"})).await.ok();
    // Maintenance indexes the rest without delaying concurrent writes.
    crate::util::eventually("the new name", async || {
        app.wait_for_index().await;
        (counts("quay").await == (1_233, 1_200)).then_some(())
    })
    .await;
    assert_eq!(counts("harbour").await, (0, 0));
    assert_eq!(counts("dues").await, (1_230, 1_200));
    for name in ["Pier", "Wharf"] {
        ask(&mei, "rename", json!({"dirId": middle, "name": name})).await.ok();
    }
    crate::util::eventually("the newer name", async || {
        app.wait_for_index().await;
        (counts("wharf").await == (1_230, 1_200)).then_some(())
    })
    .await;
    assert_eq!(counts("dues").await, (0, 0));
    assert_eq!(counts("pier").await, (0, 0));

    ask(&mei, "delete", json!({"dirId": middle})).await.ok();
    app.wait_for_index().await;
    assert_eq!(counts("tariff").await, (8, 0), "in the next search");
    assert_eq!(counts("wharf").await, (0, 0));
    app.app.maintenance.make_round().await.unwrap();
    app.wait_for_index().await;
    let app = app.restart_rebuilding().await;
    app.wait_for_rebuild().await;
    let mei = app.user(&acme, "mei").await;
    assert_eq!(count(&mei, "tariff").await, 8);
}

#[tokio::test]
async fn rebuilt_index_finds_the_same_files() {
    let (app, acme, [mei, omar, _]) = acme().await;
    let shared = folder(&mei, "", "Shared 共享").await;
    let gone = folder(&mei, &shared, "Gone").await;
    give(&mei, &shared, "viewer", &["omar"]).await;
    put_file(&mei, &shared, "tide.txt", "harbour 港口".as_bytes()).await;
    put_file(&mei, &gone, "gone.txt", b"harbour").await;
    put_file(&mei, "root", "own.csv", b"harbour,dues").await;
    put_many(&app, &shared, "m", 70, "harbour quay").await;
    ask(&mei, "delete", json!({"dirId": gone})).await.ok();
    app.wait_for_texts().await;
    let looked = async |mei: &Caller, omar: &Caller| {
        let mut looked = Vec::new();
        for keyword in ["harbour", "港口", "共享", "dues", "tide", "gone"] {
            looked.push((keyword, found(mei, keyword).await, found(omar, keyword).await));
        }
        looked
    };
    let before = looked(&mei, &omar).await;
    assert_eq!((before[0].1.len(), before[0].2.len()), (72, 71));
    assert_eq!((before[3].1.len(), before[3].2.len(), before[5].1.len()), (1, 0, 0));
    let app = app.restart_rebuilding().await;
    app.wait_for_rebuild().await;
    let (mei, omar) = (app.user(&acme, "mei").await, app.user(&acme, "omar").await);
    assert_eq!(looked(&mei, &omar).await, before);
}

#[tokio::test]
async fn late_text_is_found_once_extracted() {
    let without = |config: &mut Config| config.storage.text_program = Some("/nowhere/trawl".into());
    let (app, acme) = TestApp::start_acme_with(without).await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    for number in 0..3 {
        let name = format!("tide {number}.txt");
        let answer: Answer = crate::util::files::put(&mei, "root", &name, b"harbour").await;
        answer.ok();
    }
    app.wait_for_index().await;
    assert_eq!((count(&mei, "tide").await, count(&mei, "harbour").await), (3, 0));
    let app = app
        .restart_with(|config| config.storage.text_program = Some(env!("CARGO_BIN_EXE_trawl").into()))
        .await;
    let mei = app.user(&acme, "mei").await;
    crate::util::eventually("the text", async || (count(&mei, "harbour").await == 3).then_some(())).await;
}
