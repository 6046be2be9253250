//! Messages, mailboxes and saved web pages: RFC 5322 and MIME.

mod header;

use std::{borrow::Cow, io::Write};

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use mail_parser::{
    Address, Message, MessageParser, MessagePart, MimeHeaders, PartType,
    decoders::charsets::map::charset_decoder, parsers::MessageStream,
};
use trawl_connectors::html_to_text;

use self::header::with_readable_header;
use super::{
    ENCRYPTED, Stop, TextWriter,
    encoding::{declared, decode_noted, of_label},
    kind::is_field_name,
    read_inner,
};

/// Factor above which a page says more than the plain text beside it.
const FULLER: usize = 4;

/// The first bytes of `winmail.dat`, in which Outlook wraps messages.
const TNEF: [u8; 4] = [0x78, 0x9f, 0x3e, 0x22];

const PGP: &str = "-----BEGIN PGP MESSAGE-----";

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

pub(super) fn message<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let content = with_readable_header(unwrapped(content));
    let message = MessageParser::default().parse(&content);
    let message = message.ok_or_else(|| Stop::Unreadable("it holds no message".to_owned()))?;
    read_message(&message, text)
}

pub(super) fn mailbox<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    for (number, found) in (1..).zip(messages_in(content)) {
        let read = message(found, text);
        text.pass(&format!("message {number}"), read)?;
        text.flush()?;
    }
    Ok(())
}

/// Messages without the lines that part them.
fn messages_in(mailbox: &[u8]) -> Vec<&[u8]> {
    let (mut messages, mut begin, mut place, mut is_behind_blank) = (Vec::new(), None, 0, true);
    for line in mailbox.split_inclusive(|byte| *byte == b'\n') {
        let behind = place + line.len();
        let is_parting = line.starts_with(b"From ")
            && begin.is_none_or(|_| is_behind_blank && is_envelope(line, &mailbox[behind..]));
        if is_parting {
            messages.extend(begin.replace(behind).map(|begin| &mailbox[begin..place]));
        }
        is_behind_blank = line.trim_ascii().is_empty();
        place = behind;
    }
    messages.extend(begin.map(|begin| &mailbox[begin..]));
    messages
}

/// Whether a line names an address or a time, and a field follows.
fn is_envelope(line: &[u8], behind: &[u8]) -> bool {
    let names_sender = line.contains(&b'@') || line.starts_with(b"From - ");
    let names_time = line
        .windows(4)
        .any(|part| part[0].is_ascii_digit() && part[1] == b':' && part[2..].iter().all(u8::is_ascii_digit));
    let next = behind.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let name = next.split(|byte| *byte == b':').next().unwrap_or_default();
    let is_field = name.len() < next.len() && std::str::from_utf8(name).is_ok_and(is_field_name);
    (names_sender || names_time) && is_field
}

/// The message without blank lines before it and the wrapping of `.emlx`.
///
/// Apple counts its bytes in the first line, and puts a property list behind it.
fn unwrapped(content: &[u8]) -> &[u8] {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content).trim_ascii_start();
    let end = content.iter().position(|byte| *byte == b'\n').unwrap_or_default();
    let count = std::str::from_utf8(&content[..end]).ok().and_then(|line| line.trim().parse::<usize>().ok());
    match count {
        Some(count) => {
            content[end + 1..content.len().min((end + 1).saturating_add(count))].trim_ascii_start()
        }
        None => content,
    }
}

/// People, subject and body, then the attachments.
fn read_message<W: Write>(message: &Message<'_>, text: &mut TextWriter<W>) -> Result<(), Stop> {
    for people in [message.from(), message.to(), message.cc(), message.bcc()].into_iter().flatten() {
        text.push_line(&people_of(people))?;
    }
    text.push_line(message.subject().unwrap_or_default())?;
    for body in bodies(message, text) {
        text.push_line(&body)?;
    }
    text.flush()?;
    message.attachments().try_for_each(|part| read_attachment(message, part, text))
}

