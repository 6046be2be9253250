//! The end of a tenant: what its code and its tokens are worth ends at once, its rows go in portions afterwards
//! (decisions 3.6).
//!
//! A large tenant has a million rows. Removed in one transaction, they would keep everybody's writes waiting for seconds.

use std::collections::BTreeSet;

use sea_orm::{ConnectionTrait, DbErr, QueryResult};

use crate::{
    audit::{self, Actor, Deed},
    auth::tenants::{self, Tenant},
    error::{Error, Result},
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
        groups::model::record_end_of(transaction, tenant_id).await?;
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
    /// The tables whose rows, once removed, take rows of this one along.
    parents: BTreeSet<String>,
}

impl Table {
    async fn remove(&self, transaction: &Transaction, tenant_id: i64, most: usize) -> Result<usize, DbErr> {
        let Self { name, key, .. } = self;
        let text = format!(
            "DELETE FROM {name} WHERE ({key}) IN (SELECT {key} FROM {name} WHERE tenant_id = ? LIMIT ?)"
        );
        let most = u64::try_from(most).unwrap_or(ROWS_PER_STATEMENT as u64);
        let removed = transaction.execute_raw(sql(text, [tenant_id.into(), most.into()])).await?;
        Ok(usize::try_from(removed.rows_affected()).unwrap_or(PORTION))
    }
}

/// Every table that refers to tenants, each before those that it refers to: a row that goes would take along, uncounted, all
/// that refer to it. The schema is asked, so that no table that is added later can be forgotten here.
async fn tables(store: &Store) -> Result<Vec<Table>> {
    let statement = sql(
        "SELECT tables.name AS name, \
           (SELECT group_concat(columns.name, ', ') FROM pragma_table_info(tables.name) AS columns WHERE columns.pk > 0) AS key, \
           (SELECT json_group_array(parents.\"table\") FROM pragma_foreign_key_list(tables.name) AS parents) AS parents \
         FROM sqlite_schema AS tables JOIN pragma_foreign_key_list(tables.name) AS reference \
         WHERE tables.type = 'table' AND reference.\"table\" = 'tenants' AND reference.\"from\" = 'tenant_id' \
         GROUP BY tables.name ORDER BY tables.name",
        [],
    );
    let rows = store.reader().query_all_raw(statement).await?;
    let read = |row: &QueryResult| {
        let parents: String = row.try_get("", "parents")?;
        let parents = serde_json::from_str(&parents).map_err(Error::internal)?;
        Ok(Table { name: row.try_get("", "name")?, key: row.try_get("", "key")?, parents })
    };
    Ok(children_first(rows.iter().map(read).collect::<Result<_>>()?))
}

/// The tables, each before those that it refers to. What refers to each other in a circle has no such order, and comes as it is.
fn children_first(mut tables: Vec<Table>) -> Vec<Table> {
    let mut ordered = Vec::with_capacity(tables.len());
    while !tables.is_empty() {
        let is_referred_to = |table: &Table| {
            tables.iter().any(|other| other.name != table.name && other.parents.contains(&table.name))
        };
        let (waiting, free): (Vec<Table>, Vec<Table>) = tables.iter().cloned().partition(is_referred_to);
        if free.is_empty() {
            ordered.extend(waiting);
            break;
        }
        ordered.extend(free);
        tables = waiting;
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table whose rows are to outlive their tenant is named here; every other one has to refer to `tenants`.
    const KEPT: [&str; 2] = ["audit", "change_log"];

    #[tokio::test]
    async fn no_table_with_rows_of_a_tenant_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let removed = tables(&store).await.unwrap();
        for Table { name, key, .. } in &removed {
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

    #[tokio::test]
    async fn each_table_is_emptied_before_those_that_it_refers_to() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 1).await.unwrap();
        let order: Vec<String> = tables(&store).await.unwrap().into_iter().map(|table| table.name).collect();
        let place = |name: &str| order.iter().position(|other| other == name);
        let statement = sql(
            "SELECT tables.name AS child, reference.\"table\" AS parent \
             FROM sqlite_schema AS tables JOIN pragma_foreign_key_list(tables.name) AS reference \
             WHERE tables.type = 'table' AND reference.\"table\" NOT IN ('tenants', tables.name)",
            [],
        );
        let mut seen = BTreeSet::new();
        for row in store.reader().query_all_raw(statement).await.unwrap() {
            let (child, parent): (String, String) =
                (row.try_get("", "child").unwrap(), row.try_get("", "parent").unwrap());
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

    #[test]
    fn tables_that_refer_to_each_other_are_none_left_out() {
        let table = |name: &str, parents: &[&str]| Table {
            name: name.to_owned(),
            key: "id".to_owned(),
            parents: parents.iter().map(|&parent| parent.to_owned()).collect(),
        };
        let tables = vec![
            table("a", &["tenants", "a"]),
            table("b", &["a"]),
            table("c", &["a", "b"]),
            table("x", &["y", "a"]),
            table("y", &["x"]),
        ];
        let order: Vec<String> = children_first(tables).into_iter().map(|table| table.name).collect();
        assert_eq!(order, ["c", "b", "a", "x", "y"]);
    }

    /// Rows that were removed or changed in the database so far, those that went along with others included, and the log not.
    async fn changes(store: &Store) -> i64 {
        let job = store.write(|transaction| {
            Box::pin(async move {
                let statement =
                    sql("SELECT total_changes() - (SELECT COUNT(*) FROM change_log) AS changes", []);
                Ok(transaction.query_one_raw(statement).await?.unwrap().try_get("", "changes")?)
            })
        });
        job.await.unwrap()
    }

    /// The tenant 7, which is removed, and 8, with these rows. Answers how many rows each portion of the first removes.
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
                    transaction.execute_raw(sql(*text, [])).await?;
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

    /// Where rows have many that refer to them, what goes along counts.
    #[tokio::test]
    async fn a_portion_is_no_larger_than_it_may_be_with_all_that_goes_along() {
        let sizes = portions(&[
            "INSERT INTO favorites (id, tenant_id, user_id, item_id, is_favorite, is_feed_favorite, created_at, content_type, folded) \
             SELECT number, 7, 'mei', number, 1, 0, number, 1, '' FROM numbers WHERE number <= 40",
            "INSERT INTO favorite_labels (id, tenant_id, user_id, name, created_at) \
             SELECT number, 7, 'mei', number, 1 FROM numbers WHERE number <= 40",
            "INSERT INTO labels_of_favorites (tenant_id, favorite, label_id, position) \
             SELECT 7, favorites.sequence, favorite_labels.id, 0 FROM favorites, favorite_labels",
        ]);
        // 1,600 links, 40 favorites and 40 labels, and the tenant.
        assert_eq!(sizes.await, [200, 200, 200, 200, 200, 200, 200, 200, 81]);
    }

    /// People of other tenants, and what was said, go before the groups of the tenant do.
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
        // Beyond a portion, what few rows the two groups have of the other kinds: 20 robots, a code, two tenants that find it.
        let portion = i64::try_from(PORTION).unwrap();
        assert!(sizes.iter().all(|size| *size <= portion + 2 * 23), "{sizes:?}");
        // 300 messages and as many members of each, with itself and what goes along, and the tenant.
        assert_eq!(sizes.iter().sum::<i64>(), 2 * (300 + 300 + 23 + 1) + 1, "{sizes:?}");
    }
}
