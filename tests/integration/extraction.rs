//! What reads texts, held to its bounds by what was made to break them: the server stays as it is, and what was read until then is
//! the text.

use std::{
    io::{Cursor, Write as _},
    process::Stdio,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use trawl::{
    config::{Limits, Storage},
    extraction::{
        ReadAs,
        process::{Reading, TextReader},
    },
    storage::Pieces,
};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::util::{app::TestApp, eventually, files::put_file, groups::people};

/// A reader that gives each content so many seconds.
fn reader(seconds: u64) -> TextReader {
    let storage = Storage {
        text_program: Some(env!("CARGO_BIN_EXE_trawl").into()),
        text_seconds: seconds,
        ..Storage::default()
    };
    TextReader::new(&storage, &Limits { file_text_bytes: 1_000, ..Limits::default() }).unwrap()
}

fn pieces(content: Vec<u8>) -> Pieces {
    stream::iter([Ok(Bytes::from(content))]).boxed()
}

/// What is read of a content that ends its reading itself. What reads stands back behind whatever else runs, and so may get no time
/// on a busy machine: it is tried again then, as the server does.
async fn read_by(reader: &TextReader, read_as: ReadAs, content: Vec<u8>) -> String {
    for _ in 0..5 {
        match reader.read(read_as, true, pieces(content.clone())).await.unwrap() {
            Reading::Ended(text) => return text,
            Reading::Cut { text, why } => println!("{why}: {text}"),
        }
    }
    panic!("it was cut short each time");
}

async fn read(content: Vec<u8>) -> String {
    read_by(&reader(60), ReadAs::Plain, content).await
}

/// An archive with these entries, and one of so many zeros behind them.
fn bomb(entries: &[(&str, &str)], zeros: (&str, u64)) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().large_file(true);
    for (name, content) in entries {
        archive.start_file(*name, options).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.start_file(zeros.0, options).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(b' '), zeros.1), &mut archive).unwrap();
    archive.finish().unwrap().into_inner()
}

/// A PDF with these objects, the first of which is its catalog.
fn pdf(objects: &[&str]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = Vec::new();
    for (number, object) in (1..).zip(objects) {
        writeln!(table, "{:010} 00000 n ", file.len()).unwrap();
        write!(file, "{number} 0 obj\n{object}\nendobj\n").unwrap();
    }
    let (start, size) = (file.len(), objects.len() + 1);
    write!(file, "xref\n0 {size}\n0000000000 65535 f \n").unwrap();
    file.extend(table);
    write!(file, "trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF").unwrap();
    file
}

#[tokio::test]
async fn what_inflates_without_end_is_read_up_to_a_bound() {
    let text = "<w:p xmlns:w='w'><w:t>harbour</w:t></w:p>";
    // So much that is text, and one that is none of what is looked at.
    for name in ["word/document.xml", "word/media/image1.png"] {
        let entries: &[(&str, &str)] =
            if name == "word/document.xml" { &[] } else { &[("word/document.xml", text)] };
        let content = bomb(entries, (name, 1 << 28));
        let expected = if entries.is_empty() { "" } else { "harbour" };
        assert_eq!(read(content).await.trim(), expected, "{name}");
    }
    // What came before it stays.
    let content = bomb(&[("word/document.xml", text)], ("word/footer1.xml", 1 << 28));
    assert_eq!(read(content).await.trim(), "harbour");
    // All of it is kept in memory there: the process ends.
    let content = bomb(
        &[
            (
                "_rels/.rels",
                "<Relationships><Relationship Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' Target='xl/workbook.xml'/></Relationships>",
            ),
            ("xl/workbook.xml", "<workbook/>"),
        ],
        ("xl/sharedStrings.xml", 3 << 29),
    );
    assert_eq!(read(content).await.trim(), "");
}

#[tokio::test]
async fn what_is_nested_without_end_ends() {
    let deep = |open: &str| open.repeat(2_000_000).into_bytes();
    for (read_as, content) in [
        (ReadAs::Html, [b"<html>harbour".to_vec(), deep("<div>")].concat()),
        (ReadAs::Markdown, deep("> ")),
        (ReadAs::Markdown, deep("[")),
        (ReadAs::Plain, [b"%PDF-1.4\n1 0 obj\n".to_vec(), deep("[")].concat()),
    ] {
        // However long all of it would take.
        let text = read_by(&reader(3), read_as, content).await;
        assert!(text.len() <= 1_000, "{read_as}");
    }
    let open = "<w:t>".repeat(1_000_000);
    let content = bomb(&[("word/document.xml", &format!("<w:t xmlns:w='w'>harbour{open}"))], ("x", 1));
    assert_eq!(read(content).await.trim(), "harbour");
}

