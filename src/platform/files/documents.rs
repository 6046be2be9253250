//! Index documents of files, for permitted readers.
//!
//! Documents hold the root's owner and all folders above. A changed right changes no document. One change log entry removes a
//! folder ([`removed`]).

mod rows;

use std::collections::HashMap;

use serde::Serialize;
use trawl_connectors::ContentItem;
use trawl_engine::{Audience, Change, Document, Scope};

pub use self::rows::ROWS;
use self::rows::{Chain, FileRow};
use super::FILE;
use crate::{
    error::{Error, Result},
    identity::principals::{directory_principal, owner_principal},
    platform::shared::documents::{Selection, document},
    store::Connection,
};

/// Each document may hold a text of `limits.file_text_bytes`.
pub const AT_A_TIME: usize = 32;

const BRIEF_CHARACTERS: usize = 200;

/// Documents of the selected files that lie in a tree.
pub async fn read(reader: &Connection, selection: Selection<'_>) -> Result<Vec<Document>> {
    into_documents(reader, ROWS.read(reader, selection).await?).await
}

/// Index deletions below removed folders.
///
/// An operator's module may share the folders' code; its items have nothing below them.
pub async fn removed(reader: &Connection, tenant_id: i64, ids: &[String]) -> Result<Vec<Change>> {
    let there = rows::live_directories(reader, tenant_id, ids).await?;
    let gone = ids.iter().filter(|id| !there.contains(*id));
    let removal = |id: &String| Change::RemoveSeenBy {
        scope: Scope::new(tenant_id, FILE),
        principal: directory_principal(id),
    };
    Ok(gone.map(removal).collect())
}

async fn into_documents(reader: &Connection, rows: Vec<FileRow>) -> Result<Vec<Document>> {
    let directories = rows.iter().map(|row| row.directory_id.as_str()).collect();
    let chains: HashMap<String, Chain> = rows::chains(reader, directories).await?;
    rows.into_iter()
        .filter_map(|row| {
            // A removed folder and everything below it are in no tree.
            let chain = chains.get(&row.directory_id)?;
            Some(into_document(row, chain))
        })
        .collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileAttributes<'a> {
    extension: &'a str,
    size: i64,
    version: i64,
    directory_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text_problem: Option<&'a str>,
}

fn into_document(row: FileRow, chain: &Chain) -> Result<Document> {
    let text = row.text.unwrap_or_default();
    let attached = FileAttributes {
        extension: &row.extension,
        size: row.size,
        version: row.version,
        directory_id: &row.directory_id,
        text_problem: row.problem.as_deref(),
    };
    let item = ContentItem {
        id: row.id,
        title: row.name,
        sub_title: Some(chain.path.clone()),
        brief: beginning(&text, BRIEF_CHARACTERS),
        author: Some(row.created_by_name),
        display_time: row.updated_at,
        attach_info: Some(serde_json::to_string(&attached).map_err(Error::internal)?),
        ..ContentItem::default()
    };
    let principals = chain.directories.iter().map(|id| directory_principal(id));
    let audience = Audience::Principals(principals.chain([owner_principal(&chain.subject)]).collect());
    Ok(Document {
        brief: String::new(),
        text: Some(text.into()),
        ..document(Scope::new(row.tenant_id, FILE), item, audience)?
    })
}

/// The first characters on one line; `None` without any.
fn beginning(text: &str, characters: usize) -> Option<String> {
    let mut shown = String::new();
    let mut left = characters;
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        match word.char_indices().nth(left) {
            None => shown.push_str(word),
            Some((end, _)) => {
                shown.push_str(&word[..end]);
                return Some(format!("{}…", shown.trim_end()));
            }
        }
        left = left.saturating_sub(word.chars().count() + 1);
    }
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_one_line_of_so_many_characters() {
        for (text, expected) in [
            ("", None),
            (" \n\t ", None),
            (" high\n\n tide ", Some("high tide")),
            ("high tide at noon", Some("high tide a…")),
            ("high tides! at noon", Some("high tides!…")),
            ("high-tide-at-noon", Some("high-tide-a…")),
            ("潮水在中午的时候很高高高", Some("潮水在中午的时候很高高…")),
            ("high tides!", Some("high tides!")),
        ] {
            assert_eq!(beginning(text, 11).as_deref(), expected, "{text}");
        }
    }
}
