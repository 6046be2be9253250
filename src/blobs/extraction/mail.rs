//! Messages, mailboxes and saved web pages: RFC 5322 and MIME.

use std::io::Write;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mail_parser::{
    Address, Message, MessageParser, MessagePart, MimeHeaders, PartType, mailbox::mbox::MessageIterator,
};
use trawl_connectors::html_to_text;

use super::{Stop, TextWriter, read_inner};

pub(super) fn message<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    let message = MessageParser::default().parse(content);
    let message = message.ok_or_else(|| Stop::Unreadable("it holds no message".to_owned()))?;
    read_message(&message, text)
}

pub(super) fn mailbox<W: Write>(content: &[u8], text: &mut TextWriter<W>) -> Result<(), Stop> {
    for (number, found) in (1..).zip(MessageIterator::new(content)) {
        let read = message(found.map_err(Stop::unreadable)?.contents(), text);
        text.pass(&format!("message {number}"), read)?;
        text.flush()?;
    }
    Ok(())
}

/// People, subject and body, then the attachments.
fn read_message<W: Write>(message: &Message<'_>, text: &mut TextWriter<W>) -> Result<(), Stop> {
    for people in [message.from(), message.to(), message.cc()].into_iter().flatten() {
        text.push_line(&people_of(people))?;
    }
    text.push_line(message.subject().unwrap_or_default())?;
    // A part without an alternative stands in both lists.
    for part in message.text_bodies().chain(message.html_bodies().filter(|_| message.text_body.is_empty())) {
        match &part.body {
            _ if is_broken(part) => read_inner("the body", &repaired(part, text), text)?,
            PartType::Text(body) => text.push_line(body)?,
            PartType::Html(body) => text.push_line(&html_to_text(body))?,
            _ => {}
        }
    }
    text.flush()?;
    message.attachments().try_for_each(|part| read_attachment(part, text))
}

fn people_of(people: &Address<'_>) -> String {
    let person = |person: &mail_parser::Addr<'_>| {
        [person.name(), person.address()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    people.iter().map(person).collect::<Vec<_>>().join(", ")
}

/// An attachment's name and text; parts that show a page are none.
fn read_attachment<W: Write>(part: &MessagePart<'_>, text: &mut TextWriter<W>) -> Result<(), Stop> {
    let name = part.attachment_name();
    if let Some(name) = name {
        text.push_line(name)?;
    }
    let label = name.unwrap_or("an attachment");
    match &part.body {
        _ if is_broken(part) => read_inner(label, &repaired(part, text), text),
        PartType::Message(message) => text.descend(label, |text| read_message(message, text)),
        PartType::Text(_) if is_of_page(part) => Ok(()),
        PartType::Text(body) => read_inner(label, body.as_bytes(), text),
        PartType::Html(body) => text.push_line(&html_to_text(body)),
        PartType::Binary(body) | PartType::InlineBinary(body) => read_inner(label, body, text),
        PartType::Multipart(_) => Ok(()),
    }
}

/// Whether the parser gives a part undecoded, for it is cut off or damaged.
fn is_broken(part: &MessagePart<'_>) -> bool {
    let encoding = part.content_transfer_encoding();
    part.is_encoding_problem && encoding.is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64"))
}

/// The bytes of Base64 up to its end.
fn repaired<W: Write>(part: &MessagePart<'_>, text: &mut TextWriter<W>) -> Vec<u8> {
    text.note("a part of the message is cut off or damaged");
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut digits: Vec<u8> = part.contents().iter().copied().filter(is_digit).collect();
    digits.truncate(digits.len() / 4 * 4);
    STANDARD.decode(digits).unwrap_or_default()
}

fn is_of_page(part: &MessagePart<'_>) -> bool {
    part.is_content_type("text", "css") || part.is_content_type("text", "javascript")
}
