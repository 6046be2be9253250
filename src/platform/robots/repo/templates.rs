//! One row per version, so sent cards keep their look.

use serde_json::Value;
use uuid::Uuid;

use crate::store::{self, Connection, FromRow, Json, Transaction, now_millis, sql};

#[derive(Clone, Debug, FromRow)]
pub(crate) struct StoredTemplate {
    pub(crate) id: String,
    pub(crate) code: String,
    pub(crate) name: String,
    pub(crate) template: Json<Value>,
    pub(crate) created_at: i64,
}

#[derive(Clone, Debug, FromRow)]
pub(crate) struct TemplateReference {
    pub(crate) id: String,
    pub(crate) code: String,
}

pub(crate) async fn newest(
    connection: &Connection,
    tenant_id: i64,
    code: &str,
) -> store::Result<Option<StoredTemplate>> {
    let statement = sql(
        "SELECT id, code, name, template, created_at FROM card_templates WHERE tenant_id = ? AND code = ? \
         ORDER BY sequence DESC LIMIT 1",
        [tenant_id.into(), code.into()],
    );
    statement.fetch_optional::<StoredTemplate>(connection).await
}

pub(crate) async fn find(
    transaction: &Transaction,
    tenant_id: i64,
    id: Option<&str>,
    code: Option<&str>,
) -> store::Result<Option<TemplateReference>> {
    let (condition, value) = match id {
        Some(id) => ("id = ?", id),
        None => ("code = ?", code.unwrap_or_default()),
    };
    let text = format!(
        "SELECT id, code FROM card_templates WHERE tenant_id = ? AND {condition} ORDER BY sequence DESC LIMIT 1"
    );
    sql(text, [tenant_id.into(), value.into()]).fetch_optional::<TemplateReference>(transaction).await
}

pub(crate) async fn insert(
    transaction: &Transaction,
    tenant_id: i64,
    code: &str,
    name: &str,
    template: &Json<Value>,
) -> store::Result<String> {
    let id = Uuid::now_v7().to_string();
    let statement = sql(
        "INSERT INTO card_templates (id, tenant_id, code, name, template, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        [
            id.as_str().into(),
            tenant_id.into(),
            code.into(),
            name.into(),
            store::Value::json(template)?,
            now_millis().into(),
        ],
    );
    statement.execute(transaction).await?;
    Ok(id)
}
