//! Rows of card templates: each change is a row of its own, so that what was said keeps its looks.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    platform::common::Json,
    store::{Transaction, now_millis, sql},
};

/// One state of a template.
#[derive(Clone, Debug, FromQueryResult)]
pub(in crate::platform::robots) struct Row {
    pub(in crate::platform::robots) id: String,
    pub(in crate::platform::robots) code: String,
    pub(in crate::platform::robots) name: String,
    pub(in crate::platform::robots) template: Json<Value>,
    pub(in crate::platform::robots) created_at: i64,
}

/// A template as a message names it.
#[derive(Clone, Debug, FromQueryResult)]
pub(in crate::platform::robots) struct Named {
    pub(in crate::platform::robots) id: String,
    pub(in crate::platform::robots) code: String,
}

/// The newest state of the tenant's template with this code.
pub(in crate::platform::robots) async fn newest<C: ConnectionTrait>(
    connection: &C,
    tenant_id: i64,
    code: &str,
) -> Result<Option<Row>, DbErr> {
    let statement = sql(
        "SELECT id, code, name, template, created_at FROM card_templates WHERE tenant_id = ? AND code = ? \
         ORDER BY sequence DESC LIMIT 1",
        [tenant_id.into(), code.into()],
    );
    Row::find_by_statement(statement).one(connection).await
}

/// The tenant's template with this id, or else the newest one of this code.
pub(in crate::platform::robots) async fn find(
    transaction: &Transaction,
    tenant_id: i64,
    id: Option<&str>,
    code: Option<&str>,
) -> Result<Option<Named>, DbErr> {
    let (condition, value) = match id {
        Some(id) => ("id = ?", id),
        None => ("code = ?", code.unwrap_or_default()),
    };
    let text = format!(
        "SELECT id, code FROM card_templates WHERE tenant_id = ? AND {condition} ORDER BY sequence DESC LIMIT 1"
    );
    Named::find_by_statement(sql(text, [tenant_id.into(), value.into()])).one(&**transaction).await
}

/// Keeps a new state of a template; answers its id.
pub(in crate::platform::robots) async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    code: &str,
    name: &str,
    template: &Json<Value>,
) -> Result<String, DbErr> {
    let id = Uuid::now_v7().to_string();
    let statement = sql(
        "INSERT INTO card_templates (id, tenant_id, code, name, template, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        [
            id.as_str().into(),
            tenant_id.into(),
            code.into(),
            name.into(),
            template.to_text()?.into(),
            now_millis().into(),
        ],
    );
    transaction.execute_raw(statement).await?;
    Ok(id)
}
