//! Rights and ownership of folders, as principals.

use crate::{
    identity::principals::{may_be_given_rights, user_principal},
    store::{self, Connection, Value, sql},
};

/// Limit of deleted subjects that fall to the enterprise's owners.
const MAX_ORPHANED: u64 = 1_000;

/// Deleted subjects; a synchronisation may restore them.
const ORPHANED: &str = "SELECT subject FROM directories INDEXED BY orphaned_directories \
    WHERE tenant_id = ? AND is_orphaned ORDER BY subject LIMIT ?";

/// Deleted subjects whose folders fall to the enterprise's owners.
pub async fn orphaned_subjects(connection: &Connection, tenant_id: i64) -> store::Result<Vec<String>> {
    sql(ORPHANED, [tenant_id.into(), MAX_ORPHANED.into()]).fetch_values(connection).await
}

/// Maximum rights on folders of one person, which keeps queries small.
pub const MAX_RIGHTS: u64 = 10_000;

/// Selects in index order: by target and subject, oldest folders first.
const FOLDERS_GIVEN: &str = "SELECT directory_id FROM directory_grants \
    WHERE tenant_id = ? AND target IN (SELECT value FROM json_each(?)) ORDER BY target, root_id, directory_id LIMIT ?";

/// Ids of the folders that these principals may read.
///
/// If there are more than [`MAX_RIGHTS`], personal rights come first, then departments', then the oldest groups'.
pub async fn folders_given(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
    principals: &[String],
) -> store::Result<Vec<String>> {
    let own = user_principal(user_id);
    let others: Vec<&String> =
        principals.iter().filter(|&principal| may_be_given_rights(principal) && *principal != own).collect();
    let mut folders = Vec::new();
    for targets in [vec![&own], others] {
        let left = MAX_RIGHTS.saturating_sub(u64::try_from(folders.len()).unwrap_or(MAX_RIGHTS));
        let statement = sql(FOLDERS_GIVEN, [tenant_id.into(), Value::list(targets), left.into()]);
        folders.extend(statement.fetch_values::<String>(connection).await?);
    }
    folders.sort_unstable();
    folders.dedup();
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, tests::query_plan};

    #[tokio::test]
    async fn rights_and_orphaned_folders_are_ranges_of_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        for (text, range) in [(FOLDERS_GIVEN, "(tenant_id=? AND target=?)"), (ORPHANED, "(tenant_id=?)")] {
            let values = vec![1.into(); text.matches('?').count()];
            let plan = query_plan(store.reader(), sql(text, values)).await.join("; ");
            assert!(plan.contains("USING COVERING INDEX") && plan.contains(range), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
        store.close().await.unwrap();
    }
}
