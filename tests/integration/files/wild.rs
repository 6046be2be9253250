//! Files as programs of all kinds make them.

use std::{fs, path::Path};

use bytes::Bytes;
use futures::{StreamExt, stream};
use serde::Deserialize;

use crate::util::internals::{
    ExtractedText, ExtractionOutcome, Limits, ReaderAsker, ReaderPlaces, ReadingTask, Storage, TextFormat,
    TextReader,
};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expectation {
    /// Phrases that are found, with single spaces.
    words: Vec<String>,
    absent: Vec<String>,
    /// Whether the phrases stand in this order.
    order: bool,
    /// Words of the reason why the text is not whole; none if it is.
    problem: Option<String>,
    /// Another right reading.
    also: Option<Box<Expectation>>,
    /// The reason of both.
    note: Option<String>,
}

impl Expectation {
    /// What is otherwise.
    fn differences(&self, read: &ExtractedText) -> Vec<String> {
        if self.also.as_ref().is_some_and(|also| also.differences(read).is_empty()) {
            return Vec::new();
        }
        let text = read.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut found = Vec::new();
        let mut from = 0;
        for phrase in &self.words {
            match text[from..].find(phrase) {
                Some(place) if self.order => from += place + phrase.len(),
                Some(_) => {}
                None => found.push(format!("`{phrase}` is missing")),
            }
        }
        found.extend(
            self.absent
                .iter()
                .filter(|phrase| text.contains(*phrase))
                .map(|phrase| format!("`{phrase}` is there")),
        );
        let is_as_told = match (&self.problem, &read.problem) {
            (None, None) => true,
            (Some(wanted), Some(problem)) => problem.contains(wanted),
            _ => false,
        };
        if !is_as_told {
            found.push(format!("the problem is {:?}", read.problem));
        }
        if !found.is_empty() {
            found.push(format!("read: {}", &text[..text.floor_char_boundary(500)]));
        }
        found
    }
}

async fn read(path: &Path) -> ExtractedText {
    let storage = Storage {
        text_program: Some(env!("CARGO_BIN_EXE_trawl").into()),
        text_seconds: 60,
        ..Storage::default()
    };
    let reader = TextReader::new(&storage, &Limits::default(), ReaderPlaces::default()).unwrap();
    let extension = path.extension().unwrap_or_default().to_str().unwrap();
    let asker = ReaderAsker { group: 1, member: ReadingTask::Text };
    let content = fs::read(path).unwrap();
    let (size, content) = (content.len() as u64, stream::iter([Ok(Bytes::from(content))]).boxed());
    match reader.read(asker, TextFormat::of_extension(extension), size, content).await.unwrap() {
        ExtractionOutcome::Ended(read) => read,
        ExtractionOutcome::Cut { why, .. } => panic!("{}: {why}", path.display()),
    }
}

/// What is otherwise than expected in the files of a folder.
async fn differences(folder: &Path, expected: impl Fn(&str) -> Expectation) -> Vec<String> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_none_or(|extension| extension != "json"));
    files.sort();
    assert!(!files.is_empty());
    let mut differences = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let found = expected(name).differences(&read(&path).await);
        differences.extend(found.into_iter().map(|difference| format!("{name}: {difference}")));
    }
    differences
}

#[tokio::test]
async fn each_wild_file_is_read_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wild/docs");
    let expected =
        |name: &str| serde_json::from_slice(&fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
    let differences = differences(&folder, expected).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn each_shared_file_is_read_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/wild");
    let Ok(expected) = fs::read(folder.join("expected.json")) else {
        return println!("skipped: there is no {}", folder.display());
    };
    let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
    let of = |name: &str| Expectation::deserialize(&expected["docs"][name]).unwrap();
    let differences = differences(&folder.join("docs"), of).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
