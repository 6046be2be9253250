//! Plain text of HTML: pages, excerpts with marked matches, entries of feeds.

use std::borrow::Cow;

/// Tags that begin a line or a cell.
const BREAKING: &str = "address article aside blockquote body br caption dd details div dl dt figcaption \
    figure footer form frame frameset h1 h2 h3 h4 h5 h6 header hr legend li main nav ol option p pre section summary table \
    td th title tr ul";
/// Other tags of HTML.
const INLINE: &str = "a abbr acronym applet area audio b base bdi bdo big blink button canvas center cite code col colgroup data \
    datalist del dfn em embed fieldset font head html i iframe img input ins kbd label link map mark marquee menu meta \
    meter nobr noscript object optgroup output param picture progress q rp rt ruby s samp script select small source \
    span strike strong style sub sup svg math mi mn mo mrow msup msub mfrac msqrt mtext mstyle annotation semantics tbody template textarea tfoot thead time track tt u var video wbr";
/// Elements whose content is no text.
const HIDDEN: &str = "script style svg";
/// The characters of windows-1252 from 128 on.
const C1: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";
/// The longest name of a reference, and its `;`.
const MAX_NAME_BYTES: usize = 34;

/// Makes plain text of HTML.
///
/// Tags are gone, entities are characters, and white space is one space.
///
/// Linear in time and memory: HTML of feeds is read in the server itself.
pub fn html_to_text(html: &str) -> String {
    to_text(html, |_| true)
}

/// Makes plain text of what may be HTML or text.
///
/// As [`html_to_text`], but what is no tag of HTML stays, such as `<stdio.h>` or `<ann@example.org>`.
pub fn escaped_to_text(text: &str) -> String {
    to_text(text, |tag| {
        let name = tag.trim_start_matches(['<', '/']);
        let end = name.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(name.len());
        let (name, rest) = name.split_at(end);
        let is_html = is_one_of(BREAKING, name) || is_one_of(INLINE, name);
        // `o:p` of Office and custom elements have a mark in their names.
        let is_other = !name.is_empty() && rest.starts_with([':', '-']) && !rest.starts_with("://");
        tag.starts_with("<!") || (is_html && !rest.starts_with(['.', '@'])) || is_other
    })
}

fn is_one_of(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|other| name.eq_ignore_ascii_case(other))
}

/// Makes characters of the references of HTML: `&amp;`, `&eacute;`, `&#8217;`, `&#X26;`.
///
/// What is none stays, such as a bare `&`. A number of a control character is none of the text; those from 128 on are of
/// windows-1252, as in browsers.
pub fn decode_references(text: &str) -> Cow<'_, str> {
    decode(text, |_| None)
}

/// Decodes references; `decode_open` those that have no `;`.
fn decode(text: &str, decode_open: impl Fn(&str) -> Option<(String, &str)>) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let (mut decoded, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once('&') {
        decoded.push_str(before);
        rest = behind;
        let closed = split_name(behind).and_then(|(name, behind)| {
            let pair = decode_pair(name, behind).map(|(character, behind)| (character.into(), behind));
            pair.or_else(|| Some((decode_reference(name)?, behind)))
        });
        match closed.or_else(|| decode_open(behind)) {
            Some((character, behind)) => {
                decoded.push_str(&character);
                rest = behind;
            }
            None => decoded.push('&'),
        }
    }
    decoded.push_str(rest);
    decoded.into()
}

/// The name of a reference that began before, and the text behind it.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().take(MAX_NAME_BYTES).position(|byte| matches!(byte, b';' | b'&'))?;
    Some((&text[..end], text[end..].strip_prefix(';')?))
}

/// A reference without `;`: a decimal number, or one of five names.
fn decode_open(text: &str) -> Option<(String, &str)> {
    let name = ["amp", "lt", "gt", "quot", "nbsp"].into_iter().find(|name| text.starts_with(name));
    let end = match name {
        Some(name) => name.len(),
        None => 1 + text.strip_prefix('#')?.bytes().take_while(u8::is_ascii_digit).count(),
    };
    Some((decode_reference(&text[..end])?, &text[end..]))
}

/// Decodes a character by the numbers of its halves in UTF-16.
fn decode_pair<'t>(first: &str, behind: &'t str) -> Option<(char, &'t str)> {
    let first = code(first).filter(|code| (0xd800..0xdc00).contains(code))?;
    let (second, behind) = split_name(behind.strip_prefix('&')?)?;
    let units = [u16::try_from(first).ok()?, u16::try_from(code(second)?).ok()?];
    Some((char::decode_utf16(units).next()?.ok()?, behind))
}

/// The number of a reference by number.
fn code(name: &str) -> Option<u32> {
    let number = name.strip_prefix('#')?;
    match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    }
}

fn decode_reference(name: &str) -> Option<String> {
    if !name.starts_with('#') {
        return match html_escape::decode_html_entities(&format!("&{name};")) {
            Cow::Owned(character) => Some(character),
            Cow::Borrowed(_) => None,
        };
    }
    let code = code(name)?;
    let in_c1 = code.checked_sub(0x80).and_then(|place| C1.chars().nth(usize::try_from(place).ok()?));
    let character = in_c1.or_else(|| char::from_u32(code)).unwrap_or(char::REPLACEMENT_CHARACTER);
    let is_text = !character.is_control() || matches!(character, '\t' | '\n' | '\r');
    Some(if is_text { character.into() } else { String::new() })
}

