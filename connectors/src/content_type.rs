//! `Content-Type`: the client tolerates what the check reports.

/// The type of an answer by the contract.
pub(crate) const CONTRACT_TYPE: &str = "application/json;charset=UTF-8";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentType<'t> {
    pub(crate) is_json: bool,
    pub(crate) charset: Option<&'t str>,
}

impl<'t> ContentType<'t> {
    pub(crate) fn read(text: &'t str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let is_json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
        });
        Self { is_json, charset }
    }

    pub(crate) fn names(self, charsets: &[&str]) -> bool {
        self.charset.is_some_and(|named| charsets.iter().any(|charset| named.eq_ignore_ascii_case(charset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_however_they_are_written() {
        for text in [
            "application/json;charset=UTF-8",
            "Application/JSON ; profile=x ; Charset = \"utf-8\"",
            "application/json; charset=utf-8; charset=gbk",
        ] {
            let read = ContentType::read(text);
            assert!(read.is_json && read.names(&["utf-8"]) && !read.names(&["utf8", "gbk"]), "{text}");
        }
        assert_eq!(ContentType::read("application/json;x"), ContentType { is_json: true, charset: None });
        assert!(!ContentType::read("application/jsonp; charset").is_json);
        assert!(!ContentType::read("").names(&[""]));
    }
}
