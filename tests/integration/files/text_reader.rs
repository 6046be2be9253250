//! The text reader under hostile files.

use std::{fs, path::Path, process::Stdio};

use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use trawl_connectors::confined_command;

use crate::util::{
    TIMEOUT,
    app::TestApp,
    eventually,
    files::{bomb, pdf, put_file},
    groups::people,
    internals::{
        Error, ExtractionOutcome, Limits, Pieces, ReaderAsker, ReaderPlaces, ReadingTask, Storage,
        TextFormat, TextReader,
    },
    program::write_script,
    subscriptions::write_views,
};

/// Inflated bytes, of which a file may have 64 MiB.
const OVER_THE_LIMIT: u64 = 65 << 20;

const ASKER: ReaderAsker = ReaderAsker { group: 1, member: ReadingTask::Text };

fn reader() -> TextReader {
    let storage = Storage {
        text_program: Some(env!("CARGO_BIN_EXE_trawl").into()),
        text_seconds: 60,
        ..Storage::default()
    };
    TextReader::new(
        &storage,
        &Limits { file_text_bytes: 1_000, ..Limits::default() },
        ReaderPlaces::default(),
    )
    .unwrap()
}

fn pieces(content: Vec<u8>) -> Pieces {
    stream::iter([Ok(Bytes::from(content))]).boxed()
}

/// Retried as the server does: on a busy machine the reader, at low priority, may starve.
async fn read_by(reader: &TextReader, read_as: TextFormat, content: Vec<u8>) -> String {
    for _ in 0..5 {
        match reader.read(ASKER, read_as, content.len() as u64, pieces(content.clone())).await.unwrap() {
            ExtractionOutcome::Ended(read) => return read.text,
            ExtractionOutcome::Cut { text, why } => println!("{why}: {text}"),
        }
    }
    panic!("the reader was cut short five times");
}

async fn read(content: Vec<u8>) -> String {
    read_by(&reader(), TextFormat::Plain, content).await
}

#[tokio::test]
async fn zip_bomb_is_read_up_to_the_limit() {
    let text = "<w:p xmlns:w='w'><w:t>harbour</w:t></w:p>";
    // An entry over the limit, of a read and of an ignored kind.
    for name in ["word/document.xml", "word/media/image1.png"] {
        let entries: &[(&str, &str)] =
            if name == "word/document.xml" { &[] } else { &[("word/document.xml", text)] };
        let content = bomb(entries, (name, OVER_THE_LIMIT));
        let expected = if entries.is_empty() { "" } else { "harbour" };
        assert_eq!(read(content).await.trim(), expected, "{name}");
    }
    let content = bomb(&[("word/document.xml", text)], ("word/footer1.xml", OVER_THE_LIMIT));
    assert_eq!(read(content).await.trim(), "harbour");
    let content = bomb(
        &[
            (
                "_rels/.rels",
                "<Relationships><Relationship Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' Target='xl/workbook.xml'/></Relationships>",
            ),
            ("xl/workbook.xml", "<workbook/>"),
        ],
        ("xl/sharedStrings.xml", 5 << 27),
    );
    assert_eq!(read(content).await.trim(), "");
}

#[tokio::test]
async fn deeply_nested_content_ends() {
    let deep = |open: &str| open.repeat(2_000_000).into_bytes();
    for (read_as, content) in [
        (TextFormat::Markdown, deep("> ")),
        (TextFormat::Markdown, deep("[")),
        (TextFormat::Plain, [b"%PDF-1.4\n1 0 obj\n".to_vec(), deep("[")].concat()),
    ] {
        let text = read_by(&reader(), read_as, content).await;
        assert!(text.len() <= 1_000, "{read_as}");
    }
    // Its beginning is read, up to the midst of a tag.
    let text = read([b"<html>harbour".to_vec(), deep("<div>")].concat()).await;
    assert!(text.starts_with("harbour ") && text.len() < 20, "{text}");
    let open = "<w:t>".repeat(1_000_000);
    let content = bomb(&[("word/document.xml", &format!("<w:t xmlns:w='w'>harbour{open}"))], ("x", 1));
    assert_eq!(read(content).await.trim(), "harbour");
}

