//! JSON or event stream (`Accept`, RFC 9110 §12.5.1).

use axum::http::{HeaderMap, header};

/// Whether `text/event-stream` is preferred to JSON. Wildcards alone request no stream.
pub fn wants_events(headers: &HeaderMap) -> bool {
    let ranges = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(Range::read);
    let mut events = 0;
    // The most specific range decides JSON's quality.
    let mut json = (0, 0);
    for Range { kind, quality } in ranges {
        if kind.eq_ignore_ascii_case("text/event-stream") {
            events = events.max(quality);
        }
        let closeness = match kind.to_ascii_lowercase().as_str() {
            "application/json" => 3,
            "application/*" => 2,
            "*/*" => 1,
            _ => continue,
        };
        json = json.max((closeness, quality));
    }
    let (closeness, quality) = json;
    // JSON wins ties, unless only a wildcard admits it.
    events > quality || events > 0 && events == quality && closeness < 3
}

struct Range<'a> {
    kind: &'a str,
    /// Quality in thousandths.
    quality: u16,
}

impl<'a> Range<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().filter(|kind| kind.contains('/'))?;
        let quality = parts
            .filter_map(|parameter| parameter.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
            .map_or(Some(1_000), |(_, value)| thousandths(value.trim()))?;
        Some(Self { kind, quality })
    }
}

fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let decimals: u16 = format!("{decimals:0<3}").parse().ok()?;
    match whole {
        "0" => Some(decimals),
        "1" if decimals == 0 => Some(1_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn wants(accept: &[&'static str]) -> bool {
        let headers = accept.iter().map(|value| (header::ACCEPT, HeaderValue::from_static(value))).collect();
        wants_events(&headers)
    }

    #[test]
    fn an_event_stream_has_to_be_named() {
        for accept in [
            "text/event-stream",
            "Text/Event-Stream ; charset=utf-8",
            "text/event-stream, */*",
            "text/event-stream;q=0.5",
            "text/event-stream;q=0.5, application/json;q=0.499",
            "application/json;q=0, text/event-stream;q=0.001, */*",
            "text/event-stream; Q=1.000, application/json; q=0.9",
            "text/event-stream, application/*",
            "text/html;x=\"a,b\", text/event-stream",
        ] {
            assert!(wants(&[accept]), "{accept}");
        }
        assert!(wants(&["text/html", "text/event-stream"]), "the header may stand there twice");
    }

    #[test]
    fn everything_else_is_json() {
        for accept in [
            "",
            "*/*",
            "text/*",
            "image/png",
            "application/json",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "application/json, text/event-stream",
            "text/event-stream;q=0.5, */*;q=0.8",
            "text/event-stream;q=0.5, */*;q=0.1, application/json;q=0.6",
            "text/event-stream;q=0",
            "text/event-stream;q=0, */*",
            "text/event-stream;q=2",
            "text/event-stream;q=0.5000",
            "text/event-stream;q=.5",
            "text/event-stream;q=x",
            "event-stream",
            "text/event-streams",
            ",;,q=1",
        ] {
            assert!(!wants(&[accept]), "{accept}");
        }
        assert!(!wants(&[]));
    }
}
