//! Tables of figures in the READMEs: the headlines of `benches/results`.

use std::{fmt::Write, fs};

use super::root;

/// Files of `benches/results`, in the order of the tables.
const RESULTS: [&str; 16] = [
    "http/pages",
    "http/clients",
    "http/freshness",
    "http/import",
    "http/footprint",
    "http/replicas",
    "fan_out/overhead",
    "fan_out/throughput",
    "fan_out/hanging",
    "web/documents",
    "web/demo",
    "peers",
    "relevance",
    "scale",
    "page",
    "engines",
];

/// Stands above the one row that the tables take from a file.
const HEADLINE: &str = "\n## Headline\n\n| Measured | 测量内容 | Result | Bar | |\n|---|---|---|---|---|\n";

const BEGIN: &str =
    "<!-- figures: tests/integration/documents writes this table from benches/results -->\n\n";
const END: &str = "\n<!-- end of figures -->\n";

#[test]
fn tables_of_figures_are_current() {
    let mut all = String::from("| Measured | Result | Bar | |\n|---|---|---|---|\n");
    let mut english = all.clone();
    let mut chinese = String::from("| 测量内容 | 结果 | 目标 | |\n|---|---|---|---|\n");
    for name in RESULTS {
        let [measured, translated, result, bar, verdict] = headline(name);
        writeln!(all, "| `{name}`: {measured} | {result} | {bar} | {verdict} |").unwrap();
        if translated.is_empty() {
            continue;
        }
        let link = format!("[{name}](benches/results/{name}.md)");
        writeln!(english, "| {measured} ({link}) | {result} | {bar} | {verdict} |").unwrap();
        let verdict = verdict.replace("met", "达到").replace("missed", "未达到");
        writeln!(chinese, "| {translated}（{link}） | {result} | {bar} | {verdict} |").unwrap();
    }
    assert_table("benches/README.md", &all);
    assert_table("README.md", &english);
    assert_table("README.zh.md", &chinese);
}

/// Returns the cells of a file's headline; its tables hold the figures.
fn headline(name: &str) -> [String; 5] {
    let text = fs::read_to_string(root().join(format!("benches/results/{name}.md"))).unwrap();
    let origin = regex::Regex::new(r"(?m)^20\d\d-\d\d-\d\d.*, revision .+: `.*cargo .+` on .+").unwrap();
    assert!(origin.is_match(&text), "{name} does not tell its date, revision, command and machine");
    let (tables, row) = text.split_once(HEADLINE).unwrap_or_else(|| panic!("{name} has no headline"));
    let cells = row.split('|').skip(1).take(5).map(|cell| cell.trim().to_owned());
    let cells: [String; 5] = cells.collect::<Vec<_>>().try_into().unwrap();
    for figure in regex::Regex::new(r"\d+(\.\d+)?").unwrap().find_iter(&cells[2]) {
        assert!(tables.contains(figure.as_str()), "{name}: {} is in no table", figure.as_str());
    }
    assert_eq!(cells[3].is_empty(), cells[4].is_empty(), "{name}: a bar is met or missed");
    cells
}

/// Compares the document's table, or writes it.
fn assert_table(document: &str, table: &str) {
    let path = root().join(document);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("{document} lacks {BEGIN}"));
    let (old, after) = rest.split_once(END).unwrap_or_else(|| panic!("{document} lacks {END}"));
    if std::env::var_os("TRAWL_UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert!(
        old == table,
        "{document} is stale; run TRAWL_UPDATE_DOCS=1 cargo test --test integration documents"
    );
}
