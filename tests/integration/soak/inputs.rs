//! The inputs of strangers, made once.
//!
//! A client that is busy making them would measure itself.

use std::io::Write as _;

use axum::body::Bytes;
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use serde_json::{Value, json};

use crate::util::{
    directory::{PNG, content},
    feed_server::rss,
    files::{bomb, pdf},
    items::user,
};

/// Hostile feeds, by their paths.
pub(super) const FEEDS: [&str; 4] = ["deep", "empty", "long", "open"];
const ENTRIES: usize = 50;
const PEOPLE: usize = 50;
/// Values of a list in a body.
const VALUES: usize = 8_000_000;
const BOMB_BYTES: usize = 200 << 20;
/// The head of a message that holds another one.
const MESSAGE: &str = "From: mei@acme.example\r\nMIME-Version: 1.0\r\nContent-Type: message/rfc822\r\n\r\n";
/// Messages within each other.
const MESSAGES: usize = 10_000;
/// Characters at the end of a document that are each time others.
const NUMBER_CHARS: usize = 16;

/// Inputs of one intent.
pub(super) struct Inputs {
    /// By their places in [`FEEDS`], with gzip.
    pub(super) feeds: [Bytes; 4],
    pub(super) import: Bytes,
    synchronizations: [Bytes; 2],
    /// With their extensions.
    documents: [(&'static str, Vec<u8>); 3],
}

impl Inputs {
    pub(super) fn harmless() -> Self {
        let entries: Vec<(String, String)> =
            (0..ENTRIES).map(|number| (format!("i{number}"), format!("harbour {number}"))).collect();
        let feed = packed(&rss(&entries));
        let people: Vec<Value> = (0..PEOPLE).map(|number| user(&format!("s{number}"), "")).collect();
        let text = "BT /F1 12 Tf (harbour) Tj ET";
        Self {
            feeds: [(); 4].map(|()| feed.clone()),
            import: feed.clone(),
            synchronizations: [Value::from(people).to_string().into(), portrait(PNG)],
            documents: [
                ("docx", numbered_archive(bomb(&[], ("word/document.xml", 1_000)))),
                ("pdf", numbered_pdf(text.as_bytes())),
                ("eml", numbered(format!("{MESSAGE}Subject: harbour\r\n\r\ntide\r\n").into())),
            ],
        }
    }

    pub(super) fn hostile() -> Self {
        let feeds = FEEDS.map(|kind| packed(&hostile_feed(kind)));
        let list = format!("[{{\"userId\": \"u\", \"deputyOrgIds\": [{}\"\"]}}]", "\"\",".repeat(VALUES));
        Self {
            import: feeds[1].clone(),
            feeds,
            synchronizations: [list.into(), portrait(&vec![0; BOMB_BYTES])],
            documents: [
                ("docx", numbered_archive(bomb(&[], ("word/document.xml", BOMB_BYTES as u64)))),
                ("pdf", numbered_pdf(&b"(harbour) Tj ".repeat(BOMB_BYTES / 13))),
                ("eml", numbered(MESSAGE.repeat(MESSAGES).into())),
            ],
        }
    }

    /// Rows of people.
    pub(super) fn synchronization(&self) -> Bytes {
        self.synchronizations[fastrand::usize(..self.synchronizations.len())].clone()
    }

    /// A document that nobody has seen before, and its extension.
    pub(super) fn document(&self) -> (&'static str, Vec<u8>) {
        let (extension, mut document) = self.documents[fastrand::usize(..self.documents.len())].clone();
        document.truncate(document.len() - NUMBER_CHARS);
        write!(document, "{:0NUMBER_CHARS$x}", fastrand::u64(..)).unwrap();
        (extension, document)
    }
}

/// A person with a picture of this content.
fn portrait(picture: &[u8]) -> Bytes {
    json!([{"userId": "s0", "pictureParam": content(picture)}]).to_string().into()
}

/// A document that ends with the place of a number.
fn numbered(mut document: Vec<u8>) -> Vec<u8> {
    document.extend([b'0'; NUMBER_CHARS]);
    document
}

/// An archive whose comment is the place of a number.
fn numbered_archive(mut archive: Vec<u8>) -> Vec<u8> {
    archive.truncate(archive.len() - size_of::<u16>());
    archive.extend(u16::try_from(NUMBER_CHARS).unwrap().to_le_bytes());
    numbered(archive)
}

/// A page of PDF with these instructions.
fn numbered_pdf(instructions: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(instructions).unwrap();
    let packed = hex::encode(encoder.finish().unwrap());
    let document = pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        &format!(
            "<< /Length {} /Filter [/ASCIIHexDecode /FlateDecode] >>\nstream\n{packed}>\nendstream",
            packed.len() + 1
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]);
    numbered([document, b"\n%".to_vec()].concat())
}

fn hostile_feed(kind: &str) -> String {
    let item = match kind {
        "deep" => {
            format!("<item>{}{}</item>", "<media:group>".repeat(100_000), "</media:group>".repeat(100_000))
        }
        "empty" => "<item/>".repeat(1_100_000),
        "long" => format!("<item><guid>1</guid><title>{}</title></item>", "harbour ".repeat(900_000)),
        _ => format!("<item><guid>1</guid><title>{}", "<b>".repeat(2_500_000)),
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
