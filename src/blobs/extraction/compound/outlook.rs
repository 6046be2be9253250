//! Messages of Outlook (MS-OXMSG).

use std::io::Write;

use encoding_rs::UTF_16LE;
use trawl_connectors::html_to_text;

use super::Compound;
use crate::blobs::extraction::{
    Stop, TextWriter,
    encoding::{decode, decode_marked_up},
    read_inner,
};

/// Attachments that are looked for.
const MAX_ATTACHMENTS: usize = 1_000;

/// Sender's name and address, recipients, copies, subject (MS-OXPROPS).
const HEADER: [&str; 5] = ["0C1A", "5D01", "0E04", "0E03", "0037"];
const BODY: &str = "1000";
const HTML_BODY: &str = "1013";
const LONG_NAME: &str = "3707";
const SHORT_NAME: &str = "3704";

/// The message in a storage, whose path ends with a slash; its attachments too.
pub(super) fn message<W: Write>(
    file: &mut Compound<'_>,
    storage: &str,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    for property in HEADER {
        if let Some(value) = property_of(file, storage, property) {
            text.push_line(&value)?;
        }
    }
    let body = property_of(file, storage, BODY).filter(|body| !body.trim().is_empty());
    match body.or_else(|| html_body(file, storage)) {
        Some(body) => text.push_line(&body)?,
        None if file.find_entry_by_path(&stream_of(storage, "1009", "0102")).is_some() => {
            text.note("the message's body is kept as compressed rich text alone, which is not read");
        }
        None => {}
    }
    text.flush()?;
    for number in 0..MAX_ATTACHMENTS {
        let attachment = format!("{storage}__attach_version1.0_#{number:08X}");
        if file.find_entry_by_path(&attachment).is_none() {
            break;
        }
        read_attachment(file, &format!("{attachment}/"), text)?;
    }
    Ok(())
}

fn html_body(file: &mut Compound<'_>, storage: &str) -> Option<String> {
    let html = match read(file, storage, HTML_BODY, "0102") {
        Some(bytes) => decode_marked_up(&bytes).into_owned(),
        None => property_of(file, storage, HTML_BODY)?,
    };
    Some(html_to_text(&html))
}

fn read_attachment<W: Write>(
    file: &mut Compound<'_>,
    storage: &str,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let name = property_of(file, storage, LONG_NAME).or_else(|| property_of(file, storage, SHORT_NAME));
    let name = name.unwrap_or_else(|| "an attachment".to_owned());
    if let Some(content) = read(file, storage, "3701", "0102") {
        text.push_line(&name)?;
        return read_inner(&name, &content, text);
    }
    let inner = stream_of(storage, "3701", "000D");
    if file.find_entry_by_path(&inner).is_some() {
        return text.descend(&name, |text| message(file, &format!("{inner}/"), text));
    }
    Ok(())
}

/// A text in either width.
fn property_of(file: &mut Compound<'_>, storage: &str, property: &str) -> Option<String> {
    if let Some(wide) = read(file, storage, property, "001F") {
        return Some(UTF_16LE.decode_without_bom_handling(&wide).0.into_owned());
    }
    read(file, storage, property, "001E").map(|narrow| decode(&narrow, None).into_owned())
}

fn read(file: &mut Compound<'_>, storage: &str, property: &str, kind: &str) -> Option<Vec<u8>> {
    file.open_stream_by_path(&stream_of(storage, property, kind)).ok()
}

fn stream_of(storage: &str, property: &str, kind: &str) -> String {
    format!("{storage}__substg1.0_{property}{kind}")
}
