//! The end of a tenant: what its code and its tokens are worth ends at once, its rows go in portions afterwards
//! (decisions 3.6).
//!
//! A large tenant has a million rows. Removed in one transaction, they would keep everybody's writes waiting for seconds.

use sea_orm::{ConnectionTrait, DbErr};

use crate::{
    audit::{self, Actor, Deed},
    auth::tenants::{self, Tenant},
    error::Result,
    platform::groups,
    store::{ROWS_PER_STATEMENT, Store, Transaction, sql},
};

/// Rows that are removed in one transaction: pictures among them are large.
const PORTION: usize = 200;

/// Ends a tenant: nothing finds it any more, its code is free, and the index drops what it has of it. Its rows are removed by
/// [`remove_portion`]. Answers whether there was one.
///
/// What the process remembers of it (callers, modules) is its caller's affair.
pub async fn remove(transaction: &Transaction, tenant_id: i64) -> Result<bool> {
    let is_removed = tenants::set_aside(transaction, tenant_id).await?;
    if is_removed {
        transaction.record_tenant_removal(tenant_id);
    }
    Ok(is_removed)
}

/// Takes a code that became free out of what applications of other tenants may act on, so that they do not act on whoever
/// gets it next. Answers the tenants whose applications these are.
pub async fn unbind(transaction: &Transaction, actor: &Actor, gone: &Tenant) -> Result<Vec<i64>> {
    let statement = sql(
        "UPDATE applications \
         SET bound = (SELECT json_group_array(value) FROM json_each(applications.bound) WHERE value <> ?1) \
         WHERE EXISTS (SELECT 1 FROM json_each(applications.bound) WHERE value = ?1) \
         RETURNING client_id, tenant_id",
        [gone.code.as_str().into()],
    );
    let mut homes = Vec::new();
    for row in transaction.query_all_raw(statement).await? {
        let (client_id, home): (String, i64) = (row.try_get("", "client_id")?, row.try_get("", "tenant_id")?);
        homes.push(home);
        // The tenant's own applications go with it.
        if let Some(tenant) = tenants::find_by_id(&**transaction, home).await? {
            let deed = Deed::new("unbind", "application", client_id).with("tenant", gone.code.as_str());
            audit::record(transaction, actor, &tenant, vec![deed]).await?;
        }
    }
    homes.sort_unstable();
    homes.dedup();
    Ok(homes)
}

/// Removes some rows of a tenant that was removed, and at last the tenant's own. Answers whether that is done.
pub async fn remove_portion(store: &Store, tenant_id: i64) -> Result<bool> {
    let tables = tables(store).await?;
    store
        .write(move |transaction| {
            Box::pin(async move {
                let mut left = PORTION;
                // First of all, and each with what other tenants' indexes have of it.
                left -=
                    groups::model::remove_portion_of_tenant(transaction, tenant_id, left).await?.min(left);
                for table in &tables {
                    if left == 0 {
                        return Ok(false);
                    }
                    left = left.saturating_sub(table.remove(transaction, tenant_id, left).await?);
                }
                if left == 0 {
                    return Ok(false);
                }
                // What was written by calls that had been let in before is removed along with it.
                let statement =
                    sql("DELETE FROM tenants WHERE id = ? AND removed_at IS NOT NULL", [tenant_id.into()]);
                transaction.execute_raw(statement).await?;
                Ok(true)
            })
        })
        .await
}

/// A table whose rows are tenants' own.
#[derive(Clone, Debug)]
struct Table {
    name: String,
    /// The columns of its primary key.
    key: String,
}

impl Table {
    async fn remove(&self, transaction: &Transaction, tenant_id: i64, most: usize) -> Result<usize, DbErr> {
        let Self { name, key } = self;
        let text = format!(
            "DELETE FROM {name} WHERE ({key}) IN (SELECT {key} FROM {name} WHERE tenant_id = ? LIMIT ?)"
        );
        let most = u64::try_from(most).unwrap_or(ROWS_PER_STATEMENT as u64);
        let removed = transaction.execute_raw(sql(text, [tenant_id.into(), most.into()])).await?;
        Ok(usize::try_from(removed.rows_affected()).unwrap_or(PORTION))
    }
}

/// Every table that refers to tenants. The schema is asked, so that no table that is added later can be forgotten here.
async fn tables(store: &Store) -> Result<Vec<Table>, DbErr> {
    let statement = sql(
        "SELECT tables.name AS name, \
           (SELECT group_concat(columns.name, ', ') FROM pragma_table_info(tables.name) AS columns WHERE columns.pk > 0) AS key \
         FROM sqlite_schema AS tables JOIN pragma_foreign_key_list(tables.name) AS reference \
         WHERE tables.type = 'table' AND reference.\"table\" = 'tenants' AND reference.\"from\" = 'tenant_id' \
         GROUP BY tables.name ORDER BY tables.name",
        [],
    );
    let rows = store.reader().query_all_raw(statement).await?;
    rows.iter()
        .map(|row| Ok(Table { name: row.try_get("", "name")?, key: row.try_get("", "key")? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A table whose rows are to outlive their tenant is named here; every other one has to refer to `tenants`.
    const KEPT: [&str; 2] = ["audit", "change_log"];

    #[tokio::test]
    async fn no_table_with_rows_of_a_tenant_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let removed = tables(&store).await.unwrap();
        for Table { name, key } in &removed {
            let text = format!("EXPLAIN QUERY PLAN SELECT {key} FROM {name} WHERE tenant_id = 1");
            let plan = store.reader().query_one_raw(sql(text, [])).await.unwrap().unwrap();
            let plan: String = plan.try_get("", "detail").unwrap();
            assert!(plan.starts_with("SEARCH"), "{name} needs an index that begins with tenant_id: {plan}");
        }
        let removed: BTreeSet<String> = removed.into_iter().map(|table| table.name).collect();
        let statement = sql(
            "SELECT tables.name AS name FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns \
             WHERE tables.type = 'table' AND columns.name = 'tenant_id'",
            [],
        );
        let rows = store.reader().query_all_raw(statement).await.unwrap();
        let of_tenants: BTreeSet<String> =
            rows.iter().map(|row| row.try_get::<String>("", "name").unwrap()).collect();
        let kept: Vec<&String> = of_tenants.difference(&removed).collect();
        assert_eq!(kept, KEPT);
        assert!(removed.contains("pictures") && removed.contains("contents"));
        store.close().await.unwrap();
    }
}
