//! Documents of the real texts in `../shared/data`, which is not part of the project.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use trawl_engine::{Audience, Document, Scope};

/// From the workspace, and from a work tree beside it.
const FOLDERS: [&str; 2] = ["../../shared/data", "../../../shared/data"];

/// One of this many documents is restricted.
const RESTRICTED_SHARE: usize = 5;
pub(crate) const GROUPS: usize = 7;
const MAX_PEOPLE: usize = 3_000;

#[derive(Debug, Clone, Copy)]
enum Form {
    /// Title and text as they are.
    Article,
    /// The text is the title.
    Headline,
    /// The text is matched and not shown.
    File,
}

/// Rows of a file that become documents of a scope.
struct Part {
    file: &'static str,
    /// Rows of the file, of which `documents` are taken evenly.
    rows: usize,
    documents: usize,
    /// Row of the first.
    first: usize,
    tenant: i64,
    module: &'static str,
    form: Form,
}

const PARTS: [Part; 9] = [
    part("zh_news_xwlb", 19_876, 3_000, 0, 1, "article", Form::Article),
    part("en_news_twir_items", 73_952, 4_000, 0, 1, "news", Form::Article),
    part("en_news_twir_items", 73_952, 2_000, 7, 2, "news", Form::Article),
    part("zh_weibo_hot_search", 588_436, 4_000, 0, 1, "feed", Form::Headline),
    part("zh_weibo_hot_search", 588_436, 9_000, 7, 2, "feed", Form::Headline),
    part("en_feed_ietf_comments", 32_262, 4_000, 0, 1, "comments", Form::Article),
    part("en_feed_git_commits", 60_751, 4_000, 0, 1, "file", Form::File),
    part("en_todo_ietf_issues", 7_739, 2_500, 0, 1, "todo", Form::Article),
    part("zh_todo_changelogs", 11_649, 3_800, 0, 2, "todo", Form::Article),
];

const fn part(
    file: &'static str,
    rows: usize,
    documents: usize,
    first: usize,
    tenant: i64,
    module: &'static str,
    form: Form,
) -> Part {
    Part { file, rows, documents, first, tenant, module, form }
}

#[derive(Deserialize)]
struct Row {
    id: String,
    title: String,
    text: String,
    author: String,
    /// Some rows have none.
    date: Option<String>,
}

/// The folder of the data; `None`, with a line printed, where it is absent.
pub(crate) fn data() -> Option<PathBuf> {
    let folders = FOLDERS.iter().map(|folder| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder));
    let folder = folders.into_iter().find(|folder| folder.is_dir());
    if folder.is_none() {
        println!("skipped: there is no ../shared/data");
    }
    folder
}

/// The lines of a compressed file.
pub(crate) fn lines(file: &Path) -> impl Iterator<Item = String> + use<> {
    let decoder = zstd::Decoder::new(File::open(file).unwrap()).unwrap();
    BufReader::new(decoder).lines().map(Result::unwrap)
}

/// Some of all texts, in nine scopes, and their authors as people.
pub(crate) fn documents(data: &Path) -> Vec<Document> {
    let mut documents: Vec<Document> = PARTS.iter().flat_map(|part| part.documents(data)).collect();
    let authors: BTreeSet<&str> = documents.iter().map(|document| document.author.as_str()).collect();
    let names = authors.into_iter().filter(|name| !name.is_empty()).take(MAX_PEOPLE);
    let people: Vec<Document> = names.enumerate().map(|(number, name)| person(number, name)).collect();
    documents.extend(people);
    documents
}

impl Part {
    fn documents(&self, data: &Path) -> Vec<Document> {
        let file = data.join("texts").join(self.file).with_extension("jsonl.zst");
        let step = self.rows / self.documents;
        let rows = lines(&file).skip(self.first).step_by(step).take(self.documents);
        rows.enumerate().map(|(number, row)| self.document(number, &row)).collect()
    }

    fn document(&self, number: usize, row: &str) -> Document {
        let Row { id, title, text, author, date } = serde_json::from_str(row).unwrap();
        let (title, brief, text) = match self.form {
            Form::Article => (title, text, None),
            Form::Headline => (text, String::new(), None),
            Form::File => (title, String::new(), Some(text.into())),
        };
        let display_time = date.as_deref().map_or(0, milliseconds);
        let item = json!({"itemId": id, "title": title, "brief": brief, "displayTime": display_time});
        Document {
            scope: Scope::new(self.tenant, self.module),
            item: item.to_string(),
            id,
            display_time,
            title,
            brief,
            text,
            author,
            audience: audience(number),
            ..Document::default()
        }
    }
}

fn person(number: usize, name: &str) -> Document {
    Document {
        scope: Scope::new(1, "people"),
        id: format!("p{number}"),
        title: name.to_owned(),
        title_is_name: true,
        other_names: vec![format!("u{number}")],
        audience: audience(number),
        item: json!({"itemId": format!("p{number}"), "title": name}).to_string(),
        ..Document::default()
    }
}

fn audience(number: usize) -> Audience {
    if !number.is_multiple_of(RESTRICTED_SHARE) {
        return Audience::Tenant;
    }
    let groups = [number / RESTRICTED_SHARE, number / 3].map(|group| format!("g:{}", group % GROUPS));
    Audience::Principals(groups.into())
}

/// A bare date is its midnight, so that many documents share a time.
fn milliseconds(date: &str) -> i64 {
    let of_day = |day: jiff::civil::Date| day.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
    let time = date.parse().or_else(|_| date.parse().map(of_day));
    time.unwrap().as_millisecond()
}
