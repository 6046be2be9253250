//! Messages of Outlook (MS-OXMSG).

use std::io::Write;

use encoding_rs::{Encoding, UTF_16LE};
use trawl_connectors::html_to_text;

use super::Compound;
use crate::blobs::extraction::{
    Stop, TextWriter,
    encoding::{decode, decode_marked_up, of_code_page},
    read_inner,
};

/// Attachments and recipients that are looked for.
const MAX_ATTACHMENTS: usize = 1_000;
const MAX_RECIPIENTS: usize = 1_000;

/// Sender's name and address, recipients, copies, blind copies, subject (MS-OXPROPS).
const HEADER: [&str; 6] = ["0C1A", "5D01", "0E04", "0E03", "0E02", "0037"];
/// Addresses of a recipient, of the internet and of the sender's system.
const ADDRESSES: [&str; 2] = ["39FE", "3003"];
const BODY: &str = "1000";
const HTML_BODY: &str = "1013";
const MESSAGE_CODE_PAGE: [u8; 4] = [0x03, 0x00, 0xfd, 0x3f];
const LONG_NAME: &str = "3707";
const SHORT_NAME: &str = "3704";

/// The message in a storage, whose path ends with a slash; its attachments too.
pub(super) fn message<W: Write>(
    file: &mut Compound<'_>,
    storage: &str,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let header: Vec<String> =
        HEADER.iter().filter_map(|property| property_of(file, storage, property)).collect();
    header.iter().try_for_each(|value| text.push_line(value))?;
    for address in addresses(file, storage) {
        if !header.iter().any(|value| value.contains(&address)) {
            text.push_line(&address)?;
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

/// Addresses of the recipients; those of Exchange are no addresses to people.
fn addresses(file: &mut Compound<'_>, storage: &str) -> Vec<String> {
    let mut found = Vec::new();
    for number in 0..MAX_RECIPIENTS {
        let recipient = format!("{storage}__recip_version1.0_#{number:08X}");
        if file.find_entry_by_path(&recipient).is_none() {
            break;
        }
        let mut of_recipient =
            ADDRESSES.iter().filter_map(|property| property_of(file, &format!("{recipient}/"), property));
        found.extend(of_recipient.find(|address| address.contains('@')));
    }
    found
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
    let narrow = read(file, storage, property, "001E")?;
    Some(decode(&narrow, encoding_of(file, storage)).into_owned())
}

/// The encoding of narrow texts, in a message's properties: tag, flags, value.
fn encoding_of(file: &mut Compound<'_>, storage: &str) -> Option<&'static Encoding> {
    let properties = file.open_stream_by_path(&format!("{storage}__properties_version1.0")).ok()?;
    let place = properties.chunks(8).position(|chunk| chunk.starts_with(&MESSAGE_CODE_PAGE))?;
    let value = properties.get((place + 1) * 8..)?.first_chunk::<4>()?;
    of_code_page(i32::from_le_bytes(*value))
}

fn read(file: &mut Compound<'_>, storage: &str, property: &str, kind: &str) -> Option<Vec<u8>> {
    file.open_stream_by_path(&stream_of(storage, property, kind)).ok()
}

fn stream_of(storage: &str, property: &str, kind: &str) -> String {
    format!("{storage}__substg1.0_{property}{kind}")
}
