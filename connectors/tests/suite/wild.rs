//! Answers as systems send them.

use std::{fs, path::PathBuf};

use axum::body::Body;
use axum::http::Response;
use serde::Deserialize;
use trawl_connectors::parse_answer;

use crate::support::{QUESTION, Server, good_answer};

/// Name, HTTP answer and expectation of each case of a kind.
fn cases<E: for<'de> Deserialize<'de>>(kind: &str) -> Vec<(String, String, E)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/wild").join(kind);
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".http")?.to_owned()))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "{} is empty", folder.display());
    let read = |name: String| {
        let answer = fs::read_to_string(folder.join(format!("{name}.http"))).unwrap();
        let expected = fs::read_to_string(folder.join(format!("{name}.expected.json"))).unwrap();
        let expected = serde_json::from_str(&expected).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, answer, expected)
    };
    names.into_iter().map(read).collect()
}

/// Status, headers and body of a file.
fn parts(answer: &str) -> (u16, Vec<(String, String)>, String) {
    let (head, body) = answer.split_once("\n\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.map(|line| line.split_once(": ").unwrap());
    (status, headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(), body.to_owned())
}

#[derive(Deserialize)]
struct ExpectedToken {
    error: Option<String>,
    note: Option<String>,
}

#[tokio::test]
async fn token_answers_are_used_or_refused_as_expected() {
    for (name, answer, expected) in cases::<ExpectedToken>("tokens") {
        let (status, headers, body) = parts(&answer);
        let server = Server::start(move |request| {
            let response = if request.path == "/token" {
                let response =
                    headers.iter().fold(Response::builder().status(status), |response, (name, value)| {
                        response.header(name, value)
                    });
                response.body(Body::from(body.clone())).unwrap()
            } else {
                assert_eq!(request.header("authorization"), "Bearer tok-1");
                good_answer()
            };
            std::future::ready(response)
        })
        .await;
        match (server.client_with_token().search(&QUESTION).await, &expected.error) {
            (Ok(answer), None) => {
                let said = expected.note.map(|note| format!("the token endpoint's answer: {note}"));
                assert_eq!(answer.notes, Vec::from_iter(said), "{name}");
            }
            (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{name}: {error}"),
            (other, _) => panic!("{name}: {other:?}"),
        }
    }
}

#[derive(Deserialize)]
struct ExpectedAnswer {
    times: Vec<i64>,
    notes: Vec<String>,
    total: Option<u64>,
    broken: Option<String>,
}

#[test]
fn answers_are_read_with_notes_as_expected() {
    for (name, answer, expected) in cases::<ExpectedAnswer>("answers") {
        let (_, headers, body) = parts(&answer);
        let content_type = headers.iter().find(|(name, _)| name == "Content-Type");
        let content_type = content_type.map(|(_, value)| value.as_str());
        let read =
            parse_answer(body.as_bytes(), content_type, 10).unwrap_or_else(|error| panic!("{name}: {error}"));
        let times: Vec<i64> = read.items.iter().map(|item| item.display_time).collect();
        assert_eq!((times, read.total), (expected.times, expected.total), "{name}");
        let noted = read.notes.len() == expected.notes.len()
            && read.notes.iter().zip(&expected.notes).all(|(note, part)| note.starts_with(part.as_str()));
        assert!(noted, "{name}: {:?}", read.notes);
        assert_eq!(
            read.broken.as_deref().unwrap_or_default().split(" (").next(),
            expected.broken.as_deref().or(Some("")),
            "{name}"
        );
    }
}
