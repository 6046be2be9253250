use std::io::Write;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use flate2::{Compression, write::GzEncoder};

use super::fault::{Act, Fault};
use super::layer::{send_as, send_json};

const TOO_MANY: usize = 3 << 20;

pub(super) fn faults() -> Vec<Fault> {
    let mut faults = encodings();
    faults.extend(content_types());
    faults.extend(characters());
    faults.extend(json());
    faults
}

fn encodings() -> Vec<Fault> {
    vec![
        Fault::unusable(
            "brotli-that-nobody-asked-for",
            "content-encoding",
            "encoding",
            Act::Send(|_, text| encoded("br", text.into_bytes())),
        ),
        Fault::unusable(
            "gzip-that-is-none",
            "content-encoding",
            "decompress",
            Act::Send(|request, text| {
                if request.accepts_gzip { encoded("gzip", text.into_bytes()) } else { send_json(text) }
            }),
        ),
        Fault::unusable(
            "gzip-bomb",
            "size",
            "more than",
            Act::Send(|request, text| {
                if request.accepts_gzip { encoded("gzip", gzip(&padded(text))) } else { send_json(text) }
            }),
        ),
        Fault::unusable("3-mib", "size", "more than", Act::Send(|_, text| send_json(padded(text)))),
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

fn content_types() -> Vec<Fault> {
    vec![
        Fault::slip(
            "content-type-html",
            "content-type",
            "the content type is text/html",
            Act::Send(|_, text| send_as("text/html;charset=UTF-8", text)),
        ),
        Fault::slip(
            "no-content-type",
            "content-type",
            "no content type",
            Act::Send(|_, text| {
                let mut response = text.into_response();
                response.headers_mut().remove(header::CONTENT_TYPE);
                response
            }),
        ),
        Fault::slip(
            "charset-gbk",
            "charset",
            "the content type is application/json;charset=GBK",
            Act::Send(|_, text| send_as("application/json;charset=GBK", text)),
        ),
        Fault::unseen(
            "charset-not-stated",
            "charset",
            Act::Send(|_, text| send_as("application/json", text)),
        ),
    ]
}

fn characters() -> Vec<Fault> {
    vec![
        Fault::unusable("latin-1", "utf-8", "not UTF-8", Act::Send(|_, text| send_json(latin_1(&text)))),
        Fault::unusable(
            "utf-16",
            "utf-8",
            "UTF-16",
            Act::Send(|_, text| {
                let units = std::iter::once(0xfeff).chain(text.encode_utf16());
                send_json(units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
            }),
        ),
        Fault::slip(
            "byte-order-mark",
            "utf-8",
            "byte order mark",
            Act::Send(|_, text| send_json(format!("\u{feff}{text}"))),
        ),
    ]
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

fn json() -> Vec<Fault> {
    vec![
        Fault::unusable(
            "json-cut-off",
            "json",
            "cut off",
            Act::Send(|_, mut text| {
                text.pop();
                send_json(text)
            }),
        ),
        Fault::unusable(
            "json-with-a-debug-line",
            "json",
            "faulty",
            Act::Send(|_, text| send_json(format!("{text}\n-- rendered in 3 ms"))),
        ),
        // The rest of an emoji that was cut between its UTF-16 units.
        Fault::slip(
            "half-a-character",
            "json",
            "half characters",
            Act::Send(|_, text| send_json(text.replacen("\"title\":\"", "\"title\":\"\\ud83d", 1))),
        ),
        Fault::unusable(
            "json-as-jsonp",
            "json",
            "not JSON",
            Act::Send(|_, text| send_json(format!("callback({text})"))),
        ),
        Fault::unusable(
            "envelope-in-an-array",
            "envelope",
            "an array",
            Act::Send(|_, text| send_json(format!("[{text}]"))),
        ),
        Fault::unusable(
            "envelope-as-text",
            "envelope",
            "text",
            Act::Send(|_, text| send_json(serde_json::Value::from(text).to_string())),
        ),
    ]
}
