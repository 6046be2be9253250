//! Removal of tenants: code and tokens at once, rows in batches.
//!
//! Deleting a million rows in one transaction would block writes for seconds.

use crate::{
    audit::{self, Actor, AuditEvent},
    auth::{
        applications,
        tenants::{self, Tenant},
    },
    error::Result,
    platform::groups,
    store::{
        self, ROWS_PER_STATEMENT, Store, Transaction,
        schema::{self, Table},
        sql,
    },
};

/// Pictures are large.
const PORTION: usize = 200;

/// Ends a tenant, frees its code and drops its documents; [`remove_portion`] deletes rows.
///
/// Returns whether it existed. The caller invalidates caches.
pub async fn remove(transaction: &Transaction, tenant_id: i64) -> Result<bool> {
    let is_removed = tenants::set_aside(transaction, tenant_id).await?;
    if is_removed {
        transaction.record_tenant_removal(tenant_id);
        groups::service::record_end_of(transaction, tenant_id).await?;
    }
    Ok(is_removed)
}

/// Unbinds a freed code, so that no application acts on its successor.
///
/// Returns the applications' tenants.
pub async fn unbind(transaction: &Transaction, actor: &Actor, gone: &Tenant) -> Result<Vec<i64>> {
    let mut homes = Vec::new();
    for (client_id, home) in applications::unbind(transaction, &gone.code).await? {
        homes.push(home);
        if let Some(tenant) = tenants::find_by_id(transaction, home).await? {
            let event =
                AuditEvent::new("unbind", "application", client_id).with("tenant", gone.code.as_str());
            audit::record(transaction, actor, &tenant, vec![event]).await?;
        }
    }
    homes.sort_unstable();
    homes.dedup();
    Ok(homes)
}

/// The tenant's own row last. Returns whether all are gone.
pub async fn remove_portion(store: &Store, tenant_id: i64) -> Result<bool> {
    let tables = tables(store).await?;
    store
        .write(move |transaction| {
            Box::pin(async move {
                let mut left = PORTION;
                // Rows in other tenants' indexes go first.
                left -=
                    groups::service::remove_portion_of_tenant(transaction, tenant_id, left).await?.min(left);
                for table in &tables {
                    if left == 0 {
                        return Ok(false);
                    }
                    left = left.saturating_sub(remove_rows(table, transaction, tenant_id, left).await?);
                }
                if left == 0 {
                    return Ok(false);
                }
                // Includes late writes of admitted calls.
                let statement =
                    sql("DELETE FROM tenants WHERE id = ? AND removed_at IS NOT NULL", [tenant_id.into()]);
                statement.execute(transaction).await?;
                Ok(true)
            })
        })
        .await
}

/// Removes up to `most` rows of a tenant.
async fn remove_rows(
    table: &Table,
    transaction: &Transaction,
    tenant_id: i64,
    most: usize,
) -> store::Result<usize> {
    let (name, key) = (&table.name, table.key.join(", "));
    let text =
        format!("DELETE FROM {name} WHERE ({key}) IN (SELECT {key} FROM {name} WHERE tenant_id = ? LIMIT ?)");
    let most = u64::try_from(most).unwrap_or(ROWS_PER_STATEMENT as u64);
    let removed = sql(text, [tenant_id.into(), most.into()]).execute(transaction).await?;
    Ok(usize::try_from(removed).unwrap_or(PORTION))
}

