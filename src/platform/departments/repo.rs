//! Department rows.

use std::collections::{BTreeSet, HashSet};

use super::{
    forms::{OrganizationRead, OrganizationWrite},
    rules::Organization,
    tree::{Tree, TreePosition},
};
use crate::{
    error::Result,
    platform::shared::{directory_rows::DirectoryRow, patch::ChangesAfter},
    store::{self, Connection, FromRow, Transaction, find_in, find_values_in, sql},
};

/// Existing departments with these ids.
pub async fn existing(
    transaction: &Transaction,
    tenant_id: i64,
    org_ids: &[impl AsRef<str>],
) -> Result<HashSet<String>> {
    ids_of(transaction, tenant_id, "NOT is_deleted", org_ids).await
}

/// Visible departments with these ids.
pub async fn shown(
    transaction: &Transaction,
    tenant_id: i64,
    org_ids: &[impl AsRef<str>],
) -> Result<HashSet<String>> {
    ids_of(transaction, tenant_id, "NOT is_deleted AND NOT is_hidden", org_ids).await
}

async fn ids_of(
    transaction: &Transaction,
    tenant_id: i64,
    condition: &'static str,
    org_ids: &[impl AsRef<str>],
) -> Result<HashSet<String>> {
    let text = format!("SELECT org_id FROM organizations WHERE tenant_id = ? AND {condition} AND org_id");
    Ok(find_values_in(transaction, &text, &[tenant_id.into()], org_ids).await?)
}

/// Whether one department without chat contains all; above deleted ones none counts.
pub async fn users_without_chat(
    transaction: &Transaction,
    tenant_id: i64,
    org_ids: &BTreeSet<&str>,
) -> Result<bool> {
    // UNION terminates on cycles.
    let text = "WITH RECURSIVE above (org_id, parent_id, enable_chat) AS ( \
          SELECT org_id, parent_id, enable_chat FROM organizations \
            WHERE tenant_id = ?1 AND org_id = ?2 AND NOT is_deleted \
          UNION \
          SELECT next.org_id, next.parent_id, next.enable_chat FROM organizations AS next \
            JOIN above ON next.org_id = above.parent_id WHERE next.tenant_id = ?1 AND NOT next.is_deleted) \
        SELECT org_id FROM above WHERE enable_chat = 0";
    let mut above_all: Option<HashSet<String>> = None;
    for org_id in org_ids {
        let above: Vec<String> =
            sql(text, [tenant_id.into(), (*org_id).into()]).fetch_values(transaction).await?;
        let mut above: HashSet<String> = above.into_iter().collect();
        if let Some(before) = &above_all {
            above.retain(|id| before.contains(id));
        }
        if above.is_empty() {
            return Ok(false);
        }
        above_all = Some(above);
    }
    Ok(above_all.is_some())
}

/// Ids of a person's departments and those above, up to deleted ones.
///
/// `deputy_org_ids` is a JSON list of further departments.
pub async fn with_ancestors(
    connection: &Connection,
    tenant_id: i64,
    org_id: Option<&str>,
    deputy_org_ids: &str,
) -> store::Result<Vec<String>> {
    // UNION also ends cycles.
    let statement = sql(
        "WITH RECURSIVE mine (org_id, parent_id) AS ( \
           SELECT org_id, parent_id FROM organizations WHERE tenant_id = ?1 AND NOT is_deleted \
             AND (org_id = ?2 OR org_id IN (SELECT value FROM json_each(?3))) \
           UNION \
           SELECT above.org_id, above.parent_id FROM organizations AS above JOIN mine ON above.org_id = mine.parent_id \
             WHERE above.tenant_id = ?1 AND NOT above.is_deleted) \
         SELECT DISTINCT org_id FROM mine",
        [tenant_id.into(), org_id.into(), deputy_org_ids.into()],
    );
    statement.fetch_values(connection).await
}

