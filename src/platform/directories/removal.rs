//! The end of a folder, of all of a subject, or of some files: what is below is in no tree at once, and counts for no quota; the rows go in portions
//! afterwards (`upkeep`).

use sea_orm::{ConnectionTrait, DbErr};

use super::access::{Access, Seer};
use crate::{
    error::Result,
    store::{Store, Transaction, now_millis, sql},
};

/// What stands for the module in the change log's entry of a folder that is gone: the index drops every document below it.
pub const DIRECTORY: &str = "directory";

/// Rows that are removed in one transaction.
const PORTION: u64 = 500;

/// The folder that went first.
const NEXT: &str = "SELECT id FROM directories WHERE removed_at IS NOT NULL ORDER BY removed_at, id LIMIT 1";

/// Files whose versions are looked at together.
const FILES_AT_A_TIME: u64 = 50;

/// Takes a folder, which is no root, out of its tree.
pub(super) async fn remove(transaction: &Transaction, tenant_id: i64, found: &Access) -> Result<()> {
    let bytes = bytes_below(transaction, &found.id).await?;
    for (table, id) in [("tenants", tenant_id.into()), ("directories", found.root_id.as_str().into())] {
        let text = format!("UPDATE {table} SET file_bytes = file_bytes - ? WHERE id = ?");
        transaction.execute_raw(sql(text, [bytes.into(), id])).await?;
    }
    let statement = sql(
        "UPDATE directories SET removed_at = ?, parent_id = NULL, locked_by = NULL, locked_at = NULL WHERE id = ?",
        [now_millis().into(), found.id.as_str().into()],
    );
    transaction.execute_raw(statement).await?;
    transaction.record_change(tenant_id, DIRECTORY, &found.id);
    Ok(())
}

/// Makes a folder that is gone already, for what is removed on its own; answers its id. `Upkeep::wake` is due then.
///
/// # Errors
/// Those of the database.
pub async fn make_removed(transaction: &Transaction, seer: &Seer<'_>) -> Result<String, DbErr> {
    let (id, now) = (uuid::Uuid::now_v7().to_string(), now_millis());
    let statement = sql(
        "INSERT INTO directories (id, tenant_id, name, name_key, created_by, created_at, updated_at, removed_at) \
         VALUES (?, ?, '', '', ?, ?, ?, ?)",
        [id.as_str().into(), seer.tenant_id.into(), seer.user_id.into(), now.into(), now.into(), now.into()],
    );
    transaction.execute_raw(statement).await?;
    Ok(id)
}

/// Takes all folders of a subject that ends, its root with all that is below it, out of the tenant at once. The rows go in portions:
/// whoever calls this wakes the upkeep once it is durable.
///
/// # Errors
/// Those of the database.
pub async fn remove_all_of(transaction: &Transaction, tenant_id: i64, subject: &str) -> Result<()> {
    let statement = sql(
        "SELECT id, file_bytes FROM directories WHERE tenant_id = ? AND subject = ?",
        [tenant_id.into(), subject.into()],
    );
    let Some(root) = transaction.query_one_raw(statement).await? else { return Ok(()) };
    let (id, bytes): (String, i64) = (root.try_get("", "id")?, root.try_get("", "file_bytes")?);
    let statement =
        sql("UPDATE tenants SET file_bytes = file_bytes - ? WHERE id = ?", [bytes.into(), tenant_id.into()]);
    transaction.execute_raw(statement).await?;
    // Without a subject it is in no tree, as a folder is without one above.
    let statement = sql(
        "UPDATE directories SET removed_at = ?, subject = NULL, file_bytes = 0 WHERE id = ?",
        [now_millis().into(), id.as_str().into()],
    );
    transaction.execute_raw(statement).await?;
    transaction.record_change(tenant_id, DIRECTORY, &id);
    Ok(())
}

/// The bytes of all files in a folder and below it, in all their versions.
async fn bytes_below(transaction: &Transaction, id: &str) -> Result<i64, DbErr> {
    let statement = sql(
        "WITH RECURSIVE below (id) AS ( \
           SELECT ? \
           UNION ALL SELECT next.id FROM below CROSS JOIN directories AS next INDEXED BY directories_by_parent \
             ON next.parent_id = below.id) \
         SELECT COALESCE(SUM(stored_bytes), 0) AS bytes FROM below \
         CROSS JOIN files INDEXED BY bytes_of_directories ON files.directory_id = below.id",
        [id.into()],
    );
    transaction.query_one_raw(statement).await?.map_or(Ok(0), |row| row.try_get("", "bytes"))
}

