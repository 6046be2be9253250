//! Rows of vocabularies, one for each tenant that has one.

use crate::{
    error::Result,
    registry::RegisteredVocabulary,
    store::{Connection, Transaction, Value, sql},
};

/// Reads the vocabulary; absent or unreadable, it is empty.
///
/// Searches go on without an unreadable one.
pub(in crate::registry) async fn find(
    connection: &Connection,
    tenant_id: i64,
) -> Result<RegisteredVocabulary> {
    let statement = sql("SELECT vocabulary FROM vocabularies WHERE tenant_id = ?", [tenant_id.into()]);
    let Some(text) = statement.fetch_optional_value::<String>(connection).await? else {
        return Ok(RegisteredVocabulary::default());
    };
    Ok(serde_json::from_str(&text).unwrap_or_else(|error| {
        tracing::error!(%error, tenant_id, "the vocabulary of a tenant cannot be read");
        RegisteredVocabulary::default()
    }))
}

pub(in crate::registry) async fn put(
    transaction: &Transaction,
    tenant_id: i64,
    vocabulary: &RegisteredVocabulary,
) -> Result<()> {
    let statement = sql(
        "INSERT INTO vocabularies (tenant_id, vocabulary) VALUES (?, ?) \
         ON CONFLICT (tenant_id) DO UPDATE SET vocabulary = excluded.vocabulary",
        [tenant_id.into(), Value::json(vocabulary)?],
    );
    statement.execute(transaction).await?;
    Ok(())
}
