use std::{collections::BTreeSet, fs, path::Path};

use regex::Regex;

use super::{book, root};

#[test]
fn metrics_page_names_every_metric() {
    let mut recorded = BTreeSet::new();
    for sources in ["src", "search/src", "index/src", "connectors/src"] {
        collect_metrics(&root().join(sources), &mut recorded);
    }
    let page = fs::read_to_string(book().join("reference/metrics.md")).unwrap();
    let documented = matches(&Regex::new(r"(?m)^\| `(trawl_\w+)`").unwrap(), &page);
    assert_eq!(documented, recorded);
}

fn collect_metrics(folder: &Path, found: &mut BTreeSet<String>) {
    let recorded = Regex::new(r#"(?:counter|gauge|histogram)!\(\s*"(trawl_\w+)""#).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_metrics(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.extend(matches(&recorded, &fs::read_to_string(&path).unwrap()));
        }
    }
}

fn matches(pattern: &Regex, text: &str) -> BTreeSet<String> {
    pattern.captures_iter(text).map(|found| found.get(1).unwrap().as_str().to_owned()).collect()
}
