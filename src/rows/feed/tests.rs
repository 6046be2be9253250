use std::collections::HashMap;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};
use trawl_connectors::times;

use super::*;

fn open(feed: &str) -> FeedRows {
    FeedRows::open(feed.as_bytes(), None, None).unwrap()
}

fn rows(feed: &str) -> Vec<Map<String, Value>> {
    open(feed).map(|row| row.fields).collect()
}

/// What a file of `tests/wild/feeds` is expected to give.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    /// The `charset` of its content type.
    charset: Option<String>,
    /// A part of the reason for which it is no feed.
    refused: Option<String>,
    #[serde(default)]
    entries: Vec<Value>,
    /// A part of the reason for which reading ended early.
    cut: Option<String>,
    /// A part of each note.
    #[serde(default)]
    notes: Vec<String>,
}

fn check(path: &Path) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let expectation =
        fs::read(path.with_extension("expected.json")).unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected: Expectation =
        serde_json::from_slice(&expectation).unwrap_or_else(|error| panic!("{name}: {error}"));
    let read = FeedRows::open(&fs::read(path).unwrap(), expected.charset.as_deref(), None);
    let mut feed = match (read, &expected.refused) {
        (Ok(feed), _) => feed,
        (Err(reason), Some(part)) if reason.contains(part.as_str()) => return,
        (Err(reason), _) => panic!("{name}: {reason}"),
    };
    let shown = |row: FeedRow| {
        let time = row.fields.get("displayTime").and_then(Value::as_i64);
        let text = |name: &str| row.fields.get(name).cloned().unwrap_or_default();
        (json!([text("title"), text("link"), text("author"), text("brief")]), time)
    };
    let found: Vec<_> = feed.by_ref().map(shown).collect();
    let wanted = |entry: &Value| {
        let time = entry["time"].as_str().map(|time| times::from_text(time).unwrap());
        (json!([entry["title"], entry["link"], entry["author"], entry["text"]]), time)
    };
    let wanted: Vec<_> = expected.entries.iter().map(wanted).collect();
    match (feed.end(), expected.refused, expected.cut) {
        (FeedEnd::Refused(reason), Some(part), _) | (FeedEnd::Cut(reason), None, Some(part)) => {
            assert!(reason.contains(&part), "{name}: {reason}");
        }
        (end, refused, cut) => assert_eq!((end, refused, cut), (FeedEnd::Whole, None, None), "{name}"),
    }
    assert_eq!(found, wanted, "{name}");
    let notes = feed.notes();
    assert_eq!(notes.len(), expected.notes.len(), "{name}: {notes:?}");
    for (note, part) in notes.iter().zip(&expected.notes) {
        assert!(note.contains(part.as_str()), "{name}: {note}");
    }
}

#[test]
fn wild_feeds_are_read_as_expected() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wild/feeds");
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| !path.to_string_lossy().ends_with(".expected.json"));
    assert!(files.len() > 60, "{} feeds", files.len());
    let failed: Vec<_> = files.iter().filter(|path| catch_unwind(|| check(path)).is_err()).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// A reading of a feed in `../shared/data/wild`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Reading {
    refused: Option<String>,
    entries: Vec<Value>,
    /// Another right one.
    also: Option<Box<Reading>>,
}

impl Reading {
    fn permits(&self, found: Option<&[Value]>) -> bool {
        let is_this = match found {
            None => self.refused.is_some(),
            Some(found) => self.refused.is_none() && *found == *self.entries,
        };
        is_this || self.also.as_ref().is_some_and(|also| also.permits(found))
    }
}

#[test]
fn shared_feeds_are_read_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/wild");
    let Ok(expected) = fs::read(folder.join("expected.json")) else {
        return println!("skipped: there is no {}", folder.display());
    };
    let mut expected: HashMap<String, Value> = serde_json::from_slice(&expected).unwrap();
    let feeds: HashMap<String, Reading> = serde_json::from_value(expected.remove("feeds").unwrap()).unwrap();
    assert_eq!(feeds.len(), fs::read_dir(folder.join("feeds")).unwrap().count());
    let differs = |(name, expected): (&String, &Reading)| {
        let found = read_shared(&fs::read(folder.join("feeds").join(name)).unwrap());
        let is_right = expected.permits(found.as_deref());
        (!is_right).then(|| format!("{name}: {found:?} in place of {expected:?}"))
    };
    let differences: Vec<_> = feeds.iter().filter_map(differs).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The entries of a feed; none if it is refused.
