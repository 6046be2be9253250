//! Rows of blacklists.

use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use serde::Serialize;

use crate::store::{Transaction, find_in, now_millis, sql};

/// Someone on a blacklist (the document's "blacklist entry").
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlacklistEntry {
    /// Department name.
    pub org_name: Option<String>,
    /// His name.
    pub name: String,
    /// User id on the synchronising party's side.
    pub user_id: String,
    /// Avatar.
    pub picture: Option<String>,
    /// Department id on the synchronising party's side.
    pub org_id: Option<String>,
}

/// Whose list, of which tenant.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) tenant_id: i64,
    pub(super) user_id: String,
}

/// What became of a person who was to be put on a list.
pub(super) enum Addition {
    /// He is on it now.
    Added,
    /// He was on it before.
    There,
    /// The directory does not know him.
    Unknown,
}

/// Puts someone on the list.
pub(super) async fn add(
    transaction: &Transaction,
    owner: &Owner,
    black_user_id: &str,
) -> Result<Addition, DbErr> {
    let known = sql(
        "SELECT 1 FROM users WHERE tenant_id = ? AND user_id = ? AND is_deleted = 0 AND is_hidden = 0",
        [owner.tenant_id.into(), black_user_id.into()],
    );
    if transaction.query_one_raw(known).await?.is_none() {
        return Ok(Addition::Unknown);
    }
    let inserted = transaction
        .execute_raw(sql(
            "INSERT INTO blacklist (tenant_id, user_id, black_user_id, created_at) VALUES (?, ?, ?, ?) \
             ON CONFLICT DO NOTHING",
            [
                owner.tenant_id.into(),
                owner.user_id.as_str().into(),
                black_user_id.into(),
                now_millis().into(),
            ],
        ))
        .await?;
    Ok(if inserted.rows_affected() == 1 { Addition::Added } else { Addition::There })
}

/// Takes someone off the list; answers whether he was on it.
pub(super) async fn remove(
    transaction: &Transaction,
    owner: &Owner,
    black_user_id: &str,
) -> Result<bool, DbErr> {
    let removed = transaction
        .execute_raw(sql(
            "DELETE FROM blacklist WHERE tenant_id = ? AND user_id = ? AND black_user_id = ?",
            [owner.tenant_id.into(), owner.user_id.as_str().into(), black_user_id.into()],
        ))
        .await?;
    Ok(removed.rows_affected() == 1)
}

/// The rows of a list that are shown: people whom nobody sees any more are not.
const SHOWN: &str = "FROM blacklist \
    JOIN users ON users.tenant_id = blacklist.tenant_id AND users.user_id = blacklist.black_user_id \
    LEFT JOIN organizations ON organizations.tenant_id = users.tenant_id AND organizations.org_id = users.org_id \
    AND organizations.is_deleted = 0 AND organizations.is_hidden = 0 \
    WHERE blacklist.tenant_id = ? AND blacklist.user_id = ? AND users.is_deleted = 0 AND users.is_hidden = 0";

/// The list, oldest entries first, and how long it is; without a limit all of it.
pub(super) async fn list<C: ConnectionTrait>(
    reader: &C,
    owner: &Owner,
    limit: Option<u32>,
    offset: u32,
) -> Result<(Vec<BlacklistEntry>, u64), DbErr> {
    let whose = [owner.tenant_id.into(), owner.user_id.as_str().into()];
    let counted =
        reader.query_one_raw(sql(format!("SELECT COUNT(*) AS total {SHOWN}"), whose.clone())).await?;
    let total: i64 = counted.map_or(Ok(0), |row| row.try_get("", "total"))?;
    let text = format!(
        "SELECT organizations.name AS org_name, users.name, users.user_id, users.picture, organizations.org_id {SHOWN} \
         ORDER BY blacklist.created_at, blacklist.black_user_id LIMIT ? OFFSET ?"
    );
    // A negative limit is none, to SQLite.
    let limit = limit.map_or(-1, i64::from);
    let values = whose.into_iter().chain([limit.into(), offset.into()]);
    let entries = BlacklistEntry::find_by_statement(sql(text, values)).all(reader).await?;
    Ok((entries, u64::try_from(total).unwrap_or_default()))
}

/// Those of these people who have someone on their list.
pub(super) async fn who_listed<C: ConnectionTrait>(
    reader: &C,
    tenant_id: i64,
    black_user_id: &str,
    among: &[impl AsRef<str>],
) -> Result<Vec<String>, DbErr> {
    #[derive(FromQueryResult)]
    struct Row {
        user_id: String,
    }
    let text = "SELECT user_id FROM blacklist WHERE tenant_id = ? AND black_user_id = ? AND user_id";
    let rows: Vec<Row> = find_in(reader, text, &[tenant_id.into(), black_user_id.into()], among).await?;
    Ok(rows.into_iter().map(|row| row.user_id).collect())
}
