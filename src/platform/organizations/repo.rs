//! Rows of departments.

use std::collections::{BTreeSet, HashMap, HashSet};

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult, Value};

use super::{
    documents,
    fields::{OrganizationRead, OrganizationWrite},
    model::Organization,
    tree::{Place, Tree},
};
use crate::{
    audit::{self, Actor, Deed},
    auth::tenants::Tenant,
    error::Result,
    platform::{
        common::{ChangesAfter, SyncFailure},
        tenants, users,
    },
    store::{ROWS_PER_STATEMENT, Transaction, find_in, placeholders, sql},
};

/// The columns of [`Organization`].
const COLUMNS: [&str; 12] = [
    "org_id",
    "platform_org_id",
    "parent_id",
    "name",
    "order_no",
    "enable_chat",
    "secret_level",
    "is_force_receive",
    "status",
    "is_hidden",
    "is_deleted",
    "details",
];

/// Those of these departments that are there and not deleted.
pub(super) async fn existing(
    transaction: &Transaction,
    tenant_id: i64,
    org_ids: &[impl AsRef<str>],
) -> Result<HashSet<String>> {
    ids_of(transaction, tenant_id, "is_deleted = 0", org_ids).await
}

/// Those of these departments that the tenant sees.
pub(super) async fn shown(
    transaction: &Transaction,
    tenant_id: i64,
    org_ids: &[impl AsRef<str>],
) -> Result<HashSet<String>> {
    ids_of(transaction, tenant_id, "is_deleted = 0 AND is_hidden = 0", org_ids).await
}

async fn ids_of(
    transaction: &Transaction,
    tenant_id: i64,
    condition: &'static str,
    org_ids: &[impl AsRef<str>],
) -> Result<HashSet<String>> {
    #[derive(FromQueryResult)]
    struct Row {
        org_id: String,
    }
    let text = format!("SELECT org_id FROM organizations WHERE tenant_id = ? AND {condition} AND org_id");
    let rows: Vec<Row> = find_in(&**transaction, &text, &[tenant_id.into()], org_ids).await?;
    Ok(rows.into_iter().map(|row| row.org_id).collect())
}