/// Tables of tenants' rows by schema; children first, since cascades are not counted.
async fn tables(store: &Store) -> Result<Vec<Table>> {
    let mut tables = schema::tables(store.reader()).await?;
    tables.retain(|table| {
        table.foreign_keys.iter().any(|key| key.column == "tenant_id" && key.parent == "tenants")
    });
    Ok(schema::children_first(tables))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::store::{schema::ForeignKey, tests::query_plan};

    /// Tables that outlive tenants; all others refer to `tenants`.
    const KEPT: [&str; 3] = ["audit", "change_log", "invalidations"];

    #[tokio::test]
    async fn no_table_with_rows_of_a_tenant_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let removed = tables(&store).await.unwrap();
        for Table { name, key, .. } in &removed {
            let statement = sql(format!("SELECT {} FROM {name} WHERE tenant_id = 1", key.join(", ")), []);
            let plan = query_plan(store.reader(), statement).await.join("; ");
            assert!(plan.starts_with("SEARCH"), "{name} needs an index that begins with tenant_id: {plan}");
        }
        let removed: BTreeSet<String> = removed.into_iter().map(|table| table.name).collect();
        let of_tenants: BTreeSet<String> = schema::tables(store.reader())
            .await
            .unwrap()
            .into_iter()
            .filter(|table| table.columns.iter().any(|column| column.name == "tenant_id"))
            .map(|table| table.name)
            .collect();
        let kept: Vec<&String> = of_tenants.difference(&removed).collect();
        assert_eq!(kept, KEPT);
        assert!(removed.contains("pictures") && removed.contains("contents"));
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn each_table_is_emptied_before_those_that_it_refers_to() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let order: Vec<String> = tables(&store).await.unwrap().into_iter().map(|table| table.name).collect();
        let place = |name: &str| order.iter().position(|other| other == name);
        let mut seen = BTreeSet::new();
        let tables = schema::tables(store.reader()).await.unwrap();
        for ForeignKey { table: child, parent, .. } in tables.into_iter().flat_map(|table| table.foreign_keys)
        {
            if parent == "tenants" || parent == child {
                continue;
            }
            if let Some(parent_place) = place(&parent) {
                let child_place = place(&child);
                assert!(
                    child_place.is_some_and(|place| place < parent_place),
                    "{child} at {child_place:?} refers to {parent} at {parent_place}"
                );
            }
            seen.insert((child, parent));
        }
        for (child, parent) in [("labels_of_favorites", "favorite_labels"), ("messages", "groups")] {
            assert!(seen.contains(&(child.to_owned(), parent.to_owned())), "{seen:?}");
        }
        store.close().await.unwrap();
    }

    /// Changed rows including cascades, without the log and its end.
    async fn changes(store: &Store) -> i64 {
        let job = store.write(|transaction| {
            Box::pin(async move {
                let statement =
                    sql("SELECT total_changes() - (SELECT COALESCE(SUM(1 + is_last), 0) FROM change_log) AS changes", []);
                Ok(statement.fetch_value(transaction).await?)
            })
        });
        job.await.unwrap()
    }

    /// Removes tenant 7 beside tenant 8; returns the rows of each portion.
    async fn portions(rows: &'static [&'static str]) -> Vec<i64> {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let job = store.write(move |transaction| {
            Box::pin(async move {
                let tenants = "INSERT INTO tenants (id, code, name, created_at, removed_at) \
                     VALUES (7, 'gone/7', 'Gone', 1, 1), (8, 'there', 'There', 1, NULL)";
                for text in [
                    tenants,
                    "CREATE TEMPORARY TABLE numbers AS WITH RECURSIVE numbers (number) AS \
                     (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 300) SELECT number FROM numbers",
                ]
                .iter()
                .chain(rows)
                {
                    sql(*text, []).execute(transaction).await?;
                }
                Ok(())
            })
        });
        job.await.unwrap();
        let (mut sizes, mut before) = (Vec::new(), changes(&store).await);
        loop {
            let is_done = remove_portion(&store, 7).await.unwrap();
            let after = changes(&store).await;
            sizes.push(after - before);
            before = after;
            if is_done {
                break;
            }
        }
        store.close().await.unwrap();
        sizes
    }

    #[tokio::test]
    async fn removal_batch_limit_includes_dependent_rows() {
        let sizes = portions(&[
            "INSERT INTO favorites (id, tenant_id, user_id, item_id, is_favorite, is_feed_favorite, created_at, content_type, folded) \
             SELECT number, 7, 'mei', number, 1, 0, number, 1, '' FROM numbers WHERE number <= 40",
            "INSERT INTO favorite_labels (id, tenant_id, user_id, name, created_at) \
             SELECT number, 7, 'mei', number, 1 FROM numbers WHERE number <= 40",
            "INSERT INTO labels_of_favorites (tenant_id, favorite, label_id, position) \
             SELECT 7, favorites.sequence, favorite_labels.id, 0 FROM favorites, favorite_labels",
        ]);
        assert_eq!(sizes.await, [200, 200, 200, 200, 200, 200, 200, 200, 81]);
    }

    /// Members and messages go before groups.
    #[tokio::test]
    async fn a_group_takes_little_along() {
        let sizes = portions(&[
            "INSERT INTO groups (id, tenant_id, name, type, is_public, is_third, created_by, created_at, updated_at) \
             SELECT 'g' || number, 7, 'Watch', 2, 0, 0, 'mei', 1, 1 FROM numbers WHERE number <= 2",
            "INSERT INTO group_tenants (group_id, tenant_id) SELECT groups.id, tenants.id FROM groups, tenants",
            "INSERT INTO group_members (group_id, tenant_id, user_id, role, joined_at) \
             SELECT id, 8, number, 0, 1 FROM groups, numbers",
            "INSERT INTO group_join_codes (group_id, tenant_id, code, expires_at) SELECT id, 7, id, 1 FROM groups",
            "INSERT INTO robots (id, group_id, tenant_id, name, token_digest, created_by, created_at) \
             SELECT id || number, id, 7, 'Gauge', id || number, 'mei', 1 FROM groups, numbers WHERE number <= 20",
            "INSERT INTO messages (id, tenant_id, group_id, robot_id, robot_name, group_name, msg_type, content, created_at) \
             SELECT id || number, 7, id, 'r', 'Gauge', 'Watch', 'text', '{}', number FROM groups, numbers",
        ])
        .await;
        let portion = i64::try_from(PORTION).unwrap();
        assert!(sizes.iter().all(|size| *size <= portion + 2 * 23), "{sizes:?}");
        // Each group has 300 messages, 300 members, itself and 23 other rows; the tenant is one row.
        assert_eq!(sizes.iter().sum::<i64>(), 2 * (300 + 300 + 23 + 1) + 1, "{sizes:?}");
    }
}
