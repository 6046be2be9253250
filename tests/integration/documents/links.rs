use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::{book, documents, files_below, root};

#[test]
fn relative_links_and_anchors_resolve() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            if let Err(reason) = resolve(&document, link) {
                let document = document.strip_prefix(root()).unwrap();
                broken.push(format!("{}: {link}: {reason}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let summary = fs::read_to_string(book().join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = links(&summary).iter().map(|link| book().join(link)).collect();
    let pages: BTreeSet<PathBuf> = documents().into_iter().filter(|path| path.starts_with(book())).collect();
    let unlisted: Vec<_> = pages.difference(&listed).filter(|path| !path.ends_with("SUMMARY.md")).collect();
    assert!(unlisted.is_empty(), "{unlisted:?}");
}

#[test]
fn comments_cite_nothing_outside_of_the_project() {
    let outside = Regex::new(r"[Dd]ecisions? \d").unwrap();
    let crates = ["src", "engine", "index", "search", "opensearch", "connectors", "fair", "macros"];
    let folders = crates.into_iter().chain(["benches", "tests"]);
    let files = folders.flat_map(|folder| files_below(root().join(folder), "rs"));
    let citing: Vec<_> = files.filter(|file| outside.is_match(&fs::read_to_string(file).unwrap())).collect();
    assert!(citing.is_empty(), "{citing:?}");
}

fn links(text: &str) -> Vec<String> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
        .filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.into_string())
            }
            _ => None,
        })
        .collect()
}

fn resolve(document: &Path, link: &str) -> Result<(), String> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() { document.to_owned() } else { document.parent().unwrap().join(file) };
    let target = target.canonicalize().map_err(|error| error.to_string())?;
    // Links out of the book do not work in the built book.
    if document.starts_with(book()) && !target.starts_with(book()) {
        return Err("leads out of the book".to_owned());
    }
    if anchor.is_empty() || anchors(&fs::read_to_string(target).unwrap()).contains(anchor) {
        return Ok(());
    }
    Err("no such heading".to_owned())
}

/// The ids of headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let (mut found, mut times) = (BTreeSet::new(), HashMap::new());
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(text) | Event::Code(text), Some(title)) => title.push_str(&text),
            (Event::End(TagEnd::Heading(_)), Some(title)) => {
                let is_kept = |character: &char| character.is_alphanumeric() || "_- ".contains(*character);
                let slug = title.to_lowercase().chars().filter(is_kept).collect::<String>().replace(' ', "-");
                let time = times.entry(slug.clone()).or_insert(0);
                found.insert(if *time == 0 { slug } else { format!("{slug}-{time}") });
                *time += 1;
                heading = None;
            }
            _ => {}
        }
    }
    found
}