#[tokio::test]
async fn mail_of_fifty_megabytes_is_read_to_its_end_in_bounded_memory() {
    let line = format!("{}\r\n", "QUJD".repeat(19));
    let attached = line.repeat((50 << 20) / line.len());
    let head = "From: mei@acme.example\r\nSubject: harbour\r\nMIME-Version: 1.0\r\n\
                Content-Type: multipart/mixed; boundary=b\r\n\r\n";
    let part = |kind: &str, content: &str| format!("--b\r\nContent-Type: {kind}\r\n\r\n{content}\r\n");
    let attachment = "application/octet-stream; name=all.bin\r\nContent-Transfer-Encoding: base64";
    let mail = [head, &part(attachment, &attached), &part("text/plain", "tide"), "--b--\r\n"].concat();
    let mut child = confined_command(Path::new(env!("CARGO_BIN_EXE_trawl")))
        // Two thirds of what a reader may take.
        .args(["extract-text", "--memory-mib=256", "--seconds=60"])
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let write = async move { input.write_all(mail.as_bytes()).await };
    let (written, output) = tokio::join!(write, child.wait_with_output());
    let output = output.unwrap();
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(written.is_ok() && output.status.success(), "{said}");
    assert!(text.contains("harbour") && text.contains("tide"), "{said}");
}

#[tokio::test]
async fn broken_or_cyclic_pdf_ends() {
    let broken =
        pdf(&["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 99999999 >>"]);
    assert_eq!(read(broken.clone()).await.trim(), "");
    for cut in [1, 9, 30, 90, broken.len() - 3] {
        read(broken[..cut].to_vec()).await;
    }
    let own = "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >> /Length 11 >>\nstream\n/X Do /X Do\nendstream";
    let circle = pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>",
        "<< /Length 5 >>\nstream\n/X Do\nendstream",
        own,
    ]);
    assert_eq!(read(circle).await.trim(), "");
}

#[tokio::test]
async fn killed_reader_leaves_its_partial_text() {
    let directory = tempfile::tempdir().unwrap();
    let of =
        |program, text_seconds| Storage { text_program: Some(program), text_seconds, ..Storage::default() };
    for (lines, expected) in [
        // It ends amid a character, without reading its input.
        (r"printf 'harbour \346\275'; exit 1", "harbour "),
        (r"printf harbour; kill -SEGV $$", "harbour"),
        // It exceeds its processor time.
        (r"printf harbour; kill -XCPU $$", "harbour"),
        (r"exec yes", &"y\n".repeat(10)),
        ("env; ls -d /proc/$$/fd/[3-9] 2>/dev/null | grep -v '/fd/255'; cat > /dev/null", ""),
    ] {
        let program = write_script(directory.path(), "reader", lines);
        let reader = TextReader::new(
            &of(program, 20),
            &Limits { file_text_bytes: 20, ..Limits::default() },
            ReaderPlaces::default(),
        )
        .unwrap();
        let reading = read_by(&reader, TextFormat::Plain, vec![b'x'; 4 << 20]);
        let text = tokio::time::timeout(TIMEOUT, reading).await.unwrap();
        if lines.starts_with("env") {
            assert!(!text.contains("CARGO") && !text.contains("HOME"), "{text}");
        } else {
            assert_eq!(text, expected, "{lines}");
        }
    }
    for begins in [0, 10_000] {
        let begun = Ok(Bytes::from("y".repeat(begins)));
        let failing: Pieces = stream::iter([begun, Err(Error::bad_request("gone"))]).boxed();
        let read = reader().read(ASKER, TextFormat::Plain, 1, failing).await.unwrap();
        assert!(matches!(read, ExtractionOutcome::Cut { why, .. } if why.contains("gone")), "{begins}");
    }
    let program = write_script(directory.path(), "reader", "printf harbour; exec sleep 1000");
    let reader = TextReader::new(&of(program, 1), &Limits::default(), ReaderPlaces::default()).unwrap();
    let (whole, pending) = tokio::join!(
        reader.read(ASKER, TextFormat::Plain, 1, pieces(b"tide".to_vec())),
        reader.read(ASKER, TextFormat::Plain, 1, stream::pending().boxed()),
    );
    for (read, text) in [(whole, "harbour"), (pending, "")] {
        assert!(matches!(read.unwrap(), ExtractionOutcome::Cut { text: came, .. } if came == text));
    }
}

