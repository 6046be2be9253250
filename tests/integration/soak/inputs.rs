//! The inputs of strangers, made once.
//!
//! A client that is busy making them would measure itself.

use std::io::{Cursor, Write as _};

use axum::body::Bytes;
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::util::{feed_server::rss, files::bomb, items::user};

/// Hostile feeds, by their paths.
pub(super) const FEEDS: [&str; 4] = ["deep", "empty", "long", "open"];
const ENTRIES: usize = 50;
const PEOPLE: usize = 50;
/// Values of a list in a body.
const VALUES: usize = 8_000_000;
const BOMB_BYTES: u64 = 200 << 20;

/// Inputs of one intent.
pub(super) struct Inputs {
    /// By their places in [`FEEDS`], with gzip.
    pub(super) feeds: [Bytes; 4],
    pub(super) import: Bytes,
    pub(super) synchronization: Bytes,
    document: Vec<u8>,
}

impl Inputs {
    pub(super) fn harmless() -> Self {
        let entries: Vec<(String, String)> =
            (0..ENTRIES).map(|number| (format!("i{number}"), format!("harbour {number}"))).collect();
        let feed = packed(&rss(&entries));
        let people: Vec<Value> = (0..PEOPLE).map(|number| user(&format!("s{number}"), "")).collect();
        Self {
            feeds: [(); 4].map(|()| feed.clone()),
            import: feed.clone(),
            synchronization: Value::from(people).to_string().into(),
            document: bomb(&[], ("word/document.xml", 1_000)),
        }
    }

    pub(super) fn hostile() -> Self {
        let feeds = FEEDS.map(|kind| packed(&hostile_feed(kind)));
        let list = format!("[{{\"userId\": \"u\", \"deputyOrgIds\": [{}\"\"]}}]", "\"\",".repeat(VALUES));
        Self {
            import: feeds[1].clone(),
            feeds,
            synchronization: list.into(),
            document: bomb(&[], ("word/document.xml", BOMB_BYTES)),
        }
    }

    /// A document that nobody has seen before.
    pub(super) fn document(&self) -> Vec<u8> {
        let mut document = ZipArchive::new(Cursor::new(&self.document)).unwrap();
        let mut copy = ZipWriter::new(Cursor::new(Vec::new()));
        copy.raw_copy_file(document.by_index_raw(0).unwrap()).unwrap();
        copy.start_file("number", SimpleFileOptions::default()).unwrap();
        copy.write_all(&fastrand::u64(..).to_ne_bytes()).unwrap();
        copy.finish().unwrap().into_inner()
    }
}

fn hostile_feed(kind: &str) -> String {
    let item = match kind {
        "deep" => {
            format!("<item>{}{}</item>", "<media:group>".repeat(100_000), "</media:group>".repeat(100_000))
        }
        "empty" => "<item/>".repeat(1_200_000),
        "long" => format!("<item><guid>1</guid><title>{}</title></item>", "harbour ".repeat(6_000_000)),
        _ => format!("<item><guid>1</guid><title>{}", "<b>".repeat(5_000_000)),
    };
    format!(
        "<rss version=\"2.0\" xmlns:media=\"http://search.yahoo.com/mrss/\"><channel>{item}</channel></rss>"
    )
}

/// A document with gzip.
pub(super) fn packed(document: &str) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(document.as_bytes()).unwrap();
    encoder.finish().unwrap().into()
}
