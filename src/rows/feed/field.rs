//! What the elements of all dialects say about an entry.

/// A field of an entry.
///
/// The value of the smallest rank counts, the first of equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Title(u8),
    Text(u8),
    Author,
    Time(u8),
    Id,
    Link,
    /// An address of comments, which opens no entry.
    Comments,
    /// A file, by its attribute `url`.
    Enclosure,
    Image,
    /// Its children are of the entry.
    Group,
}

/// The short name of a namespace that feeds use; "" is their own.
pub(super) fn dialect(uri: &str) -> Option<&'static str> {
    let uri = uri.trim().trim_end_matches(['/', '#']).to_ascii_lowercase();
    let uri = uri.trim_start_matches("https://").trim_start_matches("http://");
    Some(match uri {
        "www.w3.org/2005/atom"
        | "purl.org/atom/ns"
        | "purl.org/rss/1.0"
        | "my.netscape.com/rdf/simple/0.9"
        | "channel.netscape.com/rdf/simple/0.9"
        | "backend.userland.com/rss2"
        | "backend.userland.com/rss"
        | "blogs.law.harvard.edu/tech/rss"
        | "cyber.law.harvard.edu/rss"
        | "purl.org/rss/1.0/modules/rss091"
        | "purl.org/net/rss1.1"
        | "www.w3.org/1999/xhtml" => "",
        "purl.org/rss/1.0/modules/content" => "content",
        "purl.org/dc/elements/1.1" | "purl.org/dc/elements/1.0" => "dc",
        "purl.org/dc/terms" => "dcterms",
        "www.itunes.com/dtds/podcast-1.0.dtd" | "www.google.com/schemas/play-podcasts/1.0" => "itunes",
        "search.yahoo.com/mrss" | "tools.search.yahoo.com/mrss" | "video.search.yahoo.com/mrss" => "media",
        "wellformedweb.org/commentapi" => "wfw",
        _ => return None,
    })
}

/// Whether a dialect is a feed's own, also where its prefix is not declared.
pub(super) fn is_own(dialect: &str) -> bool {
    matches!(dialect, "" | "atom" | "rss" | "xhtml")
}

/// The field of an element in an entry; `name` is in lower case.
pub(super) fn field(dialect: &str, name: &str) -> Option<Field> {
    Some(match (dialect, name) {
        (dialect, name) if is_own(dialect) => match name {
            "title" => Field::Title(0),
            "content" | "body" | "fullitem" => Field::Text(0),
            "description" | "summary" | "abstract" => Field::Text(1),
            "author" => Field::Author,
            "pubdate" | "published" | "issued" => Field::Time(0),
            "created" => Field::Time(3),
            "updated" | "modified" | "date" => Field::Time(4),
            "guid" | "id" => Field::Id,
            "link" => Field::Link,
            "comments" => Field::Comments,
            "enclosure" => Field::Enclosure,
            _ => return None,
        },
        ("content", "encoded") => Field::Text(0),
        ("dc", "title") => Field::Title(1),
        ("dc" | "dcterms", "description" | "abstract") => Field::Text(2),
        ("dc", "creator" | "author") | ("itunes" | "googleplay", "author") => Field::Author,
        ("dcterms", "issued") => Field::Time(1),
        ("dc", "date") => Field::Time(2),
        ("dcterms", "created") => Field::Time(3),
        ("dcterms", "modified") => Field::Time(4),
        ("itunes" | "googleplay", "summary" | "description") => Field::Text(3),
        ("itunes", "subtitle") => Field::Text(5),
        ("itunes", "title") => Field::Title(3),
        ("itunes", "image") | ("media", "thumbnail") => Field::Image,
        ("media", "title") => Field::Title(2),
        ("media", "description") => Field::Text(4),
        ("media", "group") => Field::Group,
        ("media", "content") => Field::Enclosure,
        ("wfw", "commentrss") => Field::Comments,
        _ => return None,
    })
}