#[tokio::test]
async fn reader_of_more_than_one_mebibyte_gets_more_memory() {
    let directory = tempfile::tempdir().unwrap();
    let program = write_script(directory.path(), "reader", "cat > /dev/null; echo \"$@\"");
    let storage = Storage { text_program: Some(program), ..Storage::default() };
    let reader = TextReader::new(&storage, &Limits::default(), ReaderPlaces::default()).unwrap();
    for (bytes, mebibytes) in [(1 << 20, 128), ((1 << 20) + 1, 384)] {
        let arguments = read_by(&reader, TextFormat::Plain, vec![b'x'; bytes]).await;
        let memory = format!("--memory-mib={mebibytes}");
        assert!(arguments.split_whitespace().any(|argument| argument == memory), "{bytes}: {arguments}");
    }
}

/// Defence in depth against a compromised reader.
#[tokio::test]
async fn readers_drop_files_network_programs_and_rights() {
    let directory = tempfile::tempdir().unwrap();
    let file = write_views(&directory.path().join("views"), &[("one", "SELECT 1, 2, 3")]).await;
    let open = format!("{}\n", json!({ "Open": file }));
    for (command, input, files) in [
        ("extract-text", "", "0"),
        ("read-rows", "", "0"),
        ("interpret-mappings", "", "0"),
        ("read-sqlite", open.as_str(), "64"),
    ] {
        let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_trawl"))
            .arg(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        child.stdin.as_mut().unwrap().write_all(input.as_bytes()).await.unwrap();
        let process = format!("/proc/{}", child.id().unwrap());
        let has = |file: &str, line: &[&str]| {
            let text = fs::read_to_string(format!("{process}/{file}")).unwrap();
            text.lines().any(|told| told.split_whitespace().collect::<Vec<_>>().starts_with(line))
        };
        for limit in [
            &["Max", "core", "file", "size", "0", "0"][..],
            &["Max", "open", "files", files, files],
            &["Max", "processes", "0", "0"],
            &["Max", "file", "size", "0", "0"],
        ] {
            eventually(&format!("{command}: {limit:?}"), async || has("limits", limit).then_some(())).await;
        }
        // An interpreter limits each of its jobs.
        if command != "interpret-mappings" {
            let is_limited = || !has("limits", &["Max", "cpu", "time", "unlimited"]);
            eventually(&format!("{command}: processor time"), async || is_limited().then_some(())).await;
        }
        assert!(has("status", &["NoNewPrivs:", "1"]), "{command}");
        // A filter of system calls (`man 5 proc_pid_status`).
        assert!(has("status", &["Seccomp:", "2"]), "{command}");
    }
}

#[tokio::test]
async fn hostile_file_is_still_found_by_name() {
    let (app, acme) = TestApp::start_acme_with(|config| config.storage.text_wait_ms = 10_000).await;
    let [mei] = people(&app, &acme, ["mei"]).await;
    put_file(&mei, "root", "bomb.docx", &bomb(&[], ("word/document.xml", OVER_THE_LIMIT))).await;
    put_file(&mei, "root", "broken.pdf", b"%PDF-1.7\n%%EOF").await;
    put_file(&mei, "root", "tide.txt", b"harbour").await;
    app.wait_for_texts().await;
    for (keyword, count) in [("bomb", 1), ("broken", 1), ("harbour", 1)] {
        assert_eq!(mei.find("file", keyword).await.len(), count, "{keyword}");
    }
}