#[tokio::test]
async fn a_pdf_that_is_broken_or_leads_in_a_circle_ends() {
    let broken =
        pdf(&["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 99999999 >>"]);
    assert_eq!(read(broken.clone()).await.trim(), "");
    for cut in [1, 9, 30, 90, broken.len() - 3] {
        read(broken[..cut].to_vec()).await;
    }
    // A page that draws a form that draws itself, twice.
    let own = "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >> /Length 11 >>\nstream\n/X Do /X Do\nendstream";
    let circle = pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>",
        "<< /Length 5 >>\nstream\n/X Do\nendstream",
        own,
    ]);
    // However long it would take.
    let text = read_by(&reader(1), ReadAs::Plain, circle).await;
    assert_eq!(text.trim(), "");
}

#[tokio::test]
async fn a_reader_that_is_ended_leaves_what_it_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let script = |name: &str, lines: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        path
    };
    let of = |program| Storage { text_program: Some(program), text_seconds: 1, ..Storage::default() };
    for (lines, expected) in [
        // Ends in the midst of a character, without reading anything.
        (r"printf 'harbour \346\275'; exit 1", "harbour "),
        (r"printf harbour; kill -SEGV $$", "harbour"),
        // Its processor time is over.
        (r"printf harbour; kill -XCPU $$", "harbour"),
        // More than was asked for.
        (r"exec yes", &"y\n".repeat(10)),
        ("env; ls -d /proc/$$/fd/[3-9] 2>/dev/null | grep -v '/fd/255'; cat > /dev/null", ""),
    ] {
        let program = script("reader", lines);
        let reader =
            TextReader::new(&of(program), &Limits { file_text_bytes: 20, ..Limits::default() }).unwrap();
        let begun = Instant::now();
        let text = read_by(&reader, ReadAs::Plain, vec![b'x'; 4 << 20]).await;
        if lines.starts_with("env") {
            // Of its own shell alone.
            assert!(!text.contains("CARGO") && !text.contains("HOME"), "{text}");
        } else {
            assert_eq!(text, expected, "{lines}");
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{lines}");
    }
    // What the store does not give, and what waits for something, is no text that is empty.
    for begins in [0, 10_000] {
        let begun = Ok(Bytes::from("y".repeat(begins)));
        let failing: Pieces = stream::iter([begun, Err(trawl::error::Error::bad_request("gone"))]).boxed();
        let read = reader(60).read(ReadAs::Plain, true, failing).await.unwrap();
        assert!(matches!(read, Reading::Cut { why, .. } if why.contains("gone")), "{begins}");
    }
    let program = script("reader", "printf harbour; exec sleep 1000");
    let reader = TextReader::new(&of(program), &Limits::default()).unwrap();
    for (content, text) in [(pieces(b"tide".to_vec()), "harbour"), (stream::pending().boxed(), "")] {
        let read = reader.read(ReadAs::Plain, true, content).await.unwrap();
        assert!(matches!(read, Reading::Cut { text: came, .. } if came == text));
    }
}

/// What it does not need it may not do, whoever takes it over.
#[tokio::test]
async fn a_reader_gives_up_what_it_does_not_need() {
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_trawl"))
        .arg("extract-text")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let process = format!("/proc/{}", child.id().unwrap());
    let has = |file: &str, line: &[&str]| {
        let text = std::fs::read_to_string(format!("{process}/{file}")).unwrap();
        text.lines().any(|told| told.split_whitespace().collect::<Vec<_>>().starts_with(line))
    };
    let last = ["Max", "core", "file", "size", "0", "0"];
    eventually("the last limit", async || has("limits", &last).then_some(())).await;
    for limit in [
        &["Max", "open", "files", "0", "0"][..],
        &["Max", "processes", "0", "0"],
        &["Max", "file", "size", "0", "0"],
        &["Max", "cpu", "time", "10", "10"],
    ] {
        assert!(has("limits", limit), "{limit:?}");
    }
    assert!(has("status", &["NoNewPrivs:", "1"]));
    drop(child.stdin.take());
    assert!(child.wait().await.unwrap().success());
}

/// A file that nothing can be read of is a file none the less.
#[tokio::test]
async fn a_hostile_file_is_found_by_its_name() {
    let app = TestApp::start_with(|config| config.storage.text_wait_ms = 10_000).await;
    let acme = app.tenant("acme").await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    put_file(&mei, "root", "bomb.docx", &bomb(&[], ("word/document.xml", 1 << 28))).await;
    put_file(&mei, "root", "broken.pdf", b"%PDF-1.7\n%%EOF").await;
    put_file(&mei, "root", "tide.txt", b"harbour").await;
    app.settled().await;
    for (keyword, count) in [("bomb", 1), ("broken", 1), ("harbour", 1)] {
        assert_eq!(mei.find("file", keyword).await.len(), count, "{keyword}");
    }
}
