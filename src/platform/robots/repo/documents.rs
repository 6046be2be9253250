use crate::store::{self, Connection, FromRow, batch_end, find_in, sql};

#[derive(Clone, Debug, FromRow)]
pub(in crate::platform::robots) struct FoundMessage {
    pub(in crate::platform::robots) id: String,
    pub(in crate::platform::robots) group_id: String,
    pub(in crate::platform::robots) group_name: String,
    pub(in crate::platform::robots) robot_name: String,
    pub(in crate::platform::robots) msg_type: String,
    pub(in crate::platform::robots) content: String,
    pub(in crate::platform::robots) created_at: i64,
    pub(in crate::platform::robots) found_in: i64,
}

const FOUND: &str = "SELECT messages.id, messages.group_id, messages.group_name, messages.robot_name, \
    messages.msg_type, messages.content, messages.created_at, group_tenants.tenant_id AS found_in \
    FROM messages JOIN groups ON groups.id = messages.group_id \
    JOIN group_tenants ON group_tenants.group_id = groups.id \
    JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL WHERE groups.removed_at IS NULL";

/// The unary plus makes SQLite look up each id.
fn find_text() -> String {
    format!("{FOUND} AND +group_tenants.tenant_id = ? AND messages.id")
}

pub(in crate::platform::robots) async fn find(
    reader: &Connection,
    tenant_id: i64,
    ids: &[String],
) -> store::Result<Vec<FoundMessage>> {
    find_in(reader, &find_text(), &[tenant_id.into()], ids).await
}

pub(in crate::platform::robots) async fn scan(
    reader: &Connection,
    sequence: i64,
    limit: u64,
) -> store::Result<Option<(Vec<FoundMessage>, i64)>> {
    let Some(last) = batch_end(reader, "messages", sequence, limit).await? else { return Ok(None) };
    let text = format!("{FOUND} AND messages.sequence > ? AND messages.sequence <= ?");
    let rows = sql(text, [sequence.into(), last.into()]).fetch_all::<FoundMessage>(reader).await?;
    Ok(Some((rows, last)))
}

pub(in crate::platform::robots) async fn count(reader: &Connection) -> store::Result<i64> {
    sql(format!("SELECT COUNT(*) AS messages FROM ({FOUND}) AS found"), []).fetch_value(reader).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{ROWS_PER_STATEMENT, tests::plan_of_find};

    #[tokio::test]
    async fn lookup_of_many_messages_uses_id_index() {
        for count in [1, 2, 30, ROWS_PER_STATEMENT] {
            let plan = plan_of_find(&find_text(), &[1.into()], count).await;
            let first = plan.first().unwrap();
            assert!(
                first.starts_with("SEARCH messages USING INDEX") && first.ends_with("(id=?)"),
                "{count}: {plan:?}"
            );
        }
    }
}
