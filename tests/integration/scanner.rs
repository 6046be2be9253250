//! What a real `clamd` finds in contents, and what is said where it cannot say anything.

use futures::{StreamExt, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use trawl::{
    config,
    error::{BusinessCode, Error, Kind, Result},
    scanner::{Scanner, Verdict, clamd},
    storage::Pieces,
};

use crate::util::{
    PATIENCE,
    clamd::{Clamd, FOUND, MARKER, STREAM_MAX},
};

fn scanner(address: &str) -> clamd::Clamd {
    let settings = config::Scanner { clamd: Some(address.to_owned()), ..config::Scanner::default() };
    clamd::Clamd::new(&settings).unwrap()
}

/// A content in pieces of this length.
fn pieces(content: &[u8], length: usize) -> Pieces {
    let pieces: Vec<_> = content.chunks(length).map(|piece| Ok(piece.to_vec().into())).collect();
    stream::iter(pieces).boxed()
}

async fn scan(scanner: &clamd::Clamd, content: Pieces) -> Result<Verdict> {
    tokio::time::timeout(PATIENCE, scanner.scan(content)).await.expect("the scan goes on and on")
}

fn infected() -> Vec<u8> {
    let mut content = vec![b'.'; 300_000];
    content.extend_from_slice(MARKER.as_bytes());
    content.extend_from_slice(&[b'.'; 1_000]);
    content
}

/// That it is a failure of a commit which gives this reason, and no address.
fn assert_not_scanned(scanned: Result<Verdict>, why: &str) {
    let failure = scanned.unwrap_err();
    assert_eq!(failure.kind, Kind::Business(BusinessCode::General));
    assert_eq!(failure.message, format!("the file could not be scanned for harm, as {why}"));
}

#[tokio::test]
async fn what_is_known_is_found_and_nothing_else() {
    let daemon = Clamd::start().await;
    for scanner in [scanner(&daemon.address()), scanner(&daemon.socket())] {
        assert_eq!(scan(&scanner, pieces(b"calm sea", 3)).await.unwrap(), Verdict::Safe);
        assert_eq!(scan(&scanner, pieces(b"", 1)).await.unwrap(), Verdict::Safe);
        let found = Verdict::Unsafe(FOUND.to_owned());
        // However it comes in.
        for length in [7, 65_536, 10_000_000] {
            assert_eq!(scan(&scanner, pieces(&infected(), length)).await.unwrap(), found);
        }
        assert_eq!(scan(&scanner, pieces(&vec![b'.'; STREAM_MAX], 1 << 20)).await.unwrap(), Verdict::Safe);
    }
}

#[tokio::test]
async fn many_are_scanned_and_each_has_its_own_answer() {
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

#[tokio::test]
async fn what_is_larger_than_it_takes_is_said_to_be_so() {
    let daemon = Clamd::start().await;
    for scanner in [scanner(&daemon.address()), scanner(&daemon.socket())] {
        for size in [STREAM_MAX + 1, STREAM_MAX * 20] {
            let scanned = scan(&scanner, pieces(&vec![b'.'; size], 1 << 20)).await;
            assert_not_scanned(scanned, "it is larger than what the scanner takes");
        }
    }
}

#[tokio::test]
async fn a_scanner_that_is_not_there_is_said_to_be_so() {
    let mut daemon = Clamd::start().await;
    let scanners = [scanner(&daemon.address()), scanner(&daemon.socket())];
    daemon.stop();
    for scanner in &scanners {
        assert_not_scanned(scan(scanner, pieces(b"calm sea", 3)).await, "the scanner is not reached");
    }
}

/// A scanner that reads all, and answers this.
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
async fn only_a_whole_answer_counts() {
    for (answer, why) in [
        (&b""[..], "the scanner went away"),
        (b"stream: OK", "the scanner went away"),
        (b"stream: OK\n", "the scanner went away"),
        (b"stream: ", "the scanner went away"),
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
async fn a_scanner_that_does_not_answer_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let settings = config::Scanner { clamd: Some(address), idle_seconds: 1, ..config::Scanner::default() };
    let scanner = clamd::Clamd::new(&settings).unwrap();
    for size in [10, 100 << 20] {
        let content = stream::repeat_with(|| Ok(vec![b'.'; 10].into())).take(size / 10).boxed();
        assert_not_scanned(scan(&scanner, content).await, "the scanner did not answer in time");
    }
}

#[tokio::test]
async fn a_content_that_breaks_off_is_no_matter_of_the_scanner() {
    let daemon = Clamd::start().await;
    let broken: Pieces = stream::iter([Ok("calm".into()), Err(Error::not_found("gone"))]).boxed();
    let failure = scan(&scanner(&daemon.address()), broken).await.unwrap_err();
    assert_eq!((failure.kind, failure.message.as_str()), (Kind::NotFound, "gone"));
}