fn to_text(html: &str, is_tag: impl Fn(&str) -> bool) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        if rest.starts_with("<!--") {
            rest = rest.split_once("-->").map_or("", |(_, behind)| behind);
            continue;
        }
        if !begins_tag(rest) || !is_tag(rest) {
            text.push('<');
            rest = &rest[1..];
            continue;
        }
        let Some(end) = find_tag_end(rest) else { break };
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        let name = tag[1..].trim_start_matches('/');
        let name =
            name.split(|character: char| !character.is_ascii_alphanumeric()).next().unwrap_or_default();
        if is_one_of(BREAKING, name) {
            text.push(' ');
        }
        if is_one_of(HIDDEN, name) && !tag.starts_with("</") && !tag.ends_with('/') {
            rest = find_end(rest, name);
        }
    }
    text.push_str(rest);
    decode(&text, decode_open).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn begins_tag(html: &str) -> bool {
    html[1..].starts_with(|character: char| character.is_ascii_alphabetic() || matches!(character, '/' | '!'))
}

/// The place of `>` outside of quoted values.
fn find_tag_end(html: &str) -> Option<usize> {
    let (mut quote, mut before) = (None, b'<');
    html.bytes().position(|byte| {
        match quote {
            None if before == b'=' && matches!(byte, b'"' | b'\'') => quote = Some(byte),
            Some(begun) if begun == byte => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
        quote.is_none() && byte == b'>'
    })
}

/// From the end tag of this name on.
fn find_end<'h>(html: &'h str, name: &str) -> &'h str {
    let is_end = |place: usize| {
        let found = html.get(place + 2..place + 2 + name.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    html.match_indices("</").find(|(place, _)| is_end(*place)).map_or("", |(place, _)| &html[place..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tags_and_entities_become_text() {
        for (html, text) in [
            ("The <span class=\"m\">harbour</span>s", "The harbours"),
            ("<p>A</p>\n<p>B<br/>C &amp; D &hellip; &#8217;&#x41;</p>", "A B C & D … ’A"),
            ("1 < 2 & 3 > 2, R&D", "1 < 2 & 3 > 2, R&D"),
            ("<!-- a > c --> b <", "b <"),
            ("<script", "<script"),
            ("<title>Dues</title><body>Harbour<nav>Home</nav>", "Dues Harbour Home"),
            ("a<script>b < c</div></SCRIPT>d<style>e</style >f<script>g", "adf"),
            ("a<!-- b <p>c", "a"),
            ("a<svg viewBox='0 0 1 1'><title>b</title><path d='M1'/></svg>c<svg/>d", "acd"),
            (
                "<h4>Setup</h4><pre>apt install</pre><tr><th>Name</th><th>Age</th></tr>",
                "Setup apt install Name Age",
            ),
            (
                "&#X41;&#150;&#0;&#11;&#x110000; &bogus; &; &eacute &#; R&D;",
                "A–\u{fffd} &bogus; &; &eacute &#; R&D;",
            ),
            (
                "R&ampD &amp; co, &quotTide,&quot; &quotSafe,&quot she said; it&#8217s R&ampD&nbspnow, &#x41 stays",
                "R&D & co, \"Tide,\" \"Safe,\" she said; it’s R&D now, &#x41 stays",
            ),
            ("&#55357;&#56960; &#xD83D;&#xDE80;&#55357; &#55357;&#65;", "🚀 🚀\u{fffd} \u{fffd}A"),
            ("a<img alt=\"A -> B\" title = '>'>b<i class=it's>c", "abc"),
        ] {
            assert_eq!(html_to_text(html), text, "{html}");
        }
    }

    #[test]
    fn text_with_brackets_keeps_what_is_no_tag() {
        for (text, expected) in [
            ("use of <stdio.h> at quay", "use of <stdio.h> at quay"),
            ("<em>Quay</em> one<br/>two", "Quay one two"),
            ("Vec<T> and Map<Key, Value>", "Vec<T> and Map<Key, Value>"),
            (
                "Ann <ann@example.org>, <https://example.org/a>",
                "Ann <ann@example.org>, <https://example.org/a>",
            ),
            ("a < b, x<y and z>w &amp;lt; <!-- gone -->", "a < b, x<y and z>w &lt;"),
            ("<o:p>Office</o:p> <my-tag>own</my-tag>", "Office own"),
            ("Quay &amp; pier&#8217;s &lt;b&gt; caf&eacute;", "Quay & pier’s <b> café"),
        ] {
            assert_eq!(escaped_to_text(text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn any_html_is_read(html in "([<>/a-c! &;#0-9搜\n-]|<script>|</script|<!--){0,40}") {
            escaped_to_text(&html);
            let text = html_to_text(&html);
            prop_assert!(!text.contains(['\n', '\t']) && text.trim() == text);
        }
    }
}