/// Departments headed by a person, and whether each is at the top.
///
/// `principal` names the head by id or login.
pub async fn headed_by(
    connection: &Connection,
    tenant_id: i64,
    user_id: &str,
    login_id: &str,
) -> store::Result<Vec<(String, bool)>> {
    let statement = sql(
        "SELECT org_id, parent_id IS NULL AS is_top FROM organizations WHERE tenant_id = ?1 AND NOT is_deleted \
         AND principal IN (?2, ?3)",
        [tenant_id.into(), user_id.into(), login_id.into()],
    );
    statement.fetch_all(connection).await
}

pub(super) async fn load_tree(transaction: &Transaction, tenant_id: i64) -> Result<Tree> {
    let text = "SELECT org_id, parent_id, platform_org_id, is_deleted FROM organizations WHERE tenant_id = ?";
    let places = sql(text, [tenant_id.into()]).fetch_all::<TreePosition>(transaction).await?;
    let mut tree = Tree::default();
    for place in places {
        tree.put(place);
    }
    Ok(tree)
}

/// Stored rows of these changes.
pub(super) async fn load(
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[OrganizationWrite],
) -> Result<Vec<Organization>> {
    let ids: Vec<&str> = changes.iter().map(|change| change.org_id.as_str()).collect();
    let columns = Organization::COLUMNS.join(", ");
    let text = format!("SELECT {columns} FROM organizations WHERE tenant_id = ? AND org_id");
    Ok(find_in(transaction, &text, &[tenant_id.into()], &ids).await?)
}

#[derive(Debug, FromRow)]
struct ListedDepartment {
    #[sqlx(flatten)]
    organization: Organization,
    platform_parent_id: Option<String>,
    updated_at: i64,
}

/// Returns changed departments, oldest first; reads one index range.
pub(super) async fn changed_organizations(
    reader: &Connection,
    tenant_id: i64,
    changes: ChangesAfter,
) -> store::Result<Vec<OrganizationRead>> {
    let values = [tenant_id.into(), changes.cursor.into(), changes.limit.into()];
    let rows = sql(page_query(), values).fetch_all::<ListedDepartment>(reader).await?;
    Ok(rows.into_iter().map(ListedDepartment::into_read).collect())
}

fn page_query() -> String {
    let columns: Vec<String> =
        Organization::COLUMNS.iter().map(|column| format!("organizations.{column}")).collect();
    format!(
        "SELECT {}, parents.platform_org_id AS platform_parent_id, organizations.updated_at FROM organizations \
         LEFT JOIN organizations AS parents ON parents.tenant_id = organizations.tenant_id \
         AND parents.org_id = organizations.parent_id \
         WHERE organizations.tenant_id = ? AND organizations.updated_at > ? ORDER BY organizations.updated_at LIMIT ?",
        columns.join(", ")
    )
}

impl ListedDepartment {
    fn into_read(self) -> OrganizationRead {
        let Self { organization: row, platform_parent_id, updated_at } = self;
        let details = row.details.0;
        OrganizationRead {
            org_id: row.org_id,
            parent_id: row.parent_id,
            platform_org_id: row.platform_org_id,
            platform_parent_id,
            org_num: details.org_num,
            name: row.name,
            full_name: details.full_name,
            full_path_name: details.full_path_name,
            description: details.description,
            telephone: details.telephone,
            email: details.email,
            principal: details.principal,
            level: details.level,
            order_no: row.order_no,
            enable_chat: row.enable_chat,
            secret_level: row.secret_level,
            is_force_receive: row.is_force_receive,
            is_hidden: row.is_hidden,
            is_deleted: row.is_deleted,
            status: row.status,
            source: details.source,
            hidden: row.is_hidden,
            deleted: row.is_deleted,
            force_receive: row.is_force_receive,
            last_updated_date: updated_at.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::store::{Store, sql, tests::query_plan};

    /// Cost depends on page size only.
    #[tokio::test]
    async fn page_is_one_index_range() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let plan = query_plan(store.reader(), sql(super::page_query(), vec![1.into(); 3])).await.join("; ");
        assert!(plan.contains("tenant_id=? AND updated_at>?") && !plan.contains("TEMP B-TREE"), "{plan}");
        store.close().await.unwrap();
    }
}