fn read_shared(content: &[u8]) -> Option<Vec<Value>> {
    let address = "https://pier.example/feed.xml".parse().unwrap();
    let mut feed = FeedRows::open(content, None, Some(address)).ok()?;
    let shown = |row: FeedRow| {
        let text = |name: &str| {
            let text = row.fields.get(name).and_then(Value::as_str)?;
            Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let time = row.fields.get("displayTime").filter(|_| row.undated.is_none()).and_then(Value::as_i64);
        let time = time.map(|time| Timestamp::from_millisecond(time).unwrap().to_string());
        json!({"title": text("title"), "link": text("link"), "author": text("author"), "time": time, "text": text("brief")})
    };
    let entries = feed.by_ref().map(shown).collect();
    (!matches!(feed.end(), FeedEnd::Refused(_))).then_some(entries)
}

#[test]
fn entry_of_html_becomes_plain_text() {
    let feed = r#"<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
        <item><guid>n1</guid><title>Tea &amp; cake</title><link>https://example.org/1</link>
        <pubDate>Thu, 20 Aug 2026 07:10:30 GMT</pubDate>
        <description>&lt;p&gt;At &lt;b&gt;four&lt;/b&gt;&lt;/p&gt;&lt;p&gt;Come &amp;amp; eat&lt;/p&gt;</description></item>
        </channel></rss>"#;
    assert_eq!(
        Value::Object(rows(feed)[0].clone()),
        json!({"id": "n1", "title": "Tea & cake", "brief": "At four Come & eat",
               "displayTime": 1_787_209_830_000_i64, "link": "https://example.org/1"})
    );
}

#[test]
fn derived_ids_are_those_of_every_version() {
    let feed = r#"<rss version="2.0"><channel>
        <item><title>Tea &amp; cake</title><link>https://example.org</link></item>
        <item><link>https://example.org/2</link><comments>https://example.org/2#c</comments></item>
        <item><title>No link</title></item></channel></rss>"#;
    let ids: Vec<_> = rows(feed).into_iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        ids,
        [
            "d2c3ee61aa77a923c7f04fffb1ffbf7c",
            "997f77e63c93e1caa3d92cc62928868a",
            "47415948749774c3a82ee0bbc61bf6d4",
        ]
    );
}

