use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    platform::shared::documents::DocumentRows,
    store::{self, Connection, FromRow, Value, find_values_in, sql},
};

#[derive(Clone, Debug, FromRow)]
pub(super) struct FileRow {
    pub(super) id: String,
    pub(super) tenant_id: i64,
    pub(super) directory_id: String,
    pub(super) name: String,
    pub(super) extension: String,
    pub(super) version: i64,
    pub(super) size: i64,
    pub(super) created_by_name: String,
    pub(super) updated_at: i64,
    pub(super) text: Option<String>,
    pub(super) problem: Option<String>,
}

/// Rows of files, with their texts.
pub const ROWS: DocumentRows = DocumentRows {
    table: "files",
    columns: "files.id, files.tenant_id, files.directory_id, files.name, files.extension, files.version, files.size, \
        files.created_by_name, files.updated_at, blob_texts.text, blob_texts.problem",
    from: "files LEFT JOIN blob_texts ON blob_texts.sha256 = files.sha256 AND blob_texts.read_as = files.read_as WHERE",
    tenant: "+files.tenant_id",
    id: "files.id",
    sequence: "files.sequence",
};

pub(super) async fn live_directories(
    reader: &Connection,
    tenant_id: i64,
    ids: &[String],
) -> store::Result<HashSet<String>> {
    let text = "SELECT id FROM directories WHERE +tenant_id = ? AND removed_at IS NULL AND id";
    find_values_in(reader, text, &[tenant_id.into()], ids).await
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// Each name after a slash; a slash for a root.
    pub(super) path: String,
    pub(super) subject: String,
    pub(super) directories: Vec<String>,
}

#[derive(Debug, FromRow)]
struct AncestorRow {
    of_directory: String,
    id: String,
    name: String,
    subject: Option<String>,
}

pub(super) async fn chains(
    reader: &Connection,
    directories: BTreeSet<&str>,
) -> store::Result<HashMap<String, Chain>> {
    let ids = Value::list(directories);
    let statement = sql(
        "WITH RECURSIVE above (of_directory, depth, id, name, parent_id, subject) AS ( \
           SELECT id, 0, id, name, parent_id, subject FROM directories \
             WHERE id IN (SELECT value FROM json_each(?)) \
           UNION ALL \
           SELECT of_directory, depth + 1, next.id, next.name, next.parent_id, next.subject \
             FROM above JOIN directories AS next ON next.id = above.parent_id) \
         SELECT of_directory, id, name, subject FROM above ORDER BY of_directory, depth",
        [ids],
    );
    let links = statement.fetch_all::<AncestorRow>(reader).await?;
    let same = |left: &AncestorRow, right: &AncestorRow| left.of_directory == right.of_directory;
    Ok(links.chunk_by(same).filter_map(chain).collect())
}

fn chain(links: &[AncestorRow]) -> Option<(String, Chain)> {
    let (root, folders) = links.split_last()?;
    let subject = root.subject.clone()?;
    let names: Vec<&str> = folders.iter().rev().map(|link| link.name.as_str()).collect();
    let chain = Chain {
        path: format!("/{}", names.join("/")),
        subject,
        directories: links.iter().map(|link| link.id.clone()).collect(),
    };
    Some((root.of_directory.clone(), chain))
}
