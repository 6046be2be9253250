//! Plain text of HTML, such as an excerpt with its marked matches.

/// Tags that begin a line or a cell.
const BREAKING: [&str; 14] =
    ["address", "blockquote", "br", "dd", "div", "dt", "h1", "h2", "h3", "hr", "li", "p", "td", "tr"];

/// Without tags, with characters for entities, and with one space for white space.
pub(super) fn to_text(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some(end) = find_tag_end(rest) else {
            text.push('<');
            rest = &rest[1..];
            continue;
        };
        let name = rest[1..end].trim_start_matches('/');
        let name =
            name.split(|character: char| !character.is_ascii_alphanumeric()).next().unwrap_or_default();
        if BREAKING.iter().any(|breaking| name.eq_ignore_ascii_case(breaking)) {
            text.push(' ');
        }
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    let decoded = html_escape::decode_html_entities(&text);
    decoded.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The place of `>`, if a tag or a comment begins here.
fn find_tag_end(html: &str) -> Option<usize> {
    let begins = html[1..]
        .starts_with(|character: char| character.is_ascii_alphabetic() || matches!(character, '/' | '!'));
    html.find('>').filter(|_| begins)
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
            ("<!-- a --> b <", "b <"),
            ("<script", "<script"),
        ] {
            assert_eq!(to_text(html), text, "{html}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(256))]

        #[test]
        fn any_html_is_read(html in "[<>/a-c! &;#0-9搜\n]{0,40}") {
            let text = to_text(&html);
            prop_assert!(!text.contains(['\n', '\t']) && text.trim() == text);
        }
    }
}
