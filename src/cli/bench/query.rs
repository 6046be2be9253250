//! Query file and the order of its queries.

use std::io::BufRead;

use serde::Deserialize;
use url::form_urlencoded;

use crate::json;

/// A keyword, or an object with the parameters of `/contents/search` (book: reference/search.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BenchQuery {
    #[serde(alias = "query")]
    pub(super) keyword: String,
    pub(super) module_id: Option<String>,
    pub(super) sort: Option<String>,
    pub(super) limit: Option<u16>,
    /// Inclusive, epoch milliseconds.
    pub(super) from: Option<i64>,
    /// Exclusive, epoch milliseconds.
    pub(super) to: Option<i64>,
    pub(super) author: Option<String>,
    pub(super) source: Option<String>,
    /// Milliseconds.
    pub(super) timeout: Option<u64>,
}

pub(super) fn checksum(queries: &[BenchQuery]) -> String {
    let mut lines: Vec<String> = queries.iter().map(BenchQuery::parameters).collect();
    lines.sort_unstable();
    format!("{:08x}", crc32fast::hash(lines.join("\n").as_bytes()))
}

impl BenchQuery {
    pub(super) fn parameters(&self) -> String {
        let number = |value: Option<i64>| value.map(|value| value.to_string());
        let texts = [
            ("keyword", Some(self.keyword.clone())),
            ("moduleId", self.module_id.clone()),
            ("sort", self.sort.clone()),
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("from", number(self.from)),
            ("to", number(self.to)),
            ("author", self.author.clone()),
            ("source", self.source.clone()),
            ("timeout", self.timeout.map(|timeout| timeout.to_string())),
        ];
        let mut encoded = form_urlencoded::Serializer::new(String::new());
        for (name, text) in texts {
            if let Some(text) = text {
                encoded.append_pair(name, &text);
            }
        }
        encoded.finish()
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct QueryDefaults {
    pub(super) module_id: Option<String>,
    pub(super) sort: Option<String>,
    pub(super) limit: Option<u16>,
}

pub(super) fn read(
    input: impl BufRead,
    name: &str,
    defaults: &QueryDefaults,
) -> Result<Vec<BenchQuery>, String> {
    let mut queries = Vec::new();
    for (number, line) in (1..).zip(input.lines()) {
        let at = |reason: &dyn std::fmt::Display| format!("{name}:{number}: {reason}");
        let line = line.map_err(|error| at(&error))?;
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() {
            continue;
        }
        let mut query = if line.starts_with('{') {
            // A line number within the line would be mistaken for one of the file.
            json::read(line.as_bytes())
                .map_err(|error| at(&error.replace(" at line 1, column", " at column")))?
        } else {
            BenchQuery { keyword: line.to_owned(), ..BenchQuery::default() }
        };
        if query.keyword.trim().is_empty() {
            return Err(at(&"keyword: must not be blank"));
        }
        query.module_id = query.module_id.or_else(|| defaults.module_id.clone());
        if query.module_id.is_none() {
            return Err(at(&"moduleId: is required, or --module"));
        }
        query.sort = query.sort.or_else(|| defaults.sort.clone());
        query.limit = query.limit.or(defaults.limit);
        queries.push(query);
    }
    if queries.is_empty() { Err(format!("{name}: holds no queries")) } else { Ok(queries) }
}

pub(super) fn arrange<T>(queries: &mut [T], seed: Option<u64>) {
    if let Some(seed) = seed {
        fastrand::Rng::with_seed(seed).shuffle(queries);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn defaults() -> QueryDefaults {
        QueryDefaults { module_id: Some("article".to_owned()), sort: None, limit: Some(20) }
    }

    fn read_text(text: &str) -> Result<Vec<BenchQuery>, String> {
        read(text.as_bytes(), "q", &defaults())
    }

    #[test]
    fn file_mixes_keywords_and_objects() {
        let text = "\u{feff}harbour \r\n\n{\"keyword\":\"a b&c\",\"moduleId\":\"feed\",\"sort\":\"relevance\",\"from\":7,\"text\":\"\"}\n仓库";
        let queries = read_text(text).unwrap();
        let parameters: Vec<String> = queries.iter().map(BenchQuery::parameters).collect();
        assert_eq!(
            parameters,
            [
                "keyword=harbour&moduleId=article&limit=20",
                "keyword=a+b%26c&moduleId=feed&sort=relevance&limit=20&from=7",
                "keyword=%E4%BB%93%E5%BA%93&moduleId=article&limit=20",
            ]
        );
    }

    #[test]
    fn failure_names_the_line_and_field() {
        for (text, said) in [
            ("a\n{\"moduleId\":\"x\"}", "q:2: keyword: is required"),
            ("{\"keyword\":\" \"}", "q:1: keyword: must not be blank"),
            ("{\"keyword\":\"a\",\"from\":\"x\"}", "q:1: from: must be an integer, not a string"),
            ("\n \n", "q: holds no queries"),
        ] {
            assert_eq!(read_text(text).unwrap_err(), said);
        }
        let said = read(&b"a\xff"[..], "q", &defaults()).unwrap_err();
        assert!(said.starts_with("q:1: ") && said.contains("UTF-8"), "{said}");
        let said = read(&b"a"[..], "q", &QueryDefaults::default()).unwrap_err();
        assert_eq!(said, "q:1: moduleId: is required, or --module");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(128))]

        #[test]
        fn keywords_are_read_literally(keywords in prop::collection::vec("[^\\s{\u{feff}][^\\s]{0,8}", 1..20)) {
            let queries = read_text(&keywords.join("\n")).unwrap();
            let read: Vec<&str> = queries.iter().map(|query| query.keyword.as_str()).collect();
            prop_assert_eq!(read, keywords);
        }

        #[test]
        fn seed_gives_one_order_of_all(count in 0_u32..200, seed in any::<u64>()) {
            let sorted: Vec<u32> = (0..count).collect();
            let mut once = sorted.clone();
            arrange(&mut once, Some(seed));
            let mut again = sorted.clone();
            arrange(&mut again, Some(seed));
            prop_assert_eq!(&once, &again);
            once.sort_unstable();
            prop_assert_eq!(&once, &sorted);
            arrange(&mut once, None);
            prop_assert_eq!(once, sorted);
        }
    }
}
