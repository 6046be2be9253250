//! The threat model and the lines of ASVS name what exists, and leave nothing open.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use regex::Regex;

use super::{book, root};

const PAGES: [&str; 2] = ["threat-model.md", "asvs.md"];
/// Requirements of levels 1 and 2 in the chapters V1 to V17 of ASVS 5.0.0.
const REQUIREMENTS: [usize; 17] = [27, 11, 19, 10, 9, 35, 18, 7, 7, 29, 14, 9, 13, 9, 13, 16, 7];

fn page(name: &str) -> String {
    fs::read_to_string(book().join("explanation").join(name)).unwrap()
}

/// Texts in inline code, each with its page.
fn codes() -> Vec<(&'static str, String)> {
    let code = Regex::new("`([^`\n]+)`").unwrap();
    let of = |name| code.captures_iter(&page(name)).map(|found| (name, found[1].to_owned())).collect();
    PAGES.into_iter().flat_map(|name| -> Vec<_> { of(name) }).collect()
}

#[test]
fn tests_cited_by_security_pages_exist() {
    // A test over HTTP by its module, another by its file.
    let name = Regex::new(r"^([a-z0-9_]+(::[a-z0-9_]+)*|[a-z0-9_/]+\.rs)::[a-z0-9_]+$").unwrap();
    let (mut cited, mut absent) = (0, Vec::new());
    for (page, test) in codes().into_iter().filter(|(_, code)| name.is_match(code)) {
        let (place, function) = test.rsplit_once("::").unwrap();
        let file = if place.contains('.') {
            root().join(place)
        } else {
            root().join("tests/integration").join(place.replace("::", "/")).with_extension("rs")
        };
        let declared =
            Regex::new(&format!(r"#\[(tokio::)?test[^\]]*\]\s+(#\[[^\]]*\]\s+)*(async )?fn {function}\("))
                .unwrap();
        cited += 1;
        if !fs::read_to_string(file).is_ok_and(|text| declared.is_match(&text)) {
            absent.push(format!("{page}: {test}"));
        }
    }
    assert!(absent.is_empty(), "{}", absent.join("\n"));
    assert!(cited >= 200, "{cited}");
}

#[test]
fn files_cited_by_security_pages_exist() {
    let path = Regex::new(r"^(connectors|docs|engine|search|src|tests)/|\.toml$|^Cargo\.lock$").unwrap();
    let absent: Vec<_> = codes()
        .into_iter()
        .filter(|(_, code)| path.is_match(code) && !code.contains("::") && code != "trawl.toml")
        .filter(|(_, code)| !root().join(code).exists())
        .collect();
    assert!(absent.is_empty(), "{absent:?}");
}

#[test]
fn each_requirement_of_asvs_has_one_state() {
    let row =
        Regex::new(r"^\| (\d+)\.(\d+\.\d+) \| [12] \| [^|]+ \| (held|not applicable|not held) \| (.+) \|$")
            .unwrap();
    // A test, a document, or a check of the build.
    let evidence =
        Regex::new(r"`[^`]+::[a-z0-9_]+`|`(docs|tests|connectors/tests)/|/tests\.rs`|\.(lock|md|toml)`")
            .unwrap();
    let text = page("asvs.md");
    let mut found: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit()) {
        let parts =
            row.captures(line).unwrap_or_else(|| panic!("no number, level, state and reason: {line}"));
        let is_new = found.entry(parts[1].parse().unwrap()).or_default().insert(parts[2].to_owned());
        assert!(is_new, "twice: {line}");
        assert!(&parts[3] != "held" || evidence.is_match(&parts[4]), "held by nothing that can fail: {line}");
    }
    let counts: Vec<_> = found.iter().map(|(chapter, numbers)| (*chapter, numbers.len())).collect();
    assert_eq!(counts, (1..).zip(REQUIREMENTS).collect::<Vec<_>>());
}

#[test]
fn security_pages_leave_nothing_open() {
    let open = Regex::new(r"(?i)\b(should|todo)\b|TBD").unwrap();
    for name in PAGES {
        let text = page(name);
        let lines: Vec<_> = text.lines().filter(|line| open.is_match(line)).collect();
        assert!(lines.is_empty(), "{name}:\n{}", lines.join("\n"));
    }
}
