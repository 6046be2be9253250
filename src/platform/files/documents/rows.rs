//! Rows of files as the index wants them, and what is above them.

use std::collections::{BTreeSet, HashMap, HashSet};

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use crate::store::{end_of_portion, find_in, sql};

/// A file with the text of its newest content.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) tenant_id: i64,
    pub(super) directory_id: String,
    pub(super) name: String,
    pub(super) extension: String,
    pub(super) version: i64,
    pub(super) size: i64,
    pub(super) created_by_name: String,
    pub(super) updated_at: i64,
    /// None until its content was looked at.
    pub(super) text: Option<String>,
}

const FOUND: &str = "SELECT files.id, files.tenant_id, files.directory_id, files.name, files.extension, files.version, files.size, \
    files.created_by_name, files.updated_at, blob_texts.text \
    FROM files LEFT JOIN blob_texts ON blob_texts.sha256 = files.sha256 AND blob_texts.read_as = files.read_as WHERE";

/// Unary plus, as for tasks: each is looked up by its id, however many there are.
fn find_text() -> String {
    format!("{FOUND} +files.tenant_id = ? AND files.id")
}

/// The files with these ids in the tenant.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    find_in(reader, &find_text(), &[tenant_id.into()], ids).await
}

/// Up to `limit` files of all tenants after `sequence`, and the last one's number.
pub(super) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Row>, i64)>, DbErr> {
    let Some(last) = end_of_portion(reader, "files", sequence, limit).await? else { return Ok(None) };
    let text = format!("{FOUND} files.sequence > ? AND files.sequence <= ?");
    let rows = Row::find_by_statement(sql(text, [sequence.into(), last.into()])).all(reader).await?;
    Ok(Some((rows, last)))
}

/// How many rows a scan from the beginning looks at.
pub(super) async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64, DbErr> {
    let row = reader.query_one_raw(sql("SELECT COUNT(*) AS files FROM files", [])).await?;
    row.map_or(Ok(0), |row| row.try_get("", "files"))
}

/// Those of these folders of the tenant that were not removed.
pub(super) async fn live_directories<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<HashSet<String>, DbErr> {
    #[derive(FromQueryResult)]
    struct Found {
        id: String,
    }
    let text = "SELECT id FROM directories WHERE +tenant_id = ? AND removed_at IS NULL AND id";
    let rows: Vec<Found> = find_in(reader, text, &[tenant_id.into()], ids).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// A folder that is in a tree, with all that is above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// Names from the first-level folder on, each behind a slash; a slash of a root.
    pub(super) path: String,
    /// Whose it is.
    pub(super) subject: String,
    /// The ids of the folder and of all above it, the root included.
    pub(super) directories: Vec<String>,
}

/// One step on the way up from a folder.
#[derive(Debug, FromQueryResult)]
struct Link {
    of_directory: String,
    id: String,
    name: String,
    subject: Option<String>,
}

/// The chains of these folders, of those that are in a tree.
pub(super) async fn chains<C: ConnectionTrait>(
    reader: &C,
    directories: BTreeSet<&str>,
) -> Result<HashMap<String, Chain>, DbErr> {
    let ids = serde_json::to_string(&directories).map_err(|error| DbErr::Custom(error.to_string()))?;
    let statement = sql(
        "WITH RECURSIVE above (of_directory, depth, id, name, parent_id, subject) AS ( \
           SELECT id, 0, id, name, parent_id, subject FROM directories \
             WHERE id IN (SELECT value FROM json_each(?)) \
           UNION ALL \
           SELECT of_directory, depth + 1, next.id, next.name, next.parent_id, next.subject \
             FROM above JOIN directories AS next ON next.id = above.parent_id) \
         SELECT of_directory, id, name, subject FROM above ORDER BY of_directory, depth",
        [ids.into()],
    );
    let links = Link::find_by_statement(statement).all(reader).await?;
    let same = |left: &Link, right: &Link| left.of_directory == right.of_directory;
    Ok(links.chunk_by(same).filter_map(chain).collect())
}

/// From the folder itself up to the root.
fn chain(links: &[Link]) -> Option<(String, Chain)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{ROWS_PER_STATEMENT, tests::plan_of_find};

    #[tokio::test]
    async fn many_files_are_found_by_their_ids() {
        for count in [1, 2, super::super::AT_A_TIME, ROWS_PER_STATEMENT] {
            let plan = plan_of_find(&find_text(), &[1.into()], count).await;
            let first = plan.first().unwrap();
            assert!(
                first.starts_with("SEARCH files USING INDEX") && first.ends_with("(id=?)"),
                "{count}: {plan:?}"
            );
        }
    }
}
