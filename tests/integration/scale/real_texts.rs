//! Real texts, paged by both cursors.
//!
//! The texts are not part of the project; without them a test prints a line.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::util::{
    paging::{walk_by_cursor, walk_by_time},
    program::{Server, create_application, run, text, trawl},
};

const ROWS: usize = 2_000;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data")
}

fn first_rows(name: &str) -> Option<Vec<String>> {
    let lines = lines(&format!("texts/{name}.jsonl.zst"))?;
    Some(lines.take(ROWS).collect())
}

/// Lines of a packed file; none and a note without it.
pub(super) fn lines(file: &str) -> Option<impl Iterator<Item = String> + use<>> {
    let path = data().join(file);
    let Ok(file) = File::open(&path) else {
        println!("skipped: there is no {}", path.display());
        return None;
    };
    Some(BufReader::new(zstd::Decoder::new(file).unwrap()).lines().map(Result::unwrap))
}

/// At least `at_least` rows contain `word`.
async fn import_and_page(name: &str, module: &str, word: &str, at_least: usize) {
    let Some(rows) = first_rows(name) else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(format!("{name}.jsonl"));
    fs::write(&file, rows.join("\n")).unwrap();
    let server = Server::start(directory.path()).await;
    let application = create_application(directory.path(), "acme").await;
    let mut command = trawl(&["import", "--module", module, "--json", "--server", &server.base]);
    command.args(["--client-id", application["clientId"].as_str().unwrap()]).arg(&file);
    command.env("TRAWL_CLIENT_SECRET", application["clientSecret"].as_str().unwrap());
    let output = run(command).await;
    assert_eq!(output.status.code(), Some(0), "{} {}", text(&output.stdout), text(&output.stderr));
    server.wait_for_index().await;

    let caller = server.caller(&application).await;
    let query = [("keyword", word), ("moduleId", module)];
    let total = usize::try_from(caller.search(&query).await.ok().total()).unwrap();
    let whole = walk_by_cursor(&caller, &query, 1_000).await;
    assert_eq!(whole.ids.len(), total);
    for limit in [13, 100] {
        walk_by_cursor(&caller, &query, limit).await.assert_met(whole.ids.iter().cloned());
        walk_by_time(&caller, &query, limit).await.assert_met(whole.ids.iter().cloned());
    }
    let found: BTreeSet<&str> = whole.ids.iter().map(String::as_str).collect();
    let mut expected = 0;
    for row in &rows {
        let row: Value = serde_json::from_str(row).unwrap();
        let shown = |field: &str| row[field].as_str().unwrap_or_default();
        if holds(shown("title"), word) || holds(shown("text"), word) {
            expected += 1;
            assert!(found.contains(shown("id")), "{word} is not found in {row}");
        }
    }
    assert!(expected >= at_least, "only {expected} rows contain {word}");
    println!("{name}: {total} of {} rows hold {word}", rows.len());
}

/// Ideographs match anywhere, others between white space.
fn holds(text: &str, word: &str) -> bool {
    if word.is_ascii() {
        text.split_whitespace().any(|part| part.eq_ignore_ascii_case(word))
    } else {
        text.contains(word)
    }
}

#[tokio::test]
async fn chinese_feeds_are_imported_and_paged() {
    import_and_page("zh_weibo_hot_search", "feed", "中国", 20).await;
}

#[tokio::test]
async fn long_chinese_articles_are_imported_and_paged() {
    import_and_page("zh_news_xwlb", "article", "发展", 500).await;
}

#[tokio::test]
async fn english_news_with_bare_dates_is_imported_and_paged() {
    import_and_page("en_news_twir_items", "news", "rust", 250).await;
}
