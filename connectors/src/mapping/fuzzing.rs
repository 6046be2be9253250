//! Answers to mapped calls.

#![allow(clippy::missing_panics_doc, reason = "each panics where a promise is broken")]

use std::collections::{BTreeMap, HashMap};

use reqwest::header::{HeaderMap, HeaderValue, LINK};
use url::Url;

use super::MAX_ROWS;
use super::message::{AnswerHead, Variables};
use super::program::CompiledMapping;
use super::program::next_page::locate;
use super::source::{find_next_link, join_same_origin};
use crate::answer::parse_answer;
use crate::content_type::CONTRACT_TYPE;
use crate::error::SourceError;
use crate::gallery::gallery;

const ADDRESS: &str = "https://wiki.example/w/search?q=harbour";

thread_local! {
    static GALLERY: HashMap<String, CompiledMapping> = gallery()
        .iter()
        .filter_map(|entry| Some((entry.id.clone(), CompiledMapping::compile(&entry.mapping).ok()?)))
        .collect();
}

/// The envelope of a mapped answer follows the contract.
///
/// `bytes` are the id of a mapping in the gallery, a line break and the answer.
pub fn mapped_answer(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or_default();
    let (id, body) = bytes.split_at(end);
    let id = String::from_utf8_lossy(id);
    let variables = Variables {
        keyword: "harbour".to_owned(),
        limit: 10,
        cursor: None,
        address: "https://wiki.example/w".to_owned(),
        site: Some("https://open.example".to_owned()),
        person: None,
    };
    let Ok(sent_to) = ADDRESS.parse() else { return };
    let received = AnswerHead { sent_to, headers: BTreeMap::new(), next_link: None };
    let read = GALLERY.with(|gallery| Some(gallery.get(&*id)?.read(&variables, received, body)));
    let Some(Ok(answer)) = read else { return };
    assert!(answer.faults.iter().all(|fault| fault.rows <= MAX_ROWS));
    let read = parse_answer(answer.envelope.as_bytes(), Some(CONTRACT_TYPE), MAX_ROWS);
    let is_told = matches!(read, Ok(_) | Err(SourceError::Failed(_) | SourceError::Unavailable { .. }));
    assert!(is_told, "{read:?}");
}

/// The next page has the path where the header `Link` leads, on the registered origin.
pub fn link(bytes: &[u8]) {
    let (Ok(value), Ok(sent_to)) = (HeaderValue::from_bytes(bytes), ADDRESS.parse::<Url>()) else { return };
    let headers = HeaderMap::from_iter([(LINK, value)]);
    let Some(target) = find_next_link(&headers) else { return };
    let Some(cursor) = locate(&sent_to, &target) else { return };
    let next = join_same_origin(&sent_to, &cursor).map(|next| (next.origin(), next.path().to_owned()));
    let meant = sent_to.join(&target).map(|meant| (sent_to.origin(), meant.path().to_owned()));
    assert_eq!(next.ok(), meant.ok(), "{target}");
}
