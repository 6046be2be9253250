//! Words as the world writes them: tables of `tests/wild/words`, a scope for each line.

use std::fs;
use std::path::Path;

use serde_json::json;
use trawl_engine::{Document, Extent, Highlighter, Query, Scope, Start};

use super::support::{BEST, NEWEST, document, ids, index_of, request};
use crate::engine_under_test::{Index, Writer};

/// Texts that hold words of many lines, but none of them whole.
const OTHERS: [&str; 3] =
    ["another text", "notes of the base, the wi and the web, 2026, 15", "C, net, home; 季度 3"];

/// Lines of all tables of a kind: cells, after the name of the table.
fn lines(kind: &str) -> Vec<(String, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/wild/words").join(kind);
    let mut lines = Vec::new();
    for table in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = table.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&table).unwrap();
        lines.extend(text.lines().map(|line| (name.clone(), line.split('\t').map(str::to_owned).collect())));
    }
    assert!(!lines.is_empty(), "{kind} has no table");
    lines
}

fn scope_of(line: usize) -> Scope {
    Scope::new(7, format!("line{line}"))
}

/// A scope for each line, with its texts by their numbers, then [`OTHERS`].
fn index_of_lines<'t>(lines: impl Iterator<Item = &'t [String]>) -> (Index, Writer) {
    let of_line = |(line, texts): (usize, &'t [String])| {
        let texts = texts.iter().map(String::as_str).chain(OTHERS).enumerate();
        let of = move |(number, text): (usize, &str)| Document {
            scope: scope_of(line),
            brief: text.to_owned(),
            item: json!({"brief": text}).to_string(),
            ..document(&number.to_string(), "")
        };
        texts.map(of).collect::<Vec<Document>>()
    };
    index_of(lines.enumerate().flat_map(of_line).collect())
}

fn found(index: &Index, line: usize, keyword: &str, start: Start) -> Vec<String> {
    let query = Query::parse(keyword).with_spellings();
    ids(index.snapshot().search(&request(&scope_of(line), &query, start, 100)).unwrap())
}

/// Ids that a keyword finds: by time, by time with a space behind, by relevance.
fn ways(index: &Index, line: usize, keyword: &str) -> [Vec<String>; 3] {
    let finished = format!("{keyword} ");
    [(keyword, NEWEST), (finished.as_str(), NEWEST), (keyword, BEST)]
        .map(|(keyword, start)| found(index, line, keyword, start))
}

#[test]
fn spellings_of_a_table_find_each_other() {
    let mut failures = Vec::new();
    for (kind, is_first_asked) in [("same", false), ("first", true)] {
        let lines = lines(kind);
        let (index, _writer) = index_of_lines(lines.iter().map(|(_, spellings)| spellings.as_slice()));
        for (line, (table, spellings)) in lines.iter().enumerate() {
            for (number, keyword) in spellings.iter().enumerate() {
                let ways = ways(&index, line, keyword);
                for (way, found) in ways.iter().enumerate() {
                    let missing = (0..spellings.len()).filter(|id| !found.contains(&id.to_string()));
                    failures.extend(
                        missing.map(|id| format!("{table}: {keyword} lacks {} in way {way}", spellings[id])),
                    );
                }
                let first = ways[2].first();
                if is_first_asked && first != Some(&number.to_string()) {
                    failures.push(format!("{table}: {keyword} has {first:?} first"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn keywords_of_a_table_find_or_miss_their_texts() {
    let mut failures = Vec::new();
    for (kind, is_found) in [("found", true), ("missed", false)] {
        let lines = lines(kind);
        let (index, _writer) = index_of_lines(lines.iter().map(|(_, line)| &line[..1]));
        for (line, (table, cells)) in lines.iter().enumerate() {
            let [text, keyword] = cells.as_slice() else { panic!("{table}: {cells:?}") };
            let ways = ways(&index, line, keyword);
            // Relevance order requires no word.
            let asked = if is_found { &ways[..] } else { &ways[..2] };
            for (way, found) in asked.iter().enumerate() {
                if (found.first().map(String::as_str) == Some("0")) != is_found {
                    failures.push(format!("{table}: {keyword} in {text}, way {way}: {found:?}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn matches_of_a_table_are_marked_whole() {
    let mut failures = Vec::new();
    for (table, line) in lines("marks") {
        let [keyword, marked] = line.as_slice() else { panic!("{table}: {line:?}") };
        let query = Query::parse(keyword).with_spellings();
        let html = Highlighter::new(&query).mark(&marked.replace(['[', ']'], ""), Extent::Whole);
        let html = html.unwrap().replace("<em>", "[").replace("</em>", "]");
        if html != *marked {
            failures.push(format!("{table}: {keyword} gives {html}, not {marked}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
