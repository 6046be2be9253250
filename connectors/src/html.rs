//! Plain text of HTML: pages, excerpts with marked matches, entries of feeds.

/// Tags that begin a line or a cell.
const BREAKING: &str = "address article aside blockquote body br caption dd details div dl dt figcaption \
    figure footer form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol option p pre section summary table \
    td th title tr ul";
/// Elements whose content is no text.
const HIDDEN: &str = "script style";

/// Makes plain text of HTML.
///
/// Tags are gone, entities are characters, and white space is one space.
///
/// Linear in time and memory: HTML of feeds is read in the server itself.
pub fn html_to_text(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        if rest.starts_with("<!--") {
            rest = rest.split_once("-->").map_or("", |(_, behind)| behind);
            continue;
        }
        if !begins_tag(rest) {
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
        let is_one_of = |names: &str| names.split(' ').any(|other| name.eq_ignore_ascii_case(other));
        if is_one_of(BREAKING) {
            text.push(' ');
        }
        if is_one_of(HIDDEN) && !tag.starts_with("</") {
            rest = find_end(rest, name);
        }
    }
    text.push_str(rest);
    let decoded = html_escape::decode_html_entities(&text);
    decoded.split_whitespace().collect::<Vec<_>>().join(" ")
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
            (
                "<h4>Setup</h4><pre>apt install</pre><tr><th>Name</th><th>Age</th></tr>",
                "Setup apt install Name Age",
            ),
            ("a<img alt=\"A -> B\" title = '>'>b<i class=it's>c", "abc"),
        ] {
            assert_eq!(html_to_text(html), text, "{html}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn any_html_is_read(html in "([<>/a-c! &;#0-9搜\n-]|<script>|</script|<!--){0,40}") {
            let text = html_to_text(&html);
            prop_assert!(!text.contains(['\n', '\t']) && text.trim() == text);
        }
    }
}