#[test]
fn entries_under_one_id_are_told_apart_by_what_differs() {
    let ids = |items: &str| -> Vec<String> {
        rows(&format!("<rss><channel>{items}</channel></rss>"))
            .into_iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let item = |title: &str, more: &str| format!("<item><guid>g</guid><title>{title}</title>{more}</item>");
    let dated = |day: u32| item("A", &format!("<pubDate>2026-06-0{day}</pubDate>"));
    assert_eq!(ids(&[item("A", ""), item("B", "")].concat()), ["g", "g#26d4f5cd968fa72512770e2074875c96"]);
    let [three, two] =
        [[dated(3), dated(2), dated(1)].concat(), [dated(2), dated(1)].concat()].map(|items| ids(&items));
    assert_eq!((&*three[0], &*two[0]), ("g", "g"));
    // An entry keeps its id once it is no longer the first.
    assert!(three[1] != three[2] && three[2] == two[1], "{three:?} {two:?}");
    let texts =
        [item("A", "<description>x</description>"), item("A", "<description>y</description>")].concat();
    assert_ne!(ids(&texts)[1], "g");
    assert_eq!(ids(&[dated(1), dated(1)].concat()), ["g"]);
    assert_eq!(ids("<item/><item/>"), ["", ""]);
}

#[test]
fn long_titles_and_addresses_are_cut_or_left_out() {
    let feed = format!(
        "<rss><channel><item><title>a{}</title><link>https://pier.example/{}</link></item></channel></rss>",
        "é".repeat(4_000),
        "x".repeat(10_000)
    );
    let mut feed = open(&feed);
    let row = feed.next().unwrap();
    assert_eq!(row.fields["title"].as_str().unwrap().len(), 4_095);
    assert!(!row.fields.contains_key("link") && feed.next().is_none());
    assert!(feed.notes()[0].starts_with("parts of 1 entries"));
}

#[test]
fn relative_links_begin_at_the_address_of_the_feed() {
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom"><id>f</id><title>F</title>
        <entry><id>e1</id><title>One</title><link href="/posts/1"/></entry>
        <entry xml:base="deep/"><id>e2</id><title>Two</title><link href="2"/></entry>
        <entry xml:base="https://other.example/a/"><id>e3</id><title>Three</title><link xml:base="b/" href="3"/></entry>
        <entry><id>e4</id><title>Four</title><link href="https://elsewhere.example/"/></entry></feed>"#;
    let links = |address: Option<&str>| {
        let address = address.map(|address| address.parse().unwrap());
        let rows = FeedRows::open(feed.as_bytes(), None, address).unwrap();
        rows.map(|row| row.fields["link"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        links(Some("https://example.org/news/feed.xml")),
        [
            "https://example.org/posts/1",
            "https://example.org/news/2",
            "https://other.example/a/b/3",
            "https://elsewhere.example/"
        ]
    );
    assert_eq!(links(None)[0], "/posts/1");
}

#[test]
fn deep_elements_are_refused_with_their_line() {
    for (start, end) in
        [("<media:group>", "</media:group>"), ("<a>", "</a>"), ("<description><i>", "</i></description>")]
    {
        for (depth, is_refused) in [(60, false), (900, true), (100_000, true)] {
            let nested =
                format!("{}x{}", start.repeat(depth / start.matches('<').count()), end.repeat(depth));
            let feed = format!(
                "<rss><channel>\n<item><title>A</title></item>\n<item><title>B</title>{nested}</item></channel></rss>"
            );
            let mut rows = open(&feed);
            let count = rows.by_ref().count();
            match rows.end() {
                FeedEnd::Refused(reason) => {
                    assert!(is_refused && count == 1 && reason.ends_with("(line 3 is deeper)"), "{reason}");
                }
                end => assert!(!is_refused && count == 2, "{end:?} {depth} {start}"),
            }
        }
    }
}

#[test]
fn hostile_feeds_take_little_time_and_memory() {
    let many = |part: &str| part.repeat(300_000 / part.len());
    for part in [
        "<",
        "&",
        "&a;",
        "<a ",
        "<a b=\"",
        "<!--",
        "<![CDATA[",
        "</",
        "<b>",
        "</b>",
        "<br>",
        "<item>",
        "<item/>",
        "</item>",
        "<title>",
        "<item><title>&a;",
        "< ",
        "<?",
        "]]>",
        "\0",
        "<item x='",
        "<xmlns:a='b'>",
        "<link href='x'>",
        "<a b=\"x><item>",
        "<![CDATA[x</item>",
        "<!-- <item>",
    ] {
        let begin =
            format!("<!DOCTYPE rss [<!ENTITY a \"{}\">]><rss><channel><item><description>", "x".repeat(1000));
        for begin in [&*begin, "<?xml?>"] {
            let feed = format!("{begin}{}", many(part));
            if let Ok(rows) = FeedRows::open(feed.as_bytes(), None, None) {
                let bytes: usize = rows.map(|row| Value::Object(row.fields).to_string().len()).sum();
                assert!(bytes < 20_000_000, "{part}: {bytes}");
            }
        }
    }
    for part in ["&lt;", "&lt;a&gt;", "&lt;/a"] {
        let title = format!("<rss><channel><item><guid>g</guid><title>{}</title></item>", many(part));
        assert_eq!(rows(&title).len(), 1, "{part}");
    }
    let nested =
        json!({"items": [{"id": "1", "content_html": format!("{}{}", many("<b a=1>"), many("<p>x"))}]});
    assert_eq!(rows(&nested.to_string()).len(), 1);
    let brackets = format!("{{\"items\": [{{\"id\": \"1\", \"x\": {}", "[".repeat(100_000));
    assert!(FeedRows::open(brackets.as_bytes(), None, None).is_err());
}

#[test]
fn feed_of_ten_thousand_entries_is_read() {
    let item = |number| {
        format!(
            "<item><guid>g{number}</guid><title>Quay {number} &amp; pier</title><link>https://pier.example/{number}</link>\
                 <pubDate>Thu, 20 Aug 2026 07:10:30 GMT</pubDate><description>&lt;p&gt;tide&lt;/p&gt;</description></item>\n"
        )
    };
    let feed = format!("<rss><channel>{}</channel></rss>", (0..10_000).map(item).collect::<String>());
    let mut rows = open(&feed);
    let last = rows.by_ref().last().unwrap();
    assert_eq!(
        (rows.rows, last.line, rows.end(), rows.notes()),
        (10_000, 10_000, FeedEnd::Whole, Vec::new())
    );
    assert_eq!(last.fields["title"], "Quay 9999 & pier");
}

proptest::proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn any_document_is_read_or_refused(
        document in "(<rss>|<feed>|<item>|</item>|<entry>|<title>|</title>|<link href='x'/>|<!\\[CDATA\\[|\\]\\]>|<!--|-->|\
                      <!DOCTYPE x|&[a-z#0-9]{0,4};?|[<>/&'\"=a-z é港\n]|\\{\"items\":\\[|\"id\":1|[\\[\\]{},]){0,60}"
    ) {
        if let Ok(mut rows) = FeedRows::open(document.as_bytes(), None, None) {
            rows.by_ref().count();
            rows.end();
            rows.notes();
        }
    }
}
