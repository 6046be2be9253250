//! The layers of the source: a folder imports only from layers below its own (ARCHITECTURE.md, "Layers").

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The lowest layer first; folders of one layer do not import each other.
const LAYERS: &[&[&str]] = &[
    &["error", "json", "time"],
    &["budget", "index_progress", "rows"],
    &["confined"],
    &["identity"],
    &["config"],
    &["telemetry", "store"],
    &["replicas"],
    &["http", "audit", "figures"],
    &["auth"],
    &["registry"],
    &["blobs"],
    &["fuzzing", "platform"],
    &["indexer"],
    &["admin", "maintenance", "pages"],
    &["app"],
    &["server", "demo"],
    &["cli"],
];

#[test]
fn imports_lead_to_lower_layers_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut refused = BTreeSet::new();
    for file in rust_files(&root) {
        let folder = folder_of(file.strip_prefix(&root).unwrap());
        if ["lib", "main"].contains(&folder.as_str()) {
            continue;
        }
        let text = without_tests(&fs::read_to_string(&file).unwrap());
        for imported in imports(&text) {
            if imported != folder && layer(&imported) >= layer(&folder) {
                refused.insert(format!("{} imports crate::{imported}", file.display()));
            }
        }
    }
    assert!(refused.is_empty(), "arrows up or sideways:\n{}", Vec::from_iter(refused).join("\n"));
}

#[test]
fn areas_leave_each_others_repo_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/platform");
    let mut refused = Vec::new();
    for file in rust_files(&root) {
        let area = folder_of(file.strip_prefix(&root).unwrap());
        let text = without_tests(&fs::read_to_string(&file).unwrap()).replace(char::is_whitespace, "");
        let areas = other_areas(&root).into_iter().filter(|other| *other != area);
        refused.extend(
            areas
                .filter(|other| text.contains(&format!("platform::{other}::repo")))
                .map(|other| format!("{} uses the rows of {other}", file.display())),
        );
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// They start this program again, without a shell.
#[test]
fn processes_are_started_in_one_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let starts = |file: &PathBuf| without_tests(&fs::read_to_string(file).unwrap()).contains("Command::new(");
    let mut starting = BTreeSet::new();
    for folder in
        ["src", "connectors/src", "engine/src", "fair/src", "index/src", "opensearch/src", "search/src"]
    {
        starting.extend(rust_files(&root.join(folder)).into_iter().filter(starts));
    }
    assert_eq!(starting, BTreeSet::from([root.join("connectors/src/mapping/pool.rs")]));
}

fn other_areas(platform: &Path) -> BTreeSet<String> {
    rust_files(platform).iter().map(|file| folder_of(file.strip_prefix(platform).unwrap())).collect()
}

fn layer(folder: &str) -> usize {
    let place = LAYERS.iter().position(|layer| layer.contains(&folder));
    place.unwrap_or_else(|| panic!("src/{folder} has no layer: give it one in this test"))
}

fn folder_of(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

pub(crate) fn rust_files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && path.file_name().unwrap() != "tests" {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|end| end == "rs") && path.file_stem().unwrap() != "tests" {
            files.push(path);
        }
    }
    files
}

/// Drops comments and the module of unit tests.
fn without_tests(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// The folders behind `crate::`, alone or in braces.
fn imports(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, rest) in text.match_indices("crate::").map(|(at, _)| text.split_at(at + "crate::".len())) {
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            for part in group.split_inclusive(['{', '}', ',']) {
                if depth == 0 {
                    found.insert(part.trim().split([':', ',', '{', '}', ' ']).next().unwrap().to_owned());
                }
                match part.chars().last() {
                    Some('{') => depth += 1,
                    Some('}') if depth == 0 => break,
                    Some('}') => depth -= 1,
                    _ => {}
                }
            }
        } else {
            found.insert(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned());
        }
    }
    found.remove("");
    found
}
