use std::ops::Range;

use super::marks::Mark;

const CUT: &str = "…";

pub(super) fn write(text: &str, shown: Range<usize>, marks: &[Mark]) -> String {
    let mut html = String::with_capacity(shown.len() + shown.len() / 4);
    if shown.start > 0 {
        html.push_str(CUT);
    }
    let mut written = shown.start;
    let first = marks.partition_point(|mark| mark.end <= shown.start);
    for mark in marks[first..].iter().take_while(|mark| mark.start < shown.end) {
        let (start, end) = (mark.start.max(shown.start), mark.end.min(shown.end));
        escape(&text[written..start], &mut html);
        html.push_str("<em>");
        escape(&text[start..end], &mut html);
        html.push_str("</em>");
        written = end;
    }
    escape(&text[written..shown.end], &mut html);
    if shown.end < text.len() {
        html.push_str(CUT);
    }
    html
}

/// Escapes for content and quoted attributes.
fn escape(text: &str, html: &mut String) {
    let mut rest = text;
    while let Some(place) = rest.find(['&', '<', '>', '"', '\'']) {
        let (plain, special) = rest.split_at(place);
        html.push_str(plain);
        html.push_str(match special.as_bytes().first() {
            Some(b'&') => "&amp;",
            Some(b'<') => "&lt;",
            Some(b'>') => "&gt;",
            Some(b'"') => "&quot;",
            _ => "&#39;",
        });
        rest = &special[1..];
    }
    html.push_str(rest);
}