/// Whether there is a department without chat in which, or below which, all of these are. What is above one that is deleted is
/// not above the department any more, as for what its people see.
pub(super) async fn are_without_chat(
    transaction: &Transaction,
    tenant_id: i64,
    org_ids: &BTreeSet<&str>,
) -> Result<bool> {
    // UNION ends the walk up even if a cycle ever got in.
    let text = "WITH RECURSIVE above (org_id, parent_id, enable_chat) AS ( \
          SELECT org_id, parent_id, enable_chat FROM organizations \
            WHERE tenant_id = ?1 AND org_id = ?2 AND is_deleted = 0 \
          UNION \
          SELECT next.org_id, next.parent_id, next.enable_chat FROM organizations AS next \
            JOIN above ON next.org_id = above.parent_id WHERE next.tenant_id = ?1 AND next.is_deleted = 0) \
        SELECT org_id FROM above WHERE enable_chat = 0";
    let mut above_all: Option<HashSet<String>> = None;
    for org_id in org_ids {
        let above = transaction.query_all_raw(sql(text, [tenant_id.into(), (*org_id).into()])).await?;
        let mut above: HashSet<String> =
            above.iter().map(|row| row.try_get("", "org_id")).collect::<Result<_, _>>()?;
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

/// A department that a synchronisation changed, and what it was.
struct Changed {
    row: Organization,
    before: Option<Organization>,
}

/// Applies the changes in their order, each on its own: one that fails leaves the others alone. A row that is what it was is not
/// written. Answers the failures, and whether anything changed.
pub(super) async fn synchronise(
    transaction: &Transaction,
    actor: &Actor,
    tenant: &Tenant,
    changes: &[OrganizationWrite],
) -> Result<(Vec<SyncFailure>, bool)> {
    let mut tree = load_tree(transaction, tenant.id).await?;
    let before = load(transaction, tenant.id, changes).await?;
    let mut written: HashMap<String, Organization> = HashMap::new();
    let mut order = Vec::new();
    let mut failures = Vec::new();
    for change in changes {
        let known = written.get(&change.org_id).or_else(|| before.get(&change.org_id));
        match change.check().and_then(|()| change.apply(known, &tree)) {
            Ok(row) => {
                tree.put(row.place());
                order.push(row.org_id.clone());
                written.insert(row.org_id.clone(), row);
            }
            Err(message) => failures.push(SyncFailure { id: change.org_id.clone(), message }),
        }
    }
    let mut rows: Vec<Changed> = order
        .iter()
        // Each once, where it came first.
        .filter_map(|org_id| written.remove(org_id))
        .map(|row| Changed { before: before.get(&row.org_id).cloned(), row })
        .filter(|changed| Some(&changed.row) != changed.before.as_ref())
        .collect();
    // Whoever reads the changes in their order finds each parent before its children.
    rows.sort_by_cached_key(|changed| tree.depth(&changed.row.org_id));
    let is_changed = !rows.is_empty();
    if is_changed {
        store(transaction, actor, tenant, &rows).await?;
    }
    Ok((failures, is_changed))
}

async fn load_tree(transaction: &Transaction, tenant_id: i64) -> Result<Tree> {
    let text = "SELECT org_id, parent_id, platform_org_id, is_deleted FROM organizations WHERE tenant_id = ?";
    let places = Place::find_by_statement(sql(text, [tenant_id.into()])).all(&**transaction).await?;
    let mut tree = Tree::default();
    for place in places {
        tree.put(place);
    }
    Ok(tree)
}

/// The departments that the changes name, as they are.
async fn load(
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[OrganizationWrite],
) -> Result<HashMap<String, Organization>> {
    let ids: Vec<&str> = changes.iter().map(|change| change.org_id.as_str()).collect();
    let text = format!("SELECT {} FROM organizations WHERE tenant_id = ? AND org_id", COLUMNS.join(", "));
    let rows: Vec<Organization> = find_in(&**transaction, &text, &[tenant_id.into()], &ids).await?;
    Ok(rows.into_iter().map(|row| (row.org_id.clone(), row)).collect())
}

/// Writes the rows, each with a time of change of its own, in this order.
async fn store(transaction: &Transaction, actor: &Actor, tenant: &Tenant, changed: &[Changed]) -> Result<()> {
    // A platform id may move from one row to another within the call, so every row lets go of its own first.
    let leaving: Vec<&str> = changed
        .iter()
        .filter(|Changed { row, before }| {
            before.as_ref().is_some_and(|before| before.platform_org_id != row.platform_org_id)
        })
        .map(|changed| changed.row.org_id.as_str())
        .collect();
    for chunk in leaving.chunks(ROWS_PER_STATEMENT) {
        let text = format!(
            "UPDATE organizations SET platform_org_id = char(0) || org_id WHERE tenant_id = ? AND org_id IN ({})",
            placeholders(chunk.len())
        );
        let values = std::iter::once(Value::from(tenant.id)).chain(chunk.iter().map(|id| (*id).into()));
        transaction.execute_raw(sql(text, values)).await?;
    }
    let mut times = tenants::model::give_change_times(transaction, tenant.id, changed.len()).await?..;
    for chunk in changed.chunks(ROWS_PER_STATEMENT) {
        put(transaction, tenant.id, chunk, &mut times).await?;
    }
    for Changed { row, .. } in changed {
        transaction.record_change(tenant.id, documents::DEPARTMENT, &row.org_id);
    }
    let shown_otherwise: Vec<String> = changed
        .iter()
        .filter(|Changed { row, before }| before.as_ref().is_some_and(|before| row.shows_otherwise(before)))
        .map(|changed| changed.row.org_id.clone())
        .collect();
    users::model::index_members(transaction, tenant.id, &shown_otherwise).await?;
    // The path of what lies below names it.
    let leads_otherwise: Vec<&str> = changed
        .iter()
        .filter(|Changed { row, before }| {
            before
                .as_ref()
                .is_some_and(|before| row.shows_otherwise(before) || row.parent_id != before.parent_id)
        })
        .map(|changed| changed.row.org_id.as_str())
        .collect();
    documents::record_below(transaction, tenant.id, &leads_otherwise).await?;
    let deeds = changed.iter().map(Changed::deed).collect();
    Ok(audit::record(transaction, actor, tenant, deeds).await?)
}

impl Changed {
    fn deed(&self) -> Deed {
        let before = self.before.as_ref();
        let deed = Deed::new(self.row.deed(before), "department", self.row.org_id.as_str());
        match before {
            Some(before) => deed.with("fields", self.row.changed_fields(before)),
            None => deed,
        }
    }
}

async fn put(
    transaction: &Transaction,
    tenant_id: i64,
    rows: &[Changed],
    times: &mut impl Iterator<Item = i64>,
) -> Result<()> {
    let updates: Vec<String> =
        COLUMNS[1..].iter().map(|column| format!("{column} = excluded.{column}")).collect();
    let row = format!("({})", placeholders(COLUMNS.len() + 3));
    let text = format!(
        "INSERT INTO organizations ({}, tenant_id, created_at, updated_at) VALUES {} \
         ON CONFLICT (tenant_id, org_id) DO UPDATE SET {}, updated_at = excluded.updated_at",
        COLUMNS.join(", "),
        vec![row; rows.len()].join(", "),
        updates.join(", ")
    );
    let mut values = Vec::with_capacity(rows.len() * (COLUMNS.len() + 3));
    for Changed { row, .. } in rows {
        let time = times.next();
        values.extend([
            Value::from(row.org_id.as_str()),
            row.platform_org_id.as_str().into(),
            row.parent_id.as_deref().into(),
            row.name.as_str().into(),
            row.order_no.into(),
            row.enable_chat.into(),
            row.secret_level.into(),
            row.is_force_receive.into(),
            row.status.into(),
            row.is_hidden.into(),
            row.is_deleted.into(),
            row.details.to_text()?.into(),
            tenant_id.into(),
            // A new row is created at the time of its first change, so that no two of a tenant share a time.
            time.into(),
            time.into(),
        ]);
    }
    transaction.execute_raw(sql(text, values)).await?;
    Ok(())
}

/// A department, and what stands beside it.
#[derive(Debug, FromQueryResult)]
struct Row {
    #[sea_orm(nested)]
    organization: Organization,
    platform_parent_id: Option<String>,
    updated_at: i64,
}

/// The tenant's departments that changed after the cursor, oldest first, deleted ones included (decisions 9.6). It reads as many
/// entries of one index as it answers rows.
pub(super) async fn changed_organizations<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    changes: ChangesAfter,
) -> Result<Vec<OrganizationRead>, DbErr> {
    let values = [tenant_id.into(), changes.cursor.into(), changes.limit.into()];
    let rows = Row::find_by_statement(sql(page_query(), values)).all(reader).await?;
    Ok(rows.into_iter().map(Row::into_read).collect())
}

fn page_query() -> String {
    format!(
        "SELECT {}, parents.platform_org_id AS platform_parent_id, organizations.updated_at FROM organizations \
         LEFT JOIN organizations AS parents ON parents.tenant_id = organizations.tenant_id \
         AND parents.org_id = organizations.parent_id \
         WHERE organizations.tenant_id = ? AND organizations.updated_at > ? ORDER BY organizations.updated_at LIMIT ?",
        COLUMNS.map(|column| format!("organizations.{column}")).join(", ")
    )
}

impl Row {
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
    use sea_orm::ConnectionTrait;

    use crate::store::{Store, sql};

    /// A page costs what it answers, however many departments there are: an index gives the rows, in order.
    #[tokio::test]
    async fn a_page_is_a_range_of_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let text = format!("EXPLAIN QUERY PLAN {}", super::page_query());
        let rows = store.reader().query_all_raw(sql(text, vec![1.into(); 3])).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.try_get("", "detail").unwrap()).collect();
        let plan = plan.join("; ");
        assert!(plan.contains("tenant_id=? AND updated_at>?") && !plan.contains("TEMP B-TREE"), "{plan}");
        store.close().await.unwrap();
    }
}
