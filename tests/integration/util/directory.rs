//! Reading the directory back.

use sea_orm::ConnectionTrait;
use serde_json::Value;
use trawl::store::sql;

use super::{
    app::{Application, TestApp},
    caller::Caller,
};

/// Everything of an area (`users`, `organizations`) that changed after a cursor, read in pages of `limit`, and the cursor behind it.
/// Each page must be what the interface promises (decisions 9.6).
pub(crate) async fn read_after(
    caller: &Caller,
    area: &str,
    mut cursor: i64,
    limit: usize,
) -> (Vec<Value>, i64) {
    let mut all = Vec::new();
    loop {
        let path = format!("/v1/{area}/sync?cursor={cursor}&limit={limit}");
        let answer = caller.get(&path).await.ok();
        let rows = answer.items();
        assert!(rows.len() <= limit, "{} rows of {limit}", rows.len());
        assert_eq!(answer.body["count"], rows.len());
        assert!(answer.body.get("total").is_none(), "what is left is not counted");
        for row in rows {
            let time = changed_at(row);
            assert!(time > cursor, "{time} is not after {cursor}");
            cursor = time;
        }
        all.extend_from_slice(rows);
        if rows.len() < limit {
            return (all, cursor);
        }
    }
}

/// Everything of an area.
pub(crate) async fn read_all(caller: &Caller, area: &str) -> Vec<Value> {
    read_after(caller, area, 0, 1_000).await.0
}

/// One user or department, by his id on the synchronising side.
pub(crate) async fn read_one(caller: &Caller, area: &str, id: &str) -> Value {
    let field = if area == "users" { "userId" } else { "orgId" };
    let all = read_all(caller, area).await;
    all.into_iter().find(|row| row[field] == id).unwrap_or_else(|| panic!("no {id} among {area}"))
}

/// When a row changed last.
pub(crate) fn changed_at(row: &Value) -> i64 {
    row["lastUpdatedDate"].as_str().unwrap().parse().unwrap()
}

impl TestApp {
    /// Sets columns of a person (`name = ?, secret_level = ?`), and waits until he is found so.
    pub(crate) async fn set_person(
        &self,
        tenant: &Application,
        id: &'static str,
        columns: &str,
        values: Vec<sea_orm::Value>,
    ) {
        self.set(tenant, ("users", "user_id", "people"), id, columns, values).await;
    }

    /// Sets columns of a department, and waits until it is found so.
    pub(crate) async fn set_department(
        &self,
        tenant: &Application,
        id: &'static str,
        columns: &str,
        values: Vec<sea_orm::Value>,
    ) {
        self.set(tenant, ("organizations", "org_id", "department"), id, columns, values).await;
    }

    async fn set(
        &self,
        tenant: &Application,
        (table, key, module): (&str, &str, &'static str),
        id: &'static str,
        columns: &str,
        mut values: Vec<sea_orm::Value>,
    ) {
        let tenant_id = tenant.tenant_id;
        let text = format!("UPDATE {table} SET {columns} WHERE tenant_id = ? AND {key} = ?");
        values.extend([tenant_id.into(), id.into()]);
        let written = self.app.store.write(move |transaction| {
            Box::pin(async move {
                let changed = transaction.execute_raw(sql(text, values)).await?;
                assert_eq!(changed.rows_affected(), 1, "there is no {id}");
                transaction.record_change(tenant_id, module, id);
                Ok(())
            })
        });
        written.await.unwrap();
        self.settled().await;
    }
}