fn people_of(people: &Address<'_>) -> String {
    let person = |person: &mail_parser::Addr<'_>| {
        [person.name(), person.address()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    people.iter().map(person).collect::<Vec<_>>().join(", ")
}

/// Plain texts, or pages where a text is blank or a hint.
fn bodies<W: Write>(message: &Message<'_>, text: &mut TextWriter<W>) -> Vec<String> {
    let mut shown_all = |parts: &[u32]| -> Vec<String> {
        let parts = parts.iter().filter_map(|place| message.parts.get(*place as usize));
        parts.filter(|part| part.is_text()).map(|part| shown(message, part, text)).collect()
    };
    let plain = shown_all(&message.text_body);
    if message.text_body == message.html_body {
        return plain;
    }
    let pages = shown_all(&message.html_body);
    let length = |bodies: &[String]| bodies.iter().map(|body| body.trim().len()).sum::<usize>();
    let is_blank = plain.iter().any(|body| body.trim().is_empty());
    let is_hint = length(&plain) * FULLER < length(&pages);
    if is_blank || is_hint { pages } else { plain }
}

/// The text of a text part.
fn shown<W: Write>(message: &Message<'_>, part: &MessagePart<'_>, text: &mut TextWriter<W>) -> String {
    let bytes = bytes_of(message, part, text);
    let is_page = is_page(part);
    let body = declared_text(part, &bytes, text)
        .unwrap_or_else(|| decode_noted(&bytes, declared(&bytes).filter(|_| is_page), text));
    if is_page {
        return html_to_text(&body);
    }
    match body.split_once(PGP) {
        Some((before, _)) => {
            text.note(ENCRYPTED);
            before.to_owned()
        }
        None => body.into_owned(),
    }
}

/// An attachment's name and text; parts that show a page are none.
fn read_attachment<W: Write>(
    message: &Message<'_>,
    part: &MessagePart<'_>,
    text: &mut TextWriter<W>,
) -> Result<(), Stop> {
    let name = name_of(message, part);
    if let Some(name) = &name {
        text.push_line(name)?;
    }
    let label = name.as_deref().unwrap_or("an attachment");
    match &part.body {
        PartType::Message(message) => return text.descend(label, |text| read_message(message, text)),
        PartType::Multipart(_) => return Ok(()),
        _ if is_of_page(part) => return Ok(()),
        _ if is_page(part) => {
            let page = shown(message, part, text);
            return text.push_line(&page);
        }
        _ => {}
    }
    let bytes = bytes_of(message, part, text);
    if let Some(reason) = sealed(part, &bytes) {
        text.note(format!("{label}: {reason}"));
        return Ok(());
    }
    match declared_text(part, &bytes, text).filter(|_| part.is_text()) {
        Some(body) => read_inner(label, body.as_bytes(), text),
        None => read_inner(label, &bytes, text),
    }
}

/// A part's name; in a header of unknown characters, it is read again.
fn name_of(message: &Message<'_>, part: &MessagePart<'_>) -> Option<String> {
    let name = part.attachment_name()?;
    if !name.contains('\u{fffd}') {
        return Some(name.to_owned());
    }
    let header = message.raw_message.get(part.offset_header as usize..part.offset_body as usize)?;
    let readable = with_readable_header(header);
    let again = MessageParser::default().parse_headers(&readable);
    Some(again.as_ref().and_then(MimeHeaders::attachment_name).unwrap_or(name).to_owned())
}

/// Why a part that may hold all of the text is not read.
fn sealed(part: &MessagePart<'_>, bytes: &[u8]) -> Option<&'static str> {
    let kind = part.content_type()?;
    let is_smime =
        ["pkcs7-mime", "x-pkcs7-mime"].iter().any(|subtype| part.is_content_type("application", subtype));
    let smime_type = kind.attribute("smime-type").unwrap_or_default();
    if bytes.starts_with(&TNEF) {
        Some("its text is kept in the format of Outlook alone, TNEF, which is not read")
    } else if is_smime && smime_type.to_ascii_lowercase().contains("signed") {
        Some("its text is kept within a signature of S/MIME, which is not read")
    } else if is_smime || bytes.trim_ascii_start().starts_with(PGP.as_bytes()) {
        Some(ENCRYPTED)
    } else {
        None
    }
}

/// A part's bytes up to where it is cut off or damaged.
fn bytes_of<'m, W: Write>(
    message: &'m Message<'_>,
    part: &'m MessagePart<'_>,
    text: &mut TextWriter<W>,
) -> Cow<'m, [u8]> {
    if let (PartType::Binary(body) | PartType::InlineBinary(body), false) =
        (&part.body, part.is_encoding_problem)
    {
        return Cow::Borrowed(body);
    }
    let place = part.offset_body as usize..part.offset_end as usize;
    let raw = message.raw_message.get(place).unwrap_or_default();
    let encoding = part.content_transfer_encoding().unwrap_or_default();
    let is = |name: &str| encoding.eq_ignore_ascii_case(name);
    if is("base64") && is_prose(raw) {
        return raw.into();
    }
    if part.is_encoding_problem && (is("base64") || is("quoted-printable")) {
        text.note("a part of the message is cut off or damaged");
    }
    if is("base64") {
        let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let mut digits: Vec<u8> = raw.iter().copied().filter(is_digit).collect();
        digits.truncate(digits.len() - usize::from(digits.len() % 4 == 1));
        BASE64.decode(digits).unwrap_or_default().into()
    } else if is("quoted-printable") {
        let decoded = MessageStream::new(raw).decode_quoted_printable_mime(b"").1;
        if decoded.is_empty() { raw.into() } else { decoded }
    } else {
        raw.into()
    }
}

/// Whether a part declared as base64 is plain text: words with punctuation between them.
fn is_prose(raw: &[u8]) -> bool {
    let raw = raw.trim_ascii();
    let is_sign = |byte: &u8| byte.is_ascii_punctuation() && !matches!(byte, b'+' | b'/' | b'=');
    raw.contains(&b' ') && raw.iter().any(is_sign) && std::str::from_utf8(raw).is_ok()
}

/// A text in the encoding that its part declares.
///
/// Mail programs call any encoding ASCII, which is none.
fn declared_text<'b, W: Write>(
    part: &MessagePart<'_>,
    bytes: &'b [u8],
    text: &mut TextWriter<W>,
) -> Option<Cow<'b, str>> {
    let label = part.content_type()?.attribute("charset")?.to_ascii_lowercase();
    if label.ends_with("ascii") || label.starts_with("ansi_x3.4") {
        return None;
    }
    match of_label(&label) {
        Some(encoding) => Some(decode_noted(bytes, Some(encoding), text)),
        None => charset_decoder(label.as_bytes()).map(|decode| decode(bytes).into()),
    }
}

fn is_page(part: &MessagePart<'_>) -> bool {
    part.is_content_type("text", "html")
}

fn is_of_page(part: &MessagePart<'_>) -> bool {
    part.is_content_type("text", "css") || part.is_content_type("text", "javascript")
}
