//! Changes of registered applications, each in a transaction of its caller.

use crate::store::{self, Json, Transaction, Value, sql};

pub(crate) async fn set_redirect_uri(
    transaction: &Transaction,
    client_id: &str,
    redirect_uri: &str,
) -> store::Result<()> {
    let statement = sql(
        "UPDATE applications SET redirect_uris = ? WHERE client_id = ?",
        [Value::json(&[redirect_uri])?, client_id.into()],
    );
    statement.execute(transaction).await.map(drop)
}

/// Adds a tenant's code to those of a domain application. Returns whether the application exists.
pub async fn bind(transaction: &Transaction, client_id: &str, code: &str) -> store::Result<bool> {
    let statement = sql("SELECT bound FROM applications WHERE client_id = ?", [client_id.into()]);
    let Some(Json(mut bound)) = statement.fetch_optional_value::<Json<Vec<String>>>(transaction).await?
    else {
        return Ok(false);
    };
    bound.push(code.to_owned());
    set_bound(transaction, client_id, &bound).await?;
    Ok(true)
}

/// Removes a tenant's code from all applications. Returns their client ids and tenants.
pub async fn unbind(transaction: &Transaction, code: &str) -> store::Result<Vec<(String, i64)>> {
    let statement = sql(
        "SELECT client_id, tenant_id, bound FROM applications \
         WHERE ? IN (SELECT value FROM json_each(applications.bound)) ORDER BY client_id",
        [code.into()],
    );
    let mut applications = Vec::new();
    for (client_id, home, Json(mut bound)) in
        statement.fetch_all::<(String, i64, Json<Vec<String>>)>(transaction).await?
    {
        bound.retain(|other| other != code);
        set_bound(transaction, &client_id, &bound).await?;
        applications.push((client_id, home));
    }
    Ok(applications)
}

async fn set_bound(transaction: &Transaction, client_id: &str, bound: &[String]) -> store::Result<()> {
    let values = [Value::json(bound)?, client_id.into()];
    sql("UPDATE applications SET bound = ? WHERE client_id = ?", values).execute(transaction).await.map(drop)
}

/// Invalidates everything issued in another epoch.
pub(crate) async fn set_epoch(transaction: &Transaction, client_id: &str, epoch: i64) -> store::Result<()> {
    let statement =
        sql("UPDATE applications SET epoch = ? WHERE client_id = ?", [epoch.into(), client_id.into()]);
    statement.execute(transaction).await.map(drop)
}