/// Removes some rows of folders that are gone. Answers whether that is done.
///
/// # Errors
/// 503 where the store cannot take it now.
pub async fn remove_portion(store: &Store) -> Result<bool> {
    let any = sql("SELECT 1 FROM directories WHERE removed_at IS NOT NULL LIMIT 1", []);
    if store.reader().query_one_raw(any).await?.is_none() {
        return Ok(true);
    }
    let job = store.write(|transaction| {
        Box::pin(async move {
            let mut left = PORTION;
            while left > 0 {
                let Some(row) = transaction.query_one_raw(sql(NEXT, [])).await? else { return Ok(true) };
                let id: String = row.try_get("", "id")?;
                left = left.saturating_sub(remove_some(transaction, &id, left).await?);
            }
            Ok(false)
        })
    });
    job.await
}

/// Removes up to `most` rows of a folder that is gone, its own at last. Answers how many.
async fn remove_some(transaction: &Transaction, id: &str, most: u64) -> Result<u64, DbErr> {
    let mut removed = 0;
    // The folders in it are gone on their own from now on.
    let statement = sql(
        "UPDATE directories SET removed_at = (SELECT removed_at FROM directories WHERE id = ?1), parent_id = NULL \
         WHERE id IN (SELECT id FROM directories WHERE parent_id = ?1 LIMIT ?2)",
        [id.into(), most.into()],
    );
    removed += transaction.execute_raw(statement).await?.rows_affected();
    while removed < most {
        match remove_files(transaction, id, most - removed).await? {
            0 => break,
            files => removed += files,
        }
    }
    if removed < most {
        let statement = sql(
            "DELETE FROM directory_grants WHERE directory_id = ?1 AND target IN \
               (SELECT target FROM directory_grants WHERE directory_id = ?1 LIMIT ?2)",
            [id.into(), (most - removed).into()],
        );
        removed += transaction.execute_raw(statement).await?.rows_affected();
    }
    if removed < most {
        removed += transaction
            .execute_raw(sql("DELETE FROM directories WHERE id = ?", [id.into()]))
            .await?
            .rows_affected();
    }
    Ok(removed)
}

/// Removes some versions of some files of the folder, and the files once these are gone: a file would take along, uncounted, as many
/// as it has. Answers how many rows.
async fn remove_files(transaction: &Transaction, id: &str, most: u64) -> Result<u64, DbErr> {
    let files = sql(
        "SELECT COALESCE(json_group_array(id), '[]') AS ids FROM (SELECT id FROM files WHERE directory_id = ? LIMIT ?)",
        [id.into(), most.min(FILES_AT_A_TIME).into()],
    );
    let ids: String = match transaction.query_one_raw(files).await? {
        Some(row) => row.try_get("", "ids")?,
        None => return Ok(0),
    };
    let versions = sql(
        "DELETE FROM file_versions WHERE (file_id, version) IN (SELECT file_id, version FROM json_each(?1) AS file \
           CROSS JOIN file_versions ON file_versions.file_id = file.value LIMIT ?2)",
        [ids.as_str().into(), most.into()],
    );
    let removed = transaction.execute_raw(versions).await?.rows_affected();
    let files = sql(
        "DELETE FROM files WHERE id IN (SELECT file.value FROM json_each(?1) AS file \
           WHERE NOT EXISTS (SELECT 1 FROM file_versions WHERE file_id = file.value) LIMIT ?2)",
        [ids.into(), most.saturating_sub(removed).into()],
    );
    Ok(removed + transaction.execute_raw(files).await?.rows_affected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_next_folder_is_found_without_sorting_those_that_are_gone() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let plan = sql(format!("EXPLAIN QUERY PLAN {NEXT}"), []);
        let plan = store.reader().query_all_raw(plan).await.unwrap();
        store.close().await.unwrap();
        let steps: Vec<String> = plan.iter().map(|step| step.try_get("", "detail").unwrap()).collect();
        assert!(steps.len() == 1 && steps[0].contains("COVERING INDEX removed_directories"), "{steps:?}");
    }
}
