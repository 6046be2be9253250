//! Converts RSS, Atom and JSON Feed to rows.

use feed_rs::model::{Entry, Feed, Link, Person, Text};
use feed_rs::parser;
use quick_xml::{Reader, encoding::DecodingReader, events::Event};
use serde_json::{Map, Value};
use trawl_connectors::{MAX_DEPTH, TooDeep, check_json_depth, html_to_text};
use url::{ParseError, Url};

/// Inflated; a feed is parsed in memory.
pub(crate) const MAX_FEED_BYTES: usize = 64 * 1024 * 1024;

/// The reason why a feed is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedRefusal {
    #[error("the feed {0}")]
    TooDeep(#[from] TooDeep),
    #[error("the feed is no whole RSS, Atom or JSON feed")]
    Malformed,
}

/// `address` is where the feed was found; relative addresses begin there.
pub(crate) fn rows(feed: &[u8], address: Option<&Url>) -> Result<Vec<Map<String, Value>>, FeedRefusal> {
    check_depth(feed)?;
    // A derived id lets a second import update the row; the default is random.
    let parser = parser::Builder::new()
        .id_generator(|links, title, _| match (links.first(), title) {
            (Some(link), title) => parser::generate_id_from_link_and_title(link, title),
            (None, Some(title)) => parser::generate_id_from_uri_and_title("", title),
            (None, None) => String::new(),
        })
        .build();
    let Feed { entries, authors, .. } = parser.parse(feed).map_err(|_| FeedRefusal::Malformed)?;
    Ok(entries.into_iter().map(|entry| row(entry, &authors, address)).collect())
}

/// Checks how deep the feed nests, since its parser recurses.
fn check_depth(feed: &[u8]) -> Result<(), FeedRefusal> {
    if feed.iter().find(|byte| matches!(byte, b'<' | b'{')) == Some(&b'{') {
        return Ok(check_json_depth(feed)?);
    }
    let mut reader = Reader::from_reader(DecodingReader::new(feed));
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    let (mut depth, mut line, mut buffer) = (0_usize, 1, Vec::new());
    loop {
        match reader.read_event_into(&mut buffer).map_err(|_| FeedRefusal::Malformed)? {
            Event::Start(_) if depth == MAX_DEPTH => return Err(TooDeep { line }.into()),
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Eof => return Ok(()),
            _ => {}
        }
        line += buffer.iter().filter(|byte| **byte == b'\n').count();
        buffer.clear();
    }
}

