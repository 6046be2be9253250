use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    documents,
    fields::{OrganizationRead, OrganizationWrite},
    model::Organization,
    tree::{Tree, TreePosition},
};
use crate::{
    audit::{self, Actor, Deed},
    auth::tenants::Tenant,
    error::Result,
    platform::{
        shared::patch::{ChangesAfter, SyncFailure},
        tenants, users,
    },
    store::{self, Connection, FromRow, ROWS_PER_STATEMENT, Transaction, Value, find_in, placeholders, sql},
};

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

pub(super) async fn existing(
    transaction: &Transaction,
    tenant_id: i64,
    org_ids: &[impl AsRef<str>],
) -> Result<HashSet<String>> {
    ids_of(transaction, tenant_id, "is_deleted = 0", org_ids).await
}

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
    #[derive(FromRow)]
    struct Row {
        org_id: String,
    }
    let text = format!("SELECT org_id FROM organizations WHERE tenant_id = ? AND {condition} AND org_id");
    let rows: Vec<Row> = find_in(transaction, &text, &[tenant_id.into()], org_ids).await?;
    Ok(rows.into_iter().map(|row| row.org_id).collect())
}

/// Whether one department without chat contains all, up to deleted ones.
pub(super) async fn are_without_chat(
    transaction: &Transaction,
    tenant_id: i64,
    org_ids: &BTreeSet<&str>,
) -> Result<bool> {
    // UNION terminates on cycles.
    let text = "WITH RECURSIVE above (org_id, parent_id, enable_chat) AS ( \
          SELECT org_id, parent_id, enable_chat FROM organizations \
            WHERE tenant_id = ?1 AND org_id = ?2 AND is_deleted = 0 \
          UNION \
          SELECT next.org_id, next.parent_id, next.enable_chat FROM organizations AS next \
            JOIN above ON next.org_id = above.parent_id WHERE next.tenant_id = ?1 AND next.is_deleted = 0) \
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

struct Changed {
    row: Organization,
    before: Option<Organization>,
}

/// Applies each change alone. Returns failures and whether any row changed.
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
        .filter_map(|org_id| written.remove(org_id))
        .map(|row| Changed { before: before.get(&row.org_id).cloned(), row })
        .filter(|changed| Some(&changed.row) != changed.before.as_ref())
        .collect();
    // Readers find parents before children.
    rows.sort_by_cached_key(|changed| tree.depth(&changed.row.org_id));
    let is_changed = !rows.is_empty();
    if is_changed {
        store(transaction, actor, tenant, &rows).await?;
    }
    Ok((failures, is_changed))
}

async fn load_tree(transaction: &Transaction, tenant_id: i64) -> Result<Tree> {
    let text = "SELECT org_id, parent_id, platform_org_id, is_deleted FROM organizations WHERE tenant_id = ?";
    let places = sql(text, [tenant_id.into()]).fetch_all::<TreePosition>(transaction).await?;
    let mut tree = Tree::default();
    for place in places {
        tree.put(place);
    }
    Ok(tree)
}

async fn load(
    transaction: &Transaction,
    tenant_id: i64,
    changes: &[OrganizationWrite],
) -> Result<HashMap<String, Organization>> {
    let ids: Vec<&str> = changes.iter().map(|change| change.org_id.as_str()).collect();
    let text = format!("SELECT {} FROM organizations WHERE tenant_id = ? AND org_id", COLUMNS.join(", "));
    let rows: Vec<Organization> = find_in(transaction, &text, &[tenant_id.into()], &ids).await?;
    Ok(rows.into_iter().map(|row| (row.org_id.clone(), row)).collect())
}

async fn store(transaction: &Transaction, actor: &Actor, tenant: &Tenant, changed: &[Changed]) -> Result<()> {
    // Platform ids may move between rows.
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
        sql(text, values).execute(transaction).await?;
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
            Value::json(&row.details)?,
            tenant_id.into(),
            time.into(),
            time.into(),
        ]);
    }
    sql(text, values).execute(transaction).await?;
    Ok(())
}

#[derive(Debug, FromRow)]
struct Row {
    #[sqlx(flatten)]
    organization: Organization,
    platform_parent_id: Option<String>,
    updated_at: i64,
}

/// Oldest first (decisions 9.6); reads one index range.
pub(super) async fn changed_organizations(
    reader: &Connection,
    tenant_id: i64,
    changes: ChangesAfter,
) -> store::Result<Vec<OrganizationRead>> {
    let values = [tenant_id.into(), changes.cursor.into(), changes.limit.into()];
    let rows = sql(page_query(), values).fetch_all::<Row>(reader).await?;
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
    use crate::store::{Store, sql, tests::query_plan};

    #[tokio::test]
    async fn page_is_one_index_range() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let plan = query_plan(store.reader(), sql(super::page_query(), vec![1.into(); 3])).await.join("; ");
        assert!(plan.contains("tenant_id=? AND updated_at>?") && !plan.contains("TEMP B-TREE"), "{plan}");
        store.close().await.unwrap();
    }
}
