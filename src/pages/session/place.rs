//! The page to return to, always on this server.

use url::{Position, Url};

/// Limited by the parameter that carries it.
const MAX_BYTES: usize = 2_600;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    url: Url,
    path: String,
}

impl Place {
    /// Parses a path like a browser; invalid ones become the first page.
    pub(super) fn read(text: &str, public_url: &str) -> Option<Self> {
        let root = Url::parse(&format!("{public_url}/")).ok()?;
        let page = Self::page(text, &root, public_url);
        page.or_else(|| Some(Self { url: root, path: "/".to_owned() }))
    }

    fn page(text: &str, root: &Url, public_url: &str) -> Option<Self> {
        // URL parsers drop or disagree on other characters.
        let is_plain =
            |text: &str| !text.chars().any(|sign| sign == '\\' || sign.is_control() || sign.is_whitespace());
        if !text.starts_with('/') || text.starts_with("//") || !is_plain(text) {
            return None;
        }
        let url = Url::parse(&format!("{public_url}{text}")).ok()?;
        let is_here = url.origin() == root.origin() && url.username().is_empty() && url.password().is_none();
        // Dots may have left the root.
        let path = url[Position::BeforePath..].strip_prefix(root.path().trim_end_matches('/'))?;
        let is_page = path.starts_with('/') && !path.starts_with("//") && !path.starts_with("/session/");
        // Encoding may have lengthened it.
        let is_page = is_here && is_page && path.len() <= MAX_BYTES;
        let path = path.to_owned();
        is_page.then_some(Self { url, path })
    }

    pub(super) fn with_outcome(&self, outcome: Option<&str>) -> Url {
        let mut url = self.url.clone();
        let kept: Vec<(String, String)> = self
            .url
            .query_pairs()
            .filter(|(name, _)| name != "signin")
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        if kept.len() != self.url.query_pairs().count() || outcome.is_some() {
            let signin = outcome.map(|outcome| ("signin".to_owned(), outcome.to_owned()));
            url.query_pairs_mut().clear().extend_pairs(kept.into_iter().chain(signin));
            if url.query() == Some("") {
                url.set_query(None);
            }
        }
        url
    }

    pub(super) fn path(&self) -> String {
        self.path.clone()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOT: &str = "https://search.example";

    fn to(text: &str) -> String {
        Place::read(text, ROOT).unwrap().with_outcome(None).to_string()
    }

    #[test]
    fn a_path_leads_to_the_page_that_it_names() {
        for (path, page) in [
            ("/", "https://search.example/"),
            ("/console", "https://search.example/console"),
            ("/?q=harbour&from=mei#2", "https://search.example/?q=harbour&from=mei#2"),
            ("/?q=%E6%B8%AF", "https://search.example/?q=%E6%B8%AF"),
            ("/?q=https://evil.example", "https://search.example/?q=https://evil.example"),
            ("/?signin=failed&q=x", "https://search.example/?q=x"),
            ("/?signin=failed", "https://search.example/"),
        ] {
            assert_eq!(to(path), page);
        }
        let place = Place::read("/?q=x", "https://search.example/trawl").unwrap();
        assert_eq!(
            place.with_outcome(Some("expired")).as_str(),
            "https://search.example/trawl/?q=x&signin=expired"
        );
        assert_eq!(place.path(), "/?q=x");
        for (path, page) in [
            ("/console?a=b", "https://search.example/trawl/console?a=b"),
            ("/trawl/?q=x", "https://search.example/trawl/trawl/?q=x"),
            ("/x/../console", "https://search.example/trawl/console"),
        ] {
            let place = Place::read(path, "https://search.example/trawl").unwrap();
            assert_eq!(place.with_outcome(None).as_str(), page);
        }
    }

    #[test]
    fn foreign_address_redirects_to_the_first_page() {
        let long = format!("/{}", "x".repeat(3_000));
        let grown = format!("/?q={}", "港".repeat(500));
        for other in [
            "",
            "x",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/..//evil.example",
            "/.//evil.example",
            "/%2e%2e//evil.example",
            "https://evil.example/",
            "https:evil.example",
            "javascript:alert(1)",
            "data:text/html,x",
            "/\t/evil.example",
            "/\n/evil.example",
            "/x\r\nset-cookie: a=b",
            " /x",
            "/x y",
            "/\u{a0}x",
            "/session/start?to=/",
            "/x/../session/start",
            "@evil.example",
            &long,
            &grown,
        ] {
            assert_eq!(to(other), "https://search.example/", "{other:?}");
        }
        for other in [
            "",
            "x",
            "/../",
            "/../other",
            "/../trawlish",
            "/%2e%2e/other",
            "/..//evil.example",
            "/x/..//evil.example",
            "//evil.example",
            "/\\evil.example",
            "/../trawl//evil.example",
            "/../trawl/session/start",
            "@evil.example",
            ".evil.example/",
        ] {
            let place = Place::read(other, "https://search.example/trawl").unwrap();
            assert_eq!(place.with_outcome(None).as_str(), "https://search.example/trawl/", "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn nobody_is_sent_elsewhere(text in "[/\\\\.@:?#%a-z0-9 \t\u{80}-\u{2fff}]{0,40}", slash in any::<bool>()) {
            let text = if slash { format!("/{text}") } else { text };
            let below = Place::read(&text, "https://search.example/trawl").unwrap();
            prop_assert!(below.with_outcome(None).as_str().starts_with("https://search.example/trawl/"), "{below:?}");
            prop_assert!(!below.path().starts_with("//"), "{below:?}");
            prop_assert_eq!(Place::read(&below.path(), "https://search.example/trawl").unwrap(), below);
            let place = Place::read(&text, ROOT).unwrap();
            for url in [place.with_outcome(None), place.with_outcome(Some("failed"))] {
                prop_assert!(url.as_str().starts_with("https://search.example/"), "{url}");
                prop_assert!(!url.path().starts_with("//"), "{url}");
                prop_assert!(url.as_str().bytes().all(|byte| byte.is_ascii_graphic()), "{url}");
                prop_assert_eq!(url.origin().ascii_serialization(), ROOT);
            }
            prop_assert_eq!(Place::read(&place.path(), ROOT).unwrap(), place);
        }
    }
}
