//! Removal of folders: tree and quota at once, rows in batches.

use super::access::{Access, FolderViewer};
use crate::{
    error::Result,
    store::{self, Store, Transaction, Value, now_millis, sql},
};

/// Change log type; the index drops documents below the folder.
pub const DIRECTORY: &str = "directory";

const PORTION: u64 = 500;

const NEXT: &str = "SELECT id FROM directories WHERE removed_at IS NOT NULL ORDER BY removed_at, id LIMIT 1";

const FILES_AT_A_TIME: u64 = 50;

/// Detaches a folder, not a root.
pub(super) async fn remove(transaction: &Transaction, tenant_id: i64, found: &Access) -> Result<()> {
    let bytes = bytes_below(transaction, &found.id).await?;
    for (table, id) in [("tenants", tenant_id.into()), ("directories", found.root_id.as_str().into())] {
        let text = format!("UPDATE {table} SET file_bytes = file_bytes - ? WHERE id = ?");
        sql(text, [bytes.into(), id]).execute(transaction).await?;
    }
    let statement = sql(
        "UPDATE directories SET removed_at = ?, parent_id = NULL, locked_by = NULL, locked_at = NULL WHERE id = ?",
        [now_millis().into(), found.id.as_str().into()],
    );
    statement.execute(transaction).await?;
    transaction.record_change(tenant_id, DIRECTORY, &found.id);
    transaction.request_maintenance();
    Ok(())
}

/// Detached folder whose contents maintenance removes.
pub async fn make_removed(transaction: &Transaction, viewer: &FolderViewer<'_>) -> store::Result<String> {
    let (id, now) = (uuid::Uuid::now_v7().to_string(), now_millis());
    let statement = sql(
        "INSERT INTO directories (id, tenant_id, name, name_key, created_by, created_at, updated_at, removed_at) \
         VALUES (?, ?, '', '', ?, ?, ?, ?)",
        [
            id.as_str().into(),
            viewer.tenant_id.into(),
            viewer.user_id.into(),
            now.into(),
            now.into(),
            now.into(),
        ],
    );
    statement.execute(transaction).await?;
    transaction.request_maintenance();
    Ok(id)
}

/// Detaches a removed subject's folders, which maintenance removes.
pub async fn remove_all_of(transaction: &Transaction, tenant_id: i64, subject: &str) -> Result<()> {
    let statement = sql(
        "SELECT id, file_bytes FROM directories WHERE tenant_id = ? AND subject = ?",
        [tenant_id.into(), subject.into()],
    );
    let root: Option<(String, i64)> = statement.fetch_optional(transaction).await?;
    let Some((id, bytes)) = root else { return Ok(()) };
    let statement =
        sql("UPDATE tenants SET file_bytes = file_bytes - ? WHERE id = ?", [bytes.into(), tenant_id.into()]);
    statement.execute(transaction).await?;
    // Roots without subject belong to no tree.
    let statement = sql(
        "UPDATE directories SET removed_at = ?, subject = NULL, file_bytes = 0 WHERE id = ?",
        [now_millis().into(), id.as_str().into()],
    );
    statement.execute(transaction).await?;
    transaction.record_change(tenant_id, DIRECTORY, &id);
    transaction.request_maintenance();
    Ok(())
}

async fn bytes_below(transaction: &Transaction, id: &str) -> store::Result<i64> {
    let statement = sql(
        "WITH RECURSIVE below (id) AS ( \
           SELECT ? \
           UNION ALL SELECT next.id FROM below CROSS JOIN directories AS next INDEXED BY directories_by_parent \
             ON next.parent_id = below.id) \
         SELECT CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT) AS bytes FROM below \
         CROSS JOIN files INDEXED BY bytes_of_directories ON files.directory_id = below.id",
        [id.into()],
    );
    statement.fetch_value(transaction).await
}

/// Deletes a batch. Returns whether it was the last.
pub async fn remove_portion(store: &Store) -> Result<bool> {
    let any = sql("SELECT 1 FROM directories WHERE removed_at IS NOT NULL LIMIT 1", []);
    if !any.exists(store.reader()).await? {
        return Ok(true);
    }
    let job = store.write(|transaction| {
        Box::pin(async move {
            let mut left = PORTION;
            while left > 0 {
                let next: Option<String> = sql(NEXT, []).fetch_optional_value(transaction).await?;
                let Some(id) = next else { return Ok(true) };
                left = left.saturating_sub(remove_some(transaction, &id, left).await?);
            }
            Ok(false)
        })
    });
    job.await
}

/// Up to `most` rows, the folder's own last. Returns their number.
async fn remove_some(transaction: &Transaction, id: &str, most: u64) -> store::Result<u64> {
    let mut removed = 0;
    // Detaches child folders for separate removal.
    let statement = sql(
        "UPDATE directories SET removed_at = (SELECT removed_at FROM directories WHERE id = ?1), parent_id = NULL \
         WHERE id IN (SELECT id FROM directories WHERE parent_id = ?1 LIMIT ?2)",
        [id.into(), most.into()],
    );
    removed += statement.execute(transaction).await?;
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
        removed += statement.execute(transaction).await?;
    }
    if removed < most {
        removed += sql("DELETE FROM directories WHERE id = ?", [id.into()]).execute(transaction).await?;
    }
    Ok(removed)
}

/// Versions before files, since cascades exceed the batch. Returns the number of rows.
async fn remove_files(transaction: &Transaction, id: &str, most: u64) -> store::Result<u64> {
    let files = sql(
        "SELECT id FROM files WHERE directory_id = ? LIMIT ?",
        [id.into(), most.min(FILES_AT_A_TIME).into()],
    );
    let ids: Vec<String> = files.fetch_values(transaction).await?;
    let ids = Value::List(ids);
    let versions = sql(
        "DELETE FROM file_versions WHERE (file_id, version) IN (SELECT file_id, version FROM json_each(?1) AS file \
           CROSS JOIN file_versions ON file_versions.file_id = file.value LIMIT ?2)",
        [ids.clone(), most.into()],
    );
    let removed = versions.execute(transaction).await?;
    let files = sql(
        "DELETE FROM files WHERE id IN (SELECT file.value FROM json_each(?1) AS file \
           WHERE NOT EXISTS (SELECT 1 FROM file_versions WHERE file_id = file.value) LIMIT ?2)",
        [ids, most.saturating_sub(removed).into()],
    );
    Ok(removed + files.execute(transaction).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::query_plan;

    #[tokio::test]
    async fn next_removed_folder_is_found_without_sorting() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let plan = query_plan(store.reader(), sql(NEXT, [])).await.join("; ");
        store.close().await.unwrap();
        assert!(plan.contains("COVERING INDEX removed_directories") && !plan.contains(';'), "{plan}");
    }
}
