//! Rows of groups.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};

use crate::store::{find_in, sql};

/// A group in one of the tenants in which it is found.
#[derive(Clone, Debug, FromQueryResult)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) icon: Option<String>,
    pub(super) is_public: bool,
    pub(super) created_at: i64,
    /// Its own tenant.
    pub(super) tenant_id: i64,
    /// The tenant in which it is found.
    pub(super) found_in: i64,
}

/// Groups that are there, once for each tenant in which they are found.
const FOUND: &str = "SELECT groups.id, groups.name, groups.icon, groups.is_public, groups.created_at, \
    groups.tenant_id, group_tenants.tenant_id AS found_in \
    FROM groups JOIN group_tenants ON group_tenants.group_id = groups.id \
    JOIN tenants ON tenants.id = groups.tenant_id AND tenants.removed_at IS NULL WHERE groups.removed_at IS NULL";

/// The groups with these ids that are found in the tenant.
pub(super) async fn find<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    ids: &[String],
) -> Result<Vec<Row>, DbErr> {
    let text = format!("{FOUND} AND group_tenants.tenant_id = ? AND groups.id");
    find_in(reader, &text, &[tenant_id.into()], ids).await
}

/// Those among up to `limit` groups of all tenants after `sequence`, and the last one's number.
pub(super) async fn scan<C: ConnectionTrait>(
    reader: &C,
    sequence: i64,
    limit: u64,
) -> Result<Option<(Vec<Row>, i64)>, DbErr> {
    let numbers = "SELECT sequence FROM groups WHERE sequence > ? ORDER BY sequence LIMIT ?";
    let statement =
        sql(format!("SELECT MAX(sequence) AS last FROM ({numbers})"), [sequence.into(), limit.into()]);
    let last: Option<i64> = match reader.query_one_raw(statement).await? {
        Some(row) => row.try_get("", "last")?,
        None => None,
    };
    let Some(last) = last else { return Ok(None) };
    let text = format!("{FOUND} AND groups.sequence > ? AND groups.sequence <= ?");
    let rows = Row::find_by_statement(sql(text, [sequence.into(), last.into()])).all(reader).await?;
    Ok(Some((rows, last)))
}

/// How many rows a scan from the beginning gives.
pub(super) async fn count<C: ConnectionTrait>(reader: &C) -> Result<i64, DbErr> {
    let row = reader.query_one_raw(sql(format!("SELECT COUNT(*) AS groups FROM ({FOUND})"), [])).await?;
    row.map_or(Ok(0), |row| row.try_get("", "groups"))
}

/// The tenants in which a group is found.
pub(super) async fn tenants_of<C: ConnectionTrait>(
    connection: &C,
    group_id: &str,
) -> Result<Vec<i64>, DbErr> {
    let statement =
        sql("SELECT tenant_id FROM group_tenants WHERE group_id = ? ORDER BY tenant_id", [group_id.into()]);
    connection.query_all_raw(statement).await?.iter().map(|row| row.try_get("", "tenant_id")).collect()
}
