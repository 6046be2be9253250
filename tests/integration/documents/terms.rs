use std::fs;

use super::{book, root};

#[test]
fn glossary_names_types_where_they_are() {
    let glossary = fs::read_to_string(book().join("glossary.md")).unwrap();
    let code = regex::Regex::new(r"`([^`]+)`").unwrap();
    let mut terms = 0;
    for row in glossary.lines().filter(|line| line.starts_with("| **")) {
        let place = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<&str> = code.captures_iter(place).map(|name| name.get(1).unwrap().as_str()).collect();
        let (path, types) = names.split_last().unwrap_or_else(|| panic!("no file: {row}"));
        let path = root().join(path);
        assert!(path.exists(), "{} does not exist: {row}", path.display());
        for name in types {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(name), "{} does not mention {name}", path.display());
        }
        terms += 1;
    }
    assert!(terms >= 40, "{terms}");
}
