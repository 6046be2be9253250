use futures::{StreamExt, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::util::{
    TIMEOUT,
    clamd::{Clamd, FOUND, MARKER, STREAM_MAX},
    internals::{BusinessCode, Error, ErrorKind, Pieces, Result, Scanner, Verdict, clamd, config},
};

fn scanner(address: &str) -> clamd::Clamd {
    let settings =
        config::ScannerSettings { clamd: Some(address.to_owned()), ..config::ScannerSettings::default() };
    clamd::Clamd::new(&settings).unwrap()
}

fn pieces(content: &[u8], length: usize) -> Pieces {
    let pieces: Vec<_> = content.chunks(length).map(|piece| Ok(piece.to_vec().into())).collect();
    stream::iter(pieces).boxed()
}

async fn scan(scanner: &clamd::Clamd, content: Pieces) -> Result<Verdict> {
    tokio::time::timeout(TIMEOUT, scanner.scan(content)).await.expect("the scan does not end")
}

fn infected() -> Vec<u8> {
    let mut content = vec![b'.'; 300_000];
    content.extend_from_slice(MARKER.as_bytes());
    content.extend_from_slice(&[b'.'; 1_000]);
    content
}

fn assert_not_scanned(scanned: Result<Verdict>, why: &str) {
    let failure = scanned.unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Business(BusinessCode::General));
    assert_eq!(failure.message, format!("the file could not be scanned, as {why}"));
}

#[tokio::test]
async fn known_signatures_are_found_and_nothing_else() {
    let daemon = Clamd::start().await;
    for scanner in [scanner(&daemon.address()), scanner(&daemon.socket())] {
        assert_eq!(scan(&scanner, pieces(b"calm sea", 3)).await.unwrap(), Verdict::Safe);
        assert_eq!(scan(&scanner, pieces(b"", 1)).await.unwrap(), Verdict::Safe);
        let found = Verdict::Unsafe(FOUND.to_owned());
        for length in [7, 65_536, 10_000_000] {
            assert_eq!(scan(&scanner, pieces(&infected(), length)).await.unwrap(), found);
        }
        assert_eq!(scan(&scanner, pieces(&vec![b'.'; STREAM_MAX], 1 << 20)).await.unwrap(), Verdict::Safe);
    }
}

#[tokio::test]
async fn concurrent_scans_get_their_own_answers() {
    let daemon = Clamd::start().await;
    let scanner = scanner(&daemon.address());
    let scans = (0..40).map(async |number| {
        let content = if number % 3 == 0 { infected() } else { vec![b'.'; number * 1_000] };
        (number % 3 == 0, scan(&scanner, pieces(&content, 10_000)).await.unwrap() != Verdict::Safe)
    });
    for (is_infected, is_found) in futures::future::join_all(scans).await {
        assert_eq!(is_infected, is_found);
    }
}

async fn answering(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = [0; 10 + 4 + 4 + 4];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"zINSTREAM\0\0\0\0\x04calm\0\0\0\0");
        stream.write_all(answer).await.unwrap();
    });
    address
}

#[tokio::test]
async fn truncated_scanner_answer_is_a_failure() {
    for (answer, why) in [
        (&b""[..], "the scanner closed the connection"),
        (b"stream: OK", "the scanner closed the connection"),
        (b"stream: OK\n", "the scanner closed the connection"),
        (b"stream: ", "the scanner closed the connection"),
        (b"stream: Can't allocate memory ERROR\0", "the scanner failed"),
        (b"UNKNOWN COMMAND\0", "the scanner failed"),
        (b"\0", "the scanner failed"),
    ] {
        let address = answering(answer).await;
        assert_not_scanned(scan(&scanner(&address), pieces(b"calm", 4)).await, why);
    }
    let address = answering(b"stream: OK\0").await;
    assert_eq!(scan(&scanner(&address), pieces(b"calm", 4)).await.unwrap(), Verdict::Safe);
}

#[tokio::test]
async fn silent_scanner_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let settings = config::ScannerSettings {
        clamd: Some(address),
        idle_seconds: 1,
        ..config::ScannerSettings::default()
    };
    let scanner = clamd::Clamd::new(&settings).unwrap();
    for size in [10, 100 << 20] {
        let content = stream::repeat_with(|| Ok(vec![b'.'; 10].into())).take(size / 10).boxed();
        assert_not_scanned(scan(&scanner, content).await, "the scanner did not answer in time");
    }
}

#[tokio::test]
async fn broken_content_stream_is_not_a_scanner_failure() {
    let daemon = Clamd::start().await;
    let broken: Pieces = stream::iter([Ok("calm".into()), Err(Error::not_found("gone"))]).boxed();
    let failure = scan(&scanner(&daemon.address()), broken).await.unwrap_err();
    assert_eq!((failure.kind, failure.message.as_str()), (ErrorKind::NotFound, "gone"));
}
