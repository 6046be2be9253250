//! Rows of messages as the index wants them.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use crate::store::{end_of_portion, find_in, sql};

/// A message in one of the tenants in which its group is found.
#[derive(Clone, Debug, FromQueryResult)]
pub(in crate::platform::robots) struct Row {
    pub(in crate::platform::robots) id: String,
    pub(in crate::platform::robots) group_id: String,
    pub(in crate::platform::robots) group_name: String,
    pub(in crate::platform::robots) robot_name: String,
    pub(in crate::platform::robots) msg_type: String,
    pub(in crate::platform::robots) content: String,
    pub(in crate::platform::robots) created_at: i64,
    /// The tenant in which it is found.
    pub(in crate::platform::robots) found_in: i64,
}

/// Messages of groups that are there, once for each tenant in which the group is found.
const FOUND: &str = "SELECT messages.id, messages.group_id, messages.group_name, messages.robot_name, \
    messages.msg_type, messages.content, messages.created_at, group_tenants.tenant_id AS found_in \
    FROM messages JOIN groups ON groups.id = messages.group_id \
    JOIN group_tenants ON group_tenants.group_id = groups.id \
    JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL WHERE groups.removed_at IS NULL";

/// Unary plus, as for tasks: each is looked up by its id, however many there are.
fn find_text() -> String {
    format!("{FOUND} AND +group_tenants.tenant_id = ? AND messages.id")
}

/// The messages with these ids that are found in the tenant.
pub(in crate::platform::robots) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    find_in(reader, &find_text(), &[tenant_id.into()], ids).await
}

/// Those among up to `limit` messages of all tenants after `sequence`, and the last one's number.
pub(in crate::platform::robots) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Row>, i64)>, DbErr> {
    let Some(last) = end_of_portion(reader, "messages", sequence, limit).await? else { return Ok(None) };
    let text = format!("{FOUND} AND messages.sequence > ? AND messages.sequence <= ?");
    let rows = Row::find_by_statement(sql(text, [sequence.into(), last.into()])).all(reader).await?;
    Ok(Some((rows, last)))
}

/// How many rows a scan from the beginning gives.
pub(in crate::platform::robots) async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64, DbErr> {
    let row = reader.query_one_raw(sql(format!("SELECT COUNT(*) AS messages FROM ({FOUND})"), [])).await?;
    row.map_or(Ok(0), |row| row.try_get("", "messages"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{ROWS_PER_STATEMENT, tests::plan_of_find};

    #[tokio::test]
    async fn many_messages_are_found_by_their_ids() {
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
