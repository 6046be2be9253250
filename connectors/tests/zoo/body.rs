use std::io::Write;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use flate2::{Compression, write::GzEncoder};

use super::fault::Fault;
use super::layer::{send_as, send_json};

const TOO_MANY: usize = 3 << 20;

pub(super) fn faults() -> Vec<Fault> {
    vec![
        Fault::send("brotli-that-nobody-asked-for", "content-encoding", |_, text| {
            encoded("br", text.into_bytes())
        })
        .unusable("encoding"),
        Fault::send("gzip-that-is-none", "content-encoding", |request, text| {
            if request.accepts_gzip { encoded("gzip", text.into_bytes()) } else { send_json(text) }
        })
        .unusable("decompress"),
        Fault::send("gzip-bomb", "size", |request, text| {
            if request.accepts_gzip { encoded("gzip", gzip(&padded(text))) } else { send_json(text) }
        })
        .unusable("more than"),
        Fault::send("3-mib", "size", |_, text| send_json(padded(text))).unusable("more than"),
        Fault::send("content-type-html", "content-type", |_, text| send_as("text/html;charset=UTF-8", text))
            .noted("the content type is text/html"),
        Fault::send("no-content-type", "content-type", |_, text| {
            let mut response = text.into_response();
            response.headers_mut().remove(header::CONTENT_TYPE);
            response
        })
        .noted("no content type"),
        Fault::send("charset-gbk", "charset", |_, text| send_as("application/json;charset=GBK", text))
            .noted("the content type is application/json;charset=GBK"),
        Fault::send("latin-1", "utf-8", |_, text| send_json(latin_1(&text))).unusable("not UTF-8"),
        Fault::send("utf-16", "utf-8", |_, text| {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            send_json(units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
        })
        .unusable("UTF-16"),
        Fault::send("byte-order-mark", "utf-8", |_, text| send_json(format!("\u{feff}{text}")))
            .noted("byte order mark"),
        Fault::send("json-cut-off", "json", |_, mut text| {
            text.pop();
            send_json(text)
        })
        .unusable("cut off"),
        Fault::send("json-with-a-debug-line", "json", |_, text| {
            send_json(format!("{text}\n-- rendered in 3 ms"))
        })
        .unusable("faulty"),
        // The rest of an emoji that was cut between its UTF-16 units.
        Fault::send("half-a-character", "json", |_, text| {
            send_json(text.replacen("\"title\":\"", "\"title\":\"\\ud83d", 1))
        })
        .noted("half characters"),
        Fault::send("json-as-jsonp", "json", |_, text| send_json(format!("callback({text})")))
            .unusable("not JSON"),
        Fault::send("envelope-in-an-array", "envelope", |_, text| send_json(format!("[{text}]")))
            .unusable("an array"),
        Fault::send("envelope-as-text", "envelope", |_, text| {
            send_json(serde_json::Value::from(text).to_string())
        })
        .unusable("text"),
    ]
}

fn padded(text: String) -> Vec<u8> {
    let mut padded = text.into_bytes();
    padded.resize(TOO_MANY, b' ');
    padded
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn encoded(encoding: &'static str, body: Vec<u8>) -> Response {
    with_header(send_json(body), header::CONTENT_ENCODING, encoding)
}

fn with_header(mut response: Response, name: HeaderName, value: &'static str) -> Response {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

/// Encodes in ISO 8859-1, and escapes all characters that it lacks.
fn latin_1(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.replace("Mei Chen", "Zoë Müller").replace("Ana Lima", "José").chars() {
        if let Ok(byte) = u8::try_from(character) {
            bytes.push(byte);
        } else {
            let mut units = [0; 2];
            let escapes = character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
            escapes.for_each(|escape| bytes.extend(escape.bytes()));
        }
    }
    bytes
}
