use serde::Serialize;

use super::forms::ValidatedApplication;
use crate::{
    auth::applications::LoginClient,
    error::{Error, Result},
    store::{self, Connection, FromRow, Transaction, sql},
};

const COLUMNS: &str = "client_id, kind, name, bound, scopes, is_disabled, redirect_uris, is_public, created_at, \
                       last_used_at, previous_secret_until";

#[derive(Debug, FromRow)]
pub(super) struct ApplicationRow {
    pub(super) client_id: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) bound: String,
    pub(super) scopes: String,
    pub(super) is_disabled: bool,
    pub(super) redirect_uris: String,
    pub(super) is_public: bool,
    pub(super) created_at: i64,
    pub(super) last_used_at: Option<i64>,
    pub(super) previous_secret_until: Option<i64>,
}

impl ApplicationRow {
    /// The parts that operators change, for its entity tag.
    pub(super) fn settings(&self) -> impl Serialize {
        (&self.name, &self.bound, &self.scopes, self.is_disabled, &self.redirect_uris)
    }
}

impl TryFrom<&ApplicationRow> for ValidatedApplication {
    type Error = Error;

    fn try_from(row: &ApplicationRow) -> Result<Self> {
        Ok(Self {
            kind: row.kind.parse()?,
            name: row.name.clone(),
            bound: serde_json::from_str(&row.bound).map_err(Error::internal)?,
            scopes: serde_json::from_str(&row.scopes).map_err(Error::internal)?,
            login: LoginClient {
                redirect_uris: serde_json::from_str(&row.redirect_uris).map_err(Error::internal)?,
                is_public: row.is_public,
            },
            is_disabled: row.is_disabled,
        })
    }
}

pub(super) async fn list(connection: &Connection, tenant_id: i64) -> store::Result<Vec<ApplicationRow>> {
    let text =
        format!("SELECT {COLUMNS} FROM applications WHERE tenant_id = ? ORDER BY created_at, client_id");
    sql(text, [tenant_id.into()]).fetch_all::<ApplicationRow>(connection).await
}

pub(super) async fn find(
    connection: &Connection,
    tenant_id: i64,
    client_id: &str,
) -> store::Result<Option<ApplicationRow>> {
    let text = format!("SELECT {COLUMNS} FROM applications WHERE tenant_id = ? AND client_id = ?");
    sql(text, [tenant_id.into(), client_id.into()]).fetch_optional::<ApplicationRow>(connection).await
}

pub(super) async fn count(transaction: &Transaction, tenant_id: i64) -> store::Result<i64> {
    let statement = sql("SELECT COUNT(*) AS rows FROM applications WHERE tenant_id = ?", [tenant_id.into()]);
    statement.fetch_value(transaction).await
}

pub(super) async fn update(
    transaction: &Transaction,
    client_id: &str,
    application: &ValidatedApplication,
) -> Result<()> {
    let statement = sql(
        "UPDATE applications SET name = ?, bound = ?, scopes = ?, redirect_uris = ?, is_disabled = ? WHERE client_id = ?",
        [
            application.name.as_str().into(),
            serde_json::to_string(&application.bound).map_err(Error::internal)?.into(),
            serde_json::to_string(&application.scopes).map_err(Error::internal)?.into(),
            serde_json::to_string(&application.login.redirect_uris).map_err(Error::internal)?.into(),
            application.is_disabled.into(),
            client_id.into(),
        ],
    );
    statement.execute(transaction).await?;
    Ok(())
}

pub(super) async fn disable(transaction: &Transaction, client_id: &str) -> store::Result<()> {
    let statement = sql("UPDATE applications SET is_disabled = TRUE WHERE client_id = ?", [client_id.into()]);
    statement.execute(transaction).await.map(drop)
}

pub(super) async fn end_tokens(transaction: &Transaction, client_id: &str) -> store::Result<()> {
    let statement = sql("UPDATE applications SET epoch = epoch + 1 WHERE client_id = ?", [client_id.into()]);
    statement.execute(transaction).await.map(drop)
}

pub(super) async fn remove(
    transaction: &Transaction,
    tenant_id: i64,
    client_id: &str,
) -> store::Result<bool> {
    let statement = sql(
        "DELETE FROM applications WHERE tenant_id = ? AND client_id = ?",
        [tenant_id.into(), client_id.into()],
    );
    Ok(statement.execute(transaction).await? > 0)
}

/// The previous secret is valid until `until`.
pub(super) async fn rotate(
    transaction: &Transaction,
    client_id: &str,
    hash: &str,
    until: Option<i64>,
) -> store::Result<()> {
    let statement = sql(
        "UPDATE applications SET previous_secret_hash = CASE WHEN ?1 IS NULL THEN NULL ELSE secret_hash END, \
           previous_secret_until = ?1, secret_hash = ?2 WHERE client_id = ?3",
        [until.into(), hash.into(), client_id.into()],
    );
    statement.execute(transaction).await.map(drop)
}
