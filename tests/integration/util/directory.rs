//! Fields of people and departments, put into their rows as the synchronisation puts them there.

use sea_orm::{ConnectionTrait, Value};
use trawl::store::sql;

use super::app::{Application, TestApp};

impl TestApp {
    /// Sets columns of a person (`name = ?, secret_level = ?`), and waits until he is found so.
    pub(crate) async fn set_person(
        &self,
        tenant: &Application,
        id: &'static str,
        columns: &str,
        values: Vec<Value>,
    ) {
        self.set(tenant, ("users", "user_id", "people"), id, columns, values).await;
    }

    /// Sets columns of a department, and waits until it is found so.
    pub(crate) async fn set_department(
        &self,
        tenant: &Application,
        id: &'static str,
        columns: &str,
        values: Vec<Value>,
    ) {
        self.set(tenant, ("organizations", "org_id", "department"), id, columns, values).await;
    }

    async fn set(
        &self,
        tenant: &Application,
        (table, key, module): (&str, &str, &'static str),
        id: &'static str,
        columns: &str,
        mut values: Vec<Value>,
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