fn row(entry: Entry, feed_authors: &[Person], address: Option<&Url>) -> Map<String, Value> {
    let resolve = |link: String| match (address, Url::parse(&link)) {
        (Some(address), Err(ParseError::RelativeUrlWithoutBase)) => {
            address.join(&link).map_or(link, String::from)
        }
        _ => link,
    };
    let time = entry.published.or(entry.updated);
    let image =
        entry.media.iter().flat_map(|media| &media.thumbnails).map(|thumbnail| thumbnail.image.uri.clone());
    let content = entry.content.and_then(|content| Some((content.body?, content.content_type.to_string())));
    let summary = entry.summary.map(|text| (text.content, text.content_type.to_string()));
    let brief = content.into_iter().chain(summary).map(|(text, kind)| plain_text(&text, &kind));
    let values = [
        ("id", Some(Value::from(entry.id))),
        (
            "title",
            entry
                .title
                .map(|Text { content, content_type, .. }| plain_text(&content, content_type.as_str()).into()),
        ),
        ("brief", brief.into_iter().find(|text| !text.is_empty()).map(Value::from)),
        ("author", author(&entry.authors).or_else(|| author(feed_authors)).map(Value::from)),
        ("displayTime", time.map(|time| time.timestamp_millis().into())),
        ("image", image.into_iter().next().map(|image| resolve(image).into())),
        ("link", main_link(&entry.links).map(|link| resolve(link).into())),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn author(people: &[Person]) -> Option<String> {
    people.iter().find_map(|person| person.name.clone().or_else(|| person.email.clone()))
}

fn main_link(links: &[Link]) -> Option<String> {
    let is_main = |link: &&Link| link.rel.as_deref().is_none_or(|rel| rel == "alternate");
    links.iter().find(is_main).or(links.first()).map(|link| link.href.clone())
}

fn plain_text(text: &str, kind: &str) -> String {
    let is_markup = kind.contains("html") && text.contains(['<', '&']);
    if is_markup { html_to_text(text) } else { text.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rss_items_become_rows_of_plain_text() {
        let feed = br#"<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
            <item><guid>n1</guid><title>Tea &amp; cake</title><link>https://example.org/1</link>
            <pubDate>Thu, 20 Aug 2026 07:10:30 GMT</pubDate>
            <description>&lt;p&gt;At &lt;b&gt;four&lt;/b&gt;&lt;/p&gt;&lt;p&gt;Come &amp;amp; eat&lt;/p&gt;</description></item>
            <item><title>No id, no link</title></item>
            </channel></rss>"#;
        let found = rows(feed, None).unwrap();
        assert_eq!(found[0]["id"], json!("n1"));
        assert_eq!(found[0]["title"], json!("Tea & cake"));
        assert_eq!(found[0]["brief"], json!("At four Come & eat"));
        assert_eq!(found[0]["displayTime"], json!(1_787_209_830_000_i64));
        assert_eq!(found[0]["link"], json!("https://example.org/1"));
        assert_eq!(found[1]["id"], rows(feed, None).unwrap()[1]["id"], "an id made up is the same each time");
        assert_ne!(found[1]["id"], json!(""));
    }

    #[test]
    fn atom_entries_take_the_feeds_author_and_the_alternate_link() {
        let feed = br#"<feed xmlns="http://www.w3.org/2005/Atom"><id>f</id><title>F</title>
            <author><name>Ann</name></author>
            <entry><id>e1</id><title type="html">&lt;i&gt;One&lt;/i&gt;</title><updated>2026-08-20T07:10:30Z</updated>
            <link rel="self" href="https://example.org/self"/><link rel="alternate" href="https://example.org/1"/>
            <summary>short</summary><content type="text">a &lt; b</content></entry></feed>"#;
        let found = rows(feed, None).unwrap();
        assert_eq!(
            Value::Object(found[0].clone()),
            json!({"id": "e1", "title": "One", "brief": "a < b", "author": "Ann",
                   "displayTime": 1_787_209_830_000_i64, "link": "https://example.org/1"})
        );
    }

    #[test]
    fn relative_links_begin_at_the_address_of_the_feed() {
        let feed = br#"<feed xmlns="http://www.w3.org/2005/Atom"><id>f</id><title>F</title>
            <entry><id>e1</id><title>One</title><link href="/posts/1"/></entry>
            <entry><id>e2</id><title>Two</title><link href="2"/></entry>
            <entry><id>e3</id><title>Three</title><link href="https://elsewhere.example/"/></entry></feed>"#;
        let address = "https://example.org/news/feed.xml".parse().unwrap();
        let links = |address| {
            let rows = rows(feed, address).unwrap();
            rows.into_iter().map(|row| row["link"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            links(Some(&address)),
            ["https://example.org/posts/1", "https://example.org/news/2", "https://elsewhere.example/"]
        );
        assert_eq!(links(None)[0], "/posts/1");
    }

    #[test]
    fn feed_nested_too_deep_is_refused_by_its_line() {
        let within = |depth: usize, close: &str| {
            let groups = "<media:group>\n".repeat(depth);
            format!("<rss version=\"2.0\"><channel><item><title>T</title>{groups}{}", close.repeat(depth))
        };
        let whole = |depth| within(depth, "</media:group>") + "</item></channel></rss>";
        assert!(rows(whole(MAX_DEPTH - 3).as_bytes(), None).is_ok());
        let atom = |depth: usize| {
            let (open, close) = ("<m>".repeat(depth), "</m>".repeat(depth));
            format!("<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry>{open}{close}</entry></feed>")
        };
        let utf16 = |text: String| {
            let units = text.encode_utf16().flat_map(u16::to_le_bytes);
            [0xff, 0xfe].into_iter().chain(units).collect::<Vec<u8>>()
        };
        let json = format!("{{\"items\":{}{}}}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        for (feed, line) in [
            (whole(900).into_bytes(), 62),
            (within(900, "").into_bytes(), 62),
            (atom(100_000).into_bytes(), 1),
            (utf16(whole(900)), 62),
            (json.into_bytes(), 1),
        ] {
            let refusal = rows(&feed, None).unwrap_err();
            assert!(
                matches!(refusal, FeedRefusal::TooDeep(TooDeep { line: found }) if found == line),
                "{refusal}"
            );
        }
    }

    #[test]
    fn nested_markup_of_an_entry_takes_little_time_and_memory() {
        let depth = 100_000;
        let json = serde_json::json!({"version": "https://jsonfeed.org/version/1.1", "title": "F", "items": [
            {"id": "1", "content_html": format!("{}{}", "<b a=1>".repeat(depth), "<p>x".repeat(depth))},
        ]});
        let found = rows(json.to_string().as_bytes(), None).unwrap();
        assert_eq!(found[0]["brief"].as_str().unwrap().len(), 2 * depth - 1);
    }
}
